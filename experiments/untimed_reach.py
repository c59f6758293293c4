"""Walks of all runs of a sweep, without timing: a table and a picture in a minute.

``gpusim study untimed-reach [NAME ...]``: of each sweep (default: `SWEEPS`) all
combinations of models and settings, as `gpusim.studies.characterize.characterize_tlbs` counts them;
walks for a thousand lookups of the first TLBs, drawn over the sizes of pages.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

import gpusim
from gpusim.studies.characterize import Design, characterize_tlbs
from gpusim.studies.scripts import FOLDER
from gpusim.studies.sweep.plan import Run, make_plan
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import new_figure, save, style, sweep_lines

PAGE = "memory.page"
SWEEPS = ("kv-cache-pages", "embedding-reach", "expert-gather")


def counted(sweep: Sweep) -> Iterator[dict[str, object]]:
    """A row for each run: its coordinates, lookups of the first TLBs, and walks."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in make_plan(sweep).runs.values():
        groups.setdefault((run.model.name, run.workload), []).append(run)
    for runs in groups.values():
        designs = [Design(str(number), run.model) for number, run in enumerate(runs)]
        found = characterize_tlbs(runs[0].workload.load(), designs)
        for run, design in zip(runs, found.designs, strict=True):
            first = design.levels[0].total
            yield {
                "model": run.model.name,
                "workload": run.workload.name,
                **dict(run.point.settings),
                "lookups": first.lookups,
                "misses": first.misses,
                "walks": design.walks,
                "compulsory": design.levels[-1].total.compulsory,
                "walks_per_1000": 1000 * design.walks / max(first.lookups, 1),
            }


def print_table(title: str, rows: pd.DataFrame) -> None:
    """All rows."""
    table = Table(title=title, header_style="bold")
    for name in rows:
        table.add_column(str(name), justify="right")
    for row in rows.itertuples(index=False):
        table.add_row(*(f"{one:.3g}" if isinstance(one, float) else f"{one}" for one in row))
    Console().print(table)


def draw(sweep: Sweep, rows: pd.DataFrame, path: Path) -> None:
    """A panel for each model: walks over page sizes, a line for each of the other settings."""
    several = [key for key in sweep.set if key != PAGE and rows[key].nunique() > 1]
    models = rows["model"].unique()
    figure = new_figure("page", height=2.4)
    axes = figure.subplots(1, len(models), squeeze=False)[0]
    for one, model in zip(axes, models, strict=True):
        own = rows[rows["model"] == model]
        names = own[several].apply(_name, axis=1)
        data = own.assign(line=names).pivot_table(
            index=PAGE, columns="line", values="walks_per_1000", sort=False
        )
        sweep_lines(data, xlabel="page", ylabel="walks per 1000 lookups", title=model, ax=one)
        one.set_ylim(0, None)
    with style():
        figure.suptitle(sweep.title)
    save(figure, path)


def _name(row: pd.Series[str]) -> str:
    """Keys and values of a line."""
    return ", ".join(f"{str(key).rpartition('.')[2]} {value}" for key, value in row.items())


def main() -> None:
    """Count and draw what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SWEEPS), help="sweeps")
    parser.add_argument("--scale", help="of the workloads; default: that of the sweep")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=FOLDER / "untimed-reach",
        help="folder of tables and pictures (default: %(default)s)",
    )
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        given = {} if arguments.scale is None else {"scale": arguments.scale}
        sweep = gpusim.read_sweep(name, **given)
        rows = pd.DataFrame(counted(sweep))
        print_table(sweep.title, rows)
        rows.to_csv(arguments.output / f"{name}.csv", index=False)
        draw(sweep, rows, arguments.output / f"reach_{name}.png")


if __name__ == "__main__":
    main()

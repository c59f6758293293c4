"""Pictures of the mechanism library: one effect of each, measured on a program where it matters.

``gpusim study library NAME ...`` runs what experiments/pictures/library.toml says of a
mechanism (default: of all), prints a table, and writes ``library_NAME.png``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from attrs import field, frozen
from rich.console import Console
from rich.table import Table

import gpusim
from gpusim.core.errors import UserError, nearest
from gpusim.core.policy import Option
from gpusim.studies.scripts import FOLDER
from gpusim.views.plots import bar_groups, new_figure, save

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

TABLE = Path(__file__).parent / "pictures" / "library.toml"

SPEEDUP = "speedup"
"""A metric that no summary has: cycles of the first design over those of another."""


@frozen(kw_only=True)
class Effect:
    """What is run for a picture.

    Attributes:
        model: a shipped machine.
        workloads: programs, or mixes; a group of bars each.
        designs: variants; a bar each.  ``"baseline"`` is the machine as it is.
        metric: a headline number of the results (``gpusim list metrics``), or `SPEEDUP`.
        label: of the axis; default: the metric.
        each: whether each application of a mix has a group of its own.
        scale: of the programs.
        set: overrides of the machine, by key, in all designs.
    """

    model: str
    workloads: list[str]
    designs: list[str]
    metric: str
    label: str = ""
    each: bool = False
    scale: str = "smoke"
    set: dict[str, Option] = field(factory=dict)


def effects() -> dict[str, Effect]:
    """All entries of the table, by name."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: Effect(**entry) for name, entry in entries.items()}


def measure(effect: Effect) -> pd.DataFrame:
    """The metric, by workload, or application of one (rows), and design (columns)."""
    found = pd.DataFrame(
        {design: pd.Series(dict(_numbers(effect, design))) for design in effect.designs}
    )
    if effect.metric == SPEEDUP:
        return found.rdiv(found[effect.designs[0]], axis=0)
    return found


def _numbers(effect: Effect, design: str) -> Iterator[tuple[str, float]]:
    """A design's bars by name; of a speedup, the cycles."""
    asked = "cycles" if effect.metric == SPEEDUP else effect.metric
    model = gpusim.load_model(
        effect.model, [] if design == "baseline" else [design], overrides=effect.set
    )
    for name in effect.workloads:
        with gpusim.simulate(model, gpusim.load_workload(name, effect.scale)) as result:
            if not effect.each:
                yield name, result.summary[asked]
                continue
            for app in result.applications["name"]:
                yield f"{app}\nof {name}", result.summary[f"{app}/{asked}"]


def draw(name: str, effect: Effect, found: pd.DataFrame, folder: Path) -> Path:
    """Write the picture; returns its file."""
    figure = new_figure("page", height=2.2)
    label = effect.label or effect.metric.replace("_", " ")
    bar_groups(found, geomean=False, ylabel=label, ax=figure.subplots())
    path = folder / f"library_{name}.png"
    save(figure, path)
    return path


def _print(name: str, effect: Effect, found: pd.DataFrame) -> None:
    table = Table(title=f"{name}: {effect.metric}, {effect.model}, scale {effect.scale}")
    table.add_column("workload")
    for design in found.columns:
        table.add_column(str(design), justify="right")
    for workload, row in found.iterrows():
        table.add_row(str(workload).replace("\n", " "), *(f"{value:.4g}" for value in row))
    Console().print(table)


def main() -> None:
    """Run, print and draw what is asked for."""
    known = effects()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)}; default: all")
    parser.add_argument(
        "--folder",
        type=Path,
        default=FOLDER / "library",
        help="where pictures go (default: %(default)s)",
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or known:
        if name not in known:
            raise UserError(f"there is no entry {name!r}{nearest(name, known)} in {TABLE}")
        found = measure(known[name])
        _print(name, known[name], found)
        print(draw(name, known[name], found, arguments.folder))


if __name__ == "__main__":
    main()

"""What TLBs miss, as a picture: against their entries, or design by design."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gpusim.studies.characterize.tlb_result import TlbResult
from gpusim.views.plots import PALETTE, new_figure, save, style, sweep_lines


def plot_tlbs(found: TlbResult, path: Path) -> None:
    """Draw the miss rates of each level, side by side.

    Where designs have several numbers of entries, lines go over them, one for each number of ways;
    else each design is a bar.

    Raises:
        UserError: the picture cannot be written, or not in this format.
    """
    names = list(dict.fromkeys(level.name for one in found.designs for level in one.levels))
    rows = 0 if _sizes(found, names) else len(found.designs)
    figure = new_figure("page", height=max(2.6, 1 + 0.16 * rows))
    all_axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(all_axes, names, strict=True):
        plot_level(axes, found, name)
    with style():
        figure.suptitle(f"{found.provenance.title}, without timing")
    save(figure, path)


def plot_level(axes: Axes, found: TlbResult, name: str) -> None:
    """Miss rates of the TLBs of one level of all designs."""
    rates = _rates(found, name)
    title, label = f"{name} TLB", "misses of lookups"
    if rates["entries"].nunique() > 1:
        lines = rates.drop_duplicates(["entries", "ways"]).pivot_table(
            index="entries", columns="ways", values="rate"
        )
        lines.columns = pd.Index([f"{ways} ways" for ways in lines.columns])
        sweep_lines(lines, xlabel="entries", ylabel=label, title=title, ax=axes)
        axes.set_ylim(0, None)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        return
    with style():
        axes.barh(rates["design"], rates["rate"], color=PALETTE[0])
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel(label)
        axes.set_title(title, loc="left")


def _sizes(found: TlbResult, names: list[str]) -> bool:
    """Whether designs differ in the entries of any level."""
    return any(_rates(found, name)["entries"].nunique() > 1 for name in names)


def _rates(found: TlbResult, name: str) -> pd.DataFrame:
    """A row for each design that has a level of this name and lookups in it."""
    rows = []
    for design in found.designs:
        for level in design.levels:
            total = level.total
            if level.name == name and total.lookups:
                rate = total.misses / total.lookups
                rows.append((design.name, level.entries, level.ways, rate))
    return pd.DataFrame(rows, columns=["design", "entries", "ways", "rate"])

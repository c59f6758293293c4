"""A characterization as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gpusim.studies.characterize.characterization import (
    TLB_MARK,
    ApplicationCharacterization,
    Characterization,
)
from gpusim.studies.characterize.distribution import Distribution
from gpusim.studies.characterize.intensity import BIN_NAMES
from gpusim.views.plots import (
    PALETTE,
    bar_groups,
    cdf,
    new_figure,
    save,
    stacked_bars,
    style,
)

_BIN_COLOURS = ("#F0F0F0", "#BDC9E1", "#74A9CF", "#2B8CBE", "#045A8D")
_STRIDES = 8


def plot_characterization(found: Characterization, path: Path) -> None:
    """Draw reuse bins, distances, pages of an instruction and strides into a picture.

    Raises:
        UserError: the picture cannot be written, or not in this format.
    """
    figure = new_figure("page", height=6.5)
    (intra, inter), (alone, together), (pages, strides) = figure.subplots(3, 2)
    apps = found.applications
    names = [app.name for app in apps]
    plot_bins(intra, names, [app.intra_shares for app in apps], "Reuse within blocks", "blocks")
    plot_bins(inter, names, [app.inter_shares for app in apps], "Reuse between blocks", "pairs")
    for axes, name, title in (
        (alone, "distance_alone", "Reuse distance, block alone"),
        (together, "distance_interleaved", "Reuse distance, blocks interleaved"),
    ):
        plot_distances(axes, {app.name: app.distributions[name] for app in apps}, title)
    with style():
        _plot_instruction_pages(pages, apps)
        _plot_strides(strides, apps)
        figure.suptitle(f"{found.provenance.title}, pages of {found.page_bytes >> 10} KiB")
    save(figure, path)


def plot_bins(
    axes: Axes, names: Sequence[str], shares: Sequence[np.ndarray], title: str, what: str
) -> None:
    """Stacked bars of the bins of reuse intensity (as in ORCH Figs. 3 and 4)."""
    data = pd.DataFrame(np.array(shares), pd.Index(names), BIN_NAMES)
    if data.fillna(0).any(axis=None):
        stacked_bars(
            data,
            colours=dict(zip(BIN_NAMES, _BIN_COLOURS, strict=True)),
            ylabel=f"share of {what}",
            title=title,
            ax=axes,
        )
    else:
        _tell_empty(axes, title, what)


def plot_distances(axes: Axes, found: Mapping[str, Distribution], title: str) -> None:
    """CDFs of reuse distance over powers of two (as in ORCH Figs. 5 and 6)."""
    reused = {name: one for name, one in found.items() if one.total}
    if reused:
        cdf(
            {name: one.value for name, one in reused.items()},
            counts={name: one.count for name, one in reused.items()},
            log2=True,
            mark={f"{TLB_MARK} entries": TLB_MARK},
            xlabel="distinct other pages in between",
            ylabel="share of reuses",
            title=title,
            ax=axes,
        )
    else:
        _tell_empty(axes, title, "reuses")


def _plot_instruction_pages(axes: Axes, apps: Sequence[ApplicationCharacterization]) -> None:
    most = max(int(app.distributions["instruction_pages"].value.max(initial=1)) for app in apps)
    width = 0.8 / len(apps)
    for index, app in enumerate(apps):
        pages = app.distributions["instruction_pages"]
        axes.bar(
            pages.value + (index - (len(apps) - 1) / 2) * width,
            pages.count / max(pages.total, 1),
            width,
            color=PALETTE[index % len(PALETTE)],
            label=f"{app.name}: mean {pages.mean:.3g}",
        )
    axes.set_xlim(0.4, most + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("distinct pages")
    axes.set_ylabel("share of instructions")
    axes.set_title("Pages of a memory instruction", loc="left")
    axes.legend()


def _plot_strides(axes: Axes, apps: Sequence[ApplicationCharacterization]) -> None:
    """The most frequent strides to another page."""
    found = {app.name: app.distributions["stride"].without(0) for app in apps}
    shown = sorted({value for one in found.values() for value, _ in one.most_frequent(_STRIDES)})
    title = "Most frequent strides"
    if shown:
        shares = {
            name: pd.Series(one.count / max(one.total, 1), one.value).reindex(shown, fill_value=0)
            for name, one in found.items()
        }
        data = pd.DataFrame(shares).rename("{:+d}".format)
        bar_groups(
            data, geomean=False, ylabel="share of moves to another page", title=title, ax=axes
        )
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel("pages")
    else:
        _tell_empty(axes, title, "moves")


def _tell_empty(axes: Axes, title: str, what: str) -> None:
    with style():
        axes.set_title(title, loc="left")
        axes.set_axis_off()
        axes.text(0.5, 0.5, f"no {what}", ha="center", transform=axes.transAxes)

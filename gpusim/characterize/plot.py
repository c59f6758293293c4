"""A characterization as a picture: colours that all can tell apart, and line styles for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpusim.characterize.characterization import TLB_MARK, ApplicationCharacterization
from gpusim.characterize.distribution import Distribution
from gpusim.characterize.intensity import BIN_NAMES, BINS
from gpusim.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpusim.characterize.characterization import Characterization

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's palette, "Color Universal Design" (2008)."""
_STYLES = ("-", "--", "-.", ":")
_BIN_COLOURS = ("#F0F0F0", "#BDC9E1", "#74A9CF", "#2B8CBE", "#045A8D")
_FIRST_POWER = 3
"""ORCH's distance axes begin at 2^3."""
_STRIDES = 8


def plot_characterization(found: Characterization, path: Path) -> None:
    """Draw reuse bins, distances, pages of an instruction and strides into a picture.

    Raises:
        UserError: the picture cannot be written, or not in this format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    (intra, alone, pages), (inter, together, strides) = figure.subplots(2, 3)
    apps = found.applications
    names = [app.name for app in apps]
    plot_bins(intra, names, [app.intra_shares for app in apps], "Reuse within blocks", "blocks")
    plot_bins(inter, names, [app.inter_shares for app in apps], "Reuse between blocks", "pairs")
    for axes, name, title in (
        (alone, "distance_alone", "Reuse distance, block alone"),
        (together, "distance_interleaved", "Reuse distance, blocks interleaved"),
    ):
        plot_distances(axes, {app.name: app.distributions[name] for app in apps}, title)
    _plot_instruction_pages(pages, apps)
    _plot_strides(strides, apps)
    run = found.provenance
    model = " + ".join((run.model, *run.variants))
    figure.suptitle(
        f"{run.workload} ({run.scale}) on {model}, pages of {found.page_bytes >> 10} KiB"
    )
    save(figure, path)


def plot_bins(
    axes: Axes, names: Sequence[str], shares: Sequence[np.ndarray], title: str, what: str
) -> None:
    """Stacked bars of the bins of reuse intensity (as in ORCH Figs. 3 and 4)."""
    bottom = np.zeros(len(names))
    for number in range(BINS):
        height = 100 * np.array([np.nan_to_num(one[number]) for one in shares])
        axes.bar(
            range(len(names)), height, 0.6, bottom, color=_BIN_COLOURS[number],
            edgecolor="black", linewidth=0.6, label=BIN_NAMES[number],
        )  # fmt: skip
        bottom += height
    axes.set_xticks(range(len(names)), names, rotation=30 if len(names) > 3 else 0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylim(0, 100)
    axes.set_ylabel(f"% of {what}")
    axes.set_title(title, fontsize="medium")
    axes.legend(
        *(part[::-1] for part in axes.get_legend_handles_labels()),
        loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False,
    )  # fmt: skip


def plot_distances(axes: Axes, found: Mapping[str, Distribution], title: str) -> None:
    """CDFs of reuse distance over powers of two (as in ORCH Figs. 5 and 6)."""
    farthest = max((int(one.value.max(initial=1)) for one in found.values()), default=1)
    powers = np.arange(_FIRST_POWER, max(farthest.bit_length(), 10) + 1)
    for index, (name, distribution) in enumerate(found.items()):
        axes.plot(
            powers, [100 * distribution.at_most(1 << int(power)) for power in powers],
            color=COLOURS[index % len(COLOURS)], linestyle=_STYLES[index % len(_STYLES)],
            marker="os^Dv"[index % 5], markersize=3.5, label=name,
        )  # fmt: skip
    axes.axvline(np.log2(TLB_MARK), color="0.4", linewidth=1)
    axes.text(np.log2(TLB_MARK) + 0.1, 2, f"{TLB_MARK} entries", fontsize="small", color="0.3")
    axes.set_xticks(powers, [f"$2^{{{power}}}$" for power in powers])
    axes.set_ylim(0, 102)
    axes.set_xlabel("distinct other pages in between")
    axes.set_ylabel("% of reuses, cumulative")
    axes.grid(alpha=0.3)
    axes.set_title(title, fontsize="medium")
    axes.legend(fontsize="small", frameon=False)


def check_picture(path: Path) -> None:
    """Find out before long work whether a picture can be written.

    Raises:
        UserError: there is no such format, or no such folder.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise UserError(
            f"cannot draw {path}: its name tells the format; allowed: .{', .'.join(formats)}"
        )
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")


def save(figure: Figure, path: Path) -> None:
    """Write a picture; its name tells the format.

    Raises:
        UserError: it cannot be written, or not in this format.
    """
    check_picture(path)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def _plot_instruction_pages(axes: Axes, apps: Sequence[ApplicationCharacterization]) -> None:
    from matplotlib.ticker import MaxNLocator

    most = max(int(app.distributions["instruction_pages"].value.max(initial=1)) for app in apps)
    width = 0.8 / len(apps)
    for index, app in enumerate(apps):
        pages = app.distributions["instruction_pages"]
        axes.bar(
            pages.value + (index - (len(apps) - 1) / 2) * width,
            100 * pages.count / max(pages.total, 1),
            width, color=COLOURS[index % len(COLOURS)], label=f"{app.name}: mean {pages.mean:.3g}",
        )  # fmt: skip
    axes.set_xlim(0.4, most + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("distinct pages")
    axes.set_ylabel("% of warp memory instructions")
    axes.set_title("Pages of a memory instruction", fontsize="medium")
    axes.legend(fontsize="small", frameon=False)


def _plot_strides(axes: Axes, apps: Sequence[ApplicationCharacterization]) -> None:
    """The most frequent strides to another page."""
    found = [app.distributions["stride"].without(0) for app in apps]
    shown = sorted({value for one in found for value, _ in one.most_frequent(_STRIDES)})
    width = 0.8 / len(apps)
    for index, (app, strides) in enumerate(zip(apps, found, strict=True)):
        counts = dict(zip(strides.value.tolist(), strides.count.tolist(), strict=True))
        axes.bar(
            np.arange(len(shown)) + (index - (len(apps) - 1) / 2) * width,
            [100 * counts.get(value, 0) / max(strides.total, 1) for value in shown],
            width, color=COLOURS[index % len(COLOURS)], label=app.name,
        )  # fmt: skip
    axes.set_xticks(range(len(shown)), [f"{value:+d}" for value in shown], rotation=60)
    axes.set_xlabel("pages")
    axes.set_ylabel("% of moves to another page")
    axes.set_title("Most frequent strides", fontsize="medium")
    axes.legend(fontsize="small", frameon=False)

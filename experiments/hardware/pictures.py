"""Our curves over the measured ones."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from experiments.hardware.held import Held
from experiments.hardware.measure import PARAMETERS, TLB_STEPS, UNITS
from experiments.hardware.tlb_steps import LEVELS
from gpusim.files.units import format_bytes
from gpusim.views import plots
from gpusim.views.plots.labels import legend_above
from gpusim.views.plots.powers_of_two import are_bytes, power_ticks

COLUMNS = 3
"""Axes side by side at most."""


def draw(held: Held, file: Path) -> None:
    """One axes a test."""
    tests = held.tests()
    columns = min(len(tests), COLUMNS)
    rows = -(-len(tests) // columns)
    figure = plots.new_figure("page", 2.1 * rows + 0.2)
    every = figure.subplots(rows, columns, squeeze=False).ravel()
    with plots.style():
        for axes, (test, stride, variant) in zip(every, tests, strict=False):
            _one(axes, held, test, stride, variant)
        for axes in every[len(tests) :]:
            axes.set_visible(False)
    plots.save(figure, file)


def _one(axes: Axes, held: Held, test: str, stride: int, variant: str) -> None:
    measured = [
        one for one in held.curves if (one.test, one.stride, one.variant) == (test, stride, variant)
    ]
    for number, one in enumerate(measured):
        colour = plots.PALETTE[1 + number % (len(plots.PALETTE) - 1)]
        axes.plot(*zip(*one.curve, strict=True), color=colour, label=f"{one.gpu}, measured")
    axes.plot(
        *zip(*held.own(test, stride, variant), strict=True),
        color=plots.PALETTE[0],
        marker="o",
        markersize=3,
        linestyle="none" if measured else "-",
        label=f"{held.model} {variant}".strip() + ", simulated",
    )
    for step in held.steps:
        if (test, stride, variant) == (TLB_STEPS, step.entry, step.variant):
            axes.axvspan(
                step.first,
                step.last,
                color=plots.PALETTE[1 + LEVELS.index(step.level)],
                alpha=0.4,
                linewidth=0.8,
                label=f"end of {step.level} TLB, measured",
            )
    axes.set_xscale("log", base=2)
    parameter = PARAMETERS.get(test, "footprint in bytes")
    power_ticks(axes, *axes.get_xlim(), are_bytes(parameter))
    axes.margins(y=0.1)
    if test != TLB_STEPS:  # as low as a tenth of what stands there
        axes.set_ylim(0, 1.06 * axes.dataLim.y1)
    axes.grid()
    apart = test in {"latency", TLB_STEPS}
    axes.set_xlabel(parameter)
    axes.set_ylabel(UNITS.get(test, "GB/s"))
    legend_above(axes, f"{test}, a load every {format_bytes(stride)}" if apart else test)

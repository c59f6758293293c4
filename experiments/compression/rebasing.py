"""COMP's results over the constant R after which a set gives up its base: it has no source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Lines, Material, gain

from .common import IRREGULAR, L2_RATE, PROGRAMS, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from gpusim.studies.reproduce.tables import Design

REBASE = "tlb.L2.sets.rebase"
CONSTANTS = (4, 16, 64, 256)
NEVER = "never"
"""A base for ever."""

SWEEPS = (
    sweep(variants=["baseline", "compression-no-rebase"]),
    sweep(variants=["compression"], set={REBASE: CONSTANTS}),
)

DESIGNS: Mapping[str, Design] = {
    "baseline": {"variant": "baseline"},
    **{str(value): {"variant": "compression", REBASE: value} for value in CONSTANTS},
    NEVER: {"variant": "compression-no-rebase"},
}
"""By R."""

MEAN, OF_IRREGULAR, LARGEST = "mean gain in %", "of irregular ones", "largest"
RATE, HELPS = "L2 TLB hit rate", "points over never"


def gains_of(material: Material) -> pd.DataFrame:
    """Gains in percent: a row a program, a column for each R."""
    import pandas as pd

    cycles = material.numbers("cycles", PROGRAMS, DESIGNS)
    return pd.DataFrame({name: gain(cycles, name) for name in list(DESIGNS)[1:]})


def over_constants(material: Material) -> pd.DataFrame:
    """A row for each R: mean, irregular and largest gains, hit rates, and what rebasing adds."""
    import pandas as pd

    gains = gains_of(material)
    rates = material.numbers(L2_RATE, PROGRAMS, DESIGNS).mean().reindex(gains.columns)
    columns = {
        MEAN: gains.mean(),
        OF_IRREGULAR: gains.loc[IRREGULAR].mean(),
        LARGEST: gains.max(),
        RATE: rates,
        HELPS: 100 * (rates - rates[NEVER]),
    }
    return pd.DataFrame(columns).rename_axis("R")


def lines(table: pd.DataFrame) -> pd.DataFrame:
    """A line a gain, over the constants."""
    found = table.loc[[str(value) for value in CONSTANTS], [MEAN, OF_IRREGULAR, LARGEST]]
    found.index = list(CONSTANTS)
    return found


OVER_CONSTANTS = Figure(
    id="comp.design.rebase",
    title="Sensitivity: the rebase constant",
    about="After R insertions that do not match a set's base, the set takes a new one. No source "
    "has R, and it decides the main results, which are given as intervals over the R of this "
    "table. The one taken, 256, was chosen on hit rates before any of these runs (see above).",
    sweeps=SWEEPS,
    table=over_constants,
    draw=Lines("rebase constant R", "gain in %", lines, height=2.8),
    after="comp.design.points",
)

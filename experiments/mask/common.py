"""What figures of MASK share: machine, applications, pairs, designs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Material
from gpusim.studies.reproduce.programs import entries_of, is_program
from gpusim.studies.sweep.point import SHARED
from gpusim.studies.sweep.spec import SAME, Sweep

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.reproduce.tables import Design

MODEL = "maxwell-mask"
"""Table 1."""

SMS = 30


ENTRIES = entries_of("mask")

PROGRAMS = {
    name: entry.name
    for name, entry in ENTRIES.items()
    if is_program(entry) and entry.table.relaunch == "never"
}
"""Table 2: the 27 applications, each alone on all SMs."""

CATEGORIES = {
    f"{count}-HMR": {
        name: entry.name
        for name, entry in ENTRIES.items()
        if entry.table.stated.get("high_high") == count
    }
    for count in range(3)
}
"""§6: pairs by how many of the two miss often in both TLBs."""

PAIRS = {name: workload for pairs in CATEGORIES.values() for name, workload in pairs.items()}

STUDIED = {name: PAIRS[name] for name in ("HISTO_GUP", "RED_RAY", "SCAN_CONS")}
"""Pairs for studies of a parameter: one a category (our choice)."""

BASE = "shared-tlb"
"""The best baseline (§7.1); IPCs alone are measured on it."""

MASK = "mask-quick"
"""MASK with epochs of 4,000 cycles, as are its parts; see the page's introduction."""

HUGE = "huge-pages"

PWCACHE = "pwcache-late"
"""PWCache with the latency of the configuration that `l2.entry` is from."""

BASELINES = {"Static": "static", "PWCache": PWCACHE, "SharedTLB": BASE}
PARTS = {
    "MASK-TLB": "mask-tlb-quick",
    "MASK-Cache": "mask-cache-quick",
    "MASK-DRAM": "mask-dram-quick",
}
IDEAL = "Ideal"

DESIGNS = {**BASELINES, **PARTS, "MASK": MASK, IDEAL: "ideal"}
"""§7."""


pair_sweep = partial(Sweep, models=MODEL, workloads=PAIRS.values(), alone=[BASE])
"""Pairs on some designs, and their applications alone on as many SMs."""

BASE_SWEEP = pair_sweep(variants=[BASE], alone=())
"""All pairs on SharedTLB: Figures 8 and 9, §4.3."""

BASE_PAIRS: Design = {"variant": BASE, "role": SHARED}
"""What tells its runs from others."""

MAIN = pair_sweep(variants=DESIGNS.values())
"""All pairs on all designs: Figures 11 to 15, and §7.1 and §7.2."""

WHOLE = {name: DESIGNS[name] for name in ("SharedTLB", "MASK")}
"""Designs whose own IPCs alone are measured, too."""

OWN = pair_sweep(variants=WHOLE.values(), alone=[SAME])


def variants(designs: Mapping[str, str]) -> dict[str, Design]:
    """Designs as `Material.compared` takes them."""
    return {name: {"variant": variant} for name, variant in designs.items()}


def speedups(
    material: Material, pairs: Mapping[str, str], designs: Mapping[str, Design]
) -> pd.DataFrame:
    """Weighted speedups; IPCs alone are those of `BASE` on the same machine."""
    return material.compared("weighted_speedup", pairs, designs, {"variant": BASE})


def of_ideal(table: pd.DataFrame) -> pd.DataFrame:
    """Weighted speedups relative to those of Ideal, which goes."""
    return table.drop(columns=IDEAL).div(table[IDEAL], axis=0)


def by_category(table: pd.DataFrame) -> pd.DataFrame:
    """Means of a table of all pairs: a row a category, then `AVERAGE`."""
    import pandas as pd

    rows = {name: table.loc[list(pairs)].mean() for name, pairs in CATEGORIES.items()}
    return pd.DataFrame({**rows, AVERAGE: table.mean()}).T.rename_axis("category")


def gain(table: pd.DataFrame, design: str, baseline: str = "SharedTLB") -> pd.Series:
    """By how many percent each pair is faster: higher weighted speedups are faster."""
    return 100 * (table[design] / table[baseline] - 1)

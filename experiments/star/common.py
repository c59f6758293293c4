"""What figures of STAR share: machine, programs, workloads, designs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gpusim.config.schema import GpuConfig
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Material
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.programs import entries_of, is_program
from gpusim.studies.sweep.point import BASELINE
from gpusim.studies.sweep.spec import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.reproduce.tables import Design

MODEL = "a100-mig"
"""Table I."""

BASE, STAR = "baseline", "STAR"
"""Names of the two designs in tables."""

ENTRIES = entries_of("star")


def _named(names: Iterable[str]) -> dict[str, str]:
    return {name: ENTRIES[name].name for name in names}


PROGRAMS = _named(
    name for name, entry in ENTRIES.items() if is_program(entry) and "class" in entry.table.stated
)
"""Table II: the ten applications, each alone on an instance of three slices."""

WORKLOADS = _named(f"W{number}" for number in range(1, 12))
"""Table III: three applications on 3g, 2g and 2g."""

LARGER = {
    4: _named(f"W{number}" for number in range(12, 17)),
    5: _named(["W17"]),
    6: _named(["W18"]),
}
"""Workloads of four to six applications (Fig. 17)."""

STUDIED = _named(["W1", "W2", "W3", "W5", "W7", "W10"])
"""For studies that need not have all: HHH, HHM, HMM, HML, MMM and MLL (our choice)."""

DESIGNS = {
    BASE: BASELINE,
    STAR: "star",
    "sequential only": "sequential-only",
    "stride only": "stride-only",
    "STAR, 4 bases": "star-4-base",
    "Half-Sub-Double-Set": "half-sub-double-set",
    "Half-Sub-Double-Way-Seq": "half-sub-double-way-seq",
    "Half-Sub-Double-Way-Para": "half-sub-double-way-para",
    "static": "static-ways",
    "STAR + static": "star+static",
    "MASK": "mask-tokens-quick",
}
"""The designs that all of `WORKLOADS` are run on (§VI)."""


sweep = partial(Sweep, models=MODEL, workloads=WORKLOADS.values(), alone=[BASELINE])
"""Workloads on some designs, and their applications alone on instances of the same size."""


def sweep_over(names: Iterable[str]) -> Sweep:
    """W1 to W11 on the baseline and designs of `DESIGNS`."""
    return sweep(variants=[BASELINE, *(DESIGNS[name] for name in names)], alone=())


BASE_SWEEP = sweep(variants=[BASELINE])
"""W1 to W11 on the baseline, and their applications alone."""

STAR_SWEEP = sweep(variants=[BASELINE, DESIGNS[STAR]])
"""W1 to W11 on the baseline and with STAR, and their applications alone on the baseline."""

ALONE_SWEEP = Sweep(models=MODEL, workloads=PROGRAMS.values())
"""Each application of Table II alone."""


def shared(designs: Iterable[str]) -> dict[str, Design]:
    """Designs of `DESIGNS` as `Material.numbers` takes them, of the runs that are shared."""
    return together({name: DESIGNS[name] for name in designs})


Ratio = TypeVar("Ratio", "pd.DataFrame", "pd.Series", float)


def percent(ratio: Ratio) -> Ratio:
    """By how many percent something with this ratio is more."""
    return 100 * (ratio - 1)


def machine(material: Material) -> GpuConfig:
    """On which everything lies."""
    variants = () if material.machine == BASELINE else (material.machine,)
    return load_model(MODEL, variants).config


def l3_pages(material: Material) -> int:
    """Translations that the L3 TLB holds."""
    l3 = machine(material).tlb["L3"]
    return l3.entries * l3.sub_entries

"""What figures of STAR share: machine, programs, workloads, designs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpusim.plots import bar_groups, new_figure
from gpusim.programs.library import Entry, paper_workloads
from gpusim.reproduce import Material
from gpusim.reproduce.mixes import of_applications, of_applications_alone, together
from gpusim.sweep.point import BASELINE
from gpusim.sweep.spec import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.reproduce.figure import Design

MODEL = "a100-mig"
"""Table I."""

BASE, STAR = "baseline", "STAR"
"""Names of the two designs in tables."""

ENTRIES = {entry.name.partition("/")[2]: entry for entry in paper_workloads("star")}


def _named(names: Iterable[str]) -> dict[str, str]:
    return {name: ENTRIES[name].name for name in names}


def _is_alone(entry: Entry) -> bool:
    return len(entry.table.applications) == 1


PROGRAMS = _named(
    name for name, entry in ENTRIES.items() if _is_alone(entry) and "class" in entry.table.stated
)
"""Table II: the ten applications, each alone on an instance of three slices."""

WORKLOADS = _named(f"W{number}" for number in range(1, 12))
"""Table III: three applications on 3g, 2g and 2g."""

LARGER = {4: _named(f"W{number}" for number in range(12, 17)), 5: _named(["W17"]),
          6: _named(["W18"])}  # fmt: skip
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
    "MASK": "mask-tokens",
}
"""Those that all of `WORKLOADS` are run on (§VI)."""

AVERAGE = "Average"


def sweep_of(
    variants: Iterable[str], workloads: Mapping[str, str] = WORKLOADS,
    alone: Iterable[str] = (BASELINE,), record: Iterable[str] = (),
) -> Sweep:  # fmt: skip
    """Workloads on some designs, and their applications alone on instances of the same size."""
    return Sweep(
        models=MODEL, workloads=workloads.values(), variants=list(variants), alone=list(alone),
        record=list(record),
    )  # fmt: skip


MAIN = sweep_of(DESIGNS.values())
"""W1 to W11 on all designs, and their applications alone on the baseline."""

BASE_SWEEP = sweep_of([BASELINE])
"""W1 to W11 on the baseline, and their applications alone."""

STAR_SWEEP = sweep_of([BASELINE, DESIGNS[STAR]])
"""W1 to W11 on the baseline and with STAR, and their applications alone on the baseline."""

ALONE_SWEEP = Sweep(models=MODEL, workloads=PROGRAMS.values())
"""Each application of Table II alone."""


def shared(designs: Iterable[str]) -> dict[str, Design]:
    """Designs of `DESIGNS` as `Material.numbers` takes them, of the runs that are shared."""
    return together({name: DESIGNS[name] for name in designs})


def normalised_performance(
    material: Material, workloads: Mapping[str, str], designs: Mapping[str, Design]
) -> pd.DataFrame:
    """Time alone / time shared of each application (§IV-A): a row ``W.APP``.

    Alone is on an instance of the same size, with the whole L3 TLB of the baseline.
    """
    ipcs = of_applications(material, "ipc", workloads, designs)
    alone = of_applications_alone(material, "ipc", workloads, {BASE: {"variant": BASELINE}})
    return ipcs.div(alone[BASE], axis=0)


def speedups(
    material: Material, workloads: Mapping[str, str], designs: Mapping[str, Design],
    baseline: str = BASE,
) -> pd.DataFrame:  # fmt: skip
    """Performance of each application relative to the same mix on a baseline: a row ``W.APP``."""
    ipcs = of_applications(material, "ipc", workloads, designs)
    return ipcs.div(ipcs[baseline], axis=0)


def harmonic(table: pd.DataFrame) -> pd.DataFrame:
    """Harmonic means over the applications of each workload (§IV-A): a row a workload."""
    return 1 / by_workload(1 / table)


def by_workload(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the applications of each workload, in their order."""
    of_app = table.index.str.partition(".").get_level_values(0)
    return table.groupby(of_app, sort=False).mean().rename_axis("workload")


def with_average(table: pd.DataFrame) -> pd.DataFrame:
    """A last row of means over the workloads."""
    found = table.copy()
    found.loc[AVERAGE] = table.mean()
    return found


def percent(ratio: float) -> float:
    """By how many percent something with this ratio is more."""
    return 100 * (ratio - 1)


def bars(table: pd.DataFrame, ylabel: str, *, line: str | None = None) -> Picture:
    """Groups of bars; what a column is the line at 1 of, the others are relative to."""
    figure = new_figure("page", height=2.6)
    bar_groups(table, baseline=line, geomean=False, ylabel=ylabel, ax=figure.subplots())
    return figure

"""What figures of STAR share: machine, programs, workloads, designs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gpusim.config.schema import GpuConfig
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Material, counted, pictures, with_average
from gpusim.studies.reproduce.mixes import (
    alone,
    of_applications,
    of_applications_alone,
    rows,
    together,
)
from gpusim.studies.sweep.point import BASELINE, SHARED
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import new_figure, sweep_lines
from gpusim.views.plots.labels import legend_above
from gpusim.workloads.library import Entry, paper_workloads

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.figure import Design

MODEL = "a100-mig"
"""Table I."""

BASE, STAR = "baseline", "STAR"
"""Names of the two designs in tables."""

ENTRIES = {entry.name.partition("/")[2]: entry for entry in paper_workloads("star")}


def _named(names: Iterable[str]) -> dict[str, str]:
    return {name: ENTRIES[name].name for name in names}


def is_alone(entry: Entry) -> bool:
    """Whether it is a program, not a workload of several."""
    return len(entry.table.applications) == 1


PROGRAMS = _named(
    name for name, entry in ENTRIES.items() if is_alone(entry) and "class" in entry.table.stated
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
"""Those that all of `WORKLOADS` are run on (§VI)."""


def sweep_of(
    variants: Iterable[str],
    workloads: Mapping[str, str] = WORKLOADS,
    alone: Iterable[str] = (BASELINE,),
    record: Iterable[str] = (),
) -> Sweep:
    """Workloads on some designs, and their applications alone on instances of the same size."""
    return Sweep(
        models=MODEL,
        workloads=workloads.values(),
        variants=list(variants),
        alone=list(alone),
        record=list(record),
    )


def sweep_over(names: Iterable[str]) -> Sweep:
    """W1 to W11 on the baseline and designs of `DESIGNS`."""
    return sweep_of([BASELINE, *(DESIGNS[name] for name in names)], alone=())


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
    material: Material,
    workloads: Mapping[str, str],
    designs: Mapping[str, Design],
    alone_variant: str = BASELINE,
) -> pd.DataFrame:
    """Time alone / time shared of each application (§IV-A): a row ``W.APP``.

    Alone is on an instance of the same size, with the whole L3 TLB of the baseline.
    """
    ipcs = of_applications(material, "ipc", workloads, designs)
    lonely = {BASE: {"variant": alone_variant}}
    return ipcs.div(of_applications_alone(material, "ipc", workloads, lonely)[BASE], axis=0)


def speedups(
    material: Material,
    workloads: Mapping[str, str],
    designs: Mapping[str, Design],
    baseline: str = BASE,
) -> pd.DataFrame:
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


bars = partial(pictures.bars, geomean=False)
"""Groups of bars; their tables have means of their own."""


def with_workloads(applications: pd.DataFrame) -> pd.DataFrame:
    """A table of applications, then the harmonic means of workloads and `AVERAGE`."""
    import pandas as pd

    whole = with_average(harmonic(applications))
    return pd.concat([applications, whole]).rename_axis("application")


def workload_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Of such a table, the workloads and `AVERAGE`."""
    return table[~table.index.str.contains(".", regex=False)].rename_axis("workload")


def gains(
    material: Material,
    workloads: Mapping[str, str],
    designs: Mapping[str, Design],
    baseline: str = BASE,
) -> pd.DataFrame:
    """Performance relative to a baseline, harmonic means of the workloads, then `AVERAGE`."""
    return with_average(harmonic(speedups(material, workloads, designs, baseline)))


SUB_ENTRIES = 16
"""Of an entry (Table I)."""

USED = range(1, SUB_ENTRIES + 1)
"""How many of them may be in use when an entry is evicted."""


def evicted(result: Result, app: str) -> list[int]:
    """L3 TLB entries of an application by the sub-entries in use at eviction (`USED`)."""
    counts = counted(result, "tlb/L3", app)
    return [counts[f"evicted_with_{used}"] for used in USED]


def evicted_together(
    material: Material, workloads: Mapping[str, str], variant: str = BASELINE
) -> pd.DataFrame:
    """Entries that were evicted while several applications ran: a row ``W.APP``."""
    return _evicted(material, workloads, lambda _: {"variant": variant, "role": SHARED})


def evicted_alone(material: Material, workloads: Mapping[str, str]) -> pd.DataFrame:
    """The same of each application alone on an instance of the same size."""
    return _evicted(material, workloads, lambda app: alone(app, {"variant": BASELINE}))


def _evicted(
    material: Material, workloads: Mapping[str, str], design_of: Callable[[str], Design]
) -> pd.DataFrame:
    found: dict[str, list[int]] = {}
    places = rows(workloads)
    for row, (name, app) in places.items():
        reading = partial(evicted, app=app)
        found |= material.read(reading, {row: workloads[name]}, design_of(app))
    return count_table(found).reindex(list(places))


def count_table(counts: Mapping[str, list[int]]) -> pd.DataFrame:
    """Counts for each of `USED`: a row a name."""
    import pandas as pd

    return pd.DataFrame(dict(counts), index=list(USED)).T


def shares_up_to(counts: pd.DataFrame) -> pd.DataFrame:
    """Cumulative shares of a table of counts; NaN in rows without any."""
    return counts.cumsum(axis=1).div(counts.sum(axis=1), axis=0)


def mean_used(counts: pd.DataFrame) -> pd.Series:
    """Mean of the columns, weighted by the counts; NaN in rows without any."""
    return (counts * counts.columns).sum(axis=1) / counts.sum(axis=1)


def panels(
    tables: Mapping[str, pd.DataFrame], xlabel: str, ylabel: str, *, mark: float | None = None
) -> Picture:
    """Lines over the columns of some tables, a line a row, a panel a table; two side by side.

    The values are shares; a vertical line marks the capacity.
    """
    lines = -(-len(tables) // 2)
    figure = new_figure("page", height=2.8 * lines)
    axes = figure.subplots(lines, min(2, len(tables)), squeeze=False).ravel()
    for place, (title, table) in zip(axes, tables.items(), strict=False):
        drawn = table.dropna(how="all").T
        if drawn.empty:
            place.set_title(f"{title}: none", loc="left")
        else:
            sweep_lines(drawn, xlabel=xlabel, ylabel=ylabel, title=title, ax=place)
        place.set_ylim(0, 1.02)
        if mark is not None:
            place.axvline(mark, color="0.4", linewidth=0.8, label="capacity")
            legend_above(place, title)
    for place in axes[len(tables) :]:
        place.remove()
    return figure

"""Performance of STAR's applications and workloads: beside running alone, beside the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Material,
    Measured,
    figure,
    most,
    number,
    with_average,
)
from gpusim.studies.reproduce.mixes import of_applications, of_applications_alone, rows
from gpusim.studies.sweep.point import BASELINE

from .common import (
    BASE,
    BASE_SWEEP,
    DESIGNS,
    ENTRIES,
    LARGER,
    STAR,
    STAR_SWEEP,
    WORKLOADS,
    percent,
    shared,
    sweep,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.reproduce.tables import Design


def normalised_performance(
    material: Material, workloads: Mapping[str, str], designs: Mapping[str, Design]
) -> pd.DataFrame:
    """Time alone / time shared of each application (§IV-A): a row ``W.APP``.

    Alone is on an instance of the same size, with the whole L3 TLB of the baseline.
    """
    ipcs = of_applications(material, "ipc", workloads, designs)
    lonely = {BASE: {"variant": BASELINE}}
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


def with_workloads(applications: pd.DataFrame) -> pd.DataFrame:
    """A table of applications, then the harmonic means of workloads and `AVERAGE`."""
    import pandas as pd

    whole = with_average(harmonic(applications))
    return pd.concat([applications, whole]).rename_axis("application")


def workload_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that are workloads or `AVERAGE`."""
    return table[~table.index.str.contains(".", regex=False)].rename_axis("workload")


def gains(
    material: Material,
    workloads: Mapping[str, str],
    designs: Mapping[str, Design],
    baseline: str = BASE,
) -> pd.DataFrame:
    """Performance relative to a baseline, harmonic means of the workloads, then `AVERAGE`."""
    return with_average(harmonic(speedups(material, workloads, designs, baseline)))


ORDER = "LMH"
"""Classes of Table II, fewest misses first."""


def class_of(app: str) -> int:
    """The class of an application, by Table II; with a smaller input it has the same class."""
    program = app.partition("-")[0].removesuffix("_s")
    return ORDER.index(str(ENTRIES[program].table.stated["class"]))


def _more_misses_lose_more(losses: pd.Series) -> pd.Series:
    """Whether more misses go with more loss, by pair of different classes in a workload."""
    import pandas as pd

    places = rows(WORKLOADS)
    found = {
        f"{low} / {high}": losses[high] > losses[low]
        for low, (mix, app) in places.items()
        for high, (other_mix, other) in places.items()
        if mix == other_mix and class_of(app) < class_of(other)
    }
    return pd.Series(found)


@figure(
    id="star.fig3",
    title="Fig. 3: performance of applications that run together",
    about="Time alone / time shared on the baseline, of each application and, harmonic means, of "
    "each workload. Alone is on an instance of the same size, with the whole L3 TLB.",
    sweeps=(BASE_SWEEP,),
    table=lambda material: with_workloads(
        normalised_performance(material, WORKLOADS, shared([BASE]))
    ),
    draw=Bars("normalised performance", workload_rows),
)
def running_together(table: pd.DataFrame) -> dict[str, Measured]:
    """Losses of some, and of all on average."""
    losses = 100 * (1 - table[BASE])
    by_class = _more_misses_lose_more(losses)
    holds = most(by_class)
    return {
        "star.fig3.avg_loss": number(losses[AVERAGE]),
        "star.fig3.extremes": number(losses["W1"], losses["W11"]),
        "star.fig3.w8_apps": number(losses["W8.FFT"], losses["W8.NW"]),
        "star.fig3.st_s_corunner": number(losses["W4.ST_s"], losses["W10.ST_s"]),
        "star.fig3.mpki_sensitivity": Measured(
            holds=holds.holds, text=f"{int(by_class.sum())} of {len(by_class)} pairs"
        ),
    }


TIERS = (("W1", "W2"), ("W3", "W4", "W5", "W6"), ("W7", "W8", "W9", "W10", "W11"))
"""Workloads with two or three applications of class H, with one, with none."""

HARM = -1.0
"""Percent; less is no harm (our choice)."""


@figure(
    id="star.fig10",
    title="Fig. 10: STAR",
    about="Performance with STAR relative to the same workload on the baseline: of each "
    "application, and harmonic means of the workloads.",
    sweeps=(STAR_SWEEP,),
    table=lambda material: with_workloads(
        speedups(material, WORKLOADS, shared([BASE, STAR]))[[STAR]]
    ),
    draw=Bars("performance,\nrelative to the baseline", workload_rows),
)
def star(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains of some, and of all on average."""
    gain = percent(table[STAR])
    tiers = [gain[list(tier)].mean() for tier in TIERS]
    apps = gain[gain.index.str.contains(".", regex=False)]
    slower = apps[apps < HARM]
    named = ", ".join(f"{name} {value:+.1f} %" for name, value in slower.items())
    return {
        "star.fig10.avg": number(gain[AVERAGE]),
        "star.fig10.max": number(gain["W2"], gain["W7"]),
        "star.fig10.class_order": Measured(
            holds=tiers == sorted(tiers, reverse=True),
            text=", ".join(f"{value:.1f} %" for value in tiers),
        ),
        "star.fig10.fir_w10": number(gain["W10.FIR"]),
        "star.fig10.mt_s": number(gain["W6.MT_s"], gain["W4.MT_s"]),
        "star.fig10.no_harm": Measured(holds=slower.empty, text=named or "none is slower"),
    }


@figure(
    id="star.fig14",
    title="Fig. 14: STAR against running alone",
    about="Time alone / time shared, of each application and, harmonic means, of each workload. "
    "Alone is on the baseline, on an instance of the same size, with the whole L3 TLB.",
    sweeps=(STAR_SWEEP,),
    table=lambda material: with_workloads(
        normalised_performance(material, WORKLOADS, shared([BASE, STAR]))
    ),
    draw=Bars("normalised performance", workload_rows),
)
def beside_running_alone(table: pd.DataFrame) -> dict[str, Measured]:
    """Losses on average."""
    loss = 100 * (1 - table.T[AVERAGE])
    return {"star.fig14.loss_vs_alone": number(loss[STAR], loss[BASE])}


ALL = {name: workload for workloads in LARGER.values() for name, workload in workloads.items()}
OVER = "STAR / baseline"


def with_more_instances(material: Material) -> pd.DataFrame:
    """Normalised performance, and that with STAR relative to the baseline, a row a workload."""
    designs = shared([BASE, STAR])
    found = harmonic(normalised_performance(material, ALL, designs))
    return found.assign(**{OVER: harmonic(speedups(material, ALL, designs))[STAR]})


@figure(
    id="star.fig17",
    title="Fig. 17: four, five and six instances",
    about="W12 to W16 on 2g + 2g + 2g + 1g, W17 on 2g + 2g + 1g + 1g + 1g, W18 on 2g and five 1g: "
    "time alone / time shared, and STAR relative to the baseline; harmonic means of the workloads.",
    sweeps=(sweep(variants=[DESIGNS[BASE], DESIGNS[STAR]], workloads=ALL.values()),),
    table=with_more_instances,
    draw=Bars("performance"),
)
def more_instances(table: pd.DataFrame) -> dict[str, Measured]:
    """Means by the number of applications."""
    gain = percent(table[OVER])
    return {
        "star.fig17.instances": number(*(gain[list(names)].mean() for names in LARGER.values()))
    }

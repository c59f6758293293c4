"""Single applications of MASK's pairs: unfairness, throughput, TLB misses, slowdowns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Bars, Material, Measured, figure, number
from gpusim.studies.reproduce.mixes import of_applications, of_applications_alone, together

from .common import BASE, BASELINES, MAIN, MASK, OWN, PAIRS, WHOLE, by_category, variants

if TYPE_CHECKING:
    import pandas as pd

COMPARED = {**BASELINES, "MASK": MASK}
OWN_ALONE = " (own alone)"


def largest_slowdowns(material: Material) -> pd.DataFrame:
    """Largest slowdowns, means by category; IPCs alone on SharedTLB, and on the design itself."""
    common = material.compared("unfairness", PAIRS, variants(COMPARED), {"variant": BASE})
    own = material.compared("unfairness", PAIRS, variants(WHOLE))
    return by_category(common.join(own.add_suffix(OWN_ALONE)))


@figure(
    id="mask.fig15",
    title="Fig. 15: unfairness",
    about="The larger of the two slowdowns, IPC alone / IPC shared. IPCs alone are those of "
    "SharedTLB; under *own alone* those of the design itself.",
    sweeps=(MAIN, OWN),
    table=largest_slowdowns,
    draw=Bars("unfairness", lambda table: table[[*COMPARED]]),
)
def unfairness(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    own = mean[[name + OWN_ALONE for name in WHOLE]]
    listed = ", ".join(f"{name} {mean[name]:.2f}" for name in COMPARED)
    fairest = mean["SharedTLB"] < mean[["Static", "PWCache"]].min()
    return {
        "mask.fig15.unfairness": number(
            100 * (1 - mean["MASK"] / mean["SharedTLB"]),
            text=f"IPCs alone of each design: "
            f"{100 * (1 - own['MASK' + OWN_ALONE] / own['SharedTLB' + OWN_ALONE]):.1f} %",
        ),
        "mask.fig15.baseline_fairness": Measured(
            holds=bool(fairest and mean["MASK"] < mean["Static"]), text=listed
        ),
    }


BETTER = ("RED_BP", "RED_RAY", "SC_FWT")
BEFORE, AFTER, ALONE = "SharedTLB", "MASK", "MASK, alone"
IPC, MISS = " IPC", " L2 TLB miss rate"


def ipcs_and_misses(material: Material) -> pd.DataFrame:
    """IPCs and L2 TLB miss rates of each application of each pair."""
    designs = together({BEFORE: BASE, AFTER: MASK})
    ipcs = of_applications(material, "ipc", PAIRS, designs)
    alone = of_applications_alone(material, "ipc", PAIRS, {ALONE: {"variant": MASK}})
    misses = 1 - of_applications(material, "tlb_L2_hit_rate", PAIRS, designs)
    return ipcs.join(alone).add_suffix(IPC).join(misses.add_suffix(MISS))


def by_application(table: pd.DataFrame) -> pd.DataFrame:
    """What MASK makes of throughput and misses, means over the pairs in which an application is."""
    relative = {
        what: table[AFTER + what] / table[BEFORE + what].where(table[BEFORE + what] > 0)
        for what in (IPC, MISS)
    }
    frame = table.assign(**relative)[list(relative)]
    app = frame.index.str.rpartition(".").get_level_values(2)
    return frame.groupby(app, sort=False).mean()


@figure(
    id="mask.sec71",
    title="§7.1: each application",
    about="IPCs and L2 TLB miss rates (the bypass cache's hits are hits) while two applications "
    "share the GPU, with SharedTLB and MASK; the IPC alone is MASK's.",
    sweeps=(MAIN, OWN),
    table=ipcs_and_misses,
    draw=Bars("MASK relative to SharedTLB", by_application),
)
def throughput(table: pd.DataFrame) -> dict[str, Measured]:
    """Sums of IPCs; how many applications gain; the slower one of three pairs."""
    pair = table.index.str.partition(".").get_level_values(0)
    total = table[[BEFORE + IPC, AFTER + IPC]].groupby(pair, sort=False).sum()
    before = table[BEFORE + MISS]
    fewer = 100 * (1 - table[AFTER + MISS] / before.where(before > 0))
    gained = int((table[AFTER + IPC] > table[BEFORE + IPC]).sum())
    slowdown = (table[ALONE + IPC] / table[AFTER + IPC]).groupby(pair).max()[list(BETTER)]
    return {
        "mask.sec71.ipc_throughput": number(
            100 * (total[AFTER + IPC] / total[BEFORE + IPC] - 1).mean()
        ),
        "mask.sec71.per_app": number(
            fewer.mean(), text=f"{gained} of {len(table)} gain throughput"
        ),
        "mask.sec71.better_than_alone": Measured(
            holds=bool((slowdown < 1).all()),
            text=", ".join(f"{name} {value:.2f}" for name, value in slowdown.items()),
        ),
    }

"""MASK §7.1: throughput, TLB misses and slowdowns of each application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import of_applications, of_applications_alone, together
from gpusim.studies.reproduce.pictures import bars

from .common import (
    BASE,
    MAIN,
    MASK,
    OWN,
    PAIRS,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

BETTER = ("RED_BP", "RED_RAY", "SC_FWT")
BEFORE, AFTER, ALONE = "SharedTLB", "MASK", "MASK, alone"
IPC, MISS = " IPC", " L2 TLB miss rate"


def table(material: Material) -> pd.DataFrame:
    """IPCs and L2 TLB miss rates of each application of each pair."""
    designs = together({BEFORE: BASE, AFTER: MASK})
    ipcs = of_applications(material, "ipc", PAIRS, designs)
    alone = of_applications_alone(material, "ipc", PAIRS, {ALONE: {"variant": MASK}})
    misses = 1 - of_applications(material, "tlb_L2_hit_rate", PAIRS, designs)
    return ipcs.join(alone).add_suffix(IPC).join(misses.add_suffix(MISS))


def draw(table: pd.DataFrame) -> Picture:
    """What MASK makes of throughput and misses, means over the pairs in which an application is."""
    relative = {
        what: table[AFTER + what] / table[BEFORE + what].where(table[BEFORE + what] > 0)
        for what in (IPC, MISS)
    }
    frame = table.assign(**relative)[list(relative)]
    app = frame.index.str.rpartition(".").get_level_values(2)
    return bars(frame.groupby(app, sort=False).mean(), "MASK relative to SharedTLB")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
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


FIGURE = Figure(
    id="mask.sec71",
    title="§7.1: each application",
    about="IPCs and L2 TLB miss rates (the bypass cache's hits are hits) while two applications "
    "share the GPU, with SharedTLB and MASK; the IPC alone is MASK's.",
    claims=(
        "mask.sec71.ipc_throughput",
        "mask.sec71.per_app",
        "mask.sec71.better_than_alone",
    ),
    sweeps=(MAIN, OWN),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)

"""MASK Fig. 8: DRAM bandwidth of page-table reads and of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.load import load_model
from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.mixes import of_applications, together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, BASE_SWEEP, MODEL, PAIRS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KINDS = {"page table": "dram_translation_bandwidth", "data": "dram_data_bandwidth"}


def bandwidth(model: str) -> float:
    """What the data buses of a machine can move, in GB/s."""
    dram = load_model(model).config.dram
    bursts = dram.clock / dram.timing.BL.cycles(dram.clock)
    return dram.channels * dram.pseudo_channels * dram.burst * bursts / 1e9


def table(material: Material) -> pd.DataFrame:
    """Parts of the whole bandwidth, of both applications together while both run once."""
    import pandas as pd

    found = pd.DataFrame(
        {
            kind: of_applications(material, one, PAIRS, together({BASE: BASE}))[BASE]
            for kind, one in KINDS.items()
        }
    )
    pair = found.index.str.partition(".").get_level_values(0)
    shares = found.groupby(pair, sort=False).sum(min_count=1) / bandwidth(MODEL)
    return with_average(shares).rename_axis("mix")


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "share of the DRAM bandwidth")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Of what is used, and of what there is."""
    mean = 100 * table.T[AVERAGE]
    used = 100 * mean["page table"] / mean.sum()
    return {"mask.fig8.bandwidth_share": number(used, mean["page table"])}


FIGURE = Figure(
    id="mask.fig8",
    title="Fig. 8: DRAM bandwidth",
    about="SharedTLB. Bandwidths of the two applications, each until its first run ends, added up.",
    claims=("mask.fig8.bandwidth_share",),
    sweeps=(BASE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)

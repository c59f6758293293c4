"""MASK §7.4: what the mechanisms keep in hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.cost import added_bytes, storage
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Bars, Material, Measured, figure, number

from .common import BASE, MODEL, SMS

if TYPE_CHECKING:
    import pandas as pd

DESIGNS = {"MASK-TLB": "mask-tlb", "MASK-Cache": "mask-cache", "MASK-DRAM": "mask-dram"}
CORES = "tlb.L2: counters of the cores"
ASID_BITS = 9
SIZES = {"tlb.L1": "L1 TLBs", "tlb.L2": "L2 TLB", "dram.scheduler": "DRAM queues"}
"""Structures of the baseline that additions are compared with: their entries."""


def added_storage(_: Material) -> pd.DataFrame:
    """Bytes that each part adds, of all instances together, and entries of the baseline."""
    import pandas as pd

    base = load_model(MODEL, [BASE])
    added = {
        name: added_bytes(load_model(MODEL, [variant]), base) for name, variant in DESIGNS.items()
    }
    there = {
        f"{part.where}: {part.storage.name}": part.bits / 8
        for part in storage(base)
        if part.storage and part.where in SIZES
    }
    found = pd.DataFrame({**added, "SharedTLB": there}).fillna(0.0)
    return found.rename_axis("structure")


def additions(table: pd.DataFrame) -> pd.DataFrame:
    """What is added, by the structures' own names."""
    added = table[list(DESIGNS)]
    return added[added.any(axis=1)].rename(lambda name: name.partition(": ")[2])


@figure(
    id="mask.sec74",
    title="§7.4: storage",
    about="Bytes that each part adds, and those of the TLBs' and DRAM queues' entries in "
    "SharedTLB, of all instances. Page and frame numbers decide how wide an entry is; the "
    "paper's L2 TLB entries have some 129 bits.",
    table=added_storage,
    draw=Bars("bytes added", additions),
    cell="{:.4g}",
)
def cost(table: pd.DataFrame) -> dict[str, Measured]:
    """Tokens alone, and relative to what they are added to."""
    tokens = table["MASK-TLB"]
    core = tokens[CORES] / SMS
    shared = tokens.sum() - tokens[CORES]
    there = {
        where: table["SharedTLB"][table.index.str.startswith(f"{where}: ")].sum() for where in SIZES
    }
    entry_bits = 8 * there["tlb.L2"] / load_model(MODEL).config.tlb["L2"].entries
    queue = table["MASK-DRAM"][table.index.str.startswith("dram.scheduler: read queue")].sum()
    return {
        "mask.sec74.storage": number(core, shared, tokens.sum()),
        "mask.sec74.overheads": number(
            100 * tokens[CORES] / there["tlb.L1"],
            100 * shared / there["tlb.L2"],
            100 * ASID_BITS / entry_bits,
            100 * queue / there["dram.scheduler"],
            text=f"an entry of the L2 TLB has {entry_bits:.0f} bits here",
        ),
    }

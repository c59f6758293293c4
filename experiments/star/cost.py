"""STAR §V-C: bits of an entry, storage of the designs, and what a lookup takes."""

from __future__ import annotations

from collections import abc
from typing import TYPE_CHECKING

from attrs import evolve

from gpusim.config.schema import GpuConfig
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import Storage
from gpusim.hardware.tlb import TlbArray
from gpusim.machine.dimensions import dimensions
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Bars, Material, Measured, figure, number

from .common import BASE, MODEL, STAR

if TYPE_CHECKING:
    import pandas as pd

PAGE_BITS, FRAME_BITS = 41, 52
"""Bits in the paper (§V-C): 30 bits of base, 7 of set and 4 of sub-entry; a PAS of 52 bits."""

PROMOTED: abc.Mapping[str, object] = {
    "tlb.L3.array": "set-associative",
    "tlb.L3.entries": 16384,
    "tlb.L3.ways": 128,
    "tlb.L3.sub_entries": 1,
}
"""Each sub-entry an entry of its own, in the same 128 sets."""

DESIGNS: abc.Mapping[str, tuple[list[str], abc.Mapping[str, object], float]] = {
    BASE: ([], {}, 0.0),
    STAR: (["star"], {}, 1.4),
    "STAR, 4 bases": (["star-4-base"], {}, 3.6),
    "Half-Sub-Double-Set": (["half-sub-double-set"], {}, 1.1),
    "Half-Sub-Double-Way-Seq": (["half-sub-double-way-seq"], {}, 1.1),
    "Half-Sub-Double-Way-Para": (["half-sub-double-way-para"], {}, 78.8),
    "promoted sub-entries": ([], PROMOTED, 1620.0),
}
"""Variants, settings, and by how many percent the paper's CACTI finds more area."""

ENTRY, KIB, MORE, AREA = (
    "bits of an entry",
    "KiB",
    "more bits, %",
    "more area, % (CACTI, the paper)",
)
LATENCY = "lookup, cycles"


def config_of(design: str) -> GpuConfig:
    """The whole machine with a design."""
    variants, settings, _ = DESIGNS[design]
    return load_model(MODEL, variants, dict(settings)).config


def storage_of(config: GpuConfig) -> Storage:
    """Entries of the L3 TLB, for the paper's addresses."""
    tlb = config.tlb["L3"]
    array: TlbArray = make_policy(Slot.TLB_ARRAY, tlb.array, tlb)
    sizes = evolve(dimensions(config), page_bits=PAGE_BITS, frame_bits=FRAME_BITS)
    parts = array.storage(sizes)
    assert parts is not None
    (entries,) = parts
    return entries


def longest_lookup(config: GpuConfig) -> int:
    """Cycles of the longest lookup in a set to which four bases a way came, a page of each."""
    tlb = config.tlb["L3"]
    array: TlbArray = make_policy(Slot.TLB_ARRAY, tlb.array, tlb)
    sets = tlb.entries // tlb.ways
    bases = [number * sets * tlb.sub_entries for number in range(4 * tlb.ways)]
    for page in bases:
        array.insert(page, Mapping(page, page), 0)
    slowest = 0
    for page in bases:
        array.lookup(page, 0)
        slowest = max(slowest, array.extra_cycles)
    return tlb.latency.cycles(config.clock) + slowest


def cost_of_designs(_: Material) -> pd.DataFrame:
    """Bits, and what is known of areas."""
    import pandas as pd

    rows = {}
    for name, design in DESIGNS.items():
        config = config_of(name)
        entries = storage_of(config)
        kib, area = entries.bits / 8 / 1024, design[-1]
        rows[name] = [entries.entry_bits, kib, area, longest_lookup(config)]
    found = pd.DataFrame.from_dict(rows, orient="index", columns=[ENTRY, KIB, AREA, LATENCY])
    found.insert(2, MORE, 100 * (found[KIB] / found[KIB][BASE] - 1))
    return found.astype({ENTRY: int, LATENCY: int}).rename_axis("design")


@figure(
    id="star.sec5.cost",
    title="§V-C: storage",
    about="Of the L3 TLB of the whole machine, with the paper's addresses: bases of 30 bits and "
    "52 bits a sub-entry. Areas are the paper's, from CACTI: they count comparators, bits do not. "
    "*Promoted* are sub-entries that each have a base of their own, 128 in a set (§IV-B). The "
    "lookup is the longest one of four bases a way in one set.",
    table=cost_of_designs,
    draw=Bars("KiB", lambda table: table[[KIB]]),
    cell="{:.4g}",
    after="star.fig21",
)
def cost(table: pd.DataFrame) -> dict[str, Measured]:
    """The paper's bits, and latencies."""
    base, star = table[ENTRY][BASE], table[ENTRY][STAR]
    return {
        "star.sec5.entry_bits": number(base, star - base, star),
        "star.sec5.lookup_latency": number(table[LATENCY][BASE], table[LATENCY][STAR]),
    }

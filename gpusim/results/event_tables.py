"""The event tables of a result file, and the records that make them (``--record``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpusim.core.errors import UserError, nearest
from gpusim.files.columns import Column, Table

_APP = Column("app", "u1", "1", "application")
_KIND = Column(
    "kind",
    "u1",
    "1",
    "0 load, 1 store, 2 atomic, 3 reduce, 4 walk, 5 write-back",
    flags=("load", "store", "atomic", "reduce", "walk", "write-back"),
)
_SM = Column("sm", "i2", "1", "SM; -1: none")

EVENTS: Mapping[str, Table] = {
    "intervals": Table(
        "A stay of a warp in one state; the rows of a warp tile its life.",
        (
            Column("sm", "u2", "1", "SM"),
            Column("warp", "u4", "1", "warp, in the order of their starts on the GPU"),
            Column("slot", "u2", "1", "hardware slot of the warp on its SM"),
            _APP,
            Column("state", "u1", "1", "state, as in stalls/state"),
            Column("begin", "i8", "cycle", "first cycle"),
            Column("end", "i8", "cycle", "cycle after the last"),
        ),
    ),
    "walks": Table(
        "A page walk, in the order of their ends.",
        (
            Column("asid", "u2", "1", "address space"),
            Column("vpn", "i8", "1", "virtual page number"),
            _SM,
            _APP,
            Column("requested", "i8", "cycle", "arrival at the walkers"),
            Column("started", "i8", "cycle", "a walker was free"),
            Column("finished", "i8", "cycle", "the translation was known"),
            Column("levels", "u1", "1", "levels of the page table that were read"),
        ),
    ),
    "walk_reads": Table(
        "A page-table entry that a walk read from memory, in the order of their ends.",
        (
            Column("asid", "u2", "1", "address space of the walk"),
            Column("vpn", "i8", "1", "virtual page number of the walk"),
            Column("depth", "u1", "1", "level of the page table, 1 is the root"),
            Column("begin", "i8", "cycle", "the walk came to this level"),
            Column("end", "i8", "cycle", "the entry was there"),
        ),
    ),
    "dram": Table(
        "A request of a DRAM channel, as the controllers announced them.",
        (
            Column("channel", "u2", "1", "channel"),
            Column("bank", "u2", "1", "bank of the channel"),
            Column("row", "u4", "1", "row of the bank"),
            _KIND,
            _APP,
            Column("depth", "u1", "1", "0 for data, 1..n for the level of a page walk"),
            Column("accepted", "i8", "cycle", "entered the queue of the controller"),
            Column("issued", "i8", "cycle", "first DRAM command on its behalf"),
            Column("finished", "i8", "cycle", "end of its data"),
            Column("address", "i8", "B", "physical byte address"),
            Column("sectors", "u1", "1", "bit mask of the 32-byte sectors moved from there on"),
        ),
    ),
    "requests": Table(
        "A finished memory transaction of a warp.",
        (
            _APP,
            _SM,
            Column("warp", "i8", "1", "warp, as in intervals; -1: none"),
            _KIND,
            Column("vline", "i8", "1", "virtual line number"),
            Column("begin", "i8", "cycle", "its instruction was issued"),
            Column("end", "i8", "cycle", "it was answered"),
            Column(
                "first_stage",
                "i8",
                "1",
                "its first row in stages; they end where the next request's begin",
            ),
        ),
    ),
    "stages": Table(
        "The stages of the requests' lives; the rows of a request tile it.",
        (
            Column("request", "i8", "1", "row in requests"),
            Column("state", "u1", "1", "state, as in stalls/state"),
            Column("begin", "i8", "cycle", "first cycle"),
            Column("end", "i8", "cycle", "cycle after the last"),
        ),
    ),
    "tlb": Table(
        "A TLB lookup.",
        (
            Column("level", "u1", "1", "TLB level, 0 next to the SM"),
            Column("instance", "u2", "1", "which TLB of the level"),
            Column("asid", "u2", "1", "address space"),
            Column("vpn", "i8", "1", "virtual page number"),
            Column("hit", "u1", "1", "1 for a hit", flags=("miss", "hit")),
            Column("cycle", "i8", "cycle", "cycle of the lookup"),
        ),
    ),
    "epochs": Table(
        "An epoch of an application in a TLB with a fill policy that has epochs.",
        (
            Column("level", "u1", "1", "TLB level, 0 next to the SM"),
            Column("instance", "u2", "1", "which TLB of the level"),
            _APP,
            Column("end", "i8", "cycle", "cycle after the epoch"),
            Column("hits", "i8", "1", "lookups that hit"),
            Column("misses", "i8", "1", "lookups that missed"),
            Column("warps", "u4", "1", "warps that used an SM"),
            Column("tokens", "u4", "1", "tokens that it has from then on"),
        ),
    ),
    "sharing": Table(
        "A fill that changed which bases share an entry of a TLB, or evicted one: what it did.",
        (
            Column("level", "u1", "1", "TLB level, 0 next to the SM"),
            Column("instance", "u2", "1", "which TLB of the level"),
            Column("asid", "u2", "1", "address space of the page that was filled"),
            Column("cycle", "i8", "cycle", "cycle of the fill"),
            Column("shares", "u2", "1", "bases that joined an entry"),
            Column("reverts", "u2", "1", "entries given to one base alone, or to two of four"),
            Column("conflicts", "u2", "1", "pages replaced by another one of their sub-entry"),
            Column("evictions", "u2", "1", "entries evicted"),
        ),
    ),
    "tlb_misses": Table(
        "A transaction that missed in its first TLB, and where its line was at that moment.",
        (
            _APP,
            _SM,
            Column("asid", "u2", "1", "address space"),
            Column("vline", "i8", "1", "virtual line number"),
            _KIND,
            Column(
                "place",
                "u1",
                "1",
                "0 in the L1 cache of its SM, 1 in the L2 cache, 2 neither",
                flags=("l1", "l2", "neither"),
            ),
            Column("cycle", "i8", "cycle", "cycle of the lookup"),
        ),
    ),
    "lifetimes": Table(
        "A stay of a translation in a first TLB, or of a line in a cache.",
        (
            Column(
                "structure",
                "u1",
                "1",
                "0 first TLB, 1 L1 cache, 2 L2 cache",
                flags=("first_tlb", "l1", "l2"),
            ),
            Column("instance", "u2", "1", "which of them"),
            Column("place", "i8", "1", "page or line number, as the structure is tagged"),
            Column("begin", "i8", "cycle", "it was filled"),
            Column("last", "i8", "cycle", "it was last used"),
            Column("end", "i8", "cycle", "it left; -1 where it stayed to the end of the run"),
        ),
    ),
    "fault_batches": Table(
        "A batch of faults that the host's driver served, where pages come on demand.",
        (
            Column("begin", "i8", "cycle", "the driver took the batch"),
            Column("end", "i8", "cycle", "its pages were there, and warps could go on"),
            Column("faults", "u4", "1", "faults"),
            Column("asked", "u4", "1", "pages that they asked for"),
            Column("came", "u4", "1", "pages that came to the device"),
            Column("left", "u4", "1", "pages that had to leave it"),
            Column("blocks", "u4", "1", "blocks of 2 MiB that faults were in"),
            Column("touched", "u4", "1", "of these, blocks that were in no batch before"),
        ),
    ),
    "transfers": Table(
        "What moved over the link to the host, as it was sent.",
        (
            _APP,
            Column("to_host", "u1", "1", "1 to the host, 0 to the device"),
            Column("bytes", "u4", "bytes", "pages, a line, or the request for a line"),
            Column("begin", "i8", "cycle", "its lane began with it"),
            Column("end", "i8", "cycle", "its lane had moved it"),
            Column("arrived", "i8", "cycle", "its last byte was there"),
        ),
    ),
    "links": Table(
        "A packet on a link between GPUs of a node, as they were sent.",
        (
            _APP,
            Column("link", "u2", "1", "number of the link"),
            Column("source", "u2", "1", "GPU that the packet comes from"),
            Column("target", "u2", "1", "GPU that it goes to"),
            Column("bytes", "u4", "bytes", "its bytes, with its header"),
            Column("begin", "i8", "cycle", "the link began with it"),
            Column("end", "i8", "cycle", "the link had moved it"),
        ),
    ),
    "moves": Table(
        "A page that moved between GPUs of a node, in the order of their ends.",
        (
            _APP,
            Column("vpn", "i8", "1", "virtual page number of its first page"),
            Column("source", "u2", "1", "GPU with which it lay"),
            Column("target", "u2", "1", "GPU to which it moved"),
            Column("begin", "i8", "cycle", "the host began with it"),
            Column("silent", "i8", "cycle", "all GPUs had forgotten it, and the copy began"),
            Column("end", "i8", "cycle", "it had its new frame"),
            Column("moved", "u1", "1", "1 where it moved, 0 where there was no room"),
        ),
    ),
    "blame": Table(
        "What a place in the code has cost in an array, in the whole run.",
        (
            _APP,
            Column("array", "i8", "1", "row in arrays; -1: in none that the program names"),
            Column("place", "i8", "1", "row in code; -1: not known"),
            Column("requests", "i8", "1", "memory transactions that did not hit at once"),
            Column("tlb_misses", "i8", "1", "of transactions, in their first TLBs"),
            Column("walks", "i8", "1", "page walks that its misses began"),
            Column("walk_cycles", "i8", "cycle", "of these, from arrival at the walkers to end"),
            Column("stall_cycles", "i8", "cycle", "that warps waited for its values"),
            Column("translation_cycles", "i8", "cycle", "of these, that translation took"),
            Column(
                "dram_bytes",
                "i8",
                "B",
                "data that DRAM read, and wrote; what is written back has no place in the code",
            ),
            Column("table_bytes", "i8", "B", "of page tables that DRAM read for its walks"),
        ),
    ),
    "synonym_faults": Table(
        "A read-write synonym in virtual caches.",
        (
            Column("cycle", "i8", "cycle", "it was found out"),
            _APP,
            Column("asid", "u2", "1", "address space of the access"),
            Column("vline", "i8", "1", "virtual line number of the access"),
            Column("leading_asid", "u2", "1", "address space of the cached line"),
            Column("leading_vline", "i8", "1", "virtual line number of the cached line"),
        ),
    ),
}
"""Event tables, which `gpusim.runs.recorder` fills."""

RECORDS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("intervals",),
    "walks": ("walks",),
    "walk_reads": ("walk_reads",),
    "dram": ("dram",),
    "requests": ("requests", "stages"),
    "tlb": ("tlb",),
    "epochs": ("epochs",),
    "sharing": ("sharing",),
    "tlb_misses": ("tlb_misses",),
    "lifetimes": ("lifetimes",),
    "fault_batches": ("fault_batches",),
    "transfers": ("transfers",),
    "links": ("links",),
    "moves": ("moves",),
    "synonym_faults": ("synonym_faults",),
    "blame": ("blame",),
}
"""What can be recorded, and the tables that it makes."""

DRAWN = ("intervals", "walks", "dram", "requests", "tlb")
"""Records of which pictures over time are made."""


def check_records(names: Sequence[str]) -> None:
    """Refuse anything that cannot be recorded.

    Raises:
        UserError: with the nearest name and all that are allowed.
    """
    for name in names:
        if name not in RECORDS:
            raise UserError(
                f"cannot record {name!r}{nearest(name, RECORDS)}; allowed: {', '.join(RECORDS)}"
            )

"""Reasons of waits, by the state of a warp, and the headline numbers that explain them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from gpusim.core.states import TLB_PREFIX

_BELOW = (
    "transactions_per_instruction",
    "l1_hit_rate",
    "tlb_*_hit_rate",
    "walks",
    "walk_queueing",
    "walk_latency",
    "l2_data_hit_rate",
    "dram_data_latency",
)


@frozen
class Place:
    """What warps wait for.

    Attributes:
        name: for the eye.
        numbers: headline numbers (patterns) that explain it.
        held: whether it is given back only when an access is done, so that waits come from below.
    """

    name: str
    numbers: tuple[str, ...] = ()
    held: bool = False


_BANK_WAITS = "l2_*_waits"
_AT_WORK = Place("the warp schedulers, or at work", ("instructions",))
_WALKS = Place(
    "page walks", ("walks", "walk_queueing", "walk_latency", "walk_levels", "tlb_*_hit_rate")
)
_DRAM = Place(
    "DRAM", ("dram_reads", "dram_writes", "dram_latency", "dram_row_hit_rate", "l2_data_hit_rate")
)
_PLACES: Mapping[str, Place] = {
    "issuing": _AT_WORK,
    "computing": _AT_WORK,
    "ready": _AT_WORK,
    "lsu": Place("the load/store units", _BELOW, held=True),
    "barrier": Place("barriers", _BELOW),
    "shared": Place("shared memory"),
    "credit": Place("store credits", _BELOW, held=True),
    "mshr": Place("MSHRs", (*_BELOW, "mshr_*_waits"), held=True),
    "cache": Place("the L1 caches", ("l1_hit_rate", "transactions")),
    "interconnect": Place(
        "the crossbar", ("l1_hit_rate", "transactions", "l2_hit_rate", _BANK_WAITS)
    ),
    "l2": Place(
        "the L2 cache", ("l2_hit_rate", "l1_hit_rate", "transactions", "dram_latency", _BANK_WAITS)
    ),
    "dram_queue": _DRAM,
    "dram": _DRAM,
    "walker": _WALKS,
    "walk": _WALKS,
    "link": Place(
        "links between GPUs", ("remote_requests", "node_link_queueing", "remote_request_latency")
    ),
    "remote": Place(
        "memories of other GPUs",
        ("remote_requests", "remote_request_latency", "l2_hit_rate", "dram_latency"),
    ),
    "host_mmu": Place("the host's MMU", ("far_faults", "far_fault_latency", "host_tlb_hit_rate")),
    "migration": Place("pages that move between GPUs", ("migrations", "migration_latency")),
    "fault": Place("page faults", ("faults", "fault_latency", "pages_in", "pages_out")),
}


def place_of(state: str) -> Place:
    """What a warp in a state waits for."""
    if state.startswith(TLB_PREFIX):
        level = state.removeprefix(TLB_PREFIX)
        numbers = [f"tlb_{level}_{what}" for what in ("lookups", "hit_rate", "queueing")]
        walks = ("walks", "walk_queueing", "walk_latency", "tlb_walk*_waits")
        return Place(f"the {level} TLB", (*numbers, *walks))
    return _PLACES.get(state, Place(state))

"""Conservation laws between the components of a machine, which only their wiring knows.

What holds inside a component stands in its own file (`gpusim.core.component.Component.laws`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gpusim.core.law import Law
from gpusim.hardware.cache import RemappingL1Cache
from gpusim.machine.machine import Machine


def laws_between(machine: Machine) -> Iterator[Law]:
    """From the SMs to DRAM: what a component was asked for is what those before it sent."""
    yield Law(
        "sm.transactions", "l1.lookups + l1.stores",
        "transactions", "L1 lookups + stores and atomics",
    )  # fmt: skip
    yield from _translations(machine)
    yield from _data(machine)
    yield from _page_table_reads(machine)
    past_l2 = _past_the_cache(machine)
    yield Law(
        "dram.data_reads + dram.walk_reads", f"l2.fills{past_l2}",
        "DRAM reads", "L2 fills + page-table reads that went past the L2 cache",
    )  # fmt: skip
    yield Law("dram.writes", "l2.writebacks", "DRAM writes", "L2 write-backs")


def _translations(machine: Machine) -> Iterator[Law]:
    for above, below in pairwise(machine.tlbs):
        yield Law(
            f"tlb/{below}.lookups", f"tlb/{above}.fills",
            f"lookups in the {below} TLB", f"misses of the {above} TLB that were not merged",
        )  # fmt: skip
    last = list(machine.tlbs)[-1]
    yield Law(
        "walk.requests", f"tlb/{last}.fills",
        "walks asked for", f"misses of the {last} TLB that were not merged",
    )  # fmt: skip
    if machine.fbt is not None:
        first = next(iter(machine.tlbs))
        yield Law(
            f"tlb/{first}.lookups", "fbt.leading + fbt.synonyms + fbt.asked_again",
            "lookups of the shared TLB", "misses that were let through + asked again",
        )  # fmt: skip


def _data(machine: Machine) -> Iterator[Law]:
    """What comes to the L2 cache from SMs, and what a virtual one lets through."""
    again = " + l1.sent_again" if isinstance(machine.l1s[0], RemappingL1Cache) else ""
    yield Law(
        "l2.lookups - l2.translation_lookups", f"l1.misses - l1.merged + l1.stores{again}",
        "data lookups of the L2 cache",
        "L1 misses that were not merged + stores and atomics + loads sent again",
    )  # fmt: skip
    if machine.fbt is not None:
        yield Law(
            "fbt.leading + fbt.synonyms", "l2.misses - l2.merged",
            "misses that were let through", "L2 misses that were not merged",
        )  # fmt: skip


def _page_table_reads(machine: Machine) -> Iterator[Law]:
    """Those of all levels, where they go to the L2 cache."""
    paths = [level.path for level in machine.page_table_levels]
    if not paths:
        yield Law("l2.translation_lookups", "0 * l2.lookups", other="0: no walk reads the L2 cache")
        return
    yield Law(
        "walk.level_accesses", f"l2.translation_lookups{_past_the_cache(machine)}",
        "page-table reads", "their L2 lookups + those that went past",
    )  # fmt: skip
    for what in ("lookups", "hits"):
        yield Law(
            f"l2.translation_{what}", " + ".join(f"{path}.l2_{what}" for path in paths),
            f"translation {what} of the L2 cache", "those of all levels",
        )  # fmt: skip


def _past_the_cache(machine: Machine) -> str:
    """Page-table reads that go to DRAM at once, as a term of a sum."""
    if machine.config.walk.reads("dram"):
        return " + walk.level_accesses"
    return "".join(f" + {level.path}.l2_bypassed" for level in machine.page_table_levels)

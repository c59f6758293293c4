"""Conservation laws between the components of a machine, which only their wiring knows.

What holds inside a component stands in its own file (`gpusim.core.component.Component.laws`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gpusim.core.law import Law
from gpusim.core.stage import Prefetches, Stage
from gpusim.core.stage_process import StageProcess
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.machine.machine import Machine


def laws_between(machine: Machine) -> Iterator[Law]:
    """From the SMs to DRAM: what a component was asked for is what those before it sent."""
    beside = "".join(f" + {name}.lookups" for name in _side_caches(machine, but="instruction"))
    yield Law(
        "sm.transactions",
        f"l1.lookups + l1.coherent_loads + l1.stores{beside}",
        "transactions",
        "L1 lookups + coherent loads + stores and atomics"
        + (" + lookups of side caches" if beside else ""),
    )
    yield from _translations(machine)
    yield from _data(machine)
    yield from _page_table_reads(machine)
    past_l2 = _past_the_cache(machine)
    copied = "" if machine.config.l2.copies is None else " - l2.copied"
    paging = machine.paging
    far = paging is not None and bool(paging.hosts) and machine.node is None
    far_reads, far_writes = (" + host.reads", " + host.writes") if far else ("", "")
    if machine.node is not None and machine.node.copies:
        far_reads += " + node/reader.fetches"
    reads = "dram.data_reads + dram.walk_reads"
    if side := machine.config.dram.memory_side is not None:
        yield Law(reads, "memory_side.misses", "DRAM reads", "misses of the memory-side cache")
        yield Law("dram.writes", "memory_side.writes", "DRAM writes", "those that passed by it")
    yield Law(
        f"{'memory_side.lookups' if side else reads}{far_reads}",
        f"l2.fills{copied}{past_l2}",
        "DRAM reads",
        "L2 fills from DRAM + page-table reads that went past the L2 cache",
    )
    yield Law(f"dram.writes{far_writes}", "l2.writebacks", "DRAM writes", "L2 write-backs")
    if paging is not None:
        yield from _moved(machine.config.memory.page, machine)
    sectored = machine.config.l2.sectored and not side
    if sectored and machine.config.dram.burst <= SECTOR_BYTES:
        fetched = machine.node is not None and bool(machine.node.copies)
        yield from _sectors(past_l2, far=far, fetched=fetched)


def _moved(page: int, machine: Machine) -> Iterator[Law]:
    """Bytes that moved over the link: pages, and lines that were read and written there."""
    from gpusim.hardware.paging import HEADER_BYTES

    came = ("pages_asked", "pages_prefetched", "pages_migrated")
    far = machine.paging is not None and bool(machine.paging.hosts)
    acknowledged = f" + {HEADER_BYTES} * host.writes" if machine.node is not None else ""
    reads = f" + host.read_bytes{acknowledged}" if far else ""
    writes = f" + host.write_bytes + {HEADER_BYTES} * host.reads" if far else ""
    yield Law(
        "link.bytes_to_device",
        " + ".join(f"{page} * paging.{one}" for one in came) + reads,
        "bytes moved to the device",
        "those of its pages" + (" and lines" if far else ""),
    )
    yield Law(
        "link.bytes_to_host",
        f"{page} * paging.pages_written_back{writes}",
        "bytes moved to the host",
        "those of pages that were stored to" + (" and lines" * far),
    )


def _sectors(past_l2: str, *, far: bool, fetched: bool) -> Iterator[Law]:
    """Bytes moved by DRAM whose bursts are not larger than sectors, or by other memories."""
    far_reads, far_writes = (" + host.read_bytes", " + host.write_bytes") if far else ("", "")
    if fetched:
        far_reads += f" + {SECTOR_BYTES} * node/reader.fetched_sectors"
    past = past_l2.replace("+ ", f"+ {SECTOR_BYTES} * ")
    yield Law(
        f"dram.data_read_bytes + dram.walk_read_bytes{far_reads}",
        f"{SECTOR_BYTES} * l2.sectors_fetched{past}",
        "bytes read from DRAM",
        "those of the sectors that were fetched, or read past the L2 cache",
    )
    yield Law(
        f"dram.write_bytes{far_writes}",
        f"{SECTOR_BYTES} * l2.sectors_written_back",
        "bytes written to DRAM",
        "those of the sectors that were written back",
    )


def _translations(machine: Machine) -> Iterator[Law]:
    faults: list[Stage] = [] if machine.paging is None else [machine.paging.stages[0]]
    if machine.node is not None and machine.node.far is not None:
        faults.append(machine.node.far.stages[0])
    stages = [*(stages[0] for stages in machine.stages), *faults, machine.systems[0].walkers]
    own = {side.tlb.path: side.tlb for side in machine.sides if side.tlb is not None}
    beside = "".join(f" + {tlb.sent([path])}" for path, tlb in own.items())
    for above, below in pairwise(stages):
        sent = above.sent(_paths(machine, above))
        yield Law(
            below.received(_paths(machine, below)),
            sent + beside if above is stages[0] else sent,
            f"translations that came to {below.path}",
            f"those that {above.path} sent",
        )
    if machine.fbts:
        first = next(iter(machine.tlbs))
        yield Law(
            f"tlb/{first}.lookups",
            "fbt.leading + fbt.synonyms + fbt.asked_again",
            "lookups of the shared TLB",
            "misses that were let through + asked again",
        )


def _data(machine: Machine) -> Iterator[Law]:
    """What comes to the L2 cache from SMs, and what a virtual one lets through."""
    fbt = machine.config.fbt
    remapped = ("l1", *_side_caches(machine)) if fbt is not None and fbt.remapping else ()
    again = "".join(f" + {name}.sent_again" for name in remapped)
    beside = "".join(f" + {name}.misses - {name}.merged" for name in _side_caches(machine))
    engines = machine.node is not None and machine.node.copy_engines
    copied = " + node/copy.reads + node/copy.writes" if engines else ""
    asked = ""
    if machine.node is not None and machine.node.copies:
        copied += " + node/reader.fetches"
        asked = " + l2.asked" if machine.config.l2.copies is None else " + l2.asked - l2.copied"
    if machine.node is not None and machine.paging is not None and machine.paging.hosts:
        copied += " - host.reads - host.writes - host.atomics"
    guessed = " + speculation.guesses - speculation.used" if machine.speculations else ""
    yield Law(
        f"l2.lookups - l2.translation_lookups{asked}",
        f"l1.misses - l1.merged + l1.coherent_loads + l1.stores{again}{beside}{guessed}{copied}",
        "data lookups of the L2 cache",
        "L1 misses that were not merged + coherent loads + stores and atomics + loads sent again"
        + (", and misses of side caches" if beside else "")
        + (", and speculative fetches that no load took" if guessed else "")
        + (", and what nodes copy and fetch" if copied else ""),
    )
    if machine.fbts:
        claimed = machine.config.l2.sectored
        yield Law(
            "fbt.leading + fbt.synonyms",
            "l2.misses - l2.merged - l2.table_fetches"
            + (" - l2.claimed_in_place" if claimed else ""),
            "misses that were let through",
            "L2 misses of data that were not merged" + (" or claimed in place" if claimed else ""),
        )


def _side_caches(machine: Machine, but: str = "") -> list[str]:
    """Names of the side caches, but one."""
    return [name for name in machine.config.side_caches if name != but]


def _page_table_reads(machine: Machine) -> Iterator[Law]:
    """Page-table reads of the L2 cache equal those of all levels, and of stages' tables."""
    paths = [level.path for level in machine.page_table_levels]
    if not paths:
        yield Law("l2.translation_lookups", "0 * l2.lookups", other="0: no walk reads the L2 cache")
        return
    yield Law(
        " + ".join(_table_reads(machine)) or "0 * l2.lookups",
        f"l2.translation_lookups{_past_the_cache(machine)}",
        "page-table reads",
        "their L2 lookups + those that went past",
    )
    for what in ("lookups", "hits"):
        yield Law(
            f"l2.translation_{what}",
            " + ".join(f"{path}.l2_{what}" for path in paths),
            f"translation {what} of the L2 cache",
            "those of all levels",
        )


def _table_reads(machine: Machine) -> list[str]:
    """Reads of all walks, and of what stages keep in memory, as terms of a sum."""
    stages = [stages[0] for stages in machine.stages]
    reads = [f"{stage.path}.reads" for stage in stages if isinstance(stage, StageProcess)]
    if machine.config.walk.cost == "memory":
        paths = _paths(machine, machine.systems[0].walkers)
        reads += [f"{path}.level_accesses" for path in paths]
    return reads


def _paths(machine: Machine, stage: Stage) -> list[str]:
    """Where a stage counts translations."""
    prefetched = [Prefetches(stage).path] if machine.prefetches and stage.prefetches else []
    return [stage.path, *prefetched]


def _past_the_cache(machine: Machine) -> str:
    """Page-table reads that go to DRAM at once, as terms of a sum."""
    if machine.config.walk.memory == "dram":
        return "".join(f" + {one}" for one in _table_reads(machine))
    return "".join(f" + {level.path}.l2_bypassed" for level in machine.page_table_levels)

"""Checks of a machine as a whole: values that are right alone and impossible together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusim.config.auxiliary import GROUPS
from gpusim.config.check_auxiliary import check_sides
from gpusim.config.check_lanes import check_lanes
from gpusim.config.check_node import check_node
from gpusim.config.check_order import check_order
from gpusim.config.check_paging import check_paging
from gpusim.config.check_stages import check_name, check_stages
from gpusim.config.check_unified import check_unified
from gpusim.config.choices import check_choices
from gpusim.config.dram import MemorySideConfig
from gpusim.config.mig import MigConfig
from gpusim.config.schema import LINES, GpuConfig, L1Config, L2Config
from gpusim.config.translation import CUT, SCOPES, SLICES, TlbConfig, WalkConfig
from gpusim.core.interleaving import hash_refusal
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.structure import Problem
from gpusim.files.toml_document import Key
from gpusim.files.units import Duration, format_bytes

PAGES = (4 << 10, 64 << 10, 2 << 20)


def check_machine(config: GpuConfig) -> Iterator[Problem]:
    """Everything in a machine that cannot be, except policies and DRAM."""
    yield from check_choices(config)
    yield from _check_sm(config)
    yield from _check_l1(config.l1)
    yield from check_lanes(config)
    yield from check_unified(config)
    yield from _check_tlbs(config)
    yield from check_stages(config)
    yield from check_sides(config)
    yield from _check_walk(config.walk)
    yield from _check_l2(config.l2)
    yield from _check_hash(config)
    yield from _check_partitions(config)
    yield from _check_writes(config)
    yield from _check_memory(config)
    yield from check_paging(config)
    yield from check_node(config)
    yield from check_order(config)
    if config.dram.memory_side is not None:
        yield from _check_memory_side(config.dram.memory_side, config.l2.line)
    if config.l2.line < config.l1.line or config.l2.line % config.l1.line:
        yield Problem(
            ("l2", "line"), f"must be a multiple of l1.line, {format_bytes(config.l1.line)}"
        )
    if not config.crossbar.ideal:
        yield from _at_least(1, config.crossbar, ("crossbar",), ("bytes_per_cycle", "queue"))
    yield from _at_least(1, config, (), ("sms_per_tpc", "tpcs_per_gpc"))
    for name in ("dispatch", "concurrent_kernels"):
        if getattr(config, name) is not None:
            yield from _at_least(1, config, (), (name,))
    yield from _durations(config.watchdog, ("watchdog",))
    if config.mig is not None:
        yield from _check_mig(config, config.mig)
    if config.speculation is not None:
        yield from _at_least(1, config.speculation, ("speculation",), ("entries",))
        if config.paging is not None:
            yield Problem(
                ("speculation",), "must be none with paging, where a page may lie with the host"
            )
        if config.l1.translation == "after-l2":
            yield Problem(
                ("speculation",), "of no effect: a virtual L2 cache is asked without a frame"
            )


def _check_memory_side(cache: MemorySideConfig, line: int) -> Iterator[Problem]:
    key = ("dram", "memory_side")
    yield from _at_least(1, cache, key, ("slice", "ways", "bytes_per_cycle"))
    one_set = line * cache.ways
    if one_set >= 1 and (cache.slice < one_set or cache.slice % one_set):
        parts = f"{cache.ways} ways × {format_bytes(line)} (l2.line)"
        yield Problem((*key, "slice"), f"must be a multiple of {parts}")


def _check_sm(config: GpuConfig) -> Iterator[Problem]:
    sm = config.sm
    yield from _at_least(
        1,
        sm,
        ("sm",),
        (
            "count",
            "max_threads",
            "max_warps",
            "max_blocks",
            "registers",
            "shared_memory",
            "lsu_width",
            "lsu_interval",
            "lsu_queue",
            "max_loads",
            "store_credits",
        ),
    )
    if not sm.block_start.cycles(config.clock):
        yield Problem(("sm", "block_start"), "must be at least one cycle")
    if sm.simd_lanes < 1 or sm.warp_size % sm.simd_lanes:
        yield Problem(("sm", "simd_lanes"), f"must divide sm.warp_size, {sm.warp_size}")
    if sm.max_threads < sm.warp_size:
        yield Problem(("sm", "max_threads"), f"must hold one warp of {sm.warp_size} threads")
    if sm.schedulers > sm.max_warps:
        yield Problem(("sm", "schedulers"), f"must be at most sm.max_warps, {sm.max_warps}")


def _check_l1(l1: L1Config) -> Iterator[Problem]:
    yield from _check_cache(l1, ("l1",), banks=1)
    yield from _one_size(l1.sector, _sectors(l1.line), ("l1", "sector"))


def _sectors(line: int) -> Iterable[int]:
    """Sizes of sectors that a line may have."""
    return (size for size in LINES if size <= line)


def _check_l2(l2: L2Config) -> Iterator[Problem]:
    yield from _at_least(1, l2, ("l2",), ("banks", "ports", "queue"))
    if l2.sector is not None:
        yield from _one_size(l2.sector, _sectors(l2.line), ("l2", "sector"))
    elif l2.byte_masks:
        yield Problem(("l2", "byte_masks"), "needs l2.sector: lines without fetch on a store")
    if l2.banks >= 1:
        yield from _check_cache(l2, ("l2",), l2.banks)
    if (each := l2.interleave) is not None and (each < l2.line or each & (each - 1)):
        yield Problem(("l2", "interleave"), f"must be a power of two, at least l2.line, {l2.line}")


def _check_writes(config: GpuConfig) -> Iterator[Problem]:
    """How an L2 cache can write to DRAM."""
    if config.l2.partial_writes is not None:
        if not config.l2.byte_masks:
            yield Problem(("l2", "partial_writes"), "needs l2.byte_masks = true")
        if config.l1.translation == "after-l2":
            yield Problem(("l2", "partial_writes"), 'must be "none" behind virtual names')
    if config.l2.writes == "through":
        key = ("l2", "writes")
        if config.l2.byte_masks:
            yield Problem(key, 'must be "back" with l2.byte_masks: they wait in lines')
        if config.l1.translation == "after-l2":
            yield Problem(key, 'must be "back" behind virtual names: they wait in lines')


def _check_partitions(config: GpuConfig) -> Iterator[Problem]:
    """Partitions of the L2 cache have as many banks each, and GPCs that are near them."""
    parts, banks, far = config.l2.partitions, config.l2.banks, ("l2", "far")
    yield from _at_least(1, config.l2, ("l2",), ("partitions",))
    if parts < 1 or config.sms_per_tpc < 1 or config.tpcs_per_gpc < 1:
        return
    if parts == 1:
        for key, value in (("far", config.l2.far), ("copies", config.l2.copies)):
            if value is not None:
                yield Problem(("l2", key), "is of no effect with one of l2.partitions")
        return
    yield from _check_copies(config)
    if config.l2.far is None:
        yield Problem(far, f"is missing: how far l2.partitions = {parts} are from each other")
    if banks % parts:
        yield Problem(("l2", "partitions"), f"must divide l2.banks, {banks}")
    if config.gpcs < parts:
        yield Problem(
            ("l2", "partitions"),
            f"must be at most the number of GPCs (sm.count / sms_per_tpc / tpcs_per_gpc), "
            f"{config.gpcs}",
        )


def _check_copies(config: GpuConfig) -> Iterator[Problem]:
    """Copies of lines need a cache that belongs to one machine."""
    if config.l2.store_to_load is not None and config.l2.copies is None:
        yield Problem(("l2", "store_to_load"), "needs l2.copies: a load may find an old one")
    if config.l2.copies is not None and config.mig is not None:
        yield Problem(
            ("l2", "copies"),
            "must be none with [mig]: an instance may have less of one partition",
        )


def _check_hash(config: GpuConfig) -> Iterator[Problem]:
    """A hash fits the L1's sets and the number of L2 banks, also in each MIG instance."""
    if config.l1.hash is not None and (sets := config.l1.sets) & (sets - 1):
        yield Problem(("l1", "hash"), f"needs a power of two of sets, not {sets}")
    if refusal := hash_refusal(config.l2.hash or "", config.l2.banks):
        yield Problem(("l2", "hash"), refusal)
    if config.mig is None or config.mig.slices < 1:
        return
    whole, sizes = config.mig.slices, config.mig.sizes
    dealt_out = (
        ("l2", config.l2.hash, config.l2.banks),
        ("dram", config.dram.hash, config.dram.channels),
    )
    for table, name, parts in dealt_out:
        refusals = {size: hash_refusal(name or "", parts * size // whole) for size in sizes}
        if size := next((size for size in sizes if refusals[size]), 0):
            yield Problem((table, "hash"), f"{refusals[size]} (in an instance of {size}g)")


def _check_cache(cache: L1Config | L2Config, key: Key, banks: int) -> Iterator[Problem]:
    yield from _at_least(1, cache, key, ("ways", "mshrs", "mshr_merge", "size"))
    yield from _one_size(cache.line, LINES, (*key, "line"))
    if cache.ways < 1 or cache.line < SECTOR_BYTES:
        return
    set_bytes = cache.line * cache.ways * banks
    if cache.size < set_bytes or cache.size % set_bytes:
        parts = f"{cache.ways} ways × {format_bytes(cache.line)}" + (
            f" × {banks} banks" if banks > 1 else ""
        )
        yield Problem((*key, "size"), f"must be a multiple of {parts} = {format_bytes(set_bytes)}")


def _check_tlbs(config: GpuConfig) -> Iterator[Problem]:
    if not config.tlb:
        yield Problem(
            ("tlb",), "must have at least one level (an ideal one never misses: tlb.L1.ideal)"
        )
    widest, outer = 0, ""
    for name, tlb in config.tlb.items():
        key = ("tlb", name)
        yield from check_name(name, key)
        yield from _check_tlb(tlb, key)
        yield from _check_cut(config, tlb, key)
        yield from _check_misses(config, name, tlb, (*key, "misses"))
        if tlb.scope not in SCOPES:
            continue
        scope = SCOPES.index(tlb.scope)
        if scope < widest:
            yield Problem(
                (*key, "scope"),
                f"must be at least as wide as that of level {outer} before it: "
                f"{', '.join(SCOPES[widest:])}",
            )
        else:
            widest, outer = scope, name


def _check_tlb(tlb: TlbConfig, key: Key) -> Iterator[Problem]:
    yield from _at_least(1, tlb, key, ("entries", "ways", "sub_entries", "ports", "mshrs", "queue"))
    if tlb.ways >= 1 and tlb.entries >= 1:
        if tlb.entries % tlb.ways:
            yield Problem((*key, "ways"), f"must divide the {tlb.entries} entries")
        elif not _is_power(tlb.entries // tlb.ways):
            yield Problem(
                (*key, "entries"),
                f"{tlb.entries} entries in {tlb.ways} ways make {tlb.entries // tlb.ways} sets: "
                "must be a power of two",
            )
    if tlb.sub_entries >= 1 and not _is_power(tlb.sub_entries):
        yield Problem((*key, "sub_entries"), "must be a power of two")
    if tlb.victims is not None:
        yield from _at_least(1, tlb, key, ("victims",))


def _check_cut(config: GpuConfig, tlb: TlbConfig, key: Key) -> Iterator[Problem]:
    """What cannot be dealt out to slices of a TLB that is."""
    if tlb.scope != SLICES:
        return
    if config.mig is None:
        yield Problem((*key, "scope"), f"must not be {SLICES!r} without a table [mig]")
    elif config.mig.slices >= 1:
        for name in CUT:
            if (getattr(tlb, name) or 0) % config.mig.slices:
                yield Problem(
                    (*key, name),
                    f"must be a multiple of mig.slices, {config.mig.slices}: with scope = "
                    f"{SLICES!r} it is what all slices have together",
                )


def _check_misses(config: GpuConfig, name: str, tlb: TlbConfig, key: Key) -> Iterator[Problem]:
    """What holds up the misses of an SM is its own TLB, which sees all that it translates."""
    if tlb.misses == "mshr":
        return
    if name != next(iter(config.tlb)) or tlb.scope != "sm":
        yield Problem(key, 'must be "mshr" but for the first level, of scope "sm"')
    if tlb.misses == "lsu-blocking" and config.l1.translation in ("after", "after-l2"):
        yield Problem(
            key,
            'must not be "lsu-blocking" with l1.translation = "after" or "after-l2": '
            "a virtual L1 cache is asked before the TLB",
        )


ENTRY_BYTES = 8
"""Of a page table."""


def _check_walk(walk: WalkConfig) -> Iterator[Problem]:
    yield from _at_least(1, walk, ("walk",), ("walkers", "queue"))
    if walk.sent_by == "sms" and not walk.reads("l2"):
        yield Problem(
            ("walk", "sent_by"),
            'is of no effect unless walk.cost = "memory" and walk.memory = "l2"',
        )
    if walk.warps is not None:
        yield from _at_least(1, walk.warps, ("walk", "warps"), ("lanes",))
        yield from _at_least(0, walk.warps, ("walk", "warps"), ("begin", "level", "end"))
        if walk.sent_by != "sms":
            yield Problem(
                ("walk", "sent_by"), 'must be "sms" with walk.warps: their warps load the entries'
            )
    cache, key = walk.cache, ("walk", "cache")
    if cache is None:
        return
    yield from _at_least(0, cache, key, ("ways",))
    if cache.kind == "paths" and cache.ways not in (0, cache.entries):
        yield Problem((*key, "ways"), "must be 0 (all): a path may share its upper levels with any")
    if cache.kind != "lines":
        yield from _at_least(1, cache, key, ("entries",))
        name = "entries"
    else:
        yield from _one_size(cache.line, (ENTRY_BYTES, *LINES), (*key, "line"))
        name = "size"
        if cache.blocks < 1:
            yield Problem((*key, "size"), f"must hold a line of {format_bytes(cache.line)}")
    blocks = cache.blocks
    ways = cache.ways or blocks
    if blocks >= 1 and ways >= 1 and (blocks % ways or not _is_power(blocks // ways)):
        yield Problem((*key, name), f"{blocks} entries in {ways} ways: sets must be a power of two")


def _check_memory(config: GpuConfig) -> Iterator[Problem]:
    memory = config.memory
    yield from _one_size(memory.page, PAGES, ("memory", "page"))
    if memory.page >= 1 and (memory.size < 64 * memory.page or memory.size % memory.page):
        yield Problem(("memory", "size"), "must be a multiple of the page size, at least 64 pages")
    if memory.page in PAGES and config.l2.line > memory.page:
        yield Problem(("memory", "page"), "must be at least a cache line")


def _check_mig(config: GpuConfig, mig: MigConfig) -> Iterator[Problem]:
    """What cannot be dealt out to slices."""
    yield from _at_least(1, mig, ("mig",), ("slices",))
    if mig.slices < 1:
        return
    sizes = mig.sizes
    if not sizes or list(sizes) != sorted(set(sizes)) or sizes[-1] > mig.slices:
        yield Problem(
            ("mig", "instances"),
            f'must be sizes from "1g" to "{mig.slices}g", each once, the smallest first',
        )
    for table, name in (
        ("sm", "count"),
        ("l2", "banks"),
        ("l2", "size"),
        ("dram", "channels"),
        ("walk", "walkers"),
    ):
        if getattr(getattr(config, table), name) % mig.slices:
            yield Problem((table, name), f"must be a multiple of mig.slices, {mig.slices}")
    memory = config.memory
    if memory.page >= 1 and memory.size % (mig.slices * memory.page):
        yield Problem(
            ("memory", "size"), f"must be whole pages in each of mig.slices, {mig.slices}"
        )
    scopes = [one.scope for one in config.tlb.values()]
    scopes += [one.scope for one in config.side_caches.values()]
    shared = max((config.sms_of(scope) for scope in scopes if scope in GROUPS), default=1)
    if shared >= 1 and config.sm.count // mig.slices % shared:
        yield Problem(
            ("sm", "count"),
            f"must be a multiple of mig.slices × {shared} SMs that share a TLB or side cache, "
            f"{mig.slices * shared}",
        )


def _one_size(value: int, allowed: Iterable[int], key: Key) -> Iterator[Problem]:
    sizes = tuple(allowed)
    if value not in sizes:
        yield Problem(key, f"not allowed; allowed: {', '.join(map(format_bytes, sizes))}")


def _at_least(least: int, table: object, key: Key, names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if getattr(table, name) < least:
            yield Problem((*key, name), f"must be {least} or more")


def _durations(duration: Duration, key: Key) -> Iterator[Problem]:
    if duration.amount <= 0:
        yield Problem(key, "must be above zero")


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0

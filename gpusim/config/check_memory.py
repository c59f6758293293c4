"""Machines of absurd sizes: refused before anything is made, with the memory they would take."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.config.schema import GpuConfig
from gpusim.core.untrusted import memory_limit, too_much
from gpusim.files.structure import Problem
from gpusim.files.toml_document import Key

_SM_BYTES, _WARP_BYTES, _BLOCK_BYTES = 64 << 10, 1 << 10, 256
_ENTRY_BYTES, _LINE_BYTES = 128, 128
_L2_BANK_BYTES, _CHANNEL_BYTES, _DRAM_BANK_BYTES = 16 << 10, 64 << 10, 4 << 10
"""Bytes of the simulator's memory that a part of a machine takes (measured, then rounded up)."""


def check_memory(config: GpuConfig) -> Iterator[Problem]:
    """Parts that would take more memory than there is for all of the machine.

    If only all together would, the largest is named.
    """
    parts = list(_parts(config))
    most, needed = memory_limit(), sum(size for _, size in parts)
    if needed <= most:
        return
    single = [(key, size) for key, size in parts if size > most]
    for key, size in single or [max(parts, key=lambda part: part[1])]:
        yield Problem(key, too_much(size if single else needed, most))


def _parts(config: GpuConfig) -> Iterator[tuple[Key, int]]:
    """What a machine is made of: the key that says how much, and bytes."""
    sm, sms = config.sm, max(config.sm.count, 0)
    yield ("sm", "count"), sms * _SM_BYTES
    yield ("sm", "max_warps"), sms * sm.max_warps * _WARP_BYTES
    yield ("sm", "max_blocks"), sms * sm.max_blocks * _BLOCK_BYTES
    yield ("l1", "size"), sms * config.l1.size // max(config.l1.line, 1) * _LINE_BYTES
    yield ("l2", "size"), config.l2.size // max(config.l2.line, 1) * _LINE_BYTES
    yield ("l2", "banks"), config.l2.banks * _L2_BANK_BYTES
    yield from _tables(config, sms)
    dram = config.dram
    if not dram.ideal:
        banks = dram.channels * dram.pseudo_channels * dram.bank_groups * dram.banks
        most = max(("pseudo_channels", "bank_groups", "banks"), key=lambda one: getattr(dram, one))
        yield ("dram", most), banks * _DRAM_BANK_BYTES
    if dram.memory_side is not None:
        lines = dram.channels * dram.memory_side.slice // max(config.l2.line, 1)
        yield ("dram", "memory_side", "slice"), lines * _LINE_BYTES
    yield ("dram", "channels"), dram.channels * _CHANNEL_BYTES


def _tables(config: GpuConfig, sms: int) -> Iterator[tuple[Key, int]]:
    """TLBs and what is like them."""
    for name, tlb in config.tlb.items():
        entries = (max(tlb.entries, tlb.ways) * tlb.sub_entries) + (tlb.victims or 0)
        there = -(-sms // max(config.sms_of(tlb.scope), 1))
        yield ("tlb", name, "entries"), 0 if tlb.ideal else entries * there * _ENTRY_BYTES
    for name, side in config.side_caches.items():
        there = -(-sms // max(config.sms_of(side.scope), 1))
        yield (name, "size"), there * side.size // max(side.line, 1) * _LINE_BYTES
    cache = config.walk.cache
    if cache is not None:
        key = "size" if cache.kind == "lines" else "entries"
        yield ("walk", "cache", key), max(cache.blocks, cache.ways) * _ENTRY_BYTES
    if config.fbt is not None:
        yield ("fbt", "entries"), max(config.fbt.entries, config.fbt.ways) * _ENTRY_BYTES
        if config.fbt.remapping is not None:
            yield ("fbt", "remapping", "entries"), config.fbt.remapping.entries * sms * _ENTRY_BYTES

"""Checks of side caches: values that are right alone and impossible together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusim.config.auxiliary import InstructionCacheConfig, SideCacheConfig, SideTlbConfig
from gpusim.config.check_virtual import AFTER_L2
from gpusim.config.schema import LINES, GpuConfig
from gpusim.config.translation import FBT_LEVEL
from gpusim.files.structure import Problem
from gpusim.files.toml_document import Key
from gpusim.files.units import format_bytes

_CODE_LINE = 64
"""Bytes of code that traces are followed by: shorter lines would be fetched in part."""


def check_sides(config: GpuConfig) -> Iterator[Problem]:
    """Every side cache of a machine."""
    for name, cache in config.side_caches.items():
        yield from _check_cache(config, (name,), cache)
        if isinstance(cache, InstructionCacheConfig) and cache.ahead < 0:
            yield Problem((name, "ahead"), "must be 0 or more")
        if cache.tlb is not None:
            yield from _check_tlb((name, "tlb"), cache.tlb)
            taken = (*config.tlb, *config.stage, FBT_LEVEL)
            if name in taken:
                yield Problem((name, "tlb"), f"there is another stage that is called {name!r}")
        yield from _check_names(config, name, cache)


def _check_names(config: GpuConfig, name: str, cache: SideCacheConfig) -> Iterator[Problem]:
    """A virtual L2 cache names lines as all that is next to SMs does."""
    virtual = config.l1.translation == AFTER_L2
    if virtual != (cache.translation == AFTER_L2):
        word = "" if virtual else "not "
        yield Problem(
            (name, "translation"),
            f'must {word}be "{AFTER_L2}" with l1.translation = "{config.l1.translation}": '
            "an L2 cache names its lines in one way",
        )
    elif virtual and cache.tlb is not None:
        yield Problem(
            (name, "tlb"), f'must be none: with "{AFTER_L2}" nothing is translated at an SM'
        )


def _check_cache(config: GpuConfig, key: Key, cache: SideCacheConfig) -> Iterator[Problem]:
    yield from _at_least_one(cache, key, ("ways", "ports", "queue", "mshrs", "mshr_merge"))
    least = _CODE_LINE if key == ("instruction",) else 32
    lines = [size for size in LINES if least <= size <= config.l1.line]
    if cache.line not in lines:
        allowed = ", ".join(map(format_bytes, lines)) or f"none with l1.line = {config.l1.line}"
        yield Problem((*key, "line"), f"not allowed; allowed: {allowed} (up to l1.line)")
    elif cache.ways >= 1 and (cache.size < 1 or cache.size % (cache.line * cache.ways)):
        each = format_bytes(cache.line * cache.ways)
        parts = f"{cache.ways} ways × {format_bytes(cache.line)}"
        yield Problem((*key, "size"), f"must be a multiple of {parts} = {each}")


def _check_tlb(key: Key, tlb: SideTlbConfig) -> Iterator[Problem]:
    yield from _at_least_one(tlb, key, ("entries", "ways", "ports", "mshrs"))
    if tlb.ways < 1 or tlb.entries < 1:
        return
    sets, rest = divmod(tlb.entries, tlb.ways)
    if rest or sets & (sets - 1):
        yield Problem(
            (*key, "entries"),
            f"{tlb.entries} entries in {tlb.ways} ways: sets must be a power of two",
        )


def _at_least_one(table: object, key: Key, names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if getattr(table, name) < 1:
            yield Problem((*key, name), "must be 1 or more")

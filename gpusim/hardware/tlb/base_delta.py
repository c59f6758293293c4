"""TLB sets that keep translations as differences from a base of the set (COMP §1, abstract)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.structures import Storage, bits_for
from gpusim.hardware.tlb.sets import Entry, SetKind, TlbSet, Ways

_PER_WAY: Final = 2
"""Compressed translations of one way: 2 × (13 + 9) bits fit into the 50 of a plain one."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class CompressionCounters:
    """What the base-delta sets of one TLB did."""

    compressed_inserts: int = count("translations that matched the base of their set")
    plain_inserts: int = count("translations that did not, kept uncompressed")
    dropped_inserts: int = count("translations that did not, where there are no plain ways")
    compressed_evictions: int = count("compressed translations replaced by another")
    overflows: int = count("compressed translations that went on to a plain way")
    plain_evictions: int = count("uncompressed translations replaced by another")
    rebases: int = count("times that a set gave up its base")
    rebase_evictions: int = count("compressed translations lost by that")


@mypyc_attr(allow_interpreted_subclasses=True)
class BaseDeltaSet:
    """Plain ways, and compressed ones whose translations share the upper bits of page and frame.

    The first translation after a reset sets the base.  Each one that does not match it counts
    `rebase` down; at zero the compressed translations are forgotten, and the next insertion sets
    the base anew.  An entry with sub-entries matches if all its frames do, and sets no base unless
    they agree with each other.

    Attributes:
        plain: uncompressed translations, by tag.
        compressed: those that match the base, by the low bits of their page number.
        base: upper bits of the page and of the frame number; None: not set.
        left: mismatches until the base is given up; without meaning if it never is.
    """

    __slots__ = ("_kind", "_shift", "base", "compressed", "left", "plain")

    def __init__(self, kind: BaseDeltaSets, index_bits: int) -> None:
        self._kind = kind
        self._shift = index_bits
        self.plain = Ways(kind.plain_ways, kind.replacement)
        self.compressed = Ways(kind.compressed_ways * _PER_WAY, kind.replacement)
        self.base: tuple[int, int] | None = None
        self.left = kind.rebase

    def find(self, tag: int) -> Entry | None:
        entry = self.plain.find(tag)
        if entry is None and self._page_matches(tag):
            entry = self.compressed.find(self._delta(tag))
        return entry

    def ways_for(self, tag: int, pfn: int) -> Ways:
        if self.base is None or self.base == self._base(tag, pfn):
            return self.compressed
        return self.plain

    def insert(self, entry: Entry) -> int:
        counters = self._kind.compression
        self.remove(entry.tag)
        base = self._base(entry.tag, entry.pfn)
        one = entry.last_pfn >> self._kind.delta_pfn_bits == base[1]
        if self.base is None and one:
            self.base = base
            self.left = self._kind.rebase
        if one and base == self.base:
            counters.compressed_inserts += 1
            if self._kind.restore:
                self.left = self._kind.rebase
            return self._compress(entry)
        evicted = self.plain.put(entry.tag, entry, self._kind.gone)
        counters.plain_evictions += evicted
        if self.plain.capacity:
            counters.plain_inserts += 1
        else:
            counters.dropped_inserts += 1
        return evicted + self._count_down()

    def _compress(self, entry: Entry) -> int:
        """Keep a translation that matches the base; returns how many are lost for it."""
        counters, compressed, key = self._kind.compression, self.compressed, self._delta(entry.tag)
        if not (self._kind.overflow and compressed.full):
            evicted = compressed.put(key, entry, self._kind.gone)
            counters.compressed_evictions += evicted
            return evicted
        gone = compressed.victim()
        compressed.take(self._delta(gone.tag))
        compressed.put(key, entry)
        lost = self.plain.put(gone.tag, gone, self._kind.gone)
        counters.overflows += 1
        counters.plain_evictions += lost
        return lost

    def remove(self, tag: int) -> bool:
        found = self.plain.take(tag)
        if found is None and self._page_matches(tag):
            found = self.compressed.take(self._delta(tag))
        return found is not None

    def clear(self) -> None:
        self.plain.clear()
        self._give_up_base()

    def kept(self) -> list[Entry]:
        return [*self.plain.entries.values(), *self.compressed.entries.values()]

    def _count_down(self) -> int:
        """A translation did not match; returns how many were lost if that was once too often."""
        if not self._kind.rebase:
            return 0
        self.left -= 1
        if self.left:
            return 0
        counters = self._kind.compression
        lost = len(self.compressed.entries)
        if self._kind.gone is not None:
            self._kind.gone += self.compressed.entries.values()
        counters.rebases += 1
        counters.rebase_evictions += lost
        self._give_up_base()
        return lost

    def _give_up_base(self) -> None:
        self.compressed.clear()
        self.base = None

    def _base(self, tag: int, pfn: int) -> tuple[int, int]:
        kind = self._kind
        return tag >> self._shift >> kind.delta_vpn_bits, pfn >> kind.delta_pfn_bits

    def _page_matches(self, tag: int) -> bool:
        base = self.base
        return base is not None and base[0] == tag >> self._shift >> self._kind.delta_vpn_bits

    def _delta(self, tag: int) -> int:
        return tag >> self._shift & self._kind.delta_mask


@mypyc_attr(allow_interpreted_subclasses=True)
class BaseDeltaSets(SetKind):
    """Sets whose ways are half plain, half compressed, two translations to a compressed way.

    Args:
        config: the TLB.
        rebase: mismatches after which a set gives up its base; 0: never [our choice: no source has
            it].
        partitioned: half of the ways are plain; otherwise all are compressed, and only what matches
            the base is kept [our choice].
        delta_vpn_bits: low bits of the page number, above those of the set index, in a compressed
            translation.
        delta_pfn_bits: low bits of the frame number in a compressed translation.
        overflow: a translation that leaves the compressed ways goes on to the plain ones; otherwise
            the halves evict apart.
        restore: a match restores the count of mismatches [our choice: it does not].
        extra_cycles: cycles that decompression adds to a lookup: none in an L2 TLB (COMP §1), one
            in an L1 TLB (ORCH §V).
    """

    spills = True

    def __init__(
        self,
        config: TlbConfig,
        *,
        rebase: int = 256,
        partitioned: bool = True,
        delta_vpn_bits: int = 13,
        delta_pfn_bits: int = 9,
        overflow: bool = False,
        restore: bool = False,
        extra_cycles: int = 0,
    ) -> None:
        at_least(0, rebase=rebase, extra_cycles=extra_cycles)
        at_least(1, delta_vpn_bits=delta_vpn_bits, delta_pfn_bits=delta_pfn_bits)
        if partitioned and config.ways % 2:
            raise OptionError(
                "ways",
                'must be even: half the ways of a "base-delta" set are plain '
                "(partitioned = false: none)",
            )
        if overflow and not partitioned:
            raise OptionError("overflow", "of no effect with partitioned = false: no way is plain")
        self.plain_ways = config.ways // 2 if partitioned else 0
        self.compressed_ways = config.ways - self.plain_ways
        parts = (self.plain_ways, self.compressed_ways * _PER_WAY)
        super().__init__(config, *(ways for ways in parts if ways))
        self.rebase = rebase
        self._frames = config.sub_entries
        self.delta_vpn_bits = delta_vpn_bits
        self.delta_pfn_bits = delta_pfn_bits
        self.delta_mask = (1 << delta_vpn_bits) - 1
        self.overflow = overflow
        self.restore = restore
        self.extra_cycles = extra_cycles
        self.compression = CompressionCounters()

    def make(self, index_bits: int) -> TlbSet:
        return BaseDeltaSet(self, index_bits)

    def storage(self, page_bits: int, frame_bits: int) -> Sequence[Storage]:
        """A compressed way is as wide as a plain one, so that either kind can be made of it."""
        plain = {"page": page_bits, "frame": frame_bits * self._frames}
        compressed = {
            "pages": _PER_WAY * self.delta_vpn_bits,
            "frames": _PER_WAY * self.delta_pfn_bits * self._frames,
        }
        spare = sum(plain.values()) - sum(compressed.values())
        base = {
            "page": max(page_bits - self.delta_vpn_bits, 0),
            "frame": max(frame_bits - self.delta_pfn_bits, 0),
        }
        kept = [
            Storage("entries", self.plain_ways, plain),
            Storage(
                "compressed ways", self.compressed_ways, {**compressed, "unused": max(spare, 0)}
            ),
            Storage("bases", 1, base),
            Storage("rebase counters", 1, {"count": bits_for(self.rebase + 1)}),
        ]
        return [one for one in kept if one.bits]

    def acted(self) -> int:
        return self.compression.compressed_inserts

    def counters(self) -> tuple[object, ...]:
        return (self.compression,)


register_policy(Slot.TLB_SET, "base-delta", BaseDeltaSets)

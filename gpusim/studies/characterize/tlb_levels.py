"""TLBs of a level without a clock: what is asked of them, and what they ask of the next level.

A level is asked for all lookups of a window, and returns which of them miss.  A fill is there at
once, so lookups that would merge in a timed run hit here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.config.schema import LRU, GpuConfig
from gpusim.config.translation import TlbConfig
from gpusim.core.engine import Environment, Probe
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Translation
from gpusim.core.signals import SignalBoard
from gpusim.core.unboxed import pair
from gpusim.hardware.tlb import FillPolicy, TlbArray
from gpusim.hardware.tlb.array import slot_of
from gpusim.machine import Machine
from gpusim.machine.translation import tlb_array, tlb_fill_policy, tlb_of
from gpusim.studies.characterize.access_stream import (
    BLOCK_END,
    EVENTS,
    KERNEL_BEGIN,
    WARP_BEGIN,
    WARP_END,
    Accesses,
    Ints,
)
from gpusim.studies.characterize.lru_stacks import LruStacks

Mask: TypeAlias = NDArray[np.bool_]

_SIGNALS: Final = {
    KERNEL_BEGIN: "kernel.begin",
    BLOCK_END: "block.end",
    WARP_BEGIN: "warp.begin",
    WARP_END: "warp.end",
}
"""What arrays and policies can listen to."""

_TLB_BITS: Final = 52
_ASID_BITS: Final = 46
"""A page of a TLB is named by the number of the TLB, the address space and the page."""

_REPEATS: Final = ("lru", "fifo")
"""Replacement policies to which two uses in a row are one."""

_KEEPS: Final = ("set-associative", "sub-entry")
"""Arrays that hold what they were filled with until another fill."""


@frozen(eq=False)
class Lookups:
    """What the TLBs of a level are asked for, in order; each field is (n,).

    Attributes:
        accesses: behind them, with events of SMs among them.
        tag: the page of each, tagged with the address space.
    """

    accesses: Accesses
    tag: Ints

    def take(self, which: Mask | Ints) -> Lookups:
        """Some of them, by mask or index."""
        return Lookups(self.accesses.take(which), self.tag[which])


@frozen
class LevelCounts:
    """What the TLBs of a level did for one application.

    Attributes:
        lookups: demanded.
        misses: sent on to the next level, or to a walker.
        compulsory: distinct pages that a TLB was asked for, summed over the TLBs.
    """

    lookups: int = 0
    misses: int = 0
    compulsory: int = 0

    @property
    def hits(self) -> int:
        """Lookups that found their page."""
        return self.lookups - self.misses


@frozen(eq=False)
class LevelSite:
    """Where the TLBs of a level stand.

    Attributes:
        name: of the level.
        config: what its TLBs are like; what is but timing is the same for all.
        machine: whose pages they translate.
        base: the machine as the design has it.
    """

    name: str
    config: TlbConfig
    machine: Machine
    base: GpuConfig

    def tlbs(self) -> Ints:
        """(SMs,) the number of the TLB that serves each SM."""
        systems = self.machine.system_of
        scope = self.config.scope
        return np.array(
            [tlb_of(scope, sm, systems[sm].domain, self.base) for sm in sorted(systems)]
        )

    def of(self, sm: int) -> TlbConfig:
        """What the TLB that serves an SM is like: of an instance, its part of it."""
        for tenant in self.machine.tenants:
            if tenant.instance is not None and sm in tenant.sms:
                return self.base.instance(tenant.instance).tlb[self.name]
        return self.config


def untimed(config: TlbConfig) -> TlbConfig:
    """What of a TLB matters without a clock."""
    plain = TlbConfig(scope=config.scope, entries=1, ways=1)
    return evolve(
        config,
        ports=plain.ports,
        mshrs=plain.mshrs,
        misses=plain.misses,
        merging=plain.merging,
        queue=plain.queue,
        trip=plain.trip,
    )


def is_plain(site: LevelSite) -> bool:
    """Whether a level is LRU sets of translations of one page, which stack distances tell.

    They do not where pages go, as there an entry is free before it is the least recently used one.
    """
    config = site.config
    return (
        config.array == PolicyConfig("set-associative")
        and config.sets == PolicyConfig("plain")
        and config.fill == PolicyConfig("always")
        and config.replacement == LRU
        and config.sub_entries == 1
        and config.hash is None
        and config.victims is None
        and not config.ideal
        and site.machine.mapping_calls is None
        and all(frames.most_pages == 1 for frames in site.machine.frames)
        and len({site.of(sm).entries for sm in site.machine.system_of}) == 1
    )


class Asked:
    """What all levels below one stream have in common: who is asked, and for what the first time.

    Args:
        site: of one of them.
        apps: applications.
    """

    def __init__(self, site: LevelSite, apps: int) -> None:
        self._tlbs = site.tlbs()
        self._apps = apps
        self._seen = np.zeros(0, dtype=np.int64)
        self.lookups = np.zeros(apps, dtype=np.int64)
        self.compulsory = np.zeros(apps, dtype=np.int64)

    def in_order(self, lookups: Lookups) -> tuple[Lookups, Ints]:
        """Lookups by TLB, and in each by cycle; and the number of the TLB of each."""
        accesses = lookups.accesses
        tlb = self._tlbs[accesses.sm]
        by_time = (accesses.cycle[1:] >= accesses.cycle[:-1]) | (tlb[1:] != tlb[:-1])
        if not ((tlb[1:] >= tlb[:-1]) & by_time).all():
            order = np.lexsort((accesses.sm, accesses.cycle, tlb))
            lookups, tlb = lookups.take(order), tlb[order]
        return lookups, tlb

    def count(self, lookups: Lookups, page: Ints) -> None:
        """Count lookups; `page`: of each the page, as `pages_of` names it."""
        app = lookups.accesses.app[lookups.accesses.kind < EVENTS]
        self.lookups += np.bincount(app, minlength=self._apps)
        pages, first = np.unique(page, return_index=True)
        new = ~np.isin(pages, self._seen, assume_unique=True)
        self.compulsory += np.bincount(app[first[new]], minlength=self._apps)
        self._seen = np.union1d(self._seen, pages[new])


def pages_of(tlb: Ints, tag: Ints) -> Ints:
    """(n,) one name of a page in a TLB, from numbers of TLBs and tags."""
    return tlb << _TLB_BITS | tag >> ASID_SHIFT << _ASID_BITS | tag & VPN_MASK


class Level:
    """The TLBs of one level of one or more designs that are asked for the same lookups.

    Attributes:
        misses: by design, by application.
    """

    misses: list[Ints]

    @abstractmethod
    def missed(self, lookups: Lookups, tlb: Ints) -> list[Mask]:
        """By design, which of the lookups miss; none of the events."""


class PlainLevel(Level):
    """LRU sets of any numbers of ways, as many sets in each TLB."""

    def __init__(self, sets: int, ways: Sequence[int]) -> None:
        self._sets = sets
        self._ways = ways
        self._stacks = LruStacks(max(ways), min(ways))

    def missed(self, lookups: Lookups, tlb: Ints) -> list[Mask]:
        real = np.flatnonzero(lookups.accesses.kind < EVENTS)
        page = pages_of(tlb[real], lookups.tag[real])
        heads = np.ones(len(page), dtype=bool)
        heads[1:] = page[1:] != page[:-1]
        asked = real[heads]
        number = tlb[asked] * self._sets + (lookups.tag[asked] & self._sets - 1)
        distance = self._stacks.distances(number, page[heads])
        found = []
        for ways in self._ways:
            missed = np.zeros(len(tlb), dtype=bool)
            missed[asked[distance >= ways]] = True
            found.append(missed)
        return found


def plain_level(configs: Sequence[TlbConfig]) -> PlainLevel:
    """Plain TLBs (`is_plain`) of one number of sets, in one pass."""
    first = configs[0]
    return PlainLevel(first.entries // first.ways, [one.ways for one in configs])


class PolicyLevel(Level):
    """TLBs whose arrays and fill policies are those of the machine; one design."""

    def __init__(self, site: LevelSite) -> None:
        machine, apps = site.machine, len(site.machine.tenants)
        self._find = machine.page_table.find
        machine.page_table.on_unmap.append(self._unmapped)
        self._arrays: list[TlbArray] = []
        self._policies: list[FillPolicy | None] = []
        sms_of: dict[int, list[int]] = {}
        for sm, tlb in enumerate(site.tlbs().tolist()):
            sms_of.setdefault(tlb, []).append(sm)
        self._place: dict[int, int] = {}
        """By SM, its number among those of its TLB."""
        board = SignalBoard(Environment(), apps, self._find)
        self._probes: dict[tuple[int, int], Probe[...]] = {}
        """By SM and kind of event."""
        for sms in sms_of.values():
            for number, sm in enumerate(sms):
                self._place[sm] = number
                for kind, name in _SIGNALS.items():
                    probe: Probe[...] = Probe()
                    self._probes[sm, kind] = probe
                    board.offer(name, probe, [sm])
        for sms in sms_of.values():
            config = site.of(sms[0])
            array = tlb_array(site.name, config, site.base, machine.pages, apps)
            policy = tlb_fill_policy(config, site.base, apps)
            array.attach(board.at(sms))
            if policy is not None:
                policy.attach(board.at(sms))
                if type(policy).follows:
                    array.spill_into([])
            self._arrays.append(array)
            self._policies.append(policy)
        traits = self._arrays[0].traits()
        self._by_slot = traits.by_block_slot
        self._several = max(map(len, sms_of.values())) > 1
        self._collapse = (
            site.config.array.policy in _KEEPS
            and site.config.replacement.policy in _REPEATS
            and self._policies[0] is None
        )

    def _unmapped(self, mapping: Mapping) -> None:
        """Pages go: no TLB keeps them."""
        for array, policy in zip(self._arrays, self._policies, strict=True):
            for tag in range(mapping.tag, mapping.tag + mapping.pages):
                array.invalidate(tag)
                if policy is not None:
                    policy.invalidate(tag)

    def missed(self, lookups: Lookups, tlb: Ints) -> list[Mask]:
        accesses = lookups.accesses
        asked = self._asked(lookups, tlb)
        missed = np.zeros(len(tlb), dtype=bool)
        if not len(asked):
            return [missed]
        of = tlb[asked]
        starts = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
        some = accesses.take(asked)
        columns = lookups.tag[asked], some.slot, some.warp, some.sm, some.app, some.cycle, some.kind
        found: list[int] = []
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(of)], strict=True):
            rows = list(zip(*(one[first:end].tolist() for one in columns), strict=True))
            number = int(of[first])
            policy = self._policies[number]
            if policy is None:
                found += [first + place for place in self._through(number, rows)]
            else:
                found += [first + place for place in self._filtered(number, policy, rows)]
        missed[asked[found]] = True
        return [missed]

    def _asked(self, lookups: Lookups, tlb: Ints) -> Ints:
        """Which lookups and events the arrays have to see."""
        count, kind = len(tlb), lookups.accesses.kind
        if not self._collapse:
            return np.arange(count)
        new = np.ones(count, dtype=bool)
        new[1:] = (lookups.tag[1:] != lookups.tag[:-1]) | (tlb[1:] != tlb[:-1])
        if self._by_slot:
            slot, sm = lookups.accesses.slot, lookups.accesses.sm
            new[1:] |= (slot[1:] != slot[:-1]) | (sm[1:] != sm[:-1])
        event = kind >= EVENTS
        new |= event
        new[1:] |= event[:-1]
        return np.flatnonzero(new)

    def _through(self, number: int, rows: list[tuple[int, ...]]) -> list[int]:
        """Which rows miss where everything is filled."""
        array, find, several = self._arrays[number], self._find, self._several
        lookup, insert, found = array.lookup, array.insert, []
        for place, (tag, slot, warp, sm, app, cycle, kind) in enumerate(rows):
            if kind >= EVENTS:
                self._event(kind, sm, slot, warp, app, cycle)
                continue
            own = slot_of(self._place[sm], slot) if several and self._by_slot else slot
            if lookup(tag, own) is None:
                found.append(place)
                mapping = find(tag)
                assert mapping is not None
                insert(tag, mapping, own)
        return found

    def _filtered(self, number: int, policy: FillPolicy, rows: list[tuple[int, ...]]) -> list[int]:
        """Which rows miss where a policy decides on fills."""
        array, found = self._arrays[number], []
        for place, (tag, slot, warp, sm, app, cycle, kind) in enumerate(rows):
            if kind >= EVENTS:
                self._event(kind, sm, slot, warp, app, cycle)
                continue
            own = slot_of(self._place[sm], slot) if self._several and self._by_slot else slot
            asker = Translation(app, tag >> ASID_SHIFT, sm, tag, slot, warp, pair(-1, cycle))
            mapping = array.lookup(tag, own)
            if mapping is None:
                mapping = policy.find(tag, asker)
            elif array.spilled is not None:
                policy.used(tag)
            policy.looked_up(asker, mapping is not None, cycle)
            if mapping is not None:
                continue
            found.append(place)
            mapping = self._find(tag)
            assert mapping is not None
            if policy.admits(tag, mapping, (asker,), cycle):
                array.insert(tag, mapping, own)
                for pages in array.spilled or ():
                    for gone in pages:
                        policy.evicted(gone)
                if array.spilled:
                    array.spilled.clear()
        return found

    def _event(self, kind: int, sm: int, *values: int) -> None:
        """An array or a policy follows launches, blocks or warps; `values`: slot to cycle."""
        if kind in _SIGNALS:
            slot, warp, app, cycle = values
            if kind in (WARP_BEGIN, WARP_END):
                self._probes[sm, kind](sm, warp, app, cycle)
            else:
                self._probes[sm, kind](sm, slot, cycle)

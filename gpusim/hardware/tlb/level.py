"""One TLB: the process that gives a TLB array its ports, latency, queue and MSHRs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.engine import Port, Probe, Turning, TurnTaker, Waiters, Wakeable
from gpusim.core.errors import wrong_mapping
from gpusim.core.interfaces import FirstTlb
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import Mapping, became_part
from gpusim.core.mshr import MERGED, Mshrs
from gpusim.core.request import MemoryRequest, Purpose, Requester, Translation, Traveller
from gpusim.core.signals import Signals
from gpusim.core.stage import Stage, StageSite
from gpusim.core.states import State
from gpusim.core.unboxed import IntDict, pair
from gpusim.files.units import Hertz
from gpusim.hardware.tlb.array import TlbArray, slot_of, stated_cycles
from gpusim.hardware.tlb.counters import PrefetchTlbCounters, TlbCounters, TlbQueueCounters
from gpusim.hardware.tlb.evictions import Evictions
from gpusim.hardware.tlb.fill import FillPolicy
from gpusim.hardware.tlb.long_misses import LongMisses
from gpusim.hardware.tlb.mshr_policy import MshrPolicy, make_mshrs, requester_of
from gpusim.hardware.tlb.void_answers import VoidAnswers

_PREFETCH: Final = int(Purpose.PREFETCH)


@mypyc_attr(allow_interpreted_subclasses=True)
class TlbLevel(Stage, FirstTlb, Turning):
    """One TLB of a level.

    The first level is asked directly by load/store units (`claim`, `lookup`, `miss`), which share
    its ports; deeper levels take `Translation`s from their `requests` port.  A lookup that starts
    in cycle *t* has its outcome in *t + latency*; a miss is then sent on to `below`, and its
    answer comes back on `fills`, is put into the array, and answers all lookups that wait for it.

    Prefetches of other stages pass through it like demand misses, and fill it, but are counted
    apart.  What the array gives is compared with the page table before it leaves the level, and
    what comes back before it goes into the array.

    Args:
        site: where it stands; the model calls its level ``site.kind``.
        config: what it is like.
        clock: of the core.
        array: what it holds.
        fill_policy: what goes into the array; None: everything.
        mshr_policy: which misses may be under way; None: as many as there are MSHRs.
    """

    laws: Sequence[Law] = laws_of(
        [TlbCounters],
        Law("lookups", "hits + misses"),
        Law("fills", "misses - merged", other="misses that were not merged"),
    )

    def __init__(
        self,
        site: StageSite,
        config: TlbConfig,
        clock: Hertz,
        array: TlbArray,
        fill_policy: FillPolicy | None = None,
        mshr_policy: MshrPolicy | None = None,
    ) -> None:
        env, apps, level = site.env, site.apps, site.state - State.TLB
        name = f"tlb.{site.name}"
        requests: Port[Translation] = Port(env, f"{name}.requests", site.trip, depth=site.queue)
        super().__init__(name, f"tlb/{site.kind}", site.index, requests)
        self.env = env
        self.array = array
        self.traits = array.traits()
        self._fills_every_slot = self.traits.fills_every_slot
        self._sms = _numbered(site.sms) if self.traits.by_block_slot else {}
        """By SM, its number among those of an array by block slots that several share."""
        self._states_cycles = self.traits.states_cycles
        self.fill_policy = fill_policy
        self._follows = fill_policy is not None and type(fill_policy).follows
        self._lookups_evict = config.victims is not None
        """An entry that comes back from a victim buffer takes the place of another one."""
        self.mshr_policy = mshr_policy
        if mshr_policy is not None:
            mshr_policy.adopt(array)
            mshr_policy.forget = self.forget
        self.latency = config.latency.cycles(clock)
        self.extra_cycles = 0
        self.below = site.below
        self.fills: Port[Translation] = Port(env, f"{name}.fills")
        self.counters = [TlbCounters() for _ in range(apps)]
        self.prefetches = [PrefetchTlbCounters() for _ in range(apps)]
        self._long_misses: LongMisses | None = None
        if not level:
            self._long_misses = LongMisses(apps, site.below_state, site.near)
        self._state, self._below_state = site.state, site.below_state
        self._level, self._index = level, site.index
        self._make_probes()
        self._pages = site.pages.mappings
        self._mshrs: Mshrs[Traveller] = make_mshrs(config.mshrs, config.merging, mshr_policy)
        self._primary: IntDict[Translation] = IntDict()
        self._void = VoidAnswers()
        self._ports = config.ports
        self._cycle, self._used = -1, 0
        self._blocked = Waiters()
        self.process = TurnTaker(env, self)
        self.requests.connect(self.process)
        self.fills.connect(self.process)

    def _make_probes(self) -> None:
        self.on_lookup: Probe[[int, int, int, bool, int]] = Probe()
        """Level, instance, tag, whether it hit, cycle."""
        self.on_miss: Probe[[int, int, int, int]] = Probe()
        """Instance, tag, SM and warp slot of a miss, which waits from now on."""
        self.on_request_miss: Probe[[MemoryRequest]] = Probe()
        """A data request that missed in the first level."""
        self.on_fill: Probe[[int, int]] = Probe()
        """Instance and tag: its requesters are about to be answered."""
        self.on_keep: Probe[[int, int, Mapping]] = Probe()
        """Instance, tag and mapping of a page that goes into the array."""
        self.on_invalidate: Probe[[int, int]] = Probe()
        """Instance, and tag of a page that the array forgets (-1: all)."""
        self.on_evict = Evictions(self.label, self._index, self.array, self.fill_policy)
        self.on_epoch: Probe[[int, int, int, int, int, int, int, int]] = Probe()
        """Level, instance, and what a fill policy announces at the end of an epoch."""

    def attach(self, signals: Signals) -> None:
        self.array.attach(signals)
        if self.fill_policy is not None:
            self.fill_policy.attach(signals)
        if self.mshr_policy is not None:
            self.mshr_policy.attach(signals)

    def peek(self, tag: int, slot: int = 0) -> Mapping | None:
        """What covers a page in the array, or None; a look is no use of it, and takes no time."""
        return self.array.peek(tag, slot)

    def announce(self, *epoch: int) -> None:
        """The fill policy has come to the end of an epoch."""
        if self.on_epoch.listeners:
            self.on_epoch(self._level, self._index, *epoch)

    # -- the first level, asked by load/store units ---------------------------------------------

    def claim(self) -> bool:
        """Take one of this cycle's ports; False if there is none left."""
        now = self.env._now
        if self._cycle != now:
            if self._cycle > now:
                return False
            self._cycle = now
            self._used = 0
        if self._used >= self._ports:
            return False
        self._used += 1
        return True

    def _slot(self, requester: Requester) -> int:
        """The slot of a block, for the array."""
        if not self._sms:
            return requester.slot
        return slot_of(self._sms[requester.sm], requester.slot)

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        """What covers the page, or None (then call `miss`); a hit is counted here."""
        array = self.array
        slot = self._slot(requester) if self._sms else requester.slot
        mapping = array.lookup(tag, slot)
        if self._lookups_evict:
            self.on_evict.announce()
        if self.fill_policy is not None:
            if mapping is None:
                mapping = self.fill_policy.find(tag, requester)
            elif self._follows:
                self.fill_policy.used(tag)
            if mapping is not None:
                self.fill_policy.looked_up(requester, True, self.env._now)
        if mapping is not None:
            counters = self.counters[requester.app]
            counters.lookups += 1
            counters.hits += 1
            if self.on_lookup.listeners:
                self.on_lookup(self._level, self._index, tag, True, self.env._now)
        if array.extra_cycles or self.extra_cycles or self._states_cycles:
            self._take_extra_cycles()
        return mapping

    def _take_extra_cycles(self) -> None:
        """The lookup of this cycle may take longer than usual, and its port with it."""
        array = self.array
        if self._states_cycles:
            self.extra_cycles, pipelined = stated_cycles(array)
        else:
            self.extra_cycles = array.extra_cycles
            if not self.extra_cycles:
                return
            pipelined = array.pipelined_cycles
        held = self.extra_cycles - pipelined
        if held > 0:
            self._cycle = self.env._now + held
            self._used = self._ports

    def check(self, tag: int, mapping: Mapping) -> None:
        """Make sure that a hit is what the page table says.

        Raises:
            WrongMappingError: it is not.
        """
        right = self._pages.find(tag)
        if right is not mapping and not became_part(mapping, right, tag):
            raise wrong_mapping(
                f"{self.name} ({type(self.array).__qualname__})", tag, mapping, right
            )

    def blocked(self) -> bool:
        """Whether no port is free before a miss is over (`when_free`)."""
        return False

    def refuses(self, tag: int, requester: Requester) -> bool:
        """Whether a miss on this page has to wait, for an MSHR or for room below (`when_free`)."""
        mshrs = self._mshrs
        if mshrs.merges(tag):
            return False
        if len(mshrs) < mshrs.capacity and not self.below.full:
            policy = self.mshr_policy
            if policy is None or not policy.refuses(tag, requester, len(mshrs)):
                return False
        self.counters[requester.app].stalls += 1
        return True

    def miss(self, request: MemoryRequest, delay: int) -> None:
        """Let `request` wait for its translation, which the level does not refuse.

        It comes back by `MemoryRequest.answer`.  The miss is sent on `delay` cycles later than a
        lookup alone would take.
        """
        access = request.access
        assert access is not None
        if self.on_request_miss.listeners:
            self.on_request_miss(request)
        self._miss(request, access, delay)

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when what it was refused for is free: an MSHR, or room below."""
        if len(self._mshrs) >= self._mshrs.capacity or not self.below.full:
            self._blocked.add(sender)
        else:
            self.below.when_free(sender)

    def waiting_warps(self, tag: int) -> list[int]:
        """The SM of each warp that waits for a page in a first level."""
        waiters = self._mshrs.waiting(tag)
        return [sm for sm, _ in {(one.sm, requester_of(one).warp_slot): 0 for one in waiters}]

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all), also what was read of it before, and is on its way.

        Whatever waits for that is answered with None, and has to ask again.
        """
        now = self.env._now
        if tag is None:
            self.array.flush()
            if self.on_invalidate.listeners:
                self.on_invalidate(self._index, -1)
            if self.fill_policy is not None:
                self.fill_policy.flush()
            self._void.shoot_down(self._primary, now)
        else:
            self.forget(tag)
            if self.fill_policy is not None:
                self.fill_policy.invalidate(tag)
            if tag in self._primary:
                self._void.shoot_down((tag,), now)

    def forget(self, tag: int) -> None:
        """Take a page out of the array; what is on its way is not touched."""
        self.array.invalidate(tag)
        if self.on_invalidate.listeners:
            self.on_invalidate(self._index, tag)
        self.on_evict.announce()

    def warm(self, tag: int, requester: Requester) -> Mapping:
        mapping = self.array.lookup(tag, self._slot(requester))
        if self._lookups_evict:
            self.on_evict.announce()
        policy = self.fill_policy
        if mapping is None and policy is not None:
            mapping = policy.find(tag, requester)
        if mapping is not None:
            return mapping
        assert self.warm_below is not None
        below = self.warm_below.warm(tag, requester)
        if policy is None or policy.admits(tag, below, (requester,), self.env._now):
            self.array.insert(tag, below, self._slot(requester))
            if self.on_keep.listeners:
                self.on_keep(self._index, tag, below)
            self.on_evict.announce()
        return below

    def reach(self) -> int | None:
        return self.array.reach() if self.fill_policy is None else None

    # -- deeper levels, and fills ---------------------------------------------------------------

    def turn(self, now: int) -> int:
        requests, fills = self.requests, self.fills
        while fills.ready <= now and (filled := fills.take()) is not None:
            self._fill(filled)
        while requests.ready <= now and (translation := requests.head()) is not None:
            if not self._serve(translation):
                return fills.ready
            requests.take()
        return min(fills.ready, requests.next_cycle()) if requests.queue else fills.ready

    def _serve(self, translation: Translation) -> bool:
        """Look up one translation from the queue; False if it has to wait for an MSHR."""
        if not self.claim():
            self.process.wake.at(max(self._cycle, self.env._now + 1))
            return False
        tag = translation.tag
        if translation.kind == _PREFETCH:
            mapping = self._look_for_prefetch(translation)
        else:
            mapping = self.lookup(tag, translation)
        if mapping is not None:
            self.check(tag, mapping)
            translation.mapping = mapping
            translation.read_at = self.env._now
            translation.answer(self.latency + self.extra_cycles)
            return True
        if self.refuses(tag, translation):
            self._used -= 1
            self.when_free(self.process.wake)
            return False
        self._miss(translation, translation, 0)
        return True

    def _look_for_prefetch(self, translation: Translation) -> Mapping | None:
        """Look up a page for a prefetch: counted apart, and without effect on `fill_policy`."""
        mapping = self.array.lookup(translation.tag, self._slot(translation))
        if self._lookups_evict:
            self.on_evict.announce()
        if mapping is not None:
            counters = self.prefetches[translation.app]
            counters.lookups += 1
            counters.hits += 1
        self._take_extra_cycles()
        return mapping

    def _miss(self, waiter: Traveller, requester: Requester, delay: int) -> None:
        tag = waiter.tag
        now = self.env._now
        if waiter.kind == _PREFETCH:
            counters: PrefetchTlbCounters = self.prefetches[waiter.app]
        else:
            counters = self.counters[waiter.app]
            if self.on_lookup.listeners:
                self.on_lookup(self._level, self._index, tag, False, now)
            if self.on_miss.listeners:
                self.on_miss(self._index, tag, waiter.sm, requester.warp_slot)
            if self.fill_policy is not None:
                self.fill_policy.looked_up(requester, False, now)
        counters.lookups += 1
        counters.misses += 1
        if self._mshrs.admit(tag, waiter) == MERGED:
            counters.merged += 1
            waiter.follow(self._primary[tag], now)
            return
        if isinstance(waiter, Translation):
            primary = waiter
        else:
            assert isinstance(waiter, MemoryRequest)
            primary = Translation(
                waiter.app,
                waiter.asid,
                waiter.sm,
                tag,
                requester.slot,
                requester.warp_slot,
                pair(self._state, now),
                waiter.access,
            )
            waiter.follow(primary, now)
        self._primary[tag] = primary
        delay += self.latency + self.extra_cycles
        primary.trail.append(self._below_state)
        primary.trail.append(now + delay)
        primary.return_to(self.fills)
        self.below.send(primary, delay)

    def _fill(self, translation: Translation) -> None:
        counters: PrefetchTlbCounters = self.counters[translation.app]
        if translation.kind == _PREFETCH:
            counters = self.prefetches[translation.app]
        counters.fills += 1
        tag, mapping = translation.tag, translation.mapping
        waiters = self._mshrs.release(tag)
        void = self._void
        if mapping is None or void.shot_down:
            mapping = self._still_right(translation)
        if not self._mshrs.holds(tag):
            del self._primary[tag]
            if void.shot_down:
                void.shot_down.pop(tag, None)
        if mapping is not None:
            right = self._pages.find(tag)
            if right is not mapping and not became_part(mapping, right, tag):
                raise wrong_mapping(self.below.name, tag, mapping, right)
            counters.evictions += self._keep(translation, mapping, waiters)
        if self.on_fill.listeners:
            self.on_fill(self._index, tag)
        if self._long_misses is not None:
            self._long_misses.ended(translation, waiters, self._held_back(), self.env._now)
        for waiter in waiters:
            waiter.mapping = mapping
            if isinstance(waiter, Translation):
                waiter.read_at = translation.read_at
            waiter.answer()
        if self._blocked.waiting:
            self._blocked.wake_after(translation)

    def _held_back(self) -> Sequence[MemoryRequest]:
        """Requests put aside until misses under way are over."""
        return ()

    def _still_right(self, translation: Translation) -> Mapping | None:
        """The answer of the stage below; None: its page has changed on the way.

        Raises:
            WrongMappingError: there is no answer again and again while the page does not change.
        """
        mapping = self._void.still_right(translation)
        if mapping is None and self._void.stuck(translation.tag):
            right = self._pages.find(translation.tag)
            raise wrong_mapping(self.below.name, translation.tag, None, right)
        return mapping

    def _keep(self, translation: Translation, mapping: Mapping, waiters: list[Traveller]) -> int:
        """Put what has come back into the array; returns how many entries were evicted."""
        tag = translation.tag
        if self._void.in_vain:
            self._void.in_vain.pop(tag, None)
        if self.fill_policy is not None:
            demand = [requester_of(one) for one in waiters if one.kind != _PREFETCH]
            wanted: Sequence[Requester] = demand or [translation]
            if not self.fill_policy.admits(tag, mapping, wanted, self.env._now):
                return 0
        if not self._fills_every_slot:
            evicted = self.array.insert(tag, mapping, self._slot(translation))
        else:
            slots = dict.fromkeys(self._slot(requester_of(waiter)) for waiter in waiters)
            evicted = sum(self.array.insert(tag, mapping, slot) for slot in slots)
        if self.on_keep.listeners:
            self.on_keep(self._index, tag, mapping)
        if self.on_evict.spilled:
            self.on_evict.announce()
        return evicted

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Translations that wait here or below."""
        return len(self._mshrs) + len(self.requests) + len(self.fills)

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self.requests:
            yield f"{self.name}: {len(self.requests)} translations queue for a lookup"
        if self._mshrs:
            pages = ", ".join(f"{tag:#x}" for tag in list(self._mshrs.outstanding())[:4])
            yield (
                f"{self.name}: {len(self._mshrs)}{self._of_all()} MSHRs wait for "
                f"{self.below.name} (pages {pages})"
            )

    def _of_all(self) -> str:
        return f" of {self._mshrs.capacity}" if self.mshr_policy is None else ""

    def policies(self) -> Iterator[tuple[str, object]]:
        yield f"tlb.{self.label}.array", self.array
        for name, policy in self.array.policies():
            yield f"tlb.{self.label}.{name}", policy
        if self.mshr_policy is not None:
            yield f"tlb.{self.label}.mshr_policy", self.mshr_policy
        if self.fill_policy is not None:
            yield f"tlb.{self.label}.fill", self.fill_policy

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("tlb", self.on_lookup), ("epochs", self.on_epoch))

    def app_counters(self, app: int) -> Iterator[object]:
        """The address space of an application is its number."""
        yield self.counters[app]
        if self.fill_policy is not None:
            yield from self.fill_policy.counters(app)
        if self.mshr_policy is not None:
            yield from self.mshr_policy.counters(app)
        yield from self.array.counters_of(app)
        if self._long_misses is not None:
            yield self._long_misses.counters[app]

    def shared_counters(self) -> Iterator[object]:
        yield from self.array.counters()
        yield TlbQueueCounters(self.requests.taken, self.requests.waited_cycles)


def _numbered(sms: Sequence[int]) -> dict[int, int]:
    """The numbers of SMs that share a TLB; none, if it is one SM's."""
    return {sm: number for number, sm in enumerate(sms)} if len(sms) > 1 else {}

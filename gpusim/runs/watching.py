"""Looks into the TLBs and caches of a machine while it runs; free where nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.request import MemoryRequest
from gpusim.hardware.cache import CacheArray, HashedCacheArray
from gpusim.hardware.tlb import IdealArray, SetAssociativeArray, StarCounters, TlbArray, TlbLevel
from gpusim.machine import Machine

Ended = Callable[[int, int, int, int, int, int], None]
"""Structure, instance, what it was, cycles of fill, of the last use and of the end (-1: none)."""

IN_L1, IN_L2, NOWHERE = 0, 1, 2
"""Places of a line."""
_TLB, _L1, _L2 = 0, 1, 2
"""Structures."""


def watch_tlb_misses(machine: Machine, record: Callable[..., None]) -> Callable[[], None]:
    """Tell of each transaction that misses in the first TLB where its line is (VC Fig. 2).

    `record` gets application, SM, address space, virtual line, kind, place and cycle.
    """

    def missed(request: MemoryRequest) -> None:
        record(
            request.app,
            request.sm,
            request.asid,
            request.vline,
            request.kind,
            _place(machine, request),
            machine.env.now,
        )

    for tlb in next(iter(machine.tlbs.values())):
        tlb.on_request_miss.listen(missed)
    return _nothing


def _nothing() -> None:
    """Nothing is left to be written at the end of a run."""


def _place(machine: Machine, request: MemoryRequest) -> int:
    """Where the line of a request is; a look is no use of it."""
    config = machine.config
    mapping = machine.page_table.find(request.tag)
    if mapping is None:
        return NOWHERE
    frame = mapping.frame(request.tag)
    lines = config.memory.page // config.l1.line
    line = frame * lines + request.vline % lines
    l1 = machine.l1s[request.sm]
    if l1.array.state(l1.naming.choose(request.asid << ASID_SHIFT | request.vline, line)):
        return IN_L1
    of_l2 = line * config.l1.line // config.l2.line
    system = machine.system_of[request.sm]
    if machine.node is not None:
        system = machine.systems[(frame << machine.page_table.page_shift) // config.memory.size]
    return IN_L2 if system.bank_of(of_l2).holds(of_l2) else NOWHERE


def watch_sharing(machine: Machine, record: Callable[..., None]) -> Callable[[], None]:
    """Tell of each fill of a TLB with sub-entries what it did to the bases that share them (STAR).

    `record` gets level, instance, address space, cycle, and what the fill added: bases that joined
    an entry, reverts and demotions, conflicts, evictions.  Fills that add nothing are left out.
    """
    for level, (name, tlbs) in enumerate(machine.tlbs.items()):
        own = machine.config.tlb.get(name)  # a forward table has none
        if own is not None and own.sub_entries > 1:
            for tlb in tlbs:
                tlb.on_fill.listen(_Sharing(machine, level, tlb, record).filled)
    return _nothing


class _Sharing:
    """What one TLB did to bases in shared entries until its last fill."""

    def __init__(
        self,
        machine: Machine,
        level: int,
        tlb: TlbLevel,
        record: Callable[[int, int, int, int, int, int, int, int], None],
    ) -> None:
        self._machine = machine
        self._level = level
        self._tlb = tlb
        self._record = record
        self._before = self._now()

    def filled(self, instance: int, tag: int) -> None:
        now = self._now()
        if now != self._before:
            added = (new - old for new, old in zip(now, self._before, strict=True))
            self._record(self._level, instance, tag >> ASID_SHIFT, self._machine.env.now, *added)
            self._before = now

    def _now(self) -> tuple[int, int, int, int]:
        array = self._tlb.array
        own = [*array.counters()]
        for asid in range(len(self._machine.names)):
            own += array.counters_of(asid)
        shares = reverts = conflicts = 0
        for one in own:
            if isinstance(one, StarCounters):
                shares += one.sequential_shares + one.stride_shares
                reverts += one.reverts + one.demotions
                conflicts += one.conflicts
        return shares, reverts, conflicts, sum(one.evictions for one in self._tlb.counters)


def watch_lifetimes(machine: Machine, ended: Ended) -> Callable[[], None]:
    """Tell how long translations stay in first TLBs and lines in caches (VC Fig. 12).

    Returns:
        what to call at the end of the run, for those that are still there.

    Raises:
        UserError: the first TLBs do not tell what they evict.
    """
    lives: list[_Lives] = []
    name, tlbs = next(iter(machine.tlbs.items()))
    for index, tlb in enumerate(tlbs):
        if not isinstance(tlb.array, IdealArray):
            lives.append(_Lives(machine, ended, _TLB, index))
            tlb.array = _WatchedTlb(_plain(tlb.array, name), lives[-1])
            if tlb.mshr_policy is not None:
                tlb.mshr_policy.adopt(tlb.array)
    for index, l1 in enumerate(machine.l1s):
        lives.append(_Lives(machine, ended, _L1, index))
        hashed = isinstance(l1.array, HashedCacheArray)
        l1.watch(partial(_WatchedHashedCache if hashed else _WatchedCache, lives=lives[-1]))
    for index, bank in enumerate(bank for system in machine.systems for bank in system.banks):
        lives.append(_Lives(machine, ended, _L2, index))
        bank.watch(partial(_WatchedCache, lives=lives[-1]))

    def finish() -> None:
        for one in lives:
            one.finish()

    return finish


def _plain(array: TlbArray, name: str) -> SetAssociativeArray:
    if isinstance(array, SetAssociativeArray) and array.beside(0) is not None:
        return array
    raise UserError(
        f"cannot record lifetimes: the array of tlb.{name} does not tell what it evicts; "
        'allowed: array = "set-associative" with sets = "plain"'
    )


def watch_blame(machine: Machine, record: Callable[..., None]) -> Callable[[], None]:
    """Count what each array, and each place in the code, costs; see `gpusim.runs.blame`."""
    from gpusim.runs.blame import watch

    return watch(machine, record)


class _Lives:
    """When each thing in one structure was filled and last used."""

    def __init__(self, machine: Machine, ended: Ended, structure: int, instance: int) -> None:
        self._env = machine.env
        self._ended = ended
        self._place = structure, instance
        self._times: dict[int, list[int]] = {}

    def fill(self, key: int) -> None:
        now = self._env.now
        self._times.setdefault(key, [now, now])[1] = now

    def use(self, key: int) -> None:
        self._times[key][1] = self._env.now

    def end(self, key: int) -> None:
        begin, last = self._times.pop(key)
        self._ended(*self._place, key, begin, last, self._env.now)

    def end_all(self) -> None:
        for key in list(self._times):
            self.end(key)

    def finish(self) -> None:
        for key, (begin, last) in self._times.items():
            self._ended(*self._place, key, begin, last, -1)


class _WatchedCache(CacheArray):
    """Takes over the lines of another array."""

    def __init__(self, array: CacheArray, lives: _Lives) -> None:
        self.take_over(array)
        self._lives = lives

    def missing(self, line: int, sectors: int) -> int:
        missing = super().missing(line, sectors)
        if not missing and self.state(line):
            self._lives.use(line)
        return missing

    def fill(self, line: int, state: int) -> tuple[int, int] | None:
        victim = super().fill(line, state)
        if victim is not None:
            self._lives.end(victim[0])
        self._lives.fill(line)
        return victim

    def use(self, line: int, sectors: int, filled: int) -> int:
        missing = self.missing(line, sectors)
        if missing:
            self.fill(line, filled)
        return missing

    def evict(self, line: int) -> tuple[int, int]:
        gone, state = super().evict(line)
        self._lives.end(gone)
        return gone, state

    def remove(self, line: int) -> int:
        state = super().remove(line)
        if state:
            self._lives.end(line)
        return state

    def clear(self) -> None:
        super().clear()
        self._lives.end_all()


class _WatchedHashedCache(_WatchedCache, HashedCacheArray):
    """Of an array whose sets are hashed."""


def _kept(tag: int, mapping: Mapping) -> int:
    """The name of the entry that keeps a page: the first page of a larger one."""
    return tag if mapping.pages == 1 else mapping.tag


class _WatchedTlb(TlbArray):
    """Passes all on to an array, and sees what it evicts."""

    def __init__(self, array: SetAssociativeArray, lives: _Lives) -> None:
        self._array = array
        self._lives = lives
        self.extra_cycles = array.extra_cycles
        self.pipelined_cycles = array.pipelined_cycles

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mapping = self._array.lookup(tag, slot)
        if mapping is not None:
            self._lives.use(_kept(tag, mapping))
        return mapping

    def peek(self, tag: int, slot: int) -> Mapping | None:
        return self._array.peek(tag, slot)

    def next_victim(self, tag: int) -> int | None:
        return self._array.next_victim(tag)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        before = self._array.beside(tag, mapping.pages) or ()
        evicted = self._array.insert(tag, mapping, slot)
        if evicted:
            after = set(self._array.beside(tag, mapping.pages) or ())
            for gone in before:
                if gone not in after:
                    self._lives.end(gone)
        self._lives.fill(_kept(tag, mapping))
        return evicted

    def invalidate(self, tag: int) -> bool:
        found = self._array.invalidate(tag)
        if found:
            self._lives.end(tag)
        return found

    def flush(self) -> None:
        self._array.flush()
        self._lives.end_all()


WATCHERS: dict[str, Callable[[Machine, Callable[..., None]], Callable[[], None]]] = {
    "tlb_misses": watch_tlb_misses,
    "sharing": watch_sharing,
    "lifetimes": watch_lifetimes,
    "blame": watch_blame,
}
"""Records that need more of a machine than one probe; each returns what ends it."""

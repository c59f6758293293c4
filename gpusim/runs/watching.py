"""Looks into the TLBs and caches of a machine while it runs; free where nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import MemoryRequest
from gpusim.hardware.tlb import StarCounters, TlbLevel
from gpusim.machine import Machine
from gpusim.runs.lifetimes import watch_lifetimes

IN_L1, IN_L2, NOWHERE = 0, 1, 2
"""Places of a line."""


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
    gpu = (frame << machine.page_table.page_shift) // config.memory.size
    if machine.node is not None and gpu < len(machine.systems):  # else it is a page of the host
        system = machine.systems[gpu]
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


def watch_blame(machine: Machine, record: Callable[..., None]) -> Callable[[], None]:
    """Count what each array, and each place in the code, costs; see `gpusim.runs.blame`."""
    from gpusim.runs.blame import watch

    return watch(machine, record)


WATCHERS: dict[str, Callable[[Machine, Callable[..., None]], Callable[[], None]]] = {
    "tlb_misses": watch_tlb_misses,
    "sharing": watch_sharing,
    "lifetimes": watch_lifetimes,
    "blame": watch_blame,
}
"""Records that need more of a machine than one probe; each returns what ends it."""

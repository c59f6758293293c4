"""The streaming multiprocessor: issues instructions of its resident warps, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.config.asked import asked_by
from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.cut import Trailed
from gpusim.core.engine import NEVER, EventLoop, Port, Probe, Turning, TurnTaker
from gpusim.core.law import Law
from gpusim.core.request import Kind, Traveller
from gpusim.core.signals import SignalBoard
from gpusim.core.states import State
from gpusim.core.unboxed import between, first_key, pair
from gpusim.core.warp_program import LEAST_SHIFT, PASSES, Asked, Op
from gpusim.hardware.sm.auxiliary_unit import SideUnit
from gpusim.hardware.sm.coalescer import KIND_OF_OP
from gpusim.hardware.sm.counters import LAWS, SmCounters
from gpusim.hardware.sm.issue_port import Executing, IssuePort
from gpusim.hardware.sm.ledger import WAITING, Ledger
from gpusim.hardware.sm.load_store_unit import LoadStoreUnit
from gpusim.hardware.sm.lsu_interfaces import Home
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.sm.shared_memory import SharedMemory
from gpusim.hardware.sm.warp import NOTHING, STALLED, Block, Rare, Warp, WarpAccess

# Plain ints: these are compared in the hottest loop, where an enum's members cost a lookup each.
_LOAD: Final = int(Kind.LOAD)
_ATOMIC: Final = int(Kind.ATOMIC)
_COMPUTE: Final = int(Op.COMPUTE)
_SHARED: Final = int(Op.SHARED)
_BARRIER: Final = int(Op.BARRIER)
_WAIT: Final = int(Op.WAIT)
_PACE: Final = int(Op.PACE)
_FETCH: Final = int(Op.FETCH)
_SHARED_LOAD: Final = int(Op.SHARED_LOAD)
_SHARED_STORE: Final = int(Op.SHARED_STORE)
_UNITS: Final = int(Op.UNITS)
_DELAY: Final = int(Op.DELAY)
_OVER: Final = STALLED - 1
"""Instead of what `live` returns: the operation is over, and took no cycle."""
_IN_PARTS: Final = STALLED - 2
"""Instead of what `live` returns: nothing was done yet, as the operation waits in between."""
_COHERENT_LOAD: Final = int(Op.COHERENT_LOAD)
_INVALIDATE: Final = int(Op.INVALIDATE)
_KIND_OF_OP: Final = [KIND_OF_OP.get(op, _LOAD) for op in range(max(Op) + 1)]
"""What an operation is that goes to the L1 cache: side operations have no cache of their own."""
_ISSUING: Final = int(State.ISSUING)
_COMPUTING: Final = int(State.COMPUTING)
_READY: Final = int(State.READY)
_LSU: Final = int(State.LSU)
_SHARED_MEMORY: Final = int(State.SHARED)
_AT_BARRIER: Final = int(State.BARRIER)


@mypyc_attr(allow_interpreted_subclasses=True)
class Sm(Component, Home, Turning, Executing):
    """One SM.  `gpusim.machine` attaches `lsu` and `sides` before the first block arrives.

    An issue port issues one warp instruction every few cycles (a 64-lane warp on 32 lanes takes
    two).  A greedy scheduler's run of compute instructions is one event; round-robin runs are cut
    short when another warp becomes ready.

    A block that has ended goes to the port ``block.ended``.

    Attributes:
        sides: units in front of its side caches, by the operations that go there.
    """

    path = "sm"
    laws: Sequence[Law] = LAWS

    lsu: LoadStoreUnit

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: GpuConfig,
        apps: int,
        ledger: Ledger,
        make_scheduler: Callable[[], WarpScheduler],
    ) -> None:
        self.env = env
        self.name = f"sm[{index}]"
        self.index = self.instance = index
        self.ledger = ledger
        self.blocks: Port[Block] = Port(
            env, f"sm[{index}].blocks", config.sm.block_start.cycles(config.clock)
        )
        self._counters = [SmCounters() for _ in range(apps)]
        self.on_kernel: Probe[[int, int, int]] = Probe()
        """SM, blocks that it holds at once at most, cycle in which the kernel begins."""
        self.on_block: Probe[[int, int, int, int]] = Probe()
        """SM, block slot, application, cycle in which the block begins."""
        self.on_block_end: Probe[[int, int, int]] = Probe()
        """SM, block slot, cycle in which the block gives back its place."""
        self.on_warp: Probe[[int, int, int, int]] = Probe()
        """SM, warp slot, application, cycle from which on the warp issues."""
        self.on_warp_end: Probe[[int, int, int, int]] = Probe()
        """SM, warp slot, application, cycle in which the warp has ended."""
        self.on_wait: Probe[[WarpAccess, int, int]] = Probe()
        """An access that a warp has waited for, and from which cycle to which."""
        self.asks_places = False
        """Whether programs are asked for the places of accesses in the code."""
        self.sides: dict[int, SideUnit] = {}
        self.resident = 0
        self._config = config.sm
        self._max_loads = config.sm.max_loads
        self._posts = config.sm.block_end == "sent"
        self._keeps_lines = config.l1.at_launch == "keep"
        self._issue_cycles = -(-config.sm.warp_size // config.sm.simd_lanes)
        self._shared = SharedMemory(config.sm, config.clock, self._issue_cycles)
        self._shared_done: Port[WarpAccess] = Port(env, f"sm[{index}].shared.done")
        self._asked: Asked | None = None
        self._age = 0
        self._wants_lsu: list[Warp] = []
        self._timers: Port[Warp] = Port(env, f"sm[{index}].shared")
        self.process = TurnTaker(env, self)
        self.issue_ports = [
            IssuePort(
                make_scheduler(),
                self,
                ledger,
                self._counters,
                self._issue_cycles,
                self.process.wake,
            )
            for _ in range(config.sm.schedulers)
        ]
        self._holds_loads = any(port.scheduler.holds for port in self.issue_ports)
        self.blocks.connect(self.process)
        self._timers.connect(self.process)
        self._shared_done.connect(self.process)

    def asked(self) -> Asked:
        """What it asks of a program."""
        if self._asked is None:
            self._asked = asked_by(self._config, self.sides, places=self.asks_places)
        return self._asked

    @property
    def counters(self) -> list[SmCounters]:
        """By application, what has been done up to now, this cycle included."""
        for port in self.issue_ports:
            port.count_until(self.env._now)
        return self._counters

    def turn(self, now: int) -> int:
        blocks, timers, loaded = self.blocks, self._timers, self._shared_done
        while blocks.ready <= now and (block := blocks.take()) is not None:
            self._open(block, now)
        while timers.ready <= now and (warp := timers.take()) is not None:
            self._ready(warp, now)
        while loaded.ready <= now and (access := loaded.take()) is not None:
            self.complete(access)
        upcoming = NEVER
        for port in self.issue_ports:
            if port.free_at <= now:
                port.issue(now)
            if port.free_at < upcoming:
                upcoming = port.free_at
        if blocks.ready < upcoming:
            upcoming = blocks.ready
        if timers.ready < upcoming:
            upcoming = timers.ready
        if loaded.ready < upcoming:
            upcoming = loaded.ready
        return upcoming

    def _open(self, block: Block, now: int) -> None:
        """A block arrives: its warps are ready in this cycle."""
        block.open(self._config.warp_size, self.lsu.coalescing, self.asked())
        if self.on_block.listeners:
            self.on_block(self.index, block.slot, block.app, now)
        for index, slot in enumerate(block.warp_slots):
            port = slot % len(self.issue_ports)
            warp = Warp(block.first_warp + index, block, index, self._age, port, now)
            if self.on_warp.listeners:
                self.on_warp(self.index, slot, block.app, now)
            self._age += 1
            self.resident += 1
            self._ready(warp, now)

    def _ready(self, warp: Warp, now: int) -> None:
        """`warp` (whose state is up to date) may issue from now on."""
        self.ledger.enter(warp, _READY, now)
        self.issue_ports[warp.issue_port].add(warp, now)

    # -- the life of a warp ----------------------------------------------------------------------

    def live(self, warp: Warp, now: int) -> int:
        """Let a warp go on with its program; when that is over and all is answered, it ends.

        A wait of the program, and keeping its pace, is no instruction: it takes no issue cycle.
        A shared-memory access behind which another one follows is not waited for where these are
        followed in a scoreboard: both pass one after the other.
        Neither do operations of zero instructions, or in which no lane takes part.
        """
        while warp.op != NOTHING or (not warp.ending and warp.take_up()):
            op, arg = warp.op, warp.arg
            if op > _PACE:
                cycles = _IN_PARTS if warp.rare is not None else self._whole(warp, op, arg, now)
                if cycles >= STALLED:
                    return cycles
                if cycles == _IN_PARTS:
                    now = self._rare(warp, now)
                    if warp.rare is not None:
                        return now
            elif op == _COMPUTE:
                if warp.left:
                    return self.issue_ports[warp.issue_port].run(warp, now)
            elif op >= _WAIT:
                if self._held(warp, op, arg, now):
                    warp.op = NOTHING
                    return STALLED
            elif arg or op == _BARRIER:
                return self._issue(warp, op, arg, now)
            warp.op = NOTHING
        return self._end(warp, now)

    def _issue(self, warp: Warp, op: int, arg: int, now: int) -> int:
        """Issue an instruction that is no arithmetic; returns what `live` does."""
        if op == _SHARED or op == _BARRIER:
            warp.op = NOTHING
            return self._leave(warp, op, arg, now)
        if not self._access(warp, op, arg, now):
            return STALLED
        warp.op = NOTHING
        warp.first += arg
        return self._issue_cycles

    def _end(self, warp: Warp, now: int) -> int:
        """The program of a warp is over: it waits for what is not answered, then ends."""
        if not warp.ending and (warp.outstanding or (warp.stores and not self._posts)):
            self.ledger.enter(warp, WAITING, now)
            warp.ending = True
        else:
            self._retire(warp, now)
        return STALLED

    def _rare(self, warp: Warp, now: int) -> int:
        """Go on with the rare operation that a warp has in hand.

        Returns:
            what `live` returns; when the operation is over (`Warp.rare` is None), the cycle.
        """
        op, arg = warp.op, warp.arg
        try:
            if warp.rare is not None:
                return warp.rare.send(now)
            warp.rare = self._beside(warp, op, arg, now)
            return next(warp.rare)
        except StopIteration as ended:
            warp.rare = None
            if op <= _FETCH or op == _COHERENT_LOAD:
                warp.first += arg
            over: int = ended.value
            return over

    def _beside(self, warp: Warp, kind: int, count: int, now: int) -> Rare:
        """Issue an access to a side cache, and wait for it if it is a fetch of code.

        A coherent load has no such cache.  Without one a program is not asked for such an
        operation; if it states one nevertheless, data come through the L1 cache, and code is there.
        """
        unit = self.sides.get(kind)
        if not count or (unit is None and kind == _FETCH):
            return now
        if unit is None:
            while not self._access(warp, kind, count, now):
                now = yield STALLED
            return (yield self._issue_cycles)
        segment, first = warp.segment, warp.first
        assert segment is not None
        last = first + count
        lines, sectors = between(segment.lines, first, last), segment.sectors[first:last]
        while unit.lsu.full:
            self.ledger.enter(warp, _LSU, now)
            unit.wait_for_room(self, warp)
            now = yield STALLED
        if kind == _FETCH:
            unit.fetch(self, warp, lines, sectors, now)
            self.ledger.enter(warp, WAITING, now)
            return (yield STALLED)
        while len(warp.outstanding) >= self._max_loads:
            self._wait_for_oldest(warp, now)
            now = yield STALLED
        access = unit.load(self, warp, lines, sectors, warp.issued, now)
        if segment.places:
            access.place = segment.places[warp.place - 1]
        self._count_load(warp, access, now)
        return (yield self._issue_cycles)

    def _whole(self, warp: Warp, kind: int, arg: int, now: int) -> int:
        """Do an operation that this SM has asked for, or empty the L1 cache.

        Returns:
            what `live` returns; `_OVER` or `_IN_PARTS`.
        """
        if kind == _SHARED_LOAD or kind == _SHARED_STORE:
            return self._follow_shared(warp, kind, arg, now)
        if kind == _INVALIDATE:
            self.lsu.l1.clear()
        elif kind != _UNITS and kind != _DELAY:
            return _IN_PARTS
        warp.op = NOTHING
        if kind == _UNITS:
            return arg or _OVER
        if kind == _INVALIDATE or not arg:
            return _OVER
        self.ledger.enter(warp, _COMPUTING, now)
        self._timers.send(warp, arg)
        return STALLED

    def _follow_shared(self, warp: Warp, kind: int, arg: int, now: int) -> int:
        """Issue a shared-memory access that the warp does not wait for; returns issue cycles.

        It waits before: as many passes may be due as the load/store unit queues instructions, and
        as many loads be outstanding as a warp may have.
        """
        if kind == _SHARED_LOAD and len(warp.outstanding) >= self._max_loads:
            self._wait_for_oldest(warp, now)
            return STALLED
        behind = self._shared.free - self._shared.queue - now
        if behind > 0:
            self.ledger.enter(warp, _SHARED_MEMORY, now)
            self._timers.send(warp, behind)
            return STALLED
        warp.op = NOTHING
        self._pass_shared(warp, kind, arg, now)
        return self._issue_cycles

    def _pass_shared(self, warp: Warp, kind: int, arg: int, now: int) -> None:
        """Let a shared-memory access pass; a load is outstanding until it has its data."""
        end = self._shared.passed(arg, self._count_issue(warp, now), now)
        if kind == _SHARED_LOAD:
            access = WarpAccess(self.lsu, warp, _LOAD, warp.issued, now)
            trail = pair(-1, now)
            trail.append(_SHARED_MEMORY)
            trail.append(now)
            access.cause = Traveller(warp.app, warp.block.asid, 0, 0, trail)
            access.cause.origin = self.lsu.history
            warp.outstanding[warp.issued] = access
            warp.issued += 1
            self._shared_done.send(access, end - now)

    def _held(self, warp: Warp, kind: int, arg: int, now: int) -> bool:
        """Whether a wait, or the pace of a trace, keeps the warp for some time."""
        if kind == _WAIT:
            held = warp.waits_for(warp.issued - 1 - arg)
            if held:
                self.ledger.enter(warp, WAITING, now)
            return held
        due = warp.block.launched_at + arg
        if due > now:
            self.ledger.enter(warp, _READY, now)
            self._timers.send(warp, due - now)
        return due > now

    def _access(self, warp: Warp, op: int, count: int, now: int) -> bool:
        """Hand a memory instruction to the load/store unit; False if the warp has to wait.

        The instruction has `count` transactions, the next ones of the piece of the warp's program.
        While the warp waits, its block may be cut: the piece has no kinds of operations any more,
        and the warp still issues the one that it has in hand.
        """
        lsu = self.lsu
        kind = _KIND_OF_OP[op]
        if self._holds_loads and kind == _LOAD and self._held_back(warp, now):
            return False
        if lsu.full:
            self.ledger.enter(warp, _LSU, now)
            self._wants_lsu.append(warp)
            return False
        answered = kind == _LOAD or kind == _ATOMIC
        sequence = -1
        if answered:
            if len(warp.outstanding) >= self._max_loads:
                self._wait_for_oldest(warp, now)
                return False
            sequence = warp.issued
            warp.issued += 1
        access = WarpAccess(lsu, warp, kind, sequence, now)
        access.coherent = op == _COHERENT_LOAD
        segment, first = warp.segment, warp.first
        assert segment is not None
        if segment.places:
            access.place = segment.places[warp.place - 1]
        access.take(segment.lines, segment.sectors, first, first + count)
        counters = self._count_issue(warp, now)
        counters.memory_instructions += 1
        counters.transactions += count
        if segment.passes:
            passes = segment.passes[warp.place - 1]
            access.passes = passes & PASSES
            counters.l1_passes += passes & PASSES
            counters.l1_conflicts += (passes & PASSES) - (passes >> LEAST_SHIFT)
        if answered:
            counters.loads += 1
            warp.outstanding[sequence] = access
        else:
            counters.stores += 1
            warp.stores += 1
        lsu.accept(access)
        return True

    def _held_back(self, warp: Warp, now: int) -> bool:
        """Whether the scheduler holds a load back; the warp asks again after some cycles."""
        issued = sum([counters.instructions for counters in self._counters])
        issued += sum([port.uncounted() for port in self.issue_ports])
        delay = self.issue_ports[warp.issue_port].scheduler.hold(warp, issued, now)
        if delay:
            self.ledger.enter(warp, _READY, now)
            self._timers.send(warp, delay)
        return delay > 0

    def _wait_for_oldest(self, warp: Warp, now: int) -> None:
        """The warp has as many loads outstanding as it may: it goes on when one is answered."""
        warp.needs = first_key(warp.outstanding)
        self.ledger.enter(warp, WAITING, now)

    def _count_load(self, warp: Warp, access: WarpAccess, now: int) -> None:
        """A load has been issued that the load/store unit of this SM does not see."""
        warp.outstanding[warp.issued] = access
        warp.issued += 1
        counters = self._count_issue(warp, now)
        counters.memory_instructions += 1
        counters.loads += 1
        counters.transactions += access.end

    def _leave(self, warp: Warp, op: int, arg: int, now: int) -> int:
        """A shared-memory access or a barrier, after which the warp waits; returns issue cycles."""
        port = self.issue_ports[warp.issue_port]
        if op == _BARRIER:
            return self._barrier(warp, port, now)
        end = self._shared.passed(arg, self._count_issue(warp, now), now)
        segment = warp.segment
        assert segment is not None
        kinds, place = segment.kinds, warp.place
        if self._shared.flows and place < len(kinds) and kinds[place] == _SHARED:
            return self._issue_cycles
        self._timers.send(warp, end - now)
        return self._leave_port(warp, port, _SHARED_MEMORY, now)

    def _barrier(self, warp: Warp, port: IssuePort, now: int) -> int:
        self._count_issue(warp, now).barriers += 1
        block = warp.block
        block.at_barrier.append(warp)
        self._release_barrier(block)
        return self._leave_port(warp, port, _AT_BARRIER, now)

    def _release_barrier(self, block: Block) -> None:
        """If all live warps have arrived, they are ready when the last instruction has issued."""
        if block.at_barrier and len(block.at_barrier) == block.live:
            for waiting in block.at_barrier:
                self._timers.send(waiting, self._issue_cycles)
            block.at_barrier = []

    def _leave_port(self, warp: Warp, port: IssuePort, state: int, now: int) -> int:
        """The instruction takes its issue cycles, after which the warp waits in `state`."""
        self.ledger.enter(warp, state, now + self._issue_cycles)
        port.current = None
        return self._issue_cycles

    def _count_issue(self, warp: Warp, now: int) -> SmCounters:
        self.ledger.enter(warp, _ISSUING, now)
        counters = self._counters[warp.app]
        counters.instructions += 1
        counters.issue_cycles += self._issue_cycles
        return counters

    def _retire(self, warp: Warp, now: int) -> None:
        self.ledger.end(warp, now)
        self.resident -= 1
        counters = self._counters[warp.app]
        counters.warps += 1
        block = warp.block
        block.live -= 1
        if self.on_warp_end.listeners:
            self.on_warp_end(self.index, warp.warp_slot, warp.app, now)
        block.posted += warp.stores
        warp.ending, warp.gone = False, True
        if self._holds_loads:
            self.issue_ports[warp.issue_port].scheduler.ended(warp)
        if block.live:
            self._release_barrier(block)
        else:
            counters.blocks += 1
            if self.on_block_end.listeners:
                self.on_block_end(self.index, block.slot, now)
            block.ended.send(block)

    def _answered_late(self, block: Block) -> None:
        """A store is answered whose warp has ended; the last one of a block ends the block."""
        block.posted -= 1
        if not block.posted and not block.live:
            block.ended.send(block)

    # -- answers ---------------------------------------------------------------------------------

    def complete(self, access: WarpAccess) -> None:
        """All transactions of a memory instruction are answered."""
        warp = access.warp
        now = self.env._now
        history = access.lsu.history
        if access.sequence >= 0:
            del warp.outstanding[access.sequence]
        else:
            warp.stores -= 1
            if warp.gone:
                self._answered_late(warp.block)
        if warp.ending:
            if not warp.outstanding and (self._posts or not warp.stores):
                if self.on_wait.listeners:
                    self.on_wait(access, warp.since, now)
                self.ledger.enter_after_wait(warp, _READY, now, access.finished_by(history))
                self.live(warp, now)  # this was the last that it waited for
        elif warp.needs >= 0 and not warp.waits_for(warp.needs):
            warp.needs = -1
            if self.on_wait.listeners:
                self.on_wait(access, warp.since, now)
            self.ledger.enter_after_wait(warp, _READY, now, access.finished_by(history))
            self.issue_ports[warp.issue_port].add(warp, now)
        access.cause = None  # it refers back to the access: no reference cycles on the hot path

    def lsu_has_room(self) -> None:
        """The load/store unit can take an instruction: the first warp that waits may issue it."""
        if self._wants_lsu:
            self.goes_on(self._wants_lsu.pop(0), self.lsu.history)

    def goes_on(self, warp: Warp, waited_for: Trailed) -> None:
        now = self.env._now
        self.ledger.enter_after_wait(warp, _READY, now, waited_for)
        self.issue_ports[warp.issue_port].add(warp, now)

    def begin_kernel(self, blocks: int, shared_bytes: int) -> None:
        """A kernel starts: from now on this SM holds up to `blocks` blocks, others' included.

        Together they have up to `shared_bytes` of shared memory.
        """
        self.lsu.l1.begin_kernel(shared_bytes)
        if self.on_kernel.listeners:
            self.on_kernel(self.index, blocks, self.env._now)

    def end_kernel(self) -> None:
        """A kernel has drained: caches are emptied, also of others', unless they keep lines."""
        if not self._keeps_lines:
            self.lsu.l1.clear()
        for unit in self.sides.values():
            if not unit.keeps_lines:
                unit.cache.clear()

    def offer(self, board: SignalBoard) -> None:
        """Make the probes of this SM known."""
        here = [self.index]
        board.offer("kernel.begin", self.on_kernel, here)
        board.offer("block.begin", self.on_block, here)
        board.offer("block.end", self.on_block_end, here)
        board.offer("warp.begin", self.on_warp, here)
        board.offer("warp.end", self.on_warp_end, here)
        board.offer("l1.hit", self.lsu.on_l1_hit, here)
        board.offer("l1.miss", self.lsu.on_l1_miss, here)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Warps in residence, and what the load/store unit has not finished."""
        return self.resident + len(self.blocks) + self.lsu.in_flight()

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self.resident:
            ready = sum(len(port.scheduler) for port in self.issue_ports)
            yield f"{self.name}: {self.resident} warps in residence, {ready} of them ready"
        yield from self.lsu.waiting()

    def policies(self) -> Iterator[tuple[str, object]]:
        for port in self.issue_ports:
            yield "sm.scheduler", port.scheduler

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("requests", self.lsu.on_request),)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app], self.ledger.l2_waits[app], self.ledger.root_waits[app])

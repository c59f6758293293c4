"""The streaming multiprocessor: issues instructions of its resident warps, cycle by cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import cast

from attrs import define

from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, Environment, Port, Probe
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import INSTRUCTIONS, Metric, PerCycle, Ratio, Total, declare_metrics
from gpusim.core.signals import SignalBoard
from gpusim.core.states import State
from gpusim.core.warp_program import Op
from gpusim.hardware.sm.issue_port import IssuePort
from gpusim.hardware.sm.ledger import WAITING, Ledger
from gpusim.hardware.sm.load_store_unit import KIND_OF_OP, LoadStoreUnit
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.sm.warp import Block, Warp, WarpAccess

# Plain ints: these are compared in the hottest loop, where an enum's members cost a lookup each.
_COMPUTE, _LOAD, _ATOMIC = int(Op.COMPUTE), int(Op.LOAD), int(Op.ATOMIC)
_SHARED, _BARRIER, _WAIT = int(Op.SHARED), int(Op.BARRIER), int(Op.WAIT)
_ANSWERED = (_LOAD, _ATOMIC)
_ISSUING, _COMPUTING, _READY = int(State.ISSUING), int(State.COMPUTING), int(State.READY)
_LSU, _SHARED_MEMORY, _AT_BARRIER = int(State.LSU), int(State.SHARED), int(State.BARRIER)


@define(slots=True)
class SmCounters:
    """What one SM did for one application."""

    instructions: int = count("warp instructions issued (waits are not instructions)")
    compute_instructions: int = count("of these, arithmetic")
    memory_instructions: int = count("of these, loads, stores and atomics")
    shared_instructions: int = count("of these, shared-memory accesses")
    barriers: int = count("of these, barriers")
    loads: int = count("load and atomic instructions")
    stores: int = count("store and reduction instructions")
    transactions: int = count("coalesced transactions of the memory instructions")
    issue_cycles: int = count("cycles of issue ports taken", "cycles")
    blocks: int = count("thread blocks that ended here")
    warps: int = count("warps that ended here")


declare_metrics(
    SmCounters,
    Metric(INSTRUCTIONS, "1", "warp instructions issued", Total("instructions")),
    Metric("ipc", "1/cycle", "warp instructions a cycle", PerCycle("instructions")),
    Metric(
        "memory_instructions", "1", "loads, stores and atomics of warps",
        Total("memory_instructions"),
    ),
    Metric("transactions", "1", "coalesced memory transactions", Total("transactions")),
    Metric(
        "transactions_per_instruction", "1", "transactions a memory instruction",
        Ratio("transactions", "memory_instructions"),
    ),
)  # fmt: skip


class Sm(Component):
    """One SM.  `gpusim.machine` attaches `lsu` before the first block arrives.

    An issue port issues one warp instruction every few cycles (a 64-lane warp on 32 lanes takes
    two).  A greedy scheduler's run of compute instructions is one event; round-robin runs are cut
    short when another warp becomes ready.

    A block that has ended goes to the port ``block.ended``.
    """

    path = "sm"
    laws = laws_of(
        [SmCounters],
        Law(
            "instructions",
            "compute_instructions + memory_instructions + shared_instructions + barriers",
        ),
        Law("memory_instructions", "loads + stores"),
    )

    lsu: LoadStoreUnit

    def __init__(
        self, env: Environment, index: int, config: GpuConfig, apps: int, ledger: Ledger,
        make_scheduler: Callable[[], WarpScheduler],
    ) -> None:  # fmt: skip
        self.env = env
        self.name = f"sm[{index}]"
        self.index = self.instance = index
        self.ledger = ledger
        self.blocks: Port[Block] = Port(env, f"sm[{index}].blocks", latency=1)
        self.counters = [SmCounters() for _ in range(apps)]
        self.on_kernel: Probe[[int, int, int]] = Probe()
        """SM, blocks that it holds at once, cycle in which the kernel begins."""
        self.on_block: Probe[[int, int, int, int]] = Probe()
        """SM, block slot, application, cycle in which the block begins."""
        self.on_block_end: Probe[[int, int, int]] = Probe()
        """SM, block slot, cycle in which the block has ended, all its accesses answered."""
        self.issue_ports = [IssuePort(make_scheduler()) for _ in range(config.sm.schedulers)]
        self.resident = 0
        self._config = config.sm
        self._line_bytes = int(config.l1.line)
        self._issue_cycles = -(-config.sm.warp_size // config.sm.simd_lanes)
        self._shared_latency = config.sm.shared_latency.cycles(config.clock)
        self._shared_free = 0
        self._age = 0
        self._wants_lsu: deque[Warp] = deque()
        self._timers: Port[Warp] = Port(env, f"sm[{index}].shared")
        self.process = env.start(self._run())
        self.blocks.connect(self.process)
        self._timers.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        env, ports, blocks, timers = self.env, self.issue_ports, self.blocks, self._timers
        while True:
            now = env._now
            if blocks.queue:
                while (block := blocks.take()) is not None:
                    self._open(block, now)
            if timers.queue:
                while (warp := timers.take()) is not None:
                    self._ready(warp, now)
            upcoming = NEVER
            for port in ports:
                if port.free_at <= now:
                    self._issue(port, now)
                if port.free_at < upcoming:
                    upcoming = port.free_at
            if blocks.queue or timers.queue:
                upcoming = min(upcoming, blocks.next_cycle(), timers.next_cycle())
            yield None if upcoming == NEVER else upcoming - now

    def _open(self, block: Block, now: int) -> None:
        """A block arrives: its warps are ready in this cycle."""
        block.open(self._config.warp_size, self._line_bytes)
        if self.on_block.listeners:
            self.on_block(self.index, block.slot, block.app, now)
        for index, slot in enumerate(block.warp_slots):
            port = slot % len(self.issue_ports)
            warp = Warp(block.first_warp + index, block, index, self._age, port, now)
            self._age += 1
            self.resident += 1
            self._ready(warp, now)

    def _ready(self, warp: Warp, now: int) -> None:
        """`warp` (whose state is up to date) may issue from now on."""
        self.ledger.enter(warp, _READY, now)
        self._queue(warp, now)

    def _queue(self, warp: Warp, now: int) -> None:
        port = self.issue_ports[warp.issue_port]
        port.scheduler.add(warp)
        if port.free_at == NEVER:
            port.free_at = now
            self.process.wake.at(now)
        elif port.run_from >= 0 and not port.scheduler.greedy:
            self._cut_run(port, now)

    def _cut_run(self, port: IssuePort, now: int) -> None:
        """End a round-robin run of compute instructions with the one that is being issued now."""
        warp = port.current
        assert warp is not None
        done = (now - port.run_from) // self._issue_cycles + 1
        end = port.run_from + done * self._issue_cycles
        if end < port.free_at:
            warp.left = (port.free_at - end) // self._issue_cycles
            warp.pc -= 1
            counters = self.counters[warp.app]
            counters.instructions -= warp.left
            counters.compute_instructions -= warp.left
            counters.issue_cycles -= warp.left * self._issue_cycles
            port.free_at = end
            self.process.wake.at(end)

    # -- issue -----------------------------------------------------------------------------------

    def _issue(self, port: IssuePort, now: int) -> None:
        """Give this cycle of an issue port to a warp, if any can use it."""
        warp = port.current
        port.run_from = -1
        if warp is not None and not port.scheduler.greedy and len(port.scheduler):
            self.ledger.enter(warp, _READY, now)
            port.scheduler.add(warp)
            warp = None
        while True:
            if warp is None:
                warp = cast("Warp | None", port.scheduler.pick())
                if warp is None:
                    port.current = None
                    port.free_at = NEVER
                    return
            taken = self._step(warp, port, now)
            if taken:
                port.current = None if warp.parked else warp
                port.free_at = now + taken
                warp.parked = False
                return
            warp = None

    def _step(self, warp: Warp, port: IssuePort, now: int) -> int:
        """Issue the next instruction of `warp`; returns the cycles it takes, 0 if it stalled."""
        while True:
            pc = warp.pc
            if pc == len(warp.kinds):
                if not warp.refill():
                    self._end(warp, now)
                    return 0
                continue
            kind = warp.kinds[pc]
            arg = warp.args[pc]
            if kind == _WAIT:
                if warp.outstanding:
                    warp.needs = warp.issued - 1 - arg
                    if warp.must_wait():
                        self.ledger.enter(warp, WAITING, now)
                        return 0
                    warp.needs = -1
                warp.pc = pc + 1
                continue
            if kind == _BARRIER:
                return self._barrier(warp, now)
            if not arg:  # no instructions, or no lane takes part
                warp.pc = pc + 1
                continue
            if kind == _COMPUTE:
                return self._compute(warp, port, arg, now)
            if kind == _SHARED:
                return self._shared(warp, arg, now)
            return self._memory(warp, kind, arg, now)

    def _compute(self, warp: Warp, port: IssuePort, arg: int, now: int) -> int:
        left = warp.left or arg
        greedy = port.scheduler.greedy
        run = left if greedy or not len(port.scheduler) else 1
        warp.left = left - run
        if not warp.left:
            warp.pc += 1
        self.ledger.enter(warp, _COMPUTING, now)
        port.run_from = now
        counters = self.counters[warp.app]
        counters.instructions += run
        counters.compute_instructions += run
        counters.issue_cycles += run * self._issue_cycles
        return run * self._issue_cycles

    def _memory(self, warp: Warp, kind: int, transactions: int, now: int) -> int:
        lsu = self.lsu
        if lsu.full:
            self.ledger.enter(warp, _LSU, now)
            self._wants_lsu.append(warp)
            return 0
        loads = kind in _ANSWERED
        sequence = -1
        if loads:
            if len(warp.outstanding) >= self._config.max_loads:
                warp.needs = next(iter(warp.outstanding))
                self.ledger.enter(warp, WAITING, now)
                return 0
            sequence = warp.issued
            warp.issued += 1
        else:
            warp.stores += 1
        first = warp.line
        last = first + transactions
        warp.line = last
        access = WarpAccess(
            lsu, warp, KIND_OF_OP[kind], warp.lines[first:last], warp.sectors[first:last],
            sequence, now,
        )  # fmt: skip
        counters = self._count_issue(warp, now)
        counters.memory_instructions += 1
        counters.transactions += transactions
        if loads:
            counters.loads += 1
            warp.outstanding[sequence] = access
        else:
            counters.stores += 1
        lsu.accept(access)
        return self._issue_cycles

    def _shared(self, warp: Warp, passes: int, now: int) -> int:
        """A shared-memory access: `passes` cycles of the one port, then the latency."""
        self._count_issue(warp, now).shared_instructions += 1
        start = max(now + self._issue_cycles, self._shared_free)
        self._shared_free = start + passes
        self._timers.send(warp, start + passes - 1 + self._shared_latency - now)
        return self._leave_port(warp, _SHARED_MEMORY, now)

    def _barrier(self, warp: Warp, now: int) -> int:
        self._count_issue(warp, now).barriers += 1
        block = warp.block
        block.at_barrier.append(warp)
        self._release_barrier(block)
        return self._leave_port(warp, _AT_BARRIER, now)

    def _release_barrier(self, block: Block) -> None:
        """If all live warps have arrived, they are ready when the last instruction has issued."""
        if block.at_barrier and len(block.at_barrier) == block.live:
            for waiting in block.at_barrier:
                self._timers.send(waiting, self._issue_cycles)
            block.at_barrier = []

    def _leave_port(self, warp: Warp, state: int, now: int) -> int:
        """The instruction takes its issue cycles, after which the warp waits in `state`."""
        self.ledger.enter(warp, state, now + self._issue_cycles)
        warp.parked = True
        return self._issue_cycles

    def _count_issue(self, warp: Warp, now: int) -> SmCounters:
        warp.pc += 1
        self.ledger.enter(warp, _ISSUING, now)
        counters = self.counters[warp.app]
        counters.instructions += 1
        counters.issue_cycles += self._issue_cycles
        return counters

    # -- answers ---------------------------------------------------------------------------------

    def complete(self, access: WarpAccess) -> None:
        """All transactions of a memory instruction are answered."""
        warp = access.warp
        now = self.env._now
        history = self.lsu.history
        if access.sequence >= 0:
            del warp.outstanding[access.sequence]
        else:
            warp.stores -= 1
        if warp.ending:
            if not warp.outstanding and not warp.stores:
                self.ledger.enter_after_wait(warp, _READY, now, access.finished_by(history))
                self._retire(warp, now)
        elif warp.needs >= 0 and not warp.must_wait():
            warp.needs = -1
            self.ledger.enter_after_wait(warp, _READY, now, access.finished_by(history))
            self._queue(warp, now)
        access.cause = None  # it refers back to the access: no reference cycles on the hot path

    def lsu_has_room(self) -> None:
        """The load/store unit can take an instruction: the first warp that waits may issue it."""
        if self._wants_lsu:
            warp = self._wants_lsu.popleft()
            now = self.env._now
            self.ledger.enter_after_wait(warp, _READY, now, self.lsu.history)
            self._queue(warp, now)

    def _end(self, warp: Warp, now: int) -> None:
        """The program of `warp` has ended; so does its life, once all is answered."""
        if warp.outstanding or warp.stores:
            warp.ending = True
            self.ledger.enter(warp, WAITING, now)
        else:
            self._retire(warp, now)

    def _retire(self, warp: Warp, now: int) -> None:
        self.ledger.end(warp, now)
        self.resident -= 1
        counters = self.counters[warp.app]
        counters.warps += 1
        block = warp.block
        block.live -= 1
        if block.live:
            self._release_barrier(block)
        else:
            counters.blocks += 1
            if self.on_block_end.listeners:
                self.on_block_end(self.index, block.slot, now)
            block.ended.send(block)

    def begin_kernel(self, blocks: int) -> None:
        """A kernel starts, of which this SM holds `blocks` blocks at once."""
        if self.on_kernel.listeners:
            self.on_kernel(self.index, blocks, self.env._now)

    def end_kernel(self) -> None:
        """A kernel has drained: the L1 cache is emptied."""
        self.lsu.l1.clear()

    def offer(self, board: SignalBoard) -> None:
        """Make the probes of this SM known."""
        here = [self.index]
        board.offer("kernel.begin", self.on_kernel, here)
        board.offer("block.begin", self.on_block, here)
        board.offer("block.end", self.on_block_end, here)
        board.offer("l1.hit", self.lsu.on_l1_hit, here)
        board.offer("l1.miss", self.lsu.on_l1_miss, here)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Warps in residence, and what the load/store unit has not finished."""
        return self.resident + len(self.blocks) + self.lsu.in_flight()

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self.resident:
            ready = sum(len(port.scheduler) for port in self.issue_ports)
            yield f"{self.name}: {self.resident} warps in residence, {ready} of them ready"
        yield from self.lsu.waiting()

    def policies(self) -> Iterator[tuple[str, object]]:
        for port in self.issue_ports:
            yield "sm.scheduler", port.scheduler

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

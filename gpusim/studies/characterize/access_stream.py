"""The accesses of an application without a clock, in the order in which its SMs make them.

All SMs advance by one step at a time.  In a step each resident warp goes on to its next wait: for
loads, as it has `sm.max_loads` under way, or at a barrier [our choice: each wait is as long].
Within a step, the older block comes first; its warps follow each other, as many at once as the SM
has schedulers, or, where these are round-robin, take turns of one instruction; transactions follow
the lanes.  SMs make one transaction each in turn.  What is executed is forgotten when it has been
handed on, so that a program may be of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, TypeAlias

import numpy as np
from attrs import fields, frozen
from numpy.typing import NDArray

from gpusim.config.schema import GpuConfig
from gpusim.config.sm import SmConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import (
    LaneChunk,
    Launch,
    Op,
    execute_in_step,
    most_in_step,
)
from gpusim.hardware.sm.block_placement import BlockPlacement
from gpusim.hardware.sm.coalescer import IS_MEMORY, Coalescing, transactions_of
from gpusim.hardware.sm.occupancy import Occupancy, blocks_per_sm
from gpusim.machine import Tenant

Ints: TypeAlias = NDArray[np.int64]

WINDOW: Final = 1 << 20
"""Accesses that are handed on together, at least."""

EVENTS: Final = 100
"""Kinds of entries from here on are no accesses."""
KERNEL_BEGIN: Final = 100
"""A launch begins: `slot` is how many blocks the SM will hold, `line` its shared memory in
bytes."""
KERNEL_END: Final = 101
"""A launch has ended."""
WARP_BEGIN: Final = 102
WARP_END: Final = 103
"""A warp begins or ends, with its block."""
BLOCK_END: Final = 104
"""A thread block leaves its slot."""

_STEP_BITS: Final = 48
_TURN_BITS: Final = 8
_LAST_TURN: Final = (1 << _TURN_BITS) - 1
"""Turns of a step; instructions of a warp beyond them have the last one together."""
_ROUND_ROBIN: Final = "lrr"
_WAITS = (int(Op.WAIT), int(Op.BARRIER))
_LOADS = (int(Op.LOAD), int(Op.ATOMIC), int(Op.COHERENT_LOAD))


@frozen(eq=False)
class Accesses:
    """Accesses of a stretch of time, sorted by SM and then by cycle; each field is (n,) int64.

    Attributes:
        sm: number of the SM.
        cycle: order among the accesses of all SMs: an SM makes one in a cycle, and all of an
            application wait for the one that makes most in a step.
        app: index of the application.
        slot: hardware slot of the thread block on its SM.
        warp: hardware slot of the warp on its SM.
        line: virtual line number; of an event what its kind says.
        sectors: mask of 32-byte sectors, as in `gpusim.core.warp_program.Segment`.
        kind: `Op` of the instruction, or from `EVENTS` on an event.
    """

    sm: Ints
    cycle: Ints
    app: Ints
    slot: Ints
    warp: Ints
    line: Ints
    sectors: Ints
    kind: Ints

    def take(self, which: NDArray[np.bool_] | Ints) -> Accesses:
        """Some of them, by mask or index."""
        return Accesses(*(getattr(self, name)[which] for name in FIELDS))

    def __len__(self) -> int:
        return len(self.sm)


FIELDS: Final = tuple(one.name for one in fields(Accesses))


def join(parts: Sequence[Accesses]) -> Accesses:
    """Accesses one part after the other."""
    if len(parts) == 1:
        return parts[0]
    return Accesses(*(np.concatenate([getattr(one, name) for one in parts]) for name in FIELDS))


@frozen(eq=False)
class _Executed:
    """What a block accesses: of each access the step and turn, the warp in the block, the rest."""

    steps: int
    time: Ints
    warp: Ints
    line: Ints
    sectors: Ints
    kind: Ints


@frozen(eq=False)
class StreamSite:
    """What the accesses of an application depend on beside itself.

    Attributes:
        config: the machine.
        app: index of the application.
        sms: its SMs.
        placement: picks the SM of the next block.
    """

    config: GpuConfig
    app: int
    sms: Sequence[int]
    placement: BlockPlacement


def stream(tenant: Tenant, site: StreamSite) -> Iterator[Accesses | MappingCall]:
    """All accesses and events of an application from its first launch to its last, in their order.

    Calls that map and unmap come when all before them has been handed on.

    Raises:
        UserError: a block does not fit on an SM.
    """
    clock = _Clock()
    for launch in tenant.application.launches():
        if isinstance(launch, MappingCall):
            yield launch
        else:
            yield from _LaunchStream(launch, site, clock).run()


class _Clock:
    """Steps and cycles that have passed."""

    step = 0
    cycle = 0


class _LaunchStream:
    """One launch: its blocks are placed in order; one that has ended makes room for the next."""

    def __init__(self, launch: Launch, site: StreamSite, clock: _Clock) -> None:
        self._launch = launch
        self._site = site
        self._clock = clock
        self._coalescing = Coalescing.of(site.config)
        self._pending: list[tuple[Ints, Accesses]] = []
        """With the steps of their accesses, in the order in which blocks began."""
        self._waiting = 0
        self._kept = 0

    def run(self) -> Iterator[Accesses]:
        """Windows of its accesses; events are among them."""
        launch, site, clock = self._launch, self._site, self._clock
        config, sms = site.config.sm, len(site.sms)
        per_sm = blocks_per_sm(config, launch)
        if not per_sm:
            raise UserError(f"a block of kernel {launch.name!r} does not fit on an SM of the model")
        rooms = [Occupancy(config) for _ in range(sms)]
        held = per_sm * launch.shared_bytes
        self._event(KERNEL_BEGIN, clock.step, range(sms), slot=per_sm, line=held)
        running: list[tuple[int, int, int, int, list[int]]] = []
        now = clock.step
        for block, executed in enumerate(_executed(launch, config, self._coalescing)):
            while True:
                chosen = site.placement.pick(
                    launch, block, sms, lambda one: rooms[one].fits(launch)
                )
                if chosen is not None:
                    break
                now = running[0][0]
                while running and running[0][0] == now:
                    _, _, sm, slot, warps = heappop(running)
                    rooms[sm].give_back(launch, slot, warps)
                    self._end(now, sm, slot, warps)
                if self._waiting >= max(WINDOW, self._kept):
                    yield from self._hand_on(now)
            slot, warps = rooms[chosen].take(launch)
            self._add(executed, now, chosen, slot, warps)
            heappush(running, (now + executed.steps, block, chosen, slot, warps))
        while running:
            now, _, sm, slot, warps = heappop(running)
            self._end(now, sm, slot, warps)
        self._event(KERNEL_END, now, range(sms))
        clock.step = now + 1
        yield from self._hand_on(now + 1)

    def _add(self, executed: _Executed, now: int, sm: int, slot: int, warps: Sequence[int]) -> None:
        """A block begins."""
        self._event(WARP_BEGIN, now, [sm] * len(warps), slot=slot, warp=warps)
        count = len(executed.time)
        whole = np.full(count, self._site.sms[sm]), np.zeros(count, dtype=np.int64)
        accesses = Accesses(
            whole[0],
            whole[1],
            np.full(count, self._site.app),
            np.full(count, slot),
            np.array(warps, dtype=np.int64)[executed.warp],
            executed.line,
            executed.sectors,
            executed.kind,
        )
        self._pending.append((executed.time + (now << _TURN_BITS), accesses))
        self._waiting += count

    def _end(self, step: int, sm: int, slot: int, warps: Sequence[int]) -> None:
        """A block ends."""
        self._event(WARP_END, step, [sm] * len(warps), slot=slot, warp=warps)
        self._event(BLOCK_END, step, [sm], slot=slot)

    def _event(
        self, kind: int, step: int, sms: Sequence[int], **values: int | Sequence[int]
    ) -> None:
        """Something happens on some SMs; `values`: of the fields of `Accesses`."""
        zeros = np.zeros(len(sms), dtype=np.int64)
        event = dict.fromkeys(FIELDS, zeros)
        event["sm"] = np.array([self._site.sms[one] for one in sms], dtype=np.int64)
        event["app"] = zeros + self._site.app
        event["kind"] = zeros + kind
        event.update((name, zeros + np.array(value)) for name, value in values.items())
        self._pending.append((zeros + (step << _TURN_BITS), Accesses(**event)))

    def _hand_on(self, before: int) -> Iterator[Accesses]:
        """What happens before a step, in order."""
        step = np.concatenate([step for step, _ in self._pending])
        accesses = join([accesses for _, accesses in self._pending])
        now = step < before << _TURN_BITS
        later = np.flatnonzero(~now)
        self._pending = [(step[later], accesses.take(later))] if len(later) else []
        self._kept, self._waiting = len(later), 0
        key = (accesses.sm << _STEP_BITS) | step
        if len(later):
            which = np.flatnonzero(now)
            which = which[np.argsort(key[which], kind="stable")]
        else:
            which = np.argsort(key, kind="stable")
        if not len(which):
            return
        key, step = key[which], step[which]
        yield self._timed(accesses.take(which), key, step)

    def _timed(self, accesses: Accesses, key: Ints, step: Ints) -> Accesses:
        """Accesses with their cycles; `key`: by which they are sorted, of SM and step."""
        starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        length = np.diff(starts, append=len(key))
        rank = np.arange(len(key)) - np.repeat(starts, length)
        steps, of_step = np.unique(step[starts], return_inverse=True)
        most = np.zeros(len(steps), dtype=np.int64)
        np.maximum.at(most, of_step, length)
        begin = self._clock.cycle + np.concatenate(([0], np.cumsum(most)))
        self._clock.cycle = int(begin[-1])
        accesses.cycle[:] = np.repeat(begin[of_step], length) + rank
        return accesses


def _executed(launch: Launch, config: SmConfig, coalescing: Coalescing) -> Iterator[_Executed]:
    """The blocks of a launch, executed; several in step where the launch can do that."""
    warp_size, order = config.warp_size, _Order.of(config)
    together = most_in_step(launch, warp_size)
    block = 0
    while block < launch.blocks:
        blocks = range(block, min(block + together, launch.blocks))
        chunks = execute_in_step(launch, blocks, warp_size) if len(blocks) > 1 else None
        if chunks is None:
            for one in blocks:
                yield from _accesses(launch.run_block(one, warp_size), 1, coalescing, order)
        else:
            yield from _accesses(chunks, len(blocks), coalescing, order)
        block = blocks.stop


def _accesses(
    chunks: Iterator[LaneChunk], blocks: int, coalescing: Coalescing, order: _Order
) -> Iterator[_Executed]:
    """What blocks access whose warps stand side by side in chunks."""
    parts: list[tuple[Ints, ...]] = []
    steps: _Steps | None = None
    rows = 0
    for chunk in chunks:
        memory = IS_MEMORY[chunk.kind]
        if steps is None:
            steps = _Steps(chunk.active.shape[1], blocks, order.loads)
        step = steps.of(chunk)
        if not memory.any():
            continue
        counts, line, sectors = transactions_of(chunk, coalescing)
        kinds = chunk.kind[memory].astype(np.int64)
        number = np.repeat(np.arange(counts.size), counts.ravel())
        warp, row = np.divmod(number, counts.shape[1])
        parts.append((step[memory][row, warp], warp, row + rows, line, sectors, kinds[row]))
        rows += counts.shape[1]
    done = np.zeros(blocks, dtype=np.int64) if steps is None else steps.done
    if not parts:
        parts.append((np.zeros(0, dtype=np.int64),) * 6)
    step, warp, row, line, sectors, kind = (np.concatenate(one) for one in zip(*parts, strict=True))
    own = len(done) // blocks
    last = done.reshape(blocks, own).max(axis=1) + 1
    block, warp = np.divmod(warp, own)
    time = (step << _TURN_BITS) + order.turns(step, block * own + warp, row)
    place = np.lexsort((*order.within(warp, row), time, block))
    bounds = np.searchsorted(block[place], np.arange(blocks + 1)).tolist()
    for one in range(blocks):
        which = place[bounds[one] : bounds[one + 1]]
        yield _Executed(
            int(last[one]),
            time[which],
            warp[which],
            line[which],
            sectors[which],
            kind[which],
        )


@frozen
class _Order:
    """The order of the warps of an SM within a step.

    Attributes:
        in_turn: round-robin: a warp's next instruction comes when all have had a turn; else a warp
            executes all of a step, and then the next one.
        ports: warps that execute beside each other.
        loads: that a warp may have under way.
    """

    in_turn: bool
    ports: int
    loads: int

    @classmethod
    def of(cls, config: SmConfig) -> _Order:
        """That of the schedulers of an SM."""
        return cls(config.scheduler.policy == _ROUND_ROBIN, config.schedulers, config.max_loads)

    def turns(self, step: Ints, warp: Ints, row: Ints) -> Ints:
        """(n,) number of the turn within its step in which an access is made.

        Args:
            step: (n,) of the accesses, those of a warp in their order.
            warp: (n,) number of the warp.
            row: (n,) of the instruction among those of its block.
        """
        if not self.in_turn or not len(step):
            return np.zeros(len(step), dtype=np.int64)
        place = np.lexsort((row, step, warp))
        group = _differs(step[place]) | _differs(warp[place])
        instruction = np.cumsum(group | _differs(row[place])) - 1
        first = instruction[np.maximum.accumulate(np.where(group, np.arange(len(group)), 0))]
        found = np.empty(len(step), dtype=np.int64)
        found[place] = np.minimum(instruction - first, _LAST_TURN)
        return found

    def within(self, warp: Ints, row: Ints) -> tuple[Ints, ...]:
        """Keys of the order of a block's accesses within a turn, the last one most significant."""
        if self.in_turn:
            return row, warp
        return warp % self.ports, row, warp // self.ports


def _differs(values: Ints) -> NDArray[np.bool_]:
    """(n,) where a value is another one than that before it."""
    return np.concatenate(([True], values[1:] != values[:-1]))


class _Steps:
    """The steps of warps that execute side by side.

    Args:
        warps: how many.
        blocks: whose warps these are, as many of each.
        most: loads of a warp that may be under way.

    Attributes:
        done: (warps,) the step that each warp is in.
    """

    def __init__(self, warps: int, blocks: int, most: int) -> None:
        self.done = np.zeros(warps, dtype=np.int64)
        self._loads = np.zeros(warps, dtype=np.int64)
        self._blocks = blocks
        self._most = most

    def of(self, chunk: LaneChunk) -> Ints:
        """(n, warps) the step in which each warp executes each operation of a chunk."""
        waits = chunk.active & np.isin(chunk.kind, _WAITS)[:, None]
        loads = chunk.active & np.isin(chunk.kind, _LOADS)[:, None]
        count = np.cumsum(loads, axis=0) + self._loads
        under_way = count - np.maximum.accumulate(np.where(waits, count, 0), axis=0)
        full = loads & (under_way > 1) & (under_way % self._most == 1 % self._most)
        step: Ints = np.cumsum(waits | full, axis=0) + self.done
        for row in np.flatnonzero(chunk.kind == Op.BARRIER).tolist():
            at = np.where(chunk.active[row], step[row], -1).reshape(self._blocks, -1)
            together = np.repeat(at.max(axis=1), at.shape[1])
            step[row:] += np.where(chunk.active[row], together - step[row], 0)
        if len(step):
            self.done, self._loads = step[-1], under_way[-1]
        return step

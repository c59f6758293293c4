"""Copies that go on beside their warp, one by one (cp.async) and in bulk, and mbarriers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusim.core.warp_program import SECTOR_BYTES, Op
from gpusim.ptx import mbarrier
from gpusim.ptx.frame import Frame, Lanes, Reader, Step
from gpusim.ptx.memory_steps import Access, keep, load_op, recorded, taking_part
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import SINK, Address, Immediate, Instruction
from gpusim.ptx.tensor_maps import tensor_copy_steps
from gpusim.ptx.values import UnsupportedError, Value

_BYTE = np.dtype(np.uint8)


def async_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """``cp.async`` in all its forms.

    Raises:
        UnsupportedError: it needs what a launch does not have, such as a tensor's description.
    """
    if one.has("tensor") and not one.has("commit_group", "wait_group"):
        return tensor_copy_steps(operands, one, needed)
    if one.has("reduce", "prefetch"):
        raise UnsupportedError("reductions in bulk are not computed")
    if one.has("commit_group"):
        return [_commit] if not one.has("bulk") else []
    if one.has("wait_group", "wait_all"):
        return [_wait(one)]
    if one.has("mbarrier") and not one.has("bulk"):
        return _arrive_with_copies(operands, one)
    return _bulk(operands, one, needed) if one.has("bulk") else _copy(operands, one, needed)


def _commit(frame: Frame) -> None:
    if frame.batch.record is not None:
        frame.batch.record.copies.commit(frame.warps)


def _wait(one: Instruction) -> Step:
    count = one.operands[0] if one.operands else Immediate(0)
    if not isinstance(count, Immediate):
        raise UnsupportedError("a number of groups in a register is not computed")
    youngest, every, bulk = int(count.value), one.has("wait_all"), one.has("bulk")

    def wait(frame: Frame) -> None:
        record = frame.batch.record
        if record is not None and not bulk:
            copies = record.copies
            record.wait(copies.all if every else copies.needed(youngest), frame.warps)

    return wait


def _copy(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """A copy of 4, 8 or 16 bytes a thread."""
    size = one.operands[2]
    if not isinstance(size, Immediate):
        raise UnsupportedError("a size in a register is not computed")
    bytes_ = int(size.value)
    guard = operands.guard(one, one.guard)
    source = Access(
        one, "global", load_op(one), bytes_, operands.address(one, one.operands[1]), guard
    )
    target = Access(one, "shared", Op.STORE, bytes_, operands.address(one, one.operands[0]), guard)
    has_size = len(one.operands) > 3 and not isinstance(one.operands[3], Address)
    filled = operands.reader(one, one.operands[3], "u32") if has_size else None

    def record(frame: Frame) -> None:
        recorder = frame.batch.record
        if recorder is None:
            return
        which, lanes, address = taking_part(source, frame)
        if which is not None and not len(which):
            recorder.plain(Op.COMPUTE, 1, frame.warps)
            return
        reads = None if filled is None else _some(frame, filled, which) > 0
        if reads is not None and not reads.all():
            mine = frame.those(np.ones(frame.count, bool)) if lanes is None else lanes
            lanes, address = mine[reads], np.broadcast_to(address, len(mine))[reads]
            if not len(lanes):
                recorder.plain(Op.COMPUTE, 1, frame.warps)
                return
        warps = recorded(recorder, source, source.op, lanes, address)
        recorder.copies.copy(recorder.loads, warps)

    def copy(frame: Frame) -> None:
        which, lanes, address = taking_part(source, frame)
        if which is not None and not len(which):
            return
        _, _, to = taking_part(target, frame)
        count = frame.count if which is None else len(which)
        size = None if filled is None else _some(frame, filled, which)
        places = (np.broadcast_to(address, count), np.broadcast_to(to, count))
        _move(frame, lanes, (source, target), places, size)

    return [record, copy] if needed else [record]


def _some(frame: Frame, read: Reader, which: Lanes | None) -> Value:
    value = frame.spread(read(frame))
    return value if which is None else value[which]


def _move(
    frame: Frame,
    lanes: Lanes | None,
    accesses: tuple[Access, Access],
    places: tuple[Value, Value],
    size: Value | None,
) -> None:
    """Copy bytes of each thread from global to shared memory; zeros from its `size` on."""
    source, target = accesses
    address, to = places
    count, bytes_ = len(address), source.bytes
    values = np.zeros((count, bytes_), np.uint8)
    step = np.arange(bytes_)
    reads = np.arange(count) if size is None else np.flatnonzero(size > 0)
    if len(reads):
        some = reads if lanes is None else lanes[reads]
        for part in source.parts(frame, some, address[reads], 1):
            where = reads[part.which]
            at = np.minimum(part.offset[:, None] + step, part.data.size - 1)
            values[where] = part.data[at]
    if size is not None:
        values[step >= size[:, None]] = 0
    for part in target.parts(frame, lanes, to):
        part.data[part.offset[:, None] + step] = values[part.which]


def _arrive_with_copies(operands: Operands, one: Instruction) -> list[Step]:
    """The copies so far report to a barrier: here they are done, so it is an arrival."""
    address = operands.address(one, one.operands[0])
    counts = one.has("noinc")

    def arrive(frame: Frame) -> None:
        if frame.batch.record is not None:
            frame.batch.record.copies.report(frame.warps)
        if counts:
            mbarrier.change(frame, None, address(frame), lambda word, _: mbarrier.changed(word, 1))

    return [arrive]


def _bulk(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """A copy that one thread issues: from global to shared memory, or back."""
    spaces = [word for word in one.modifiers if word.partition("::")[0] in {"global", "shared"}]
    to_shared = spaces[0] != "global"
    if to_shared and spaces[1] != "global":
        raise UnsupportedError(
            "copies from shared memory to that of another block are not computed"
        )
    reads = [operands.address(one, one.operands[place]) for place in (0, 1)]
    size = operands.reader(one, one.operands[2], "u32")
    barrier = operands.address(one, one.operands[3]) if to_shared else None
    guard = operands.guard(one, one.guard)

    def copy(frame: Frame) -> None:
        mask = None if guard is None else frame.spread(guard(frame))
        to, of = (frame.spread(read(frame)) for read in reads)
        counts = frame.spread(size(frame))
        for place in range(frame.count) if mask is None else np.flatnonzero(mask).tolist():
            lane = np.array([place if frame.lanes is None else frame.lanes[place]])
            count = int(counts[place])
            outer, inner = (of, to) if to_shared else (to, of)
            base = int(outer[place])
            if frame.batch.record is not None:
                frame.batch.record.marked(one)
            _record_bulk(frame, int(lane[0]), base, count, to_shared)
            if needed:
                _copy_bulk(frame, lane, base, int(inner[place]), count, to_shared)
            if barrier is not None:
                at = np.broadcast_to(barrier(frame), frame.count)[place : place + 1]
                mbarrier.change(frame, lane, at, partial(mbarrier.came, count))

    return [copy]


def _record_bulk(frame: Frame, lane: int, base: int, count: int, loads: bool) -> None:
    record = frame.batch.record
    if record is None or count <= 0:
        return
    address = np.arange(base // SECTOR_BYTES * SECTOR_BYTES, base + count, SECTOR_BYTES)
    record.pieces(Op.LOAD if loads else Op.STORE, lane // WARP, address, SECTOR_BYTES)
    if loads:
        record.copies.bulk[lane // WARP] = record.loads[lane // WARP]


def _copy_bulk(
    frame: Frame, lane: Lanes, outer: int, inner: int, count: int, to_shared: bool
) -> None:
    step = np.arange(count)
    everyone = np.broadcast_to(lane, count)
    (shared,) = frame.batch.parts_of(everyone, "shared", inner + step, 1)
    for part in frame.batch.parts_of(everyone, "global", outer + step, 1):
        if to_shared:
            shared.data[shared.offset[part.which]] = part.data[part.offset]
        else:
            part.data[part.offset] = shared.data[shared.offset[part.which]]


# -- mbarriers -------------------------------------------------------------------------------------


def mbarrier_steps(operands: Operands, one: Instruction) -> list[Step]:
    """Instructions on mbarriers, except those that wait.

    Raises:
        UnsupportedError: this form is not computed.
    """
    kind = one.modifiers[0]
    returns = kind in {"arrive", "arrive_drop"} and len(one.operands) > 1
    returns = returns and not isinstance(one.operands[0], Address)
    rest = one.operands[1:] if returns else one.operands
    if kind == "pending_count":
        raise UnsupportedError("the pending count of a barrier is not computed")
    guard = operands.guard(one, one.guard)
    access = Access(one, "shared", Op.ATOMIC, 8, operands.address(one, rest[0]), guard)
    number = operands.reader(one, rest[1], "u32") if len(rest) > 1 else None
    change = _changes(one, kind)
    writers = [operands.writer(one, one.operands[0])] if returns and one.operands[0] != SINK else []

    def step(frame: Frame) -> None:
        which, lanes, address = taking_part(access, frame)
        if which is not None and not len(which):
            return
        if frame.batch.record is not None:
            recorded(frame.batch.record, access, Op.ATOMIC, lanes, address)
        count = frame.count if which is None else len(which)
        numbers = np.ones(count, np.int64)
        if number is not None:
            numbers = _some(frame, number, which).astype(np.int64)
        old = mbarrier.change(
            frame,
            lanes,
            np.broadcast_to(address, count),
            lambda word, place: change(word, int(numbers[place])),
        )
        if writers:
            keep(frame, which, writers, [old & np.uint64(1 << 63)])

    return [step]


def _changes(one: Instruction, kind: str) -> Callable[[int, int], int]:
    """What a barrier becomes, by its word and the number that the instruction gives."""
    changes: dict[str, Callable[[int, int], int]] = {
        "init": lambda _, count: mbarrier.started(count),
        "inval": lambda word, _: word,
        "expect_tx": lambda word, count: mbarrier.changed(word, 0, count),
        "complete_tx": lambda word, count: mbarrier.changed(word, 0, -count),
        "arrive": mbarrier.changed,
        "arrive_drop": lambda word, count: mbarrier.changed(word, count, dropped=count),
    }
    if kind == "arrive" and one.has("expect_tx"):
        return lambda word, count: mbarrier.changed(word, 1, count)
    if kind not in changes or (kind == "arrive_drop" and one.has("expect_tx")):
        raise UnsupportedError("this instruction on a barrier is not computed")
    return changes[kind]


def mbarrier_done(operands: Operands, one: Instruction) -> Callable[[Frame], Value]:
    """What reads, for each thread, whether the phase that it waits for is over."""
    address = operands.address(one, one.operands[1])
    by_parity = one.has("parity")
    state = operands.reader(one, one.operands[2], "u32" if by_parity else "u64")

    def done(frame: Frame) -> Value:
        awaited = state(frame)
        phase = awaited & np.uint32(1) if by_parity else mbarrier.phase_of(awaited)
        found: Value = np.zeros(frame.count, bool)
        places = np.broadcast_to(address(frame), frame.count)
        for part in frame.batch.parts_of(frame.lanes, "shared", places, 8):
            words = part.data.view(np.uint64)[part.offset // 8]
            found[part.which] = mbarrier.phase_of(words) != (
                phase if part.which is ... or not np.ndim(phase) else phase[part.which]
            )
        return found

    return done

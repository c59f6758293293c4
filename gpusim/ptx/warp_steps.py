"""Instructions in which the threads of a warp exchange values: shfl, vote, match, redux, elect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.ptx.frame import Frame, Step
from gpusim.ptx.memory_steps import keep
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Instruction, Operand, Vector
from gpusim.ptx.values import COMBINES, UnsupportedError, Value, dtype_of

WARP_LEVEL = ("shfl", "vote", "match", "redux", "activemask", "elect")

_BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


class Crowd:
    """The threads of a frame that take part in an instruction, laid out as (warps, 32)."""

    def __init__(self, frame: Frame, which: Value | None) -> None:
        count = frame.batch.threads.count
        lanes = np.arange(count) if frame.lanes is None else frame.lanes
        self.lanes = lanes if which is None else lanes[which]
        self._which = which
        self._frame = frame
        here = np.zeros(count, bool)
        here[self.lanes] = True
        self.here = here.reshape(-1, WARP)

    def laid(self, value: Value) -> Value:
        """A value of the frame's threads, by warps; 0 of those that take no part."""
        made = np.zeros(self.here.size, value.dtype)
        if np.ndim(value) and self._which is not None:
            value = value[self._which]
        made[self.lanes] = value
        return made.reshape(-1, WARP)

    def back(self, value: Value) -> Value:
        """Of a value by warps, (warps, 32) or (warps, 1), those of the threads that take part."""
        whole = np.broadcast_to(value, self.here.shape)
        return whole.reshape(-1)[self.lanes]


def warp_steps(operands: Operands, one: Instruction) -> list[Step]:
    """An instruction that exchanges values, if it is computed.

    Raises:
        UnsupportedError: this form is not.
    """
    to = one.operands[0]
    results = to.items if isinstance(to, Vector) else (to,)
    writers = [operands.writer(one, item) for item in results]
    guard = operands.guard(one, one.guard)
    sources = _sources(one)
    readers = [operands.reader(one, operand, type_) for operand, type_ in sources]
    run = _run(one)

    def step(frame: Frame) -> None:
        which = None
        if guard is not None:
            which = np.flatnonzero(frame.spread(guard(frame)))
            if not len(which):
                return
        crowd = Crowd(frame, which)
        found = run(crowd, *(crowd.laid(read(frame)) for read in readers))
        values = [crowd.back(value) for value in found[: len(writers)]]
        keep(frame, which, writers, values)

    return [step]


def _sources(one: Instruction) -> list[tuple[Operand, str]]:
    rest = one.operands[1:]
    types = {
        "shfl": ("u32",) * 4,
        "vote": ("pred", "u32"),
        "match": (one.modifiers[-1], "u32"),
        "redux": (one.modifiers[-1], "u32"),
        "activemask": (),
        "elect": ("u32",),
    }[one.opcode]
    return list(zip(rest, types, strict=False))


Run = Callable[..., tuple[Value, ...]]


def _run(one: Instruction) -> Run:
    if one.opcode == "shfl":
        return _shuffle(next(way for way in ("up", "down", "bfly", "idx") if one.has(way)))
    if one.opcode == "vote":
        return _vote(one)
    if one.opcode == "match":
        return _match_all if one.has("all") else _match
    if one.opcode == "redux":
        return _reduce(one)
    if one.opcode == "activemask":
        return lambda crowd: (_mask(crowd.here)[:, None],)
    return _elect


def _mask(which: Value) -> Value:
    """(warps,) uint32, a bit for each thread."""
    made: Value = (which * _BITS).sum(axis=1, dtype=np.uint32)
    return made


def _member(crowd: Crowd, members: Value) -> Value:
    """(warps, 32 threads, 32 others): which others take part, for each thread."""
    named = (members[:, :, None] & _BITS) != 0
    made: Value = named & crowd.here[:, None, :]
    return made


def _shuffle(way: str) -> Run:
    own = np.arange(WARP)

    def run(crowd: Crowd, value: Value, by: Value, clamp: Value, *_: Value) -> tuple[Value, ...]:
        amount, limits = (by & np.uint32(31)).astype(np.int64), clamp.astype(np.int64)
        segment, bound = (limits >> 8) & 31, limits & 31
        least = own & segment
        most = least | (bound & ~segment)
        if way == "up":
            source = own - amount
            valid = source >= most
        elif way == "down":
            source = own + amount
            valid = source <= most
        elif way == "bfly":
            source = own ^ amount
            valid = source <= most
        else:
            source = least | (amount & ~segment)
            valid = source <= most
        source = np.where(valid, source, own) % WARP
        there = np.take_along_axis(crowd.here, source, axis=1)
        found = np.take_along_axis(value, source, axis=1)
        return np.where(there, found, value), valid

    return run


def _vote(one: Instruction) -> Run:
    way = next((way for way in ("all", "any", "uni", "ballot") if one.has(way)), "")

    def run(crowd: Crowd, condition: Value, members: Value | None = None) -> tuple[Value, ...]:
        if members is None:
            members = np.full(crowd.here.shape, 0xFFFFFFFF, np.uint32)
        votes = (_mask(condition & crowd.here)[:, None]) & members
        voters = (_mask(crowd.here)[:, None]) & members
        if way == "ballot":
            return (votes,)
        if way == "any":
            return (votes != 0,)
        if way == "all":
            return (votes == voters,)
        return ((votes == 0) | (votes == voters),)

    if not way:
        raise UnsupportedError("this vote is not computed")
    return run


def _match(crowd: Crowd, value: Value, members: Value) -> tuple[Value, ...]:
    same = (value[:, :, None] == value[:, None, :]) & _member(crowd, members)
    mask = (same * _BITS).sum(axis=2, dtype=np.uint32)
    return (mask,)


def _match_all(crowd: Crowd, value: Value, members: Value) -> tuple[Value, ...]:
    (mask,) = _match(crowd, value, members)
    every = _mask(crowd.here)[:, None] & members
    return np.where(mask == every, mask, np.uint32(0)), mask == every


def _reduce(one: Instruction) -> Run:
    name = next(name for name in COMBINES if one.has(name))
    dtype = dtype_of(one.modifiers[-1])
    if dtype.kind == "f":
        raise UnsupportedError("reductions of floating point are not computed")
    limits = np.iinfo(dtype)
    neutral = {"min": limits.max, "max": limits.min, "and": -1}.get(name, 0)
    ufunc = COMBINES[name]

    def run(crowd: Crowd, value: Value, members: Value) -> tuple[Value, ...]:
        rest = np.array(neutral).astype(dtype)
        values = np.where(_member(crowd, members), value[:, None, :], rest)
        return (ufunc.reduce(values, axis=2, dtype=dtype),)

    return run


def _elect(crowd: Crowd, members: Value) -> tuple[Value, ...]:
    voters = _mask(crowd.here)[:, None] & members
    least = voters & (~voters + np.uint32(1))
    leader = np.where(voters != 0, np.log2(np.maximum(least, 1)), 0).astype(np.uint32)
    return leader, leader == np.arange(WARP, dtype=np.uint32)

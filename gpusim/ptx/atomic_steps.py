"""Atomics: by thread, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.core.warp_program import Op
from gpusim.ptx.arithmetic.floats import halved, widened
from gpusim.ptx.batch import Part
from gpusim.ptx.frame import Frame, Step
from gpusim.ptx.memory_steps import Access, items_of, keep, recording, space_of, taking_part
from gpusim.ptx.operands import Operands
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.uses import written
from gpusim.ptx.value_types import bytes_of
from gpusim.ptx.values import COMBINES, UnsupportedError, Value, dtype_of

_MANY = 32
"""Threads at one address from which on it is handled on its own."""

Change = Callable[[Value, list[Value]], Any]
"""What a value becomes, by it and the operands of one thread for each element."""

_OPERATIONS = {*COMBINES, "exch", "cas", "inc", "dec"}


def operation_of(one: Instruction) -> str:
    """What an atomic does."""
    found = [modifier for modifier in one.modifiers if modifier in _OPERATIONS]
    return found[-1] if found else ""


def atomic_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """``atom`` and ``red``; memory is changed only if something needs it."""
    # An assembler makes a reduction of an atomic whose result nothing reads.
    returns = one.opcode == "atom" and not operands.used.isdisjoint(written(one))
    rest = one.operands[1:] if one.opcode == "atom" else one.operands
    type_ = one.modifiers[-1]
    if type_ == "noftz":
        type_ = one.modifiers[-2]
    items = items_of(rest[1])
    op = Op.ATOMIC if returns else Op.REDUCE
    access = Access(
        one,
        space_of(one),
        op,
        bytes_of(type_) * len(items),
        operands.address(one, rest[0]),
        operands.guard(one, one.guard),
    )
    steps: list[Step] = [recording(access)]
    if not needed:
        return steps
    name = operation_of(one)
    if len(items) > 1 or not name:
        raise UnsupportedError("this atomic is not computed")
    dtype = dtype_of(type_)
    change = _change(name, type_)
    ufunc = COMBINES.get(name) if type_ not in {"f16x2", "bf16x2", "bf16", "f16"} else None
    readers = [operands.reader(one, operand, type_) for operand in rest[1:]]
    writers = [operands.writer(one, one.operands[0])] if returns else []

    def atomic(frame: Frame) -> None:
        which, lanes, address = taking_part(access, frame)
        if which is not None and not len(which):
            return
        count = frame.count if which is None else len(which)
        given = [_of_each(read(frame), which, count) for read in readers]
        address = np.broadcast_to(address, count)
        old = np.zeros(count, dtype)
        for part in access.parts(frame, lanes, address):
            found = _in_order(part, [one[part.which] for one in given], dtype, (change, ufunc))
            old[part.which] = found
        if writers:
            keep(frame, which, writers, [old])

    steps.append(atomic)
    return steps


def _of_each(value: Value, which: Any, count: int) -> Value:
    if not np.ndim(value):
        return np.broadcast_to(value, count)
    return value if which is None else value[which]


def _in_order(
    part: Part, given: list[Value], dtype: np.dtype[Any], how: tuple[Change, np.ufunc | None]
) -> Value:
    """Change memory thread by thread; returns what each has found."""
    change, ufunc = how
    view = part.data.view(dtype)
    at = part.offset // np.int64(dtype.itemsize)
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    first = np.ones(len(at), bool)
    first[1:] = sorted_at[1:] != sorted_at[:-1]
    begins = np.flatnonzero(first)
    lengths = np.diff(np.append(begins, len(at)))
    old: Value = np.zeros(len(at), dtype)
    long = lengths > _MANY
    if ufunc is not None and long.any():
        for begin, length in zip(begins[long].tolist(), lengths[long].tolist(), strict=True):
            who = order[begin : begin + length]
            cell = at[who[0]]
            values = np.concatenate((view[cell : cell + 1], given[0][who].astype(dtype)))
            run = ufunc.accumulate(values)
            old[who], view[cell] = run[:-1], run[-1]
        begins, lengths = begins[~long], lengths[~long]
    for turn in range(int(lengths.max(initial=0))):
        who = order[begins[lengths > turn] + turn]
        cells = at[who]
        old[who] = view[cells]
        view[cells] = change(view[cells], [value[who] for value in given])
    return old


def _change(name: str, type_: str) -> Change:
    others: dict[str, Change] = {
        "exch": lambda _, given: given[0],
        "cas": lambda old, given: np.where(old == given[0], given[1], old),
        "inc": lambda old, given: np.where(old >= given[0], old.dtype.type(0), old + 1),
        "dec": lambda old, given: np.where((old == 0) | (old > given[0]), given[0], old - 1),
    }
    if name in others:
        return others[name]
    ufunc = COMBINES[name]
    if type_ in {"f16", "bf16"}:
        return lambda old, given: _halves(ufunc, old, given[0], type_)
    if type_ in {"f16x2", "bf16x2"}:
        return lambda old, given: _pairs(ufunc, old, given[0], type_)
    return lambda old, given: ufunc(old, given[0])


def _halves(ufunc: np.ufunc, a: Value, b: Value, type_: str) -> Value:
    made = halved(
        ufunc(widened(a.view(np.uint16), type_), widened(b.view(np.uint16), type_)), type_
    )
    return made.view(a.dtype)


def _pairs(ufunc: np.ufunc, a: Value, b: Value, type_: str) -> Value:
    half = np.uint32(16)
    low, high = (
        halved(
            ufunc(
                widened((a >> shift).astype(np.uint16), type_),
                widened((b >> shift).astype(np.uint16), type_),
            ),
            type_,
        ).astype(np.uint32)
        for shift in (np.uint32(0), half)
    )
    made: Value = low | (high << half)
    return made

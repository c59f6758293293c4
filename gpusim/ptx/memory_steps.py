"""Loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from gpusim.core.warp_program import Op
from gpusim.ptx.batch import Part
from gpusim.ptx.copy_groups import Warps
from gpusim.ptx.device_memory import AccessError
from gpusim.ptx.frame import Frame, Lanes, Reader, Step
from gpusim.ptx.operands import Operands, Writer
from gpusim.ptx.record import Record
from gpusim.ptx.syntax import Instruction, Operand, Vector
from gpusim.ptx.value_types import bytes_of
from gpusim.ptx.values import Value, dtype_of
from gpusim.ptx.windows import SPACES, spaces_of, within

_COHERENT = {"cg", "cv", "volatile", "relaxed", "acquire", "mmio"}
_OWN_SCOPES = {"cta"}


def space_of(one: Instruction) -> str:
    """The memory space that an instruction names; empty: generic."""
    for modifier in one.modifiers:
        name = modifier.partition("::")[0]
        if name in SPACES:
            return name
    return ""


def load_op(one: Instruction) -> Op:
    """What a load of global memory is, by its cache operator (PTX ISA, cache operators).

    ``.cg`` and ``.cv``, and loads that are strong beyond their thread block, are answered by the L2
    cache.
    """
    if one.has(*_COHERENT) and not one.has(*_OWN_SCOPES):
        return Op.COHERENT_LOAD
    return Op.READ_ONLY if one.has("nc") else Op.LOAD


@frozen(eq=False)
class Access:
    """An access of one instruction.

    Attributes:
        one: the instruction.
        space: that it names; empty: generic.
        op: what it is in global memory.
        bytes: of each thread.
        address: reads where.
        guard: reads who; None: all.
    """

    one: Instruction
    space: str
    op: Op
    bytes: int
    address: Reader
    guard: Reader | None

    def parts(
        self, frame: Frame, lanes: Lanes | None, address: Value, bytes_: int | None = None
    ) -> list[Part]:
        """The memories to which addresses of some threads (None: all) go.

        Raises:
            AccessError: they go where nothing is; names the instruction.
        """
        try:
            return frame.batch.parts_of(lanes, self.space, address, bytes_ or self.bytes)
        except AccessError as error:
            error.instruction = self.one
            raise


def items_of(value: Operand) -> tuple[Operand, ...]:
    """The registers of a vector, or the only one."""
    return value.items if isinstance(value, Vector) else (value,)


def load_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """A load; its value is read only if it is needed."""
    space = space_of(one)
    type_ = one.modifiers[-1]
    items = items_of(one.operands[0])
    size = bytes_of(type_)
    access = Access(
        one,
        space,
        load_op(one),
        size * len(items),
        operands.address(one, one.operands[1]),
        operands.guard(one, one.guard),
    )
    steps: list[Step] = []
    if space != "param":
        steps.append(recording(access))
    if needed:
        dtype = dtype_of(type_)
        writers = [operands.writer(one, item) for item in items]

        def load(frame: Frame) -> None:
            which, lanes, address = taking_part(access, frame)
            if which is not None and not len(which):
                return
            values = read_values(access, frame, lanes, address, dtype, len(items))
            keep(frame, which, writers, values)

        steps.append(load)
    return steps


def store_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """A store; its value is written only if something needs it."""
    type_ = one.modifiers[-1]
    items = items_of(one.operands[1])
    access = Access(
        one,
        space_of(one),
        Op.STORE,
        bytes_of(type_) * len(items),
        operands.address(one, one.operands[0]),
        operands.guard(one, one.guard),
    )
    steps: list[Step] = [recording(access)]
    if needed:
        dtype = dtype_of(type_)
        readers = [operands.reader(one, item, type_) for item in items]

        def store(frame: Frame) -> None:
            which, lanes, address = taking_part(access, frame)
            if which is not None and not len(which):
                return
            values = [read(frame) for read in readers]
            if which is not None:
                values = [value[which] if np.ndim(value) else value for value in values]
            for part in access.parts(frame, lanes, address):
                view = part.data.view(dtype)
                at = part.offset // np.int64(dtype.itemsize)
                for place, value in enumerate(values):
                    some = value if part.which is ... or not np.ndim(value) else value[part.which]
                    if np.ndim(at):
                        view[at + place] = some
                    else:  # one element for all: the last thread's value stays
                        view[at + place] = some[-1] if np.ndim(some) else some

        steps.append(store)
    return steps


def taking_part(access: Access, frame: Frame) -> tuple[Lanes | None, Lanes | None, Value]:
    """Who takes part in an access.

    Returns:
        their numbers in the frame (None: all), those in the batch (None: all), their addresses.
    """
    address = access.address(frame)
    if access.guard is None:
        return None, frame.lanes, address
    mask = access.guard(frame)
    if not np.ndim(mask):
        if mask:
            return None, frame.lanes, address
        which = np.zeros(0, np.int64)
    elif mask.all():
        return None, frame.lanes, address
    else:
        which = np.flatnonzero(mask)
    lanes = which if frame.lanes is None else frame.lanes[which]
    return which, lanes, address[which] if np.ndim(address) else address


def read_values(
    access: Access,
    frame: Frame,
    lanes: Lanes | None,
    address: Value,
    dtype: np.dtype[Any],
    count: int,
) -> list[Value]:
    """The values at addresses, `count` of each, side by side."""
    parts = access.parts(frame, lanes, address)
    if len(parts) == 1 and parts[0].which is ...:
        view = parts[0].data.view(dtype)
        at = parts[0].offset // np.int64(dtype.itemsize)
        return [view[at + place] for place in range(count)]
    total = frame.count if lanes is None else len(lanes)
    made: list[Value] = [np.zeros(total, dtype) for _ in range(count)]
    for part in parts:
        view = part.data.view(dtype)
        at = part.offset // np.int64(dtype.itemsize)
        for place in range(count):
            made[place][part.which] = view[at + place]
    return made


def keep(
    frame: Frame, which: Lanes | None, writers: Sequence[Writer], values: Sequence[Value]
) -> None:
    """Keep results of some threads of a frame (None: of all) in registers."""
    mask: Value | None = None
    if which is not None:
        mask = np.zeros(frame.count, bool)
        mask[which] = True
    for write, value in zip(writers, values, strict=True):
        if mask is None or which is None:
            write(frame, value, None)
            continue
        made: Value = np.zeros(frame.count, value.dtype)
        made[which] = value
        write(frame, made, mask)


# -- recording -------------------------------------------------------------------------------------


def recording(access: Access) -> Step:
    """Records an access, for the memory that it goes to; warps without a thread issue it too."""
    op = access.op

    def record(frame: Frame) -> None:
        recorder = frame.batch.record
        if recorder is None:
            return
        which, lanes, address = taking_part(access, frame)
        if which is not None and not len(which):
            recorder.plain(Op.COMPUTE, 1, frame.warps)
            return
        warps = recorded(recorder, access, op, lanes, address)
        if which is not None and bool((frame.warps & ~warps).any()):
            recorder.plain(Op.COMPUTE, 1, frame.warps & ~warps)

    return record


def recorded(
    recorder: Record, access: Access, op: Op, lanes: Lanes | None, address: Value
) -> Warps:
    """Record an access; returns the warps that take part."""
    recorder.marked(access.one)
    if access.space:
        return _in_space(recorder, access.space, op, lanes, address, access.bytes)
    numbers = spaces_of(address)
    present = np.unique(numbers).tolist()
    if len(present) == 1:
        space = SPACES[min(present[0], len(SPACES) - 1)]
        return _in_space(recorder, space, op, lanes, within(address), access.bytes)
    made: Warps = np.zeros(len(recorder.loads), bool)
    for number in present:
        if not 0 <= number < len(SPACES):
            raise AccessError("a generic address lies in no memory")
        which = np.flatnonzero(numbers == number)
        some = which if lanes is None else lanes[which]
        made |= _in_space(recorder, SPACES[number], op, some, within(address[which]), access.bytes)
    return made


def _in_space(
    recorder: Record, space: str, op: Op, lanes: Lanes | None, address: Value, size: int
) -> Warps:
    if space == "shared":
        return recorder.shared(Op.LOAD if op == Op.COHERENT_LOAD else op, lanes, address, size)
    if space == "local":
        return recorder.local(op, lanes, address, size)
    if space in {"const", "param"}:
        return recorder.constant(lanes, address, size)
    if op == Op.READ_ONLY and Op.READ_ONLY not in recorder.asked:
        op = Op.LOAD
    return recorder.access(op, lanes, address, size)

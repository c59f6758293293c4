"""Operands of instructions as functions that read and write them in a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gpusim.core.errors import nearest
from gpusim.ptx.frame import Frame, Reader
from gpusim.ptx.layout import Layout
from gpusim.ptx.syntax import (
    SINK,
    Address,
    Function,
    Guard,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Register,
    Symbol,
)
from gpusim.ptx.uses import read
from gpusim.ptx.values import UnsupportedError, Value, constant, dtype_of, reinterpreted
from gpusim.ptx.windows import base_of

Writer: TypeAlias = Callable[[Frame, Value, Value | None], None]
"""Keeps a result; of all threads, or of those in a mask."""

_CONSTANTS = {"WARP_SZ": 32}

SPECIAL = frozenset(
    {
        "%tid",
        "%ntid",
        "%ctaid",
        "%nctaid",
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
        "%dynamic_smem_size",
        "%total_smem_size",
        "%aggr_smem_size",
        "%gridid",
        "%smid",
        "%nsmid",
        "%clock",
        "%clock_hi",
        "%clock64",
        "%globaltimer",
        "%globaltimer_lo",
        "%globaltimer_hi",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%cluster_ctaid",
        "%cluster_nctaid",
        "%clusterid",
        "%nclusterid",
        "%is_explicit_cluster",
    }
)
"""Registers of PTX that are only read."""


class Operands:
    """Reads and writes the operands of one kernel.

    Args:
        module: for messages.
        kernel: whose registers they are.
        layout: of its variables.

    Attributes:
        numbers: of registers, by their names.
        types: numpy types, by their numbers.
        used: registers that any instruction reads.
    """

    def __init__(self, module: Module, kernel: Function, layout: Layout) -> None:
        self.module = module
        self.layout = layout
        self.numbers = {name: number for number, name in enumerate(kernel.registers)}
        self.types: list[np.dtype[Any]] = [
            np.dtype("u8") if type_ == "b128" else dtype_of(type_)
            for type_ in kernel.registers.values()
        ]
        self._hidden("%carry", "pred")
        body = [one for one in kernel.body if isinstance(one, Instruction)]
        self.used = {name for one in body for name in read(one)}

    def _hidden(self, name: str, type_: str) -> None:
        self.numbers[name] = len(self.types)
        self.types.append(dtype_of(type_))

    def number(self, one: Instruction, name: str) -> int:
        """The number of a register.

        Raises:
            UserError: it is not declared.
        """
        found = self.numbers.get(name)
        if found is None:
            raise self.module.at(
                one, f"there is no register {name!r}{nearest(name, list(self.numbers))}"
            )
        return found

    def reader(self, one: Instruction, operand: Operand, type_: str) -> Reader:
        """What reads an operand as a type.

        Raises:
            UserError, UnsupportedError: it cannot be read.
        """
        dtype = dtype_of(type_)
        if isinstance(operand, Immediate):
            fixed = constant(operand.value, type_)
            return lambda _: fixed
        if isinstance(operand, Symbol):
            return self._symbol(one, operand, dtype)
        if isinstance(operand, Negated):
            return _not(_register(self.number(one, operand.name), np.dtype(bool)))
        if isinstance(operand, Register):
            if operand.name not in self.numbers:
                return self._special(one, operand.name, dtype)
            return _register(self.number(one, operand.name), dtype)
        raise UnsupportedError("an operand of this form is not computed")

    def _special(self, one: Instruction, name: str, dtype: np.dtype[Any]) -> Reader:
        if name.startswith("%envreg"):
            raise self.module.at(
                one, "a cooperative launch (grid.sync of cooperative groups) is not supported"
            )
        if name.partition(".")[0] not in SPECIAL:
            raise self.module.at(
                one, f"there is no register {name!r}{nearest(name, [*self.numbers, *SPECIAL])}"
            )

        def read(frame: Frame) -> Value:
            value = frame.batch.special(name)
            if np.ndim(value) and frame.lanes is not None:
                value = value[frame.lanes]
            return reinterpreted(value, dtype)

        return read

    def _symbol(self, one: Instruction, operand: Symbol, dtype: np.dtype[Any]) -> Reader:
        name, offset = operand.name, operand.offset
        if name in _CONSTANTS:
            number = dtype.type(_CONSTANTS[name])
            return lambda _: number
        space = self.layout.space.get(name)
        if space is None:
            raise self.module.at(
                one, f"there is no variable {name!r}{nearest(name, self.layout.names)}"
            )
        if space == "global":
            return lambda frame: dtype.type(frame.batch.site.symbols[name] + offset)
        place = dtype.type(self.layout.offset[name] + offset)
        return lambda _: place

    def space_of(self, operand: Operand) -> str | None:
        """The memory space of a variable."""
        return self.layout.space.get(operand.name) if isinstance(operand, Symbol) else None

    def address(self, one: Instruction, operand: Operand) -> Reader:
        """What reads the address in brackets, as int64."""
        if not isinstance(operand, Address):
            raise self.module.at(one, "an operand in brackets is expected")
        offset = np.int64(operand.offset)
        in_32_bits = np.uint32(operand.offset & 0xFFFFFFFF)
        base = operand.base
        wide = "u64"
        if isinstance(base, Register) and base.name in self.numbers:
            number = self.numbers[base.name]
            if self.types[number].itemsize == 4:
                wide = "u32"
        read = self.reader(one, base, wide)

        def located(frame: Frame) -> Value:
            value = read(frame)
            if wide == "u32":  # the sum wraps
                return (value + in_32_bits if offset else value).astype(np.int64)
            return value.view(np.int64) + offset if offset else value.view(np.int64)

        return located

    def guard(self, one: Instruction, guard: Guard | None) -> Reader | None:
        """What reads a predicate; None: there is none."""
        if guard is None:
            return None
        read = _register(self.number(one, guard.register), np.dtype(bool))
        return _not(read) if guard.negated else read

    def writer(self, one: Instruction, operand: Operand) -> Writer:
        """What keeps a result."""
        if operand == SINK:
            return lambda _frame, _value, _mask: None
        if not isinstance(operand, Register):
            raise self.module.at(one, "a result goes to a register")
        number = self.number(one, operand.name)
        dtype = self.types[number]

        def write(frame: Frame, value: Value, mask: Value | None) -> None:
            if value.dtype.itemsize != dtype.itemsize or dtype.kind == "b":
                value = reinterpreted(value, dtype)
            if mask is not None:
                old = frame.values[number]
                kept = dtype.type(0) if old is None else reinterpreted(old, value.dtype)
                value = np.where(mask, value, kept)
            frame.values[number] = value

        return write

    def generic_base(self, space: str) -> np.int64:
        """What makes addresses of a space generic."""
        return np.int64(base_of(space))


def _register(number: int, dtype: np.dtype[Any]) -> Reader:
    zero = dtype.type(0)

    def read(frame: Frame) -> Value:
        value: Any = frame.values[number]
        if value is None:
            value = zero  # what was never written
        found: Value = value if value.dtype is dtype else reinterpreted(value, dtype)
        return found

    return read


def _not(read: Reader) -> Reader:
    return lambda frame: np.logical_not(read(frame))

"""Where the variables of a kernel lie in their memory spaces."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.ptx.device_memory import padded
from gpusim.ptx.syntax import Function, Instruction, Module, Symbol, Variable
from gpusim.ptx.uses import symbols
from gpusim.ptx.value_types import bytes_of

_FORMATS = {"f32": "<f", "f64": "<d"}


@define(eq=False)
class Layout:
    """Offsets of variables.

    Attributes:
        space: of each variable, by its name.
        offset: of each in its space; of global variables nothing.
        size: bytes of each space that has a size.
        constants: contents of constant memory.
        globals: variables in global memory that the kernel names.
    """

    space: dict[str, str] = field(factory=dict)
    offset: dict[str, int] = field(factory=dict)
    size: dict[str, int] = field(factory=lambda: dict.fromkeys(("shared", "local", "param"), 0))
    constants: NDArray[np.uint8] = field(factory=lambda: np.zeros(0, np.uint8))
    globals: list[Variable] = field(factory=list)

    @property
    def names(self) -> Iterable[str]:
        """All variables."""
        return self.space


def layout_of(module: Module, kernel: Function) -> Layout:
    """The variables of a kernel and of its module; shared memory that the launch sizes is last."""
    made = Layout()
    for parameter in kernel.parameters:
        _place(made, parameter)
    everything = [*kernel.variables, *(one for one in module.variables)]
    used = set(_used(kernel))
    contents = bytearray()
    for variable in sorted(everything, key=lambda one: not one.bytes):
        made.space[variable.name] = variable.space
        if variable.space == "global":
            if variable.name in used:
                made.globals.append(variable)
        elif variable.space == "const" and variable.name in used:
            contents += bytes(-len(contents) % max(variable.align, 1))
            made.offset[variable.name] = len(contents)
            contents += contents_of(variable)
        elif variable.space != "shared" or variable.name in used or not variable.bytes:
            _place(made, variable)
    made.constants = padded(np.frombuffer(bytes(contents), np.uint8))
    return made


def _place(made: Layout, variable: Variable) -> None:
    space = variable.space
    at = -(-made.size.get(space, 0) // max(variable.align, 1)) * max(variable.align, 1)
    made.space[variable.name] = space
    made.offset[variable.name] = at
    made.size[space] = at + variable.bytes


def _used(kernel: Function) -> Iterable[str]:
    for one in kernel.body:
        if isinstance(one, Instruction):
            for operand in one.operands:
                yield from symbols(operand)


def contents_of(variable: Variable) -> bytes:
    """The first contents of a variable.

    Raises:
        UserError: there are addresses among them.
    """
    if variable.contents:
        return variable.contents.ljust(variable.bytes, b"\0")
    size = bytes_of(variable.type)
    made = bytearray()
    for value in variable.initial:
        if isinstance(value, Symbol):
            raise UserError(
                f"the variable {variable.name!r} begins as the address of {value.name!r}: that is "
                "not supported, neither for functions (calls by pointers, virtual ones) nor arrays"
            )
        if variable.type in _FORMATS:
            made += struct.pack(_FORMATS[variable.type], value)
        elif isinstance(value, float):
            made += struct.pack("<f" if size == 4 else "<d", value)
        else:
            made += (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(made).ljust(variable.bytes, b"\0")

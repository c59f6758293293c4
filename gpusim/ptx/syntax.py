"""What a PTX module says: functions, variables, instructions and their operands."""

from __future__ import annotations

import builtins
from typing import TypeAlias

from attrs import define, field, frozen

from gpusim.core.errors import UserError


@frozen
class Place:
    """A line of the source that PTX was compiled from (``.loc``).

    Attributes:
        file: its name.
        line: from 1 on.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@frozen
class Register:
    """A register by its name; of ``%tid.x`` and the like as well."""

    name: str


@frozen
class Negated:
    """The opposite of a predicate, ``!%p1``."""

    name: str


@frozen
class Immediate:
    """A number.

    Attributes:
        value: an integer, or a float.
        bits: of a hexadecimal float, 32 or 64; 0 of others.
    """

    value: int | float
    bits: int = 0


@frozen
class Symbol:
    """The address of a variable, a label, or a function.

    Attributes:
        name: of it.
        offset: bytes that are added.
    """

    name: str
    offset: int = 0


@frozen
class Address:
    """An operand in brackets.

    Attributes:
        base: a register, a variable, or a number.
        offset: bytes that are added.
        more: further operands in the brackets, such as coordinates.
    """

    base: Register | Symbol | Immediate
    offset: int = 0
    more: tuple[Operand, ...] = ()


@frozen
class Vector:
    """Operands in braces; also the two results of ``%r1|%p1``."""

    items: tuple[Operand, ...]


Operand: TypeAlias = Register | Negated | Immediate | Symbol | Address | Vector

SINK = Register("_")
"""A result that is not kept."""


@frozen
class Guard:
    """The predicate under which an instruction is executed.

    Attributes:
        register: of the predicate.
        negated: executed where it is false.
    """

    register: str
    negated: bool


@define(eq=False)
class Instruction:
    """One instruction.

    Attributes:
        opcode: its first word.
        modifiers: the words behind it, without their dots.
        operands: in their order.
        guard: its predicate; None: executed always.
        line: in the PTX.
        source: where it comes from; None: the PTX does not say.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    source: Place | None

    @property
    def name(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))

    def has(self, *modifiers: str) -> bool:
        """Whether it has one of these modifiers."""
        return not set(modifiers).isdisjoint(self.modifiers)


@frozen
class Label:
    """A place to which branches go."""

    name: str


@frozen
class Variable:
    """A variable, or a parameter.

    Attributes:
        name: of it.
        space: ``"global"``, ``"const"``, ``"shared"``, ``"local"`` or ``"param"``.
        type: of an element, such as ``"b8"``.
        align: bytes.
        bytes: its size; 0 where the launch tells it.
        initial: numbers, or addresses, of its first elements.
        contents: its first bytes, if the host has filled it.
    """

    name: str
    space: str
    type: str
    align: int
    bytes: int
    initial: tuple[int | float | Symbol, ...] = ()
    contents: builtins.bytes = b""


@define(eq=False)
class Function:
    """A kernel, or a function that kernels call.

    Attributes:
        name: as the PTX has it, mangled perhaps.
        entry: whether it can be launched.
        line: in the PTX.
        parameters, results: in their order.
        registers: type by name.
        variables: its own.
        body: instructions and labels in their order.
        tables: labels of a ``.branchtargets``, by its name.
        limits: numbers of directives such as ``.maxntid``.
        prints: whether it has called ``printf``, a call that is left out (`gpusim.ptx.inline`).
    """

    name: str
    entry: bool
    line: int
    parameters: list[Variable] = field(factory=list)
    results: list[Variable] = field(factory=list)
    registers: dict[str, str] = field(factory=dict)
    variables: list[Variable] = field(factory=list)
    body: list[Instruction | Label] = field(factory=list)
    tables: dict[str, tuple[str, ...]] = field(factory=dict)
    limits: dict[str, tuple[int, ...]] = field(factory=dict)
    declared_only: bool = False
    prints: bool = False


@define(eq=False)
class Module:
    """A PTX module.

    Attributes:
        path: for messages.
        target: such as ``"sm_80"``.
        version: of the PTX.
        variables: of the module.
        functions: by name.
    """

    path: str
    target: str = ""
    version: str = ""
    variables: list[Variable] = field(factory=list)
    functions: dict[str, Function] = field(factory=dict)

    def error(self, line: int, message: str) -> UserError:
        """What is wrong in a line of it."""
        return UserError(f"{self.path}:{line}: {message}")

    def at(self, instruction: Instruction, message: str) -> UserError:
        """What is wrong with an instruction; names its line, and that of its source."""
        source = f" ({instruction.source})" if instruction.source else ""
        return self.error(instruction.line, f"{instruction.name}{source}: {message}")

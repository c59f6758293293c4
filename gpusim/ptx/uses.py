"""Which registers an instruction writes, and which it reads for what."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.ptx.syntax import Address, Instruction, Negated, Operand, Register, Symbol, Vector

CARRY = "%carry"
"""The carry flag."""

_NO_RESULT = {
    "st", "red", "bra", "brx", "ret", "exit", "trap", "membar", "fence", "cp", "prefetch",
    "prefetchu", "nanosleep", "brkpt", "pmevent", "stmatrix", "discard", "applypriority",
    "setmaxnreg", "griddepcontrol", "call", "sust", "sured",
}  # fmt: skip
_NO_MBARRIER_RESULT = {"init", "inval", "expect_tx", "complete_tx"}


def results_of(one: Instruction) -> tuple[Operand, ...]:
    """The operands that it writes."""
    if not one.operands or one.opcode in _NO_RESULT:
        return ()
    if one.opcode in {"bar", "barrier"}:
        return one.operands[:1] if one.has("red") else ()
    if one.opcode == "mbarrier" and one.modifiers[0] in _NO_MBARRIER_RESULT:
        return ()
    if isinstance(one.operands[0], Address):  # mbarrier, wgmma, tcgen05
        return ()
    first = one.operands[0]
    return first.items if isinstance(first, Vector) else (first,)


def written(one: Instruction) -> Iterator[str]:
    """Names of the registers that it writes."""
    for operand in results_of(one):
        if isinstance(operand, Register) and operand.name != "_":
            yield operand.name
    if one.has("cc"):
        yield CARRY


def sources_of(one: Instruction) -> tuple[Operand, ...]:
    """The operands that it reads, addresses among them."""
    return one.operands[1:] if results_of(one) else one.operands


def named(operand: Operand) -> Iterator[str]:
    """Registers in an operand."""
    if isinstance(operand, Register | Negated):
        if operand.name != "_":
            yield operand.name
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from named(item)
    elif isinstance(operand, Address):
        yield from named(operand.base)
        for item in operand.more:
            yield from named(item)


def guard_of(one: Instruction) -> Iterator[str]:
    """The register of its predicate."""
    if one.guard is not None:
        yield one.guard.register


def read(one: Instruction) -> Iterator[str]:
    """All registers that it reads, its predicate's too."""
    yield from guard_of(one)
    for operand in sources_of(one):
        yield from named(operand)
    if one.opcode in {"addc", "subc", "madc"}:
        yield CARRY


def address_registers(one: Instruction) -> Iterator[str]:
    """Those of its addresses."""
    for operand in one.operands:
        if isinstance(operand, Address):
            yield from named(operand)


def symbols(operand: Operand) -> Iterator[str]:
    """Variables in an operand."""
    if isinstance(operand, Symbol):
        yield operand.name
    elif isinstance(operand, Address):
        yield from symbols(operand.base)

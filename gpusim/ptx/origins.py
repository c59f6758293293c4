"""Which arrays an address may belong to: found by following pointers from the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from gpusim.ptx.memory_steps import space_of
from gpusim.ptx.syntax import Address, Instruction, Operand, Symbol
from gpusim.ptx.uses import named, sources_of, symbols, written

Origin: TypeAlias = str
"""A parameter with its offset (``"p+0"``), a variable, `SHARED`, `LOCAL`, or `ANY`."""

SHARED, LOCAL, ANY = "shared memory", "local memory", "any memory"

Origins: TypeAlias = frozenset[str]

_PASSES = {"add", "sub", "mov", "cvta", "selp", "cvt", "and", "or", "mad", "shfl", "min", "max"}
"""Opcodes of which a result may be a pointer if an operand is one."""


class Pointers:
    """What registers may point to, whatever the way to an instruction.

    Args:
        body: all instructions of a kernel.
        spaces: memory space of each variable.
    """

    def __init__(self, body: Iterable[Instruction], spaces: Mapping[str, str]) -> None:
        self._spaces = spaces
        self._of: dict[str, Origins] = {}
        instructions = [*body]
        changed = True
        while changed:
            changed = False
            for one in instructions:
                found = self._made_by(one)
                if found:
                    for name in written(one):
                        before = self._of.get(name, frozenset())
                        if not found <= before:
                            self._of[name] = before | found
                            changed = True

    def _made_by(self, one: Instruction) -> Origins:
        if one.opcode in {"ld", "ldu", "atom"}:
            return self._loaded(one)
        if one.opcode not in _PASSES:
            return frozenset()
        sources = sources_of(one)
        if one.opcode == "mad":
            sources = sources[2:]
        return frozenset(origin for operand in sources for origin in self._in(operand))

    def _loaded(self, one: Instruction) -> Origins:
        wide = one.modifiers[-1] in {"u64", "b64", "s64"}
        if not wide:
            return frozenset()
        address = one.operands[1]
        if space_of(one) == "param" and isinstance(address, Address):
            base = address.base
            return frozenset({f"{base.name}+{address.offset}" if isinstance(base, Symbol) else ANY})
        return frozenset({ANY})

    def _in(self, operand: Operand) -> Origins:
        found: set[str] = set()
        for name in named(operand):
            found |= self._of.get(name, frozenset())
        for symbol in symbols(operand):
            space = self._spaces.get(symbol, "")
            if space in {"shared", "local"}:
                found.add(SHARED if space == "shared" else LOCAL)
            elif space == "global":
                found.add(symbol)
        return frozenset(found)

    def of(self, one: Instruction, address: Operand) -> Origins:
        """What an access may go to; constants and parameters are nothing."""
        space = space_of(one)
        if space in {"shared", "local"}:
            return frozenset({SHARED if space == "shared" else LOCAL})
        if space in {"const", "param"}:
            return frozenset()
        return self.at(address)

    def at(self, address: Operand) -> Origins:
        """What global memory an address may mean."""
        return self._in(address) or frozenset({ANY})


def meets(some: Origins, needed: Iterable[Origin]) -> bool:
    """Whether an access to `some` may touch what is needed."""
    wanted = frozenset(needed)
    if not wanted or not some:
        return False
    return ANY in some or ANY in wanted or not some.isdisjoint(wanted)

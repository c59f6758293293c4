"""What instructions compute: one entry an opcode, made by the modules beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from attrs import frozen

from gpusim.core.module_folders import import_all
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import Value

Run: TypeAlias = Callable[..., Value | tuple[Value, ...]]


@frozen
class Operation:
    """What one instruction computes from its operands, for all threads at once.

    Attributes:
        results: types of what it makes.
        sources: types of what it takes.
        run: a function of the sources; of several results it returns a tuple.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    run: Run


Maker: TypeAlias = Callable[[Instruction], Operation]

_MAKERS: dict[str, Maker] = {}


def computes(*opcodes: str) -> Callable[[Maker], Maker]:
    """Decorator: a function makes the operations of these opcodes."""

    def known(make: Maker) -> Maker:
        for opcode in opcodes:
            _MAKERS[opcode] = make
        return make

    return known


@cache
def operations() -> dict[str, Maker]:
    """By opcode.  A maker raises `UnsupportedError` for a form that is not computed."""
    import_all("gpusim.ptx.arithmetic")
    return _MAKERS

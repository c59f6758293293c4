"""Reads the operands of PTX instructions."""

from __future__ import annotations

from gpusim.ptx.lexer import number_of
from gpusim.ptx.scopes import Scopes
from gpusim.ptx.syntax import (
    Address,
    Guard,
    Immediate,
    Negated,
    Operand,
    Register,
    Symbol,
    Vector,
)
from gpusim.ptx.word_reader import WordReader


class OperandReader:
    """Reads operands; a register of an inner block has its name in the function."""

    def __init__(self, words: WordReader, scopes: Scopes) -> None:
        self._words = words
        self._scopes = scopes

    def guard(self) -> Guard | None:
        """The predicate in front of an instruction, if there is one."""
        if not self._words.take("@"):
            return None
        negated = self._words.take("!")
        return Guard(self._register(), negated)

    def operands(self, opcode: str) -> list[Operand]:
        """All operands of an instruction, up to its semicolon.

        Raises:
            UserError: something else stands between them.
        """
        words = self._words
        found: list[Operand] = []
        while not words.stands(";"):
            if opcode == "call" and words.stands("("):
                found.append(self._listed(")"))
            else:
                found.append(self._operand())
            if not words.take(",") and not words.stands(";"):
                raise words.wrong(f"',' or ';' expected, there is {words.now.text!r}")
        words.expect(";")
        return found

    def _register(self) -> str:
        """A register by its name in the function."""
        name = self._words.name()
        return self._scopes.register(name) or name

    def _listed(self, end: str) -> Vector:
        """Operands between brackets."""
        words = self._words
        words.next()
        items: list[Operand] = []
        while not words.take(end):
            items.append(self._operand())
            words.take(",")
        return Vector(tuple(items))

    def _operand(self) -> Operand:
        words = self._words
        if words.stands("{"):
            return self._paired(self._listed("}"))
        if words.stands("["):
            return self._address()
        if words.take("!"):
            return Negated(self._register())
        if words.now.kind == "number" or words.stands("-", "+"):
            return self._immediate()
        name = words.name()
        own = self._scopes.register(name)
        if own is None and not name.startswith("%") and name != "_":
            return Symbol(self._scopes.variable(name), words.offset())
        name = own or name
        while words.now.kind == "dot":
            name += words.next().text
        return self._paired(Register(name))

    def _immediate(self) -> Immediate:
        words = self._words
        words.take("+")
        minus = words.take("-")
        if words.now.kind != "number":
            raise words.wrong(f"a number expected, not {words.now.text!r}")
        number = number_of(words.next().text)
        return Immediate(-number.value, number.bits) if minus else number

    def _paired(self, first: Operand) -> Operand:
        """Two results, ``%r1|%p1``."""
        if not self._words.take("|"):
            return first
        return Vector((first, self._operand()))

    def _address(self) -> Address:
        words = self._words
        words.expect("[")
        base = self._operand()
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        else:
            offset = words.offset()
        more: list[Operand] = []
        while words.take(","):
            more.append(self._operand())
        words.expect("]")
        if not isinstance(base, Register | Symbol | Immediate):
            raise words.wrong("an address begins with a register, a variable or a number")
        return Address(base, offset, tuple(more))

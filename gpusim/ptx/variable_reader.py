"""Reads declarations of PTX variables and parameters."""

from __future__ import annotations

from gpusim.ptx.syntax import Symbol, Variable
from gpusim.ptx.value_types import bytes_of
from gpusim.ptx.word_reader import WordReader

SPACES = {".global", ".const", ".shared", ".local", ".param"}
"""Words that begin a declaration: where the variable stands."""


class VariableReader:
    """Reads variables of a module or function, and parameters of a function."""

    def __init__(self, words: WordReader) -> None:
        self._words = words

    def parameters(self) -> list[Variable]:
        """Parameters, or results, between parentheses."""
        words = self._words
        words.expect("(")
        found: list[Variable] = []
        while not words.take(")"):
            found.append(self._one_of(*self._declared(), external=False))
            words.take(",")
        return found

    def variables(self, external: bool = False) -> list[Variable]:
        """Variables of one directive, with its semicolon; `external`: others define them."""
        declared = self._declared()
        found = [self._one_of(*declared, external=external)]
        while self._words.take(","):
            found.append(self._one_of(*declared, external=external))
        self._words.expect(";")
        return found

    def _declared(self) -> tuple[str, str, int, int]:
        """What stands in front of the names: space, type, alignment and bytes of an element."""
        words = self._words
        space = words.next().text[1:]
        align, type_, width = 0, "", 1
        points = False
        while words.now.kind == "dot":
            word = words.next().text[1:]
            if word == "align":
                known = words.whole()
                align = align if points else known  # of what it points to, otherwise
            elif word == "ptr":
                points = True
            elif word in {"v2", "v4"}:
                width = int(word[1])
            elif word in {"global", "const", "shared", "local", "managed"}:
                continue
            elif word.startswith("attribute"):
                words.expect("(")
                while not words.take(")"):
                    words.next()
            else:
                type_ = word
        size = bytes_of(type_) * width
        return space, type_, align or size, size

    def _one_of(self, space: str, type_: str, align: int, size: int, external: bool) -> Variable:
        """One variable of a declaration; a parameter may have no name."""
        words = self._words
        if words.now.kind != "name":
            return Variable("_", space, type_, align, size)
        name = words.name()
        count = 1
        while words.take("["):
            count *= 0 if words.stands("]") else words.whole()
            words.expect("]")
        initial: list[int | float | Symbol] = []
        if words.take("="):
            self._initial(initial)
        if not count and initial:
            count = len(initial)
        return Variable(name, space, type_, align, 0 if external else count * size, tuple(initial))

    def _initial(self, values: list[int | float | Symbol]) -> None:
        """First values of a variable, which may stand in braces."""
        words = self._words
        if words.take("{"):
            while not words.take("}"):
                self._initial(values)
                words.take(",")
        elif words.take("generic"):
            words.expect("(")
            self._initial(values)
            words.expect(")")
        elif words.now.kind == "name":
            values.append(Symbol(words.name(), words.offset()))
        else:
            values.append(words.number())

"""Takes the words of a PTX module one after the other."""

from __future__ import annotations

from gpusim.core.errors import UserError
from gpusim.ptx.lexer import END, Token, number_of, tokens_of
from gpusim.ptx.syntax import Module


class WordReader:
    """The words of a module, and the next one to be read.

    Args:
        text: of the PTX.
        module: names the file and the line of an error.

    Raises:
        UserError: the text holds a character that can begin no word.
    """

    def __init__(self, text: str, module: Module) -> None:
        self._tokens = tokens_of(text, module.path)
        self._module = module
        self._at = 0

    @property
    def now(self) -> Token:
        """The word to be read next."""
        return self._tokens[self._at]

    @property
    def after(self) -> Token:
        """The word behind the next one, which is not the end."""
        return self._tokens[self._at + 1]

    @property
    def ended(self) -> bool:
        """Whether all words have been read."""
        return self.now.kind == END

    def next(self) -> Token:
        """Read a word; the end is never passed."""
        token = self._tokens[self._at]
        self._at += token.kind != END
        return token

    def stands(self, *texts: str) -> bool:
        """Whether the next word is one of these."""
        return self.now.text in texts

    def take(self, *texts: str) -> bool:
        """Read the next word if it is one of these; whether it was."""
        found = self.now.text in texts
        self._at += found
        return found

    def expect(self, text: str) -> None:
        """Read a word that has to stand here.

        Raises:
            UserError: another one does.
        """
        if not self.take(text):
            raise self.wrong(f"{text!r} expected, there is {self.now.text!r}")

    def wrong(self, message: str) -> UserError:
        """What is wrong in the line of the next word."""
        return self._module.error(self.now.line, message)

    def name(self) -> str:
        """Read a name.

        Raises:
            UserError: there is none.
        """
        return self._of_kind("name").text

    def number(self) -> int | float:
        """Read a number, with its sign.

        Raises:
            UserError: there is none.
        """
        minus = self.take("-")
        value = number_of(self._of_kind("number").text).value
        return -value if minus else value

    def _of_kind(self, kind: str) -> Token:
        token = self.next()
        if token.kind != kind:
            raise self._module.error(token.line, f"a {kind} expected, there is {token.text!r}")
        return token

    def whole(self) -> int:
        """Read a whole number."""
        return int(self.number())

    def offset(self) -> int:
        """Read numbers that are added and subtracted, if any stand here; returns their sum."""
        total = 0
        while self.stands("+", "-"):
            sign = -1 if self.next().text == "-" else 1
            total += sign * self.whole()
        return total

    def skip_directive(self) -> None:
        """Read a directive that says nothing here: to its semicolon, or its closing brace."""
        depth = 0
        while not self.ended:
            text = self.next().text
            depth += (text == "{") - (text == "}")
            if depth == 0 and text in {";", "}"}:
                return

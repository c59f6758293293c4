"""Reads PTX: a whole module, as compilers write it (PTX ISA, NVIDIA)."""

from __future__ import annotations

from gpusim.ptx.operand_reader import OperandReader
from gpusim.ptx.scopes import Scopes
from gpusim.ptx.source_lines import SourceLines
from gpusim.ptx.syntax import Function, Instruction, Label, Module
from gpusim.ptx.tensor_map_layout import lowered
from gpusim.ptx.variable_reader import SPACES, VariableReader
from gpusim.ptx.word_reader import WordReader

_LINKING = {".visible", ".extern", ".weak", ".common"}
_SKIPPED = {".pragma", ".alias", ".section", ".callprototype"}
_MOST_REGISTERS = 1 << 20


def parse(text: str, path: str) -> Module:
    """A module.

    Args:
        text: of the PTX.
        path: for messages.

    Raises:
        UserError: it is no PTX; names file and line.
    """
    return _Parser(text, path).module()


class _Parser:
    """Reads directives and statements, and puts what they say into a module."""

    def __init__(self, text: str, path: str) -> None:
        self._module = Module(path)
        self._words = WordReader(text, self._module)
        self._lines = SourceLines(self._words)
        self._scopes = Scopes()
        self._variables = VariableReader(self._words)
        self._operands = OperandReader(self._words, self._scopes)

    # -- the module --------------------------------------------------------------------------------

    def module(self) -> Module:
        """All of it."""
        if not self._words.stands(".version"):
            raise self._words.wrong("a PTX module begins with .version")
        while not self._words.ended:
            self._top()
        self._lines.finish()
        return self._module

    def _top(self) -> None:
        words = self._words
        text = words.now.text
        if text == ".version":
            words.next()
            self._module.version = words.next().text
        elif text == ".target":
            words.next()
            self._module.target = words.name()
            while words.take(","):
                words.name()
        elif text == ".address_size":
            words.next()
            if words.whole() != 64:
                raise words.wrong("addresses of 32 bits; 64 are read")
        elif text == ".file":
            self._lines.file()
        elif text in _SKIPPED:
            words.skip_directive()
        elif text in _LINKING or text in SPACES or text in {".entry", ".func"}:
            self._declaration()
        elif text == ";":
            words.next()
        else:
            raise words.wrong(f"{text!r} cannot begin what stands in a module")

    def _declaration(self) -> None:
        external = False
        while self._words.now.text in _LINKING:
            external |= self._words.next().text == ".extern"
        if self._words.stands(".entry", ".func"):
            self._function()
        else:
            self._module.variables += self._variables.variables(external)

    def _function(self) -> None:
        words = self._words
        entry = words.next().text == ".entry"
        results = self._variables.parameters() if words.stands("(") else []
        line = words.now.line
        function = Function(words.name(), entry, line)
        function.results = results
        if words.stands("("):
            function.parameters = self._variables.parameters()
            names = [one.name for one in function.parameters]
            if len({*names}) < len(names):
                raise self._module.error(line, f"two parameters of {function.name!r} have one name")
        self._limits(function)
        if words.take(";"):
            function.declared_only = True
            self._module.functions.setdefault(function.name, function)
            return
        self._module.functions[function.name] = function
        words.expect("{")
        self._lines.begin_function()
        self._block(function)

    def _limits(self, function: Function) -> None:
        """Directives between the head of a function and its body, such as ``.maxntid 128``."""
        words = self._words
        while words.now.kind == "dot":
            limit = words.next().text[1:]
            numbers: list[int] = []
            while words.now.kind == "number":
                numbers.append(words.whole())
                words.take(",")
            function.limits[limit] = tuple(numbers)

    # -- bodies ------------------------------------------------------------------------------------

    def _block(self, function: Function) -> None:
        """Statements up to the closing brace."""
        first = len(function.body)
        self._scopes.begin()
        while not self._words.take("}"):
            if self._words.ended:
                raise self._words.wrong(f"the body of {function.name!r} does not end")
            if self._words.take("{"):
                self._block(function)
            else:
                self._statement(function)
        self._scopes.end(function, first)

    def _statement(self, function: Function) -> None:
        words = self._words
        text = words.now.text
        if text == ".reg":
            self._registers(function)
        elif text in SPACES:
            for variable in self._variables.variables():
                self._scopes.place(function, variable)
        elif text == ".loc":
            self._lines.location()
        elif text == ".file":
            self._lines.file()
        elif text in _SKIPPED:
            words.skip_directive()
        elif words.now.kind == "name" and words.after.text == ":":
            self._label(function)
        elif text == ";":
            words.next()
        elif text == "@" or words.now.kind == "name":
            self._instruction(function)
        else:
            raise words.wrong(f"{text!r} cannot begin a statement")

    def _label(self, function: Function) -> None:
        """A place to branch to, or a table of such places."""
        words = self._words
        label = words.name()
        words.expect(":")
        if words.take(".branchtargets"):
            targets = [words.name()]
            while words.take(","):
                targets.append(words.name())
            words.expect(";")
            function.tables[label] = tuple(targets)
        elif words.stands(".callprototype", ".calltargets"):
            words.skip_directive()
        else:
            function.body.append(Label(label))

    def _registers(self, function: Function) -> None:
        words = self._words
        words.next()
        type_ = words.next().text[1:]
        if type_ in {"v2", "v4"}:
            raise words.wrong("vector registers are not supported")
        while True:
            name = words.name()
            if words.take("<"):
                count = words.whole()
                words.expect(">")
                if count > _MOST_REGISTERS:
                    raise words.wrong(f"{count} registers; at most {_MOST_REGISTERS}")
                for number in range(count):
                    self._scopes.declare(function, f"{name}{number}", type_)
            else:
                self._scopes.declare(function, name, type_)
            if not words.take(","):
                break
        words.expect(";")

    def _instruction(self, function: Function) -> None:
        words = self._words
        line = words.now.line
        guard = self._operands.guard()
        opcode = words.name()
        modifiers = []
        while words.now.kind == "dot":
            modifiers.append(words.next().text[1:])
        if opcode == "wmma" and modifiers:  # three instructions that have little in common
            opcode = f"wmma.{modifiers.pop(0)}"
        operands = self._operands.operands(opcode)
        made = Instruction(opcode, tuple(modifiers), tuple(operands), guard, line, None)
        for part in lowered(made, function):
            self._lines.place(part)
            function.body.append(part)

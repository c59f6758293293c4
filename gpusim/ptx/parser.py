"""Reads PTX: a whole module, as compilers write it (PTX ISA, NVIDIA)."""

from __future__ import annotations

from gpusim.core.errors import UserError
from gpusim.ptx.lexer import END, Token, number_of, tokens_of
from gpusim.ptx.syntax import (
    Address,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Negated,
    Operand,
    Place,
    Register,
    Symbol,
    Variable,
    Vector,
)
from gpusim.ptx.tensor_map_layout import lowered

_SPACES = {".global", ".const", ".shared", ".local", ".param"}
_LINKING = {".visible", ".extern", ".weak", ".common"}
_SKIPPED = {".pragma", ".alias", ".section", ".callprototype"}
_MOST_REGISTERS = 1 << 20


def bytes_of(type_: str) -> int:
    """Bytes of a value of a type, such as ``"u32"``."""
    digits = type_.lstrip("bfsuet")
    return {"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4, "tf32": 4, "pred": 1}.get(type_) or (
        int(digits) // 8 if digits.isdigit() else 8
    )


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
    def __init__(self, text: str, path: str) -> None:
        self._tokens = tokens_of(text, path)
        self._at = 0
        self._module = Module(path)
        self._files: dict[int, str] = {}
        self._places: list[tuple[Instruction, int, int]] = []
        self._scopes: list[dict[str, str]] = []
        """Registers that each open block declares, and their names in the function."""
        self._labels: set[str] = set()
        """Labels of inner blocks of the function."""
        self._loc: tuple[int, int] | None = None
        self._inlined: dict[tuple[int, int, int], tuple[int, int, int] | None] = {}

    # -- words -------------------------------------------------------------------------------------

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != END
        return token

    def _is(self, *texts: str) -> bool:
        return self._now.text in texts

    def _take(self, *texts: str) -> bool:
        found = self._now.text in texts
        self._at += found
        return found

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._wrong(f"{text!r} expected, there is {self._now.text!r}")

    def _wrong(self, message: str) -> UserError:
        return self._module.error(self._now.line, message)

    def _name(self) -> str:
        token = self._next()
        if token.kind != "name":
            raise self._module.error(token.line, f"a name expected, there is {token.text!r}")
        return token.text

    def _number(self) -> int | float:
        minus = self._take("-")
        token = self._next()
        if token.kind != "number":
            raise self._module.error(token.line, f"a number expected, there is {token.text!r}")
        value = number_of(token.text).value
        return -value if minus else value

    def _whole(self) -> int:
        return int(self._number())

    # -- the module --------------------------------------------------------------------------------

    def module(self) -> Module:
        """All of it."""
        if not self._is(".version"):
            raise self._wrong("a PTX module begins with .version")
        while self._now.kind != END:
            self._top()
        for instruction, file, line in self._places:
            instruction.source = Place(self._files.get(file, f"file {file}"), line)
        return self._module

    def _top(self) -> None:
        text = self._now.text
        if text == ".version":
            self._next()
            self._module.version = self._next().text
        elif text == ".target":
            self._next()
            self._module.target = self._name()
            while self._take(","):
                self._name()
        elif text == ".address_size":
            self._next()
            if self._whole() != 64:
                raise self._wrong("addresses of 32 bits; 64 are read")
        elif text == ".file":
            self._file()
        elif text in _SKIPPED:
            self._skip()
        elif text in _LINKING or text in _SPACES or text in {".entry", ".func"}:
            self._declaration()
        elif text == ";":
            self._next()
        else:
            raise self._wrong(f"{text!r} cannot begin what stands in a module")

    def _file(self) -> None:
        self._next()
        number = self._whole()
        self._files[number] = self._next().text.strip('"').rpartition("/")[2]
        while self._take(","):
            self._next()

    def _skip(self) -> None:
        """A directive that says nothing here: to its semicolon, or its closing brace."""
        depth = 0
        while self._now.kind != END:
            text = self._next().text
            depth += (text == "{") - (text == "}")
            if depth == 0 and text in {";", "}"}:
                return

    def _declaration(self) -> None:
        external = False
        while self._now.text in _LINKING:
            external |= self._next().text == ".extern"
        if self._is(".entry", ".func"):
            self._function()
        else:
            self._module.variables += self._variables(external)

    def _function(self) -> None:
        entry = self._next().text == ".entry"
        results = self._parameters() if self._is("(") else []
        line = self._now.line
        function = Function(self._name(), entry, line)
        function.results = results
        if self._is("("):
            function.parameters = self._parameters()
            names = [one.name for one in function.parameters]
            if len({*names}) < len(names):
                raise self._module.error(line, f"two parameters of {function.name!r} have one name")
        while self._now.kind == "dot":
            limit = self._next().text[1:]
            numbers: list[int] = []
            while self._now.kind == "number":
                numbers.append(self._whole())
                self._take(",")
            function.limits[limit] = tuple(numbers)
        if self._take(";"):
            function.declared_only = True
            self._module.functions.setdefault(function.name, function)
            return
        self._module.functions[function.name] = function
        self._expect("{")
        self._loc = None
        self._block(function)

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        found: list[Variable] = []
        while not self._take(")"):
            found += self._variables(external=False, closed=False)
            self._take(",")
        return found

    def _variables(self, external: bool, closed: bool = True) -> list[Variable]:
        """Variables of one directive, or one parameter."""
        space = self._next().text[1:]
        align, type_, width = 0, "", 1
        points = False
        while self._now.kind == "dot":
            word = self._next().text[1:]
            if word == "align":
                known = self._whole()
                align = align if points else known  # of what it points to, otherwise
            elif word == "ptr":
                points = True
            elif word in {"v2", "v4"}:
                width = int(word[1])
            elif word in {"global", "const", "shared", "local", "managed"}:
                continue
            elif word.startswith("attribute"):
                self._expect("(")
                while not self._take(")"):
                    self._next()
            else:
                type_ = word
        size = bytes_of(type_) * width
        found = [self._variable(space, type_, align or size, size, external)]
        while closed and self._take(","):
            found.append(self._variable(space, type_, align or size, size, external))
        if closed:
            self._expect(";")
        return found

    def _variable(self, space: str, type_: str, align: int, size: int, external: bool) -> Variable:
        if self._now.kind != "name":  # a parameter without a name
            return Variable("_", space, type_, align, size)
        name = self._name()
        count = 1
        while self._take("["):
            count *= 0 if self._is("]") else self._whole()
            self._expect("]")
        initial: list[int | float | Symbol] = []
        if self._take("="):
            self._initial(initial)
        if not count and initial:
            count = len(initial)
        return Variable(name, space, type_, align, 0 if external else count * size, tuple(initial))

    def _initial(self, values: list[int | float | Symbol]) -> None:
        if self._take("{"):
            while not self._take("}"):
                self._initial(values)
                self._take(",")
        elif self._now.text == "generic":
            self._next()
            self._expect("(")
            self._initial(values)
            self._expect(")")
        elif self._now.kind == "name":
            values.append(Symbol(self._name(), self._offset()))
        else:
            values.append(self._number())

    # -- bodies ------------------------------------------------------------------------------------

    def _block(self, function: Function) -> None:
        """Statements up to the closing brace.

        What inner blocks declare becomes the function's, under a name of its own.
        """
        first = len(function.body)
        self._scopes.append({})
        while not self._take("}"):
            if self._now.kind == END:
                raise self._wrong(f"the body of {function.name!r} does not end")
            if self._take("{"):
                self._block(function)
            else:
                self._statement(function)
        self._scopes.pop()
        if self._scopes:
            self._rename_labels(function, first)
        else:
            self._labels.clear()

    def _rename_labels(self, function: Function, first: int) -> None:
        """Give the labels of an inner block, which begins at `first`, names of their own."""
        body = function.body
        new: dict[str, str] = {}
        for place in range(first, len(body)):
            one = body[place]
            if isinstance(one, Label):
                if one.name in self._labels:
                    new[one.name] = f"{one.name}#{place}"
                    body[place] = Label(new[one.name])
                self._labels.add(one.name)
        for one in body[first:] if new else ():
            if isinstance(one, Instruction) and one.opcode == "bra":
                one.operands = tuple(
                    Symbol(new.get(target.name, target.name))
                    if isinstance(target, Symbol)
                    else target
                    for target in one.operands
                )

    def _declared(self, function: Function, name: str, type_: str) -> None:
        """Declare a register."""
        known = function.registers.get(name)
        hides = any(name in scope for scope in self._scopes[:-1])
        unique = (
            f"{name}#{len(function.registers)}" if hides or known not in {None, type_} else name
        )
        self._scopes[-1][name] = unique
        function.registers[unique] = type_

    def _register(self, name: str) -> str | None:
        """The name, in the function, of a register that is declared here; None: there is none."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _statement(self, function: Function) -> None:
        text = self._now.text
        if text == ".reg":
            self._registers(function)
        elif text in _SPACES:
            function.variables += self._variables(external=False)
        elif text == ".loc":
            self._location()
        elif text == ".file":
            self._file()
        elif text in _SKIPPED:
            self._skip()
        elif self._now.kind == "name" and self._tokens[self._at + 1].text == ":":
            self._label(function)
        elif text == ";":
            self._next()
        elif text == "@" or self._now.kind == "name":
            self._instruction(function)
        else:
            raise self._wrong(f"{text!r} cannot begin a statement")

    def _label(self, function: Function) -> None:
        """A place to branch to, or a table of such places."""
        label = self._name()
        self._expect(":")
        if self._take(".branchtargets"):
            targets = [self._name()]
            while self._take(","):
                targets.append(self._name())
            self._expect(";")
            function.tables[label] = tuple(targets)
        elif self._is(".callprototype", ".calltargets"):
            self._skip()
        else:
            function.body.append(Label(label))

    def _registers(self, function: Function) -> None:
        self._next()
        type_ = self._next().text[1:]
        if type_ in {"v2", "v4"}:
            raise self._wrong("vector registers are not supported")
        while True:
            name = self._name()
            if self._take("<"):
                count = self._whole()
                self._expect(">")
                if count > _MOST_REGISTERS:
                    raise self._wrong(f"{count} registers; at most {_MOST_REGISTERS}")
                for number in range(count):
                    self._declared(function, f"{name}{number}", type_)
            else:
                self._declared(function, name, type_)
            if not self._take(","):
                break
        self._expect(";")

    def _location(self) -> None:
        self._next()
        place = self._line_and_column()
        outer = None
        while self._take(","):
            if self._name() == "inlined_at":
                outer = self._line_and_column()
            else:  # function_name, with an offset
                self._name()
                self._offset()
        self._inlined[place] = outer
        if place[1]:  # 0: the compiler's own
            self._loc = self._in_own_file(place)[:2]

    def _line_and_column(self) -> tuple[int, int, int]:
        file, line = self._whole(), self._whole()
        return file, line, self._whole() if self._now.kind == "number" else 0

    def _in_own_file(self, place: tuple[int, int, int]) -> tuple[int, int, int]:
        """Of a line that is put in others, the innermost one in the file of the outermost."""
        chain = [place]
        while (outer := self._inlined.get(chain[-1])) is not None and outer not in chain:
            chain.append(outer)
        return next(one for one in chain if one[0] == chain[-1][0])

    def _instruction(self, function: Function) -> None:
        line = self._now.line
        guard = None
        if self._take("@"):
            negated = self._take("!")
            register = self._name()
            guard = Guard(self._register(register) or register, negated)
        opcode = self._name()
        modifiers = []
        while self._now.kind == "dot":
            modifiers.append(self._next().text[1:])
        if opcode == "wmma" and modifiers:  # three instructions that have little in common
            opcode = f"wmma.{modifiers.pop(0)}"
        operands: list[Operand] = []
        while not self._is(";"):
            if opcode == "call" and self._is("("):
                operands.append(self._listed(")"))
            else:
                operands.append(self._operand())
            if not self._take(",") and not self._is(";"):
                raise self._wrong(f"',' or ';' expected, there is {self._now.text!r}")
        self._expect(";")
        made = Instruction(opcode, tuple(modifiers), tuple(operands), guard, line, None)
        for part in lowered(made, function):
            if self._loc is not None:
                self._places.append((part, *self._loc))
            function.body.append(part)

    def _listed(self, end: str) -> Vector:
        """Operands between brackets."""
        self._next()
        items: list[Operand] = []
        while not self._take(end):
            items.append(self._operand())
            self._take(",")
        return Vector(tuple(items))

    def _operand(self) -> Operand:
        if self._is("{"):
            return self._paired(self._listed("}"))
        if self._is("["):
            return self._address()
        if self._take("!"):
            name = self._name()
            return Negated(self._register(name) or name)
        if self._now.kind == "number" or self._is("-", "+"):
            self._take("+")
            minus = self._take("-")
            token = self._next()
            if token.kind != "number":
                raise self._module.error(token.line, f"a number expected, not {token.text!r}")
            number = number_of(token.text)
            return Immediate(-number.value, number.bits) if minus else number
        name = self._name()
        own = self._register(name)
        if own is not None or name.startswith("%") or name == "_":
            name = own or name
            while self._now.kind == "dot":
                name += self._next().text
            return self._paired(Register(name))
        return Symbol(name, self._offset())

    def _paired(self, first: Operand) -> Operand:
        """Two results, ``%r1|%p1``."""
        if not self._take("|"):
            return first
        return Vector((first, self._operand()))

    def _offset(self) -> int:
        total = 0
        while self._is("+", "-"):
            sign = -1 if self._next().text == "-" else 1
            total += sign * self._whole()
        return total

    def _address(self) -> Address:
        self._expect("[")
        base = self._operand()
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        else:
            offset = self._offset()
        more: list[Operand] = []
        while self._take(","):
            more.append(self._operand())
        self._expect("]")
        if not isinstance(base, Register | Symbol | Immediate):
            raise self._wrong("an address begins with a register, a variable or a number")
        return Address(base, offset, tuple(more))

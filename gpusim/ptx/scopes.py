"""Names in the blocks of a PTX function, each of which may hide those of the block around it."""

from __future__ import annotations

from attrs import evolve

from gpusim.ptx.syntax import Function, Instruction, Label, Symbol, Variable


class Scopes:
    """Registers, variables and labels of the function that is read.

    What inner blocks declare becomes the function's, under a name of its own.
    """

    def __init__(self) -> None:
        self._open: list[dict[str, str]] = []
        """Registers that each open block declares, and their names in the function."""
        self._labels: set[str] = set()
        """Labels of inner blocks of the function."""

    def begin(self) -> None:
        """A block begins."""
        self._open.append({})

    def end(self, function: Function, first: int) -> None:
        """A block has ended, whose first statement has the number `first` in the function."""
        self._open.pop()
        if self._open:
            self._rename_labels(function, first)
        else:
            self._labels.clear()

    def declare(self, function: Function, name: str, type_: str) -> None:
        """Declare a register in the innermost block."""
        known = function.registers.get(name)
        hides = any(name in scope for scope in self._open[:-1])
        unique = (
            f"{name}#{len(function.registers)}" if hides or known not in {None, type_} else name
        )
        self._open[-1][name] = unique
        function.registers[unique] = type_

    def place(self, function: Function, variable: Variable) -> None:
        """Declare a variable in the innermost block: two blocks may have one of the same name."""
        name = variable.name
        if len(self._open) > 1 and any(one.name == name for one in function.variables):
            name = f"{name}#{len(function.variables)}"
        self._open[-1][f"variable {variable.name}"] = name
        function.variables.append(evolve(variable, name=name))

    def variable(self, name: str) -> str:
        """The name, in the function, of a variable."""
        return self.register(f"variable {name}") or name

    def register(self, name: str) -> str | None:
        """The name, in the function, of a register that is declared here; None: there is none."""
        for scope in reversed(self._open):
            if name in scope:
                return scope[name]
        return None

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

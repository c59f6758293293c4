"""Functions that a kernel calls, put in place of the calls."""

from __future__ import annotations

from attrs import evolve

from gpusim.core.errors import nearest
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
    Register,
    Symbol,
    Vector,
)
from gpusim.ptx.value_types import bytes_of

_DROPPED = {"vprintf"}
"""Functions of the system that change nothing that a kernel computes."""

_ENDING = {"__assertfail": "trap"}
"""Those that end it, and the instruction that does so, too."""

_REFUSED = {
    "cudaGraph": "a graph of launches made by a kernel",
    "cuda": "a launch made by a kernel, or another call of CUDA's runtime,",
    "__cudaCDP": "a launch made by a kernel (dynamic parallelism)",
    "malloc": "memory that a kernel allocates",
    "free": "memory that a kernel allocates",
    "__nv_aligned_device_malloc": "memory that a kernel allocates",
    "%": "a call by a pointer",
}
"""Functions that are not there, by the begin of their names, and what they mean."""

_MOST_INSTRUCTIONS = 1 << 18


def inlined(module: Module, kernel: Function) -> Function:
    """A kernel without calls.

    What functions take and give (``.param`` variables) becomes registers.

    Raises:
        UserError: a function calls itself, is not there, or is called by its address.
    """
    made = evolve(
        kernel,
        registers=dict(kernel.registers),
        variables=list(kernel.variables),
        tables=dict(kernel.tables),
        body=[],
    )
    inliner = _Inliner(module, made)
    made.body = inliner.body(kernel, {}, (kernel.name,))
    return made


class _Inliner:
    def __init__(self, module: Module, kernel: Function) -> None:
        self._module = module
        self._kernel = kernel
        self._own = {one.name for one in kernel.parameters}
        self._calls = 0
        self._stored: set[str] = set()
        self._count = 0

    def body(
        self, function: Function, names: dict[str, str], chain: tuple[str, ...]
    ) -> list[Instruction | Label]:
        """A function's body with its names replaced; ends with the label that `ret` goes to."""
        found: list[Instruction | Label] = []
        for one in function.body:
            self._count += 1
            if isinstance(one, Label):
                found.append(Label(names.get(one.name, one.name)))
            elif self._count > _MOST_INSTRUCTIONS:
                raise self._module.at(one, f"more than {_MOST_INSTRUCTIONS} instructions")
            elif one.opcode == "call":
                found += self._call(one, names, chain)
            elif one.opcode == "ret" and len(chain) > 1:
                end = Symbol(names["ret"])
                found.append(evolve(one, opcode="bra", operands=(end,), guard=_guard(one, names)))
            else:
                operands = tuple(_renamed(operand, names) for operand in one.operands)
                found += self._moves(evolve(one, operands=operands, guard=_guard(one, names)))
        return found

    def _call(
        self, call: Instruction, names: dict[str, str], chain: tuple[str, ...]
    ) -> list[Instruction | Label]:
        results, name, arguments = _parts(call)
        if name in _DROPPED:
            self._kernel.prints = True
            return [self._nothing(call, names.get(result, result)) for result in results]
        if name in _ENDING:
            return [evolve(call, opcode=_ENDING[name], modifiers=(), operands=())]
        callee = self._module.functions.get(name)
        if callee is None or callee.declared_only or not callee.body:
            for begin, what in _REFUSED.items():
                if name.startswith(begin):
                    raise self._module.at(call, f"{what} ({name}) is not supported")
            known = [one.name for one in self._module.functions.values() if one.body]
            raise self._module.at(call, f"there is no function {name!r} here{nearest(name, known)}")
        if name in chain:
            raise self._module.at(call, f"{name!r} calls itself, which is not supported")
        inner = self._names_of(callee)
        given = [*results, *arguments]
        takes = [*callee.results, *callee.parameters]
        if len(given) != len(takes):
            raise self._module.at(call, f"{name!r} takes {len(takes)} operands, not {len(given)}")
        for variable, operand in zip(takes, given, strict=True):
            inner[variable.name] = names.get(operand, operand)
        found = self.body(callee, inner, (*chain, name))
        guard = _guard(call, names)
        if guard is not None:
            over = evolve(
                call,
                opcode="bra",
                modifiers=(),
                operands=(Symbol(inner["ret"]),),
                guard=evolve(guard, negated=not guard.negated),
            )
            found.insert(0, over)
        return [*found, Label(inner["ret"])]

    def _nothing(self, call: Instruction, result: str) -> Instruction:
        """A result of a call that is not carried out: 0."""
        slot = f"{result}+0"
        self._kernel.registers[slot] = "b32"
        operands = (Register(slot), Immediate(0))
        return evolve(call, opcode="mov", modifiers=("b32",), operands=operands, guard=None)

    def _names_of(self, callee: Function) -> dict[str, str]:
        """Names, in the kernel, of what a function that is put into it declares."""
        self._calls += 1
        tag = f"call{self._calls}:"
        inner = {"ret": f"{tag}ret"}
        for register, type_ in callee.registers.items():
            inner[register] = tag + register
            self._kernel.registers[tag + register] = type_
        for variable in callee.variables:
            inner[variable.name] = tag + variable.name
            self._kernel.variables.append(evolve(variable, name=tag + variable.name))
        for one in callee.body:
            if isinstance(one, Label):
                inner[one.name] = tag + one.name
        for table, targets in callee.tables.items():
            inner[table] = tag + table
            self._kernel.tables[tag + table] = tuple(inner[target] for target in targets)
        return inner

    def _moves(self, one: Instruction) -> list[Instruction | Label]:
        """Moves in place of what reads or writes a parameter of a call."""
        if one.opcode not in {"ld", "st"} or not any(
            modifier.startswith("param") for modifier in one.modifiers
        ):
            return [one]
        stores = one.opcode == "st"
        address, value = one.operands if stores else one.operands[::-1]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return [one]
        if address.base.name in self._own:
            return [one]
        items = value.items if isinstance(value, Vector) else (value,)
        type_ = one.modifiers[-1]
        found: list[Instruction | Label] = []
        for place, item in enumerate(items):
            slot = f"{address.base.name}+{address.offset + place * bytes_of(type_)}"
            if stores:
                self._stored.add(slot)
                self._kernel.registers[slot] = f"b{8 * max(bytes_of(type_), 2)}"
                found.append(_move(one, Register(slot), item, f"b{8 * bytes_of(type_)}"))
                continue
            given = self._kernel.registers.get(slot)
            if given is None or bytes_of(given) < bytes_of(type_):
                raise self._module.at(one, "reads what no call has given; it is not supported")
            found.append(self._load(one, item, Register(slot), type_))
        return found

    def _load(self, one: Instruction, to: Operand, of: Register, type_: str) -> Instruction:
        """A register gets a parameter: its low bits, extended by their sign if the type has one."""
        into = self._kernel.registers.get(to.name, "") if isinstance(to, Register) else ""
        if type_[0] == "s" and into and bytes_of(into) > bytes_of(type_):
            return evolve(
                _move(one, to, of, type_), opcode="cvt", modifiers=(f"s{into[1:]}", type_)
            )
        return _move(one, to, of, f"b{8 * bytes_of(type_)}")


def _move(one: Instruction, to: Operand, of: Operand, type_: str) -> Instruction:
    """A move in place of an instruction."""
    return evolve(one, opcode="mov", modifiers=(type_,), operands=(to, of))


def _parts(call: Instruction) -> tuple[list[str], str, list[str]]:
    """Results, function and arguments of a call."""
    lists: list[list[str]] = [[], []]
    name, seen = "", 0
    for operand in call.operands:
        if isinstance(operand, Vector):
            lists[min(seen, 1)] = [_name(item) for item in operand.items]
        elif not name:
            name, seen = _name(operand), 1
    return lists[0], name, lists[1]


def _name(operand: Operand) -> str:
    return operand.name if isinstance(operand, Symbol | Register) else ""


def _guard(one: Instruction, names: dict[str, str]) -> Guard | None:
    if one.guard is None:
        return None
    return evolve(one.guard, register=names.get(one.guard.register, one.guard.register))


def _renamed(operand: Operand, names: dict[str, str]) -> Operand:
    """An operand with the names of the place where the function is put."""
    if not names or isinstance(operand, Immediate):
        return operand
    if isinstance(operand, Register | Negated | Symbol):
        return evolve(operand, name=names.get(operand.name, operand.name))
    if isinstance(operand, Vector):
        return Vector(tuple(_renamed(item, names) for item in operand.items))
    base = operand.base if isinstance(operand.base, Immediate) else _renamed(operand.base, names)
    assert isinstance(base, Register | Symbol | Immediate)
    return Address(base, operand.offset, tuple(_renamed(item, names) for item in operand.more))

"""Which instructions have to be executed: those on which accesses, branches and barriers depend.

What is left is only counted.  The contents of memory matter where a load that is executed for its
value may read them: then the values that stores put there matter, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define

from gpusim.ptx.flow import ends_block
from gpusim.ptx.origins import ANY, SHARED, Origin, Origins, Pointers, meets
from gpusim.ptx.syntax import Address, Instruction, Operand
from gpusim.ptx.uses import address_registers, guard_of, named, read, sources_of, written

_MEMORY = {"ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "wmma.load", "wmma.store"}
_WRITING = {"st", "atom", "red", "cp", "stmatrix", "wmma.store"}
_ALWAYS = {"mbarrier", "bar", "barrier"}


@define(eq=False)
class Slice:
    """What of a kernel is executed.

    Attributes:
        executed: instructions whose result is computed, or that have to be carried out.
        contents: origins of memory whose contents matter.
        everything: all stores matter.
    """

    executed: frozenset[Instruction]
    contents: frozenset[Origin]
    everything: bool


def slice_of(
    body: Iterable[Instruction],
    spaces: Mapping[str, str],
    contents: Iterable[Origin] = (),
    everything: bool = False,
) -> Slice:
    """The slice of a kernel.

    Args:
        body: its instructions.
        spaces: memory space of each variable.
        contents: origins whose contents matter to others, such as later launches.
        everything: all stores matter.
    """
    return _Slicer([*body], spaces, set(contents), everything).run()


class _Slicer:
    def __init__(
        self,
        body: list[Instruction],
        spaces: Mapping[str, str],
        contents: set[Origin],
        everything: bool,
    ) -> None:
        self._body = body
        self._pointers = Pointers(body, spaces)
        self._contents = contents
        self._everything = everything
        self._makers: dict[str, list[Instruction]] = {}
        for one in body:
            for name in written(one):
                self._makers.setdefault(name, []).append(one)
        self._executed: set[Instruction] = set()
        self._left: list[str] = []
        self._known: set[str] = set()

    def run(self) -> Slice:
        """Follow all that is needed back to what makes it."""
        for one in self._body:
            self._root(one)
        while True:
            while self._left:
                for maker in self._makers.get(self._left.pop(), ()):
                    self._execute(maker)
            if not self._writers():
                break
        return Slice(frozenset(self._executed), frozenset(self._contents), self._everything)

    def _need(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._known:
                self._known.add(name)
                self._left.append(name)

    def _root(self, one: Instruction) -> None:
        """What is needed of it, whatever is done with its results."""
        if ends_block(one) or one.opcode in _ALWAYS:
            self._executed.add(one)
            self._need(read(one))
        elif one.opcode in _MEMORY or one.opcode == "cp":
            self._need(guard_of(one))
            self._need(address_registers(one))
            if one.opcode == "cp":
                self._need(read(one))
            if one.has("tensor") and one.opcode == "cp":
                self._contents |= self._pointers.at(one.operands[1 - _to_global(one)])
            if one.opcode in {"wmma.load", "wmma.store"}:
                self._need(name for operand in one.operands[2:] for name in named(operand))

    def _execute(self, one: Instruction) -> None:
        """Its result is needed."""
        if one in self._executed:
            return
        self._executed.add(one)
        self._need(read(one))
        self._need(name for name in written(one) if one.guard is not None)
        for operand in _places(one):
            self._contents |= self._reads(one, operand)

    def _reads(self, one: Instruction, operand: Operand) -> Origins:
        if one.opcode == "ldmatrix":
            return frozenset({SHARED})
        if one.opcode == "cp" and _to_global(one):
            return frozenset({SHARED})
        if one.opcode == "cp" and one.has("tensor"):
            return frozenset({ANY})
        if one.opcode == "cp":
            return self._pointers.at(operand)
        return self._pointers.of(one, operand)

    def _writers(self) -> bool:
        """Execute what writes where contents matter: whether there was any new one."""
        before = len(self._executed)
        for one in self._body:
            if one in self._executed or one.opcode not in _WRITING:
                continue
            if self._everything or self._writes_needed(one):
                self._execute(one)
        return len(self._executed) > before

    def _writes_needed(self, one: Instruction) -> bool:
        if one.opcode == "cp":
            target = one.operands[0] if one.operands else None
            if not isinstance(target, Address):
                return False
            of = self._pointers.at(target) if _to_global(one) else frozenset({SHARED})
            of = frozenset({ANY}) if _to_global(one) and one.has("tensor") else of
            return meets(of, self._contents)
        if one.opcode == "stmatrix":
            return meets(frozenset({SHARED}), self._contents)
        places = [operand for operand in sources_of(one) if isinstance(operand, Address)]
        return any(meets(self._pointers.of(one, place), self._contents) for place in places)


def _to_global(one: Instruction) -> bool:
    """Whether a copy goes to global memory."""
    spaces = [word for word in one.modifiers if word.partition("::")[0] in {"global", "shared"}]
    return bool(spaces) and spaces[0] == "global"


def _places(one: Instruction) -> list[Operand]:
    """The addresses from which it reads."""
    if one.opcode in {"ld", "ldu", "atom", "red", "ldmatrix", "wmma.load"}:
        return [operand for operand in one.operands if isinstance(operand, Address)]
    if one.opcode == "cp":
        return [operand for operand in one.operands[1:2] if isinstance(operand, Address)]
    return []

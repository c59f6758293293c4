"""Basic blocks of a kernel, in the order in which threads of a warp wait for each other.

A warp executes the first block in this order at which any of its threads is.  Loops lie together
and everything else comes after what leads to it (Bourdoncle's weak topological order, 1993), so
threads that a branch has parted meet at the first block that all ways lead through, at the latest:
the immediate post-dominator, where a reconvergence stack would join them.
"""

from __future__ import annotations

from attrs import define

from gpusim.core.errors import nearest
from gpusim.ptx.syntax import Function, Instruction, Label, Module, Register, Symbol

_ENDS = {"ret", "exit", "trap"}


@define(eq=False)
class Block:
    """Instructions that are executed one after the other.

    Attributes:
        instructions: with the one that ends it, if any.
        targets: blocks to which its last instruction may branch.
        falls: the block that follows; None: it never goes on.
    """

    instructions: list[Instruction]
    targets: tuple[int, ...] = ()
    falls: int | None = None

    @property
    def last(self) -> Instruction | None:
        """The instruction that ends it: a branch, an end, or a wait for other threads."""
        if self.instructions and ends_block(self.instructions[-1]):
            return self.instructions[-1]
        return None

    @property
    def next(self) -> tuple[int, ...]:
        """All blocks that may come next."""
        return self.targets if self.falls is None else (*self.targets, self.falls)


def waits_for_threads(one: Instruction) -> bool:
    """Whether a thread may have to wait in it for others; of a cluster: for those of its block."""
    if one.opcode in {"bar", "barrier"}:
        return not one.has("arrive", "warp")
    return one.opcode == "mbarrier" and one.has("try_wait", "test_wait")


def ends_block(one: Instruction) -> bool:
    """Whether a basic block ends with it."""
    return one.opcode in {"bra", "brx"} or one.opcode in _ENDS or waits_for_threads(one)


def blocks_of(module: Module, kernel: Function) -> list[Block]:
    """Basic blocks, the first one first, in the order in which threads wait.

    Raises:
        UserError: a branch goes nowhere.
    """
    blocks, labels = _cut(kernel)
    for number, block in enumerate(blocks):
        _connect(module, kernel, blocks, labels, number, block)
    order = _order([block.next for block in blocks])
    new = {old: place for place, old in enumerate(order)}
    return [
        Block(
            blocks[old].instructions,
            tuple(new[target] for target in blocks[old].targets),
            None if blocks[old].falls is None else new[blocks[old].falls],  # type: ignore[index]
        )
        for old in order
    ]


def _cut(kernel: Function) -> tuple[list[Block], dict[str, int]]:
    blocks = [Block([])]
    labels: dict[str, int] = {}
    reached = _targets(kernel)
    for one in kernel.body:
        if isinstance(one, Label):
            if one.name not in reached:
                continue  # of debuggers
            if blocks[-1].instructions:
                blocks.append(Block([]))
            labels[one.name] = len(blocks) - 1
            continue
        if one.opcode == "mbarrier" and waits_for_threads(one) and blocks[-1].instructions:
            blocks.append(Block([]))  # it is executed anew until it need not wait
        blocks[-1].instructions.append(one)
        if ends_block(one):
            blocks.append(Block([]))
    return blocks, labels


def _targets(kernel: Function) -> set[str]:
    """Labels to which branches go."""
    found = {name for table in kernel.tables.values() for name in table}
    for one in kernel.body:
        if isinstance(one, Instruction) and one.opcode == "bra":
            found.add(_name(one))
    return found


def _connect(
    module: Module,
    kernel: Function,
    blocks: list[Block],
    labels: dict[str, int],
    number: int,
    block: Block,
) -> None:
    last = block.last
    following = number + 1 if number + 1 < len(blocks) else None
    if last is None or waits_for_threads(last):
        block.falls = following
        return
    if last.opcode == "bra":
        block.targets = (_label(module, kernel, last, labels, _name(last)),)
    elif last.opcode == "brx":
        table = last.operands[1]
        names = kernel.tables.get(table.name, ()) if isinstance(table, Symbol) else ()
        if not names:
            raise module.at(last, "there are no .branchtargets of this name")
        block.targets = tuple(_label(module, kernel, last, labels, name) for name in names)
        return
    if last.guard is not None:
        block.falls = following


def _name(branch: Instruction) -> str:
    operand = branch.operands[-1] if branch.operands else None
    return operand.name if isinstance(operand, Symbol | Register) else ""


def _label(
    module: Module, kernel: Function, branch: Instruction, labels: dict[str, int], name: str
) -> int:
    if name not in labels:
        known = [one.name for one in kernel.body if isinstance(one, Label)]
        raise module.at(branch, f"there is no label {name!r}{nearest(name, known)}")
    return labels[name]


# -- order -----------------------------------------------------------------------------------------


def _order(next_of: list[tuple[int, ...]]) -> list[int]:
    """All blocks that can be reached from block 0, loops together."""
    return _ordered({0}, 0, next_of, _reached(next_of))


def _reached(next_of: list[tuple[int, ...]]) -> set[int]:
    found, left = {0}, [0]
    while left:
        for one in next_of[left.pop()]:
            if one not in found:
                found.add(one)
                left.append(one)
    return found


def _ordered(
    entries: set[int], root: int, next_of: list[tuple[int, ...]], inside: set[int]
) -> list[int]:
    """The blocks `inside`, of which `entries` are reached from elsewhere."""
    found: list[int] = []
    for part in _components(root, next_of, inside, entries):
        if len(part) == 1:
            found += part
            continue
        members = set(part)
        heads = [
            one
            for one in part
            if one in entries or any(one in next_of[other] for other in inside - members)
        ]
        head = min(heads or part)
        found.append(head)
        rest = members - {head}
        while rest:
            starts = {one for one in next_of[head] if one in rest} or {min(rest)}
            below = _ordered(starts, min(starts), next_of, rest)
            found += below
            rest -= set(below)
    return found


def _components(
    root: int, next_of: list[tuple[int, ...]], inside: set[int], entries: set[int]
) -> list[list[int]]:
    """Strongly connected parts (Tarjan, 1972), each before those that it leads to."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    parts: list[list[int]] = []
    for start in (root, *sorted(entries - {root}), *sorted(inside)):
        if start in index or start not in inside:
            continue
        work = [(start, iter(next_of[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for one in rest:
                if one not in inside:
                    continue
                if one not in index:
                    index[one] = low[one] = len(index)
                    stack.append(one)
                    on_stack.add(one)
                    work.append((one, iter(next_of[one])))
                    break
                if one in on_stack:
                    low[node] = min(low[node], index[one])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part: list[int] = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    parts.append(part)
    return parts[::-1]

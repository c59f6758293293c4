"""Threads that execute a basic block together, and the compiled form of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from gpusim.ptx.copy_groups import Warps
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import Value

if TYPE_CHECKING:
    from gpusim.ptx.batch import Batch

Lanes: TypeAlias = NDArray[np.int64]


class Frame:
    """Threads that execute a basic block together.

    Attributes:
        values: of registers, by their numbers: (threads,), or one for all; None: not known here.
        lanes: which threads of the batch; None: all.
        count: how many.
        warps: (warps,) those that have any of them.
        batch: all threads.
    """

    __slots__ = ("batch", "count", "lanes", "values", "warps")

    def __init__(self, batch: Batch, lanes: Lanes | None, registers: int) -> None:
        self.batch = batch
        self.lanes = lanes
        self.values: list[Any] = [None] * registers
        if lanes is None:
            self.count = batch.threads.count
            self.warps: Warps = batch.all_warps
        else:
            self.count = len(lanes)
            self.warps = np.zeros(batch.threads.warps, bool)
            self.warps[lanes // WARP] = True

    def those(self, which: Value) -> Lanes:
        """The threads of the batch that are in a mask of the threads here."""
        return np.flatnonzero(which) if self.lanes is None else self.lanes[which]

    def spread(self, value: Any) -> Value:
        """A value as (threads,)."""
        return value if np.ndim(value) else np.broadcast_to(value, self.count)


Step: TypeAlias = Callable[[Frame], None]

Reader: TypeAlias = Callable[[Frame], Value]


@define(eq=False)
class CodeBlock:
    """A basic block as it is executed.

    Attributes:
        steps: in order; `quiet` without those that only record.
        reads: registers that it takes over from other blocks.
        writes: registers that it leaves to others.
        lines: of its first and last instruction, in the PTX.
        last: what ends it; None: it goes on to the next.
        condition: reads whether the branch is taken; None: always.
        target: reads which of `targets` is taken, of a table of branches.
        targets, falls: as of `gpusim.ptx.flow.Block`.
        polls: whether it reads memory that other threads may change meanwhile.
    """

    steps: list[Step] = field(factory=list)
    quiet: list[Step] = field(factory=list)
    reads: list[int] = field(factory=list)
    writes: list[int] = field(factory=list)
    lines: tuple[int, int] = (0, 0)
    last: Instruction | None = None
    condition: Reader | None = None
    target: Reader | None = None
    targets: tuple[int, ...] = ()
    falls: int | None = None
    polls: bool = False


@define(eq=False)
class Code:
    """A kernel as it is executed.

    Attributes:
        blocks: in the order in which threads wait for each other.
        types: numpy types of the registers, by their numbers.
    """

    blocks: list[CodeBlock]
    types: list[np.dtype[Any]]

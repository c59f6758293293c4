"""Launches of PTX kernels, as the machine asks for them: block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.core.code_places import CodePlace
from gpusim.core.warp_program import NOTHING_ASKED, Asked, LaneChunk, most_in_step
from gpusim.ptx.batch import Batch, Site, threads_of
from gpusim.ptx.compiler import Compiler
from gpusim.ptx.executor import Executor
from gpusim.ptx.flow import Block, blocks_of
from gpusim.ptx.frame import Code
from gpusim.ptx.inline import inlined
from gpusim.ptx.layout import Layout, layout_of
from gpusim.ptx.names import plain_name
from gpusim.ptx.operands import Operands
from gpusim.ptx.origins import Origin
from gpusim.ptx.pressure import estimated_registers
from gpusim.ptx.record import Record
from gpusim.ptx.slices import Slice, slice_of
from gpusim.ptx.syntax import Function, Instruction, Module, Place
from gpusim.traces.application import TraceLaunch


@frozen(eq=False)
class Kernel:
    """A kernel that is ready to be launched.

    Attributes:
        module: of it.
        function: without calls.
        layout: of its variables.
        flow: its basic blocks.
        operands: of its instructions.
        registers: 32-bit registers of a thread.
        estimated: they are not known, but estimated.
        text: the PTX.
        bound: arrays of the host's that are variables in global memory, by their names.
    """

    module: Module
    function: Function
    layout: Layout
    flow: list[Block]
    operands: Operands
    registers: int
    estimated: bool
    text: str
    bound: dict[str, NDArray[Any]] = field(factory=dict)

    @property
    def name(self) -> str:
        """As the PTX has it."""
        return self.function.name

    @property
    def instructions(self) -> list[Instruction]:
        """All of them, in their order."""
        return [one for one in self.function.body if isinstance(one, Instruction)]

    def slice(self, contents: frozenset[Origin] = frozenset(), everything: bool = False) -> Slice:
        """What of it is executed, if these contents of memory matter, or everything does."""
        return slice_of(self.instructions, self.layout.space, contents, everything)

    def code(self, contents: frozenset[Origin] = frozenset(), everything: bool = False) -> Code:
        """Its code; instructions outside of the slice only count."""
        return _code(self, contents, everything)


@lru_cache(maxsize=64)
def _code(kernel: Kernel, contents: frozenset[Origin], everything: bool) -> Code:
    chosen = kernel.slice(contents, everything)
    return Compiler(kernel.operands, chosen).code(kernel.flow)


def made_kernel(module: Module, name: str, text: str, registers: int | None = None) -> Kernel:
    """A kernel of a module.

    Args:
        module: of it.
        name: as the PTX has it.
        text: of the PTX.
        registers: 32-bit registers of a thread; None: estimated.

    Raises:
        UserError: it is wrong.
    """
    function = inlined(module, module.functions[name])
    layout = layout_of(module, function)
    flow = blocks_of(module, function)
    return Kernel(
        module,
        function,
        layout,
        flow,
        Operands(module, function, layout),
        registers or estimated_registers(flow, function.registers),
        registers is None,
        text,
    )


@define(kw_only=True, eq=False)
class PtxLaunch(TraceLaunch):
    """A launch that is executed as its blocks are asked for.

    Attributes:
        kernel: of it.
        site: its grid, memories and parameters.
        code: what is executed.
    """

    kernel: Kernel
    site: Site
    code: Code
    _numbers: dict[Instruction, int] = field(factory=dict, init=False)

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        return self._run((block,), asked)

    def run_in_step(self, blocks: Sequence[int], warp_size: int) -> Iterator[LaneChunk] | None:
        """Execute blocks in step (`gpusim.core.warp_program.LaunchInStep`)."""
        if warp_size != self.warp_size:
            return None
        return self._run(blocks, NOTHING_ASKED)

    def located(
        self, block: int, asked: Asked = NOTHING_ASKED
    ) -> Iterator[tuple[LaneChunk, list[Instruction | None]]]:
        """The chunks of a block, with the instruction of each access: its line, and its source's.

        Args:
            block: its number.
            asked: operations that are asked for.
        """
        record = Record(threads_of(self.site.shape, (block,)), asked)
        for chunk in self._recorded((block,), record):
            yield chunk, record.made_by

    def _run(self, blocks: Sequence[int], asked: Asked) -> Iterator[LaneChunk]:
        number_of = self._number_of if asked.places else None
        return self._recorded(blocks, Record(threads_of(self.site.shape, blocks), asked, number_of))

    def _number_of(self, one: Instruction) -> int:
        """The number of an instruction's place in the code."""
        found = self._numbers.get(one)
        if found is None:
            source = one.source or Place(self.kernel.module.path, one.line)
            place = CodePlace(
                plain_name(self.kernel.name),
                file=source.file,
                line=source.line,
                text=f"{one.name} in line {one.line} of the PTX",
            )
            found = self._numbers[one] = self.places.number(place)
        return found

    def _recorded(self, blocks: Sequence[int], record: Record) -> Iterator[LaneChunk]:
        batch = Batch(self.site, blocks, record)
        return Executor(self.kernel.module, self.code, self.kernel.operands, batch).run()

    def execute(self) -> None:
        """Execute all blocks without recording anything, for what they leave in memory."""
        own = most_in_step(self, self.warp_size)
        for first in range(0, self.blocks, own):
            blocks = range(first, min(first + own, self.blocks))
            batch = Batch(self.site, blocks, None)
            for _ in Executor(self.kernel.module, self.code, self.kernel.operands, batch).run():
                pass

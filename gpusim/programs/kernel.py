"""Kernels and applications as classes: subclass `Kernel` and `Program`.

Most are shorter as functions (`gpusim.programs.kernel_function`, `gpusim.programs.catalog`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import ClassVar, Self

from attrs import define

from gpusim.core.streams import IN_TURN, StreamUse, made_use
from gpusim.core.warp_program import Application, Asked, Buffer, LaneChunk, Launch
from gpusim.programs.device import AddressSpace
from gpusim.programs.pieces import move_piece
from gpusim.programs.tracer import BlockTracer, Shape, StepTracer


@define(kw_only=True, eq=False)
class Kernel(ABC):
    """A kernel launch (`gpusim.core.warp_program.Launch`): arrays and sizes as attributes, a body.

    The body of a thread block runs piece by piece, while other blocks are at other places of
    theirs.  It may therefore read only what its own block writes or what earlier launches wrote;
    a race is allowed where every order gives the same control flow and addresses.

    Attributes:
        shape: grid and block.
        name: the kernel's name.
        registers_per_thread: 32-bit registers.
        shared_bytes: shared memory of a block.
        stream_use: its stream, and what it waits for.
        in_step: the body can be executed for several blocks at once, in step (`StepTracer`): it
            computes each thread's values from those of its own block's threads, and executes an
            instruction for all threads (`where` None) only where all threads of all blocks come by.
    """

    in_step: ClassVar[bool] = False

    shape: Shape
    name: str
    registers_per_thread: int
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: ClassVar[None] = None

    def on(
        self,
        stream: int = 0,
        *,
        gpu: int | None = None,
        after: Sequence[object] = (),
        host_waits: bool = False,
    ) -> Self:
        """The same launch in a stream; see `gpusim.programs.kernel_function.KernelLaunch.on`."""
        launch = copy(self)
        launch.stream_use = made_use(self.name, stream, gpu, after, host_waits)
        return launch

    @property
    def blocks(self) -> int:
        """Number of thread blocks; x runs fastest."""
        return self.shape.blocks

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return self.shape.threads

    @abstractmethod
    def body(self, k: BlockTracer) -> Iterator[None] | None:
        """What a thread block does, in terms of the tracer's instructions.

        A body with loops is a generator and yields in each iteration, so that long programs are
        handed over in pieces; a short one is a plain function.
        """

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute thread block `block`; yields its chunks in order, all warps together."""
        return traced(self.body, BlockTracer(self.shape, block, warp_size))

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """The same with what arithmetic and shared memory cost on a machine that asks for it."""
        return traced(self.body, BlockTracer(self.shape, block, warp_size, asked))

    def run_in_step(self, blocks: Sequence[int], warp_size: int) -> Iterator[LaneChunk] | None:
        """Execute thread blocks in step if the body can be executed so."""
        if not self.in_step:
            return None
        return traced(self.body, StepTracer(self.shape, blocks, warp_size))


def traced(
    body: Callable[[BlockTracer], Iterator[None] | None], tracer: BlockTracer
) -> Iterator[LaneChunk]:
    """What a tracer records of a body, piece by piece.

    A piece, and after the last one the tracer, is forgotten here when it is handed over: a block in
    residence would keep it, tens of KiB a warp.
    """
    pieces: list[LaneChunk] = []
    for _ in body(tracer) or ():
        if tracer.full and move_piece(tracer, pieces):
            yield pieces.pop()
    if move_piece(tracer, pieces):
        del tracer
        yield pieces.pop()


def maker_of(application: Application) -> object:
    """The class, or the generator function, that makes an application."""
    return getattr(application, "maker", type(application))


class Program(ABC):
    """An application in execution (a `gpusim.core.warp_program.Application`).

    A subclass allocates its arrays in `memory` when it is made and writes its host loop as
    `launches`; after a ``yield`` of a launch, the launch has drained and its results can be read.

    Attributes:
        name: the program's name.
        memory: its address space.
        notices: what a user should know of it, a sentence each.
    """

    notices: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.memory = AddressSpace()

    @property
    def maker(self) -> object:
        """The class, or the generator function, that makes it."""
        return type(self)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, in allocation order."""
        return self.memory.buffers

    def warnings(self) -> Iterator[str]:
        """What a user should know of the run, a sentence each."""
        yield from self.notices

    @abstractmethod
    def launches(self) -> Iterator[Launch]:
        """The kernel launches of one complete run."""

"""Kernels as functions: ``k[threads](array, ..., number, ...)`` is a launch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, update_wrapper
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, TypeAlias

import numpy as np
from attrs import define, evolve, frozen

from gpusim.core.copies import Copy
from gpusim.core.errors import UserError, nearest
from gpusim.core.streams import IN_TURN, StreamUse, made_use
from gpusim.core.warp_program import Asked, LaneChunk
from gpusim.programs.kernel import traced
from gpusim.programs.tracer import BlockTracer, Dim3, Shape, StepTracer

P = ParamSpec("P")

Body: TypeAlias = Callable[Concatenate[BlockTracer, P], Iterator[None] | None]
"""What a thread block does: a function of the tracer, and of the arrays and numbers of a launch."""

Needs: TypeAlias = int | Callable[..., int]
"""A number, or a function of those arguments of a launch that its own parameters name."""

Extent: TypeAlias = int | tuple[int, ...]
"""Blocks of a grid, or threads of a block: a number, or one for each of x, y and z."""


@frozen(eq=False)
class KernelLaunch:
    """A kernel with the shape and the arguments of one launch (`gpusim.core.warp_program.Launch`).

    Attributes:
        name: the kernel's name.
        shape: grid and block.
        body: what a thread block does.
        registers_per_thread: 32-bit registers.
        shared_bytes: shared memory of a block.
        in_step: the body can be executed for several blocks at once.
        stream_use: its stream, and what it waits for.
        copy: what it copies, if it does nothing else.
        arguments: what the kernel was given.
    """

    name: str
    shape: Shape
    body: Callable[[BlockTracer], Iterator[None] | None]
    registers_per_thread: int
    shared_bytes: int = 0
    in_step: bool = False
    stream_use: StreamUse = IN_TURN
    copy: Copy | None = None
    arguments: tuple[Any, ...] = ()

    def on(
        self,
        stream: int = 0,
        *,
        gpu: int | None = None,
        after: Sequence[object] = (),
        host_waits: bool = False,
    ) -> KernelLaunch:
        """The same launch in a stream of CUDA's, on one GPU of a node; else in stream 0, on all.

        The program goes on at once, unless the stream is 0 and the GPUs are all: what such launches
        compute may be read after the next launch that it waits for.

        Args:
            stream: launches of one stream run one after the other, those of others overlap; those
                of stream 0 wait for all before them, and all after them wait for those.
            gpu: the GPU that runs it, from 0 on among those that its application has; each GPU has
                streams of its own.  None: its blocks are dealt out to all GPUs.
            after: launches of other streams or GPUs that have to end before, as CUDA's events have
                it.
            host_waits: the program goes on when this launch and all before it have ended.

        Raises:
            UserError: the stream or the GPU is no number from 0 on, or a launch in `after` has no
                stream.
        """
        return evolve(self, stream_use=made_use(self.name, stream, gpu, after, host_waits))

    @property
    def blocks(self) -> int:
        """Number of thread blocks; x runs fastest."""
        return self.shape.blocks

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return self.shape.threads

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


@define(eq=False, slots=False)
class KernelFunction(Generic[P]):
    """A kernel: a function with its name and its needs; see `kernel`.

    Attributes:
        function: what a thread block does.
        name: the kernel's name.
        registers: of a thread.
        block: threads of a block where a launch gives only a number of threads.
        shared: bytes of shared memory of a block.
        in_step: several blocks can be executed at once.
    """

    function: Body[P]
    name: str
    registers: Needs
    block: int
    shared: Needs
    in_step: bool

    def __attrs_post_init__(self) -> None:
        update_wrapper(self, self.function)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __getitem__(self, place: int | Shape | tuple[Extent, Extent]) -> Callable[P, KernelLaunch]:
        """A launch's shape: what comes of it takes the kernel's arguments.

        Args:
            place: threads, in a row of blocks of `block`; a `Shape`; or blocks of the grid and
                threads of a block, each a number or up to three (x, y, z).

        Raises:
            UserError: it is no shape.
        """
        shape = self._shape(place)

        def launch(*args: P.args, **kwargs: P.kwargs) -> KernelLaunch:
            bound = self._bound(args, kwargs)
            return KernelLaunch(
                name=self.name,
                shape=shape,
                body=partial(self._run, bound.args[1:], bound.kwargs),
                registers_per_thread=_number(self.registers, bound),
                shared_bytes=_number(self.shared, bound),
                in_step=self.in_step,
                arguments=(*bound.args[1:], *bound.kwargs.values()),
            )

        return launch

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> NoReturn:
        """A kernel without a shape is a mistake, and said to be one.

        Raises:
            UserError: always.
        """
        raise UserError(
            f"kernel {self.name!r} is launched without a shape: write "
            f"{self.function.__name__}[threads](...), or {self.function.__name__}[grid, block](...)"
        )

    def _shape(self, place: Any) -> Shape:
        """The shape that a launch gives in brackets."""
        if isinstance(place, Shape):
            return place
        if _is_size(place):
            return Shape.linear(int(place), self.block)
        if isinstance(place, tuple) and len(place) == 2:
            grid, block = (_extent(one) for one in place)
            if grid and block:
                return Shape(grid, block)
        raise UserError(
            f"kernel {self.name!r}: {place!r} is no shape; allowed: a number of threads, "
            "grid and block (each a number or up to three, from 1 on), or a Shape"
        )

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments of a launch, by the names of the function's parameters."""
        names = list(self._signature.parameters)[1:]
        try:
            bound = self._signature.bind(None, *args, **kwargs)
        except TypeError as error:
            unknown = next((name for name in kwargs if name not in names), None)
            hint = nearest(unknown, names) if unknown else ""
            raise UserError(
                f"kernel {self.name!r}: {error}{hint}; its arguments: {', '.join(names)}"
            ) from error
        bound.apply_defaults()
        return bound

    def _run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], k: BlockTracer
    ) -> Iterator[None] | None:
        """Execute the body for the tracer's threads."""
        done = self.function(k, *args, **kwargs)
        if done is None or isinstance(done, Iterator):
            return done
        raise UserError(
            f"kernel {self.name!r} returns {done!r}: its results are what it stores; it returns "
            "nothing, or yields in its loops"
        )


def kernel(
    name: str, *, registers: Needs, block: int = 128, shared: Needs = 0, in_step: bool = False
) -> Callable[[Body[P]], KernelFunction[P]]:
    """Decorator: makes a kernel of a function of the tracer and of arrays and numbers.

    The function runs piece by piece, while other blocks are at other places of theirs.  It may
    therefore read only what its own block writes or what earlier launches wrote; a race is allowed
    where every order gives the same control flow and addresses.  With loops it is a generator and
    yields in each iteration, so that long programs are handed over in pieces.

    Args:
        name: the kernel's name.
        registers: 32-bit registers of a thread; a function of some arguments of the launch, whose
            parameters it names, where they decide.
        block: threads of a block where a launch gives only a number of threads.
        shared: bytes of shared memory of a block; may be a function as well.
        in_step: the body can be executed for several blocks at once, in step (`StepTracer`): it
            computes each thread's values from those of its own block's threads, and executes an
            instruction for all threads (`where` None) only where all threads of all blocks come by.

    Returns:
        What makes a `KernelFunction` of a function; ``k[threads](...)`` is then a launch.
    """

    def make(function: Body[P]) -> KernelFunction[P]:
        made = KernelFunction(function, name, registers, block, shared, in_step)
        known = list(inspect.signature(function).parameters)[1:]
        for need in (registers, shared):
            for wanted in inspect.signature(need).parameters if callable(need) else ():
                if wanted not in known:
                    raise UserError(
                        f"kernel {name!r} has no argument {wanted!r}{nearest(wanted, known)}, on "
                        f"which its registers or shared memory depend; allowed: {', '.join(known)}"
                    )
        return made

    return make


def _number(need: Needs, bound: inspect.BoundArguments) -> int:
    """What a launch needs of registers or shared memory."""
    if isinstance(need, int):
        return need
    return need(**{name: bound.arguments[name] for name in inspect.signature(need).parameters})


def _is_size(number: Any) -> bool:
    """Whether it is a whole number from 1 on, Python's or numpy's."""
    return isinstance(number, int | np.integer) and int(number) > 0


def _extent(numbers: Any) -> Dim3 | None:
    """Up to three numbers from 1 on as x, y and z; None if they are something else."""
    given = numbers if isinstance(numbers, tuple) else (numbers,)
    if not 1 <= len(given) <= 3 or not all(map(_is_size, given)):
        return None
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z

"""A part of a program's thread blocks: shorter runs on arrays of full size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, evolve

from gpusim.core.copies import Copy
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import StreamUse
from gpusim.core.warp_program import (
    Asked,
    Buffer,
    LaneChunk,
    Launch,
    execute_block,
    execute_in_step,
)
from gpusim.programs.device import AddressSpace
from gpusim.programs.kernel import Program

STRETCHES = 16
"""Stretches into which a launch's blocks are cut; the begin of each is run (our choice).

Neighbouring blocks often share pages, so runs of consecutive blocks are taken, not every n-th; and
several runs, so that all parts of the arrays are touched.
"""


def sampled_blocks(blocks: int, sample: int) -> list[int]:
    """One of `sample` blocks, at least one: the first ones of each of `STRETCHES` stretches."""
    if not blocks:
        return []
    count = -(-blocks // sample)
    stretches = min(STRETCHES, count)
    starts = np.arange(stretches) * blocks // stretches
    lengths = np.diff(np.arange(stretches + 1) * count // stretches)
    return [int(s) + i for s, n in zip(starts, lengths, strict=True) for i in range(n)]


@define(eq=False)
class SampledLaunch:
    """A launch (a `gpusim.core.warp_program.Launch`) of which only some blocks are run.

    Attributes:
        launch: the whole one.
        chosen: its blocks that are run.
    """

    launch: Launch
    chosen: list[int]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.launch.name

    @property
    def blocks(self) -> int:
        """Number of thread blocks that are run."""
        return len(self.chosen)

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return self.launch.threads_per_block

    @property
    def registers_per_thread(self) -> int:
        """32-bit registers."""
        return self.launch.registers_per_thread

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return self.launch.shared_bytes

    @property
    def stream_use(self) -> StreamUse:
        """Its stream, and what it waits for."""
        return self.launch.stream_use

    @property
    def copy(self) -> Copy | None:
        """Of a copy, as small a part as of the blocks of kernels."""
        copy = self.launch.copy
        if copy is None or self.launch.blocks == 0:
            return copy
        return evolve(copy, bytes=-(-copy.bytes * self.blocks // self.launch.blocks))

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute the `block`-th of the chosen blocks."""
        return self.launch.run_block(self.chosen[block], warp_size)

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """The same with what is asked for, as far as the launch knows it."""
        return execute_block(self.launch, self.chosen[block], warp_size, asked)

    def run_in_step(self, blocks: Sequence[int], warp_size: int) -> Iterator[LaneChunk] | None:
        """Execute some of the chosen blocks in step, if the launch knows how."""
        return execute_in_step(self.launch, [self.chosen[block] for block in blocks], warp_size)


class SampledProgram:
    """A program (a `gpusim.core.warp_program.Application`) with a part of each launch's blocks.

    What the other blocks would have computed is missing: addresses that depend on data follow the
    blocks that are run.

    Attributes:
        program: the whole one.
        sample: one block in this many is run.
    """

    def __init__(self, program: Program, sample: int) -> None:
        self.program = program
        self.sample = sample

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def maker(self) -> object:
        """What makes the whole program."""
        return self.program.maker

    @property
    def memory(self) -> AddressSpace:
        """The address space of the whole program."""
        return self.program.memory

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, in allocation order."""
        return self.program.buffers

    def launches(self) -> Iterator[Launch]:
        """The launches of one run."""
        for launch in self.program.launches():
            if isinstance(launch, MappingCall):
                yield launch
                continue
            yield SampledLaunch(launch, sampled_blocks(launch.blocks, self.sample))

"""A program executed once without a machine: how much each of its launches does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from gpusim.core.warp_program import (
    Application,
    LaneChunk,
    Launch,
    execute_in_step,
    instructions_of,
    most_in_step,
)


@frozen
class SurveyedLaunch:
    """What a launch does.

    Attributes:
        kernel: its name.
        blocks, threads: its grid, and the threads of a block.
        instructions: warp instructions.
        accesses: addresses of lanes.
    """

    kernel: str
    blocks: int
    threads: int
    instructions: int
    accesses: int

    @property
    def signature(self) -> tuple[str, int, int, int]:
        """What launches of one group have in common: kernel, grid, accesses within a factor of 2.

        The grid counts within a factor of 2, too.
        """
        each = self.accesses // max(self.blocks, 1)
        return self.kernel, self.threads, self.blocks.bit_length(), each.bit_length()


def survey(application: Application, warp_size: int) -> Sequence[SurveyedLaunch]:
    """Execute an application: many blocks in step where a launch can do so, or one after the other.

    Args:
        application: freshly started; it has ended afterwards.
        warp_size: of the machine that it is meant for.
    """
    found = []
    for launch in application.launches():
        instructions = accesses = 0
        for chunk in executed(launch, warp_size):
            instructions += instructions_of(chunk)
            accesses += int((chunk.address >= 0).sum())
        found.append(
            SurveyedLaunch(
                launch.name, launch.blocks, launch.threads_per_block, instructions, accesses
            )
        )
    return found


def executed(launch: Launch, warp_size: int) -> Iterator[LaneChunk]:
    """What all blocks of a launch execute: many in step where it can do so, or one by one."""
    most = most_in_step(launch, warp_size)
    for first in range(0, launch.blocks, most):
        blocks = range(first, min(first + most, launch.blocks))
        together = execute_in_step(launch, blocks, warp_size)
        if together is not None:
            yield from together
            continue
        for block in blocks:
            yield from launch.run_block(block, warp_size)

"""A program executed once without a machine: how much each of its launches does."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from gpusim.core.warp_program import Application, instructions_of


@frozen
class SurveyedLaunch:
    """What a launch does.

    Attributes:
        kernel: its name.
        blocks, threads: its grid, and the threads of a block.
        instructions: warp instructions.
        accesses: addresses of all lanes.
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
    """Execute an application, block after block.

    Args:
        application: freshly started; it has ended afterwards.
        warp_size: of the machine that it is meant for.
    """
    found = []
    for launch in application.launches():
        instructions = accesses = 0
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, warp_size):
                instructions += instructions_of(chunk)
                accesses += chunk.address.size
        found.append(
            SurveyedLaunch(
                launch.name, launch.blocks, launch.threads_per_block, instructions, accesses
            )
        )
    return found

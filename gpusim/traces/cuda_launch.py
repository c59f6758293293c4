"""What CUDA allows of a launch: a trace of NVIDIA's tools that states more has a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpusim.core.untrusted import brief
from gpusim.traces.application import MOST_BLOCKS, check_launch

MOST_REGISTERS = 255
"""Registers of a thread (CUDA C++ Programming Guide, technical specifications by compute
capability); headers of public traces have had 21955."""

MOST_THREADS = 1024
"""Threads of a block."""

MOST_BLOCKS_ACROSS = (MOST_BLOCKS, 65535, 65535)
"""Blocks of a grid along x, y and z."""


def check_cuda_launch(
    grid: Sequence[int], threads: int, registers: int = 0, shared_bytes: int = 0
) -> None:
    """Refuse a launch that CUDA does not have.

    Args:
        grid: blocks along x, y and z.
        threads: of a block.
        registers: of a thread.
        shared_bytes: of a block.

    Raises:
        ValueError: one of the numbers is too large; says which, and how large it may be.
    """
    for axis, blocks, most in zip("xyz", grid, MOST_BLOCKS_ACROSS, strict=True):
        if blocks > most:
            raise ValueError(f"{brief(blocks)} blocks along {axis}; at most {most} are allowed")
    for what, number, most in (
        ("threads of a block", threads, MOST_THREADS),
        ("registers of a thread", registers, MOST_REGISTERS),
    ):
        if number > most:
            shown = number if number < 1 << 31 else brief(number)
            raise ValueError(f"{shown} {what}; at most {most} are allowed")
    check_launch(prod(grid), threads, registers, shared_bytes)

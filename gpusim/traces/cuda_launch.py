"""What CUDA allows of a launch: a trace of NVIDIA's tools that states more has a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpusim.core.untrusted import brief
from gpusim.traces.application import MOST_BLOCKS, check_launch
from gpusim.traces.launch_needs import LaunchNeeds

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
            raise ValueError(f"{_shown(blocks)} blocks along {axis}; at most {most} are allowed")
    for what, number, most in (
        ("threads of a block", threads, MOST_THREADS),
        ("registers of a thread", registers, MOST_REGISTERS),
    ):
        if number > most:
            raise ValueError(f"{_shown(number)} {what}; at most {most} are allowed")
    check_launch(prod(grid), threads, registers, shared_bytes)


def _shown(number: int) -> str:
    return str(number) if number < 1 << 31 else brief(number)


def check_stated_launch(
    grid: Sequence[int], threads: int, stated: tuple[int, int], needs: LaunchNeeds
) -> None:
    """Refuse what a trace states of a launch if CUDA does not have it.

    Args:
        grid: blocks along x, y and z.
        threads: of a block.
        stated: registers of a thread and bytes of shared memory of a block.
        needs: what a user says in place of these, which are not looked at then.

    Raises:
        ValueError: one of the numbers is too large; says which, and what replaces it.
    """
    check_cuda_launch(grid, threads)
    registers = stated[0] if needs.registers is None else 0
    shared_bytes = stated[1] if needs.shared_bytes is None else 0
    try:
        check_cuda_launch((1, 1, 1), 1, registers, shared_bytes)
    except ValueError as error:
        raise ValueError(
            f"{error}; --set workload.nregs=NUMBER and workload.shmem=NUMBER replace what a trace "
            "says"
        ) from error

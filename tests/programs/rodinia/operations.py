"""Operations that touch no global memory, as `tests.programs.drain.warp_operations` tells them."""

from __future__ import annotations

Operation = tuple[str, str | int, list[int]]

BARRIER: Operation = ("BARRIER", 0, [])
WAIT: Operation = ("WAIT", 0, [])


def compute(instructions: int) -> Operation:
    return ("COMPUTE", instructions, [])


def shared(passes: int = 1) -> Operation:
    return ("SHARED", passes, [])

"""What the kernels of all suites begin with."""

from __future__ import annotations

from gpusim.programs.tracer import BlockTracer, Mask

PROLOGUE = 8
"""Instructions before the first memory access where the suite's count is not known: thread number,
bound, addresses (our choice)."""


def threads_below(k: BlockTracer, count: int, instructions: int = PROLOGUE) -> Mask:
    """The threads of a one-dimensional grid whose number is below `count`, after the prologue."""
    inside: Mask = k.t < count
    k.compute(instructions, inside)
    return inside

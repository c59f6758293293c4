"""The one page that an author of a program imports from; see ``docs/programs.md``."""

from collections.abc import Iterator
from typing import TypeAlias

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import (
    AddressSpace,
    Bytes,
    DeviceArray,
    Doubles,
    Floats,
    Ints,
    Longs,
    Vectors,
    Words,
)
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.kernel_function import KernelFunction, KernelLaunch, kernel
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.tracer import BlockTracer, Shape

Launches: TypeAlias = Iterator[Launch]
"""What a program yields."""

Steps: TypeAlias = Iterator[None]
"""What a kernel with a loop yields."""

__all__ = [
    "AddressSpace",
    "BlockTracer",
    "Bytes",
    "DeviceArray",
    "Doubles",
    "Floats",
    "Ints",
    "Iterator",
    "Kernel",
    "KernelFunction",
    "KernelLaunch",
    "Lanes",
    "Launch",
    "Launches",
    "Longs",
    "Mask",
    "Program",
    "Shape",
    "Steps",
    "Vectors",
    "Words",
    "kernel",
    "program",
]

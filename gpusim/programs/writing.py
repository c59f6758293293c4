"""The one page that an author of a program imports; see ``docs/programs.md``.

The suites write ``from gpusim.programs import writing as gpu``.
"""

from collections.abc import Iterator
from typing import TypeAlias

from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import Launch, Unit
from gpusim.programs.catalog import program
from gpusim.programs.copies import (
    Collective,
    Span,
    copied,
    peer_copy,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
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
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import (
    FLOAT4,
    PROLOGUE,
    groups,
    rounds,
    strided_passes,
    strides,
    threads_below,
    tree,
)
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.kernel_function import KernelFunction, KernelLaunch, kernel
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.parameters import choice, number
from gpusim.programs.tracer import BlockTracer, Shape

Launches: TypeAlias = Iterator[Launch]
"""What a program yields."""

Steps: TypeAlias = Iterator[None]
"""What a kernel with a loop yields."""

__all__ = [
    "AddressSpace",
    "BlockTracer",
    "Bytes",
    "Collective",
    "DeviceArray",
    "Doubles",
    "FLOAT4",
    "Floats",
    "Graph",
    "Ints",
    "Iterator",
    "Kernel",
    "KernelFunction",
    "KernelLaunch",
    "Lanes",
    "Launch",
    "Launches",
    "Longs",
    "MappingCall",
    "Mask",
    "PROLOGUE",
    "Program",
    "Shape",
    "Span",
    "Steps",
    "Unit",
    "Vectors",
    "Words",
    "choice",
    "copied",
    "groups",
    "kernel",
    "number",
    "peer_copy",
    "program",
    "ring_all_gather",
    "ring_all_reduce",
    "ring_reduce_scatter",
    "rounds",
    "strided_passes",
    "strides",
    "threads_below",
    "tree",
]

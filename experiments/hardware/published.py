"""Kernels on a V100 and an A100 beside rates that others have published.

A rate counts the bytes that its source counts: those of all arrays, each once.  Ours is eight times
that of one launch on an eighth of the machine, with an eighth of the elements, from the begin of
its first block to its end; streams are measured in their middle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from attrs import frozen

from experiments.hardware.kernels import published as kernels
from experiments.hardware.kernels import streams
from experiments.hardware.measure import MIB, Point, measure, model_of
from gpusim.core.warp_program import Launch
from gpusim.programs import writing as gpu
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload

PAGE = 2 << 20
W = kernels.W
EIGHTH, PARTS = "eighth", 8
"""A variant of the models, and what part of their SMs, L2 banks and DRAM channels it has."""

GUIDE = "NVIDIA, CUDA C++ Best Practices Guide 12.9, 9.2.3: Tesla V100, size not stated"
ISAMBARD = (
    "BabelStream 4.0, V100-PCIE-16GB, arrays of 1 GiB: "
    "kaanolgu/BabelStream@3837b3d, docs/compilers.md"
)
POLARIS = (
    "BabelStream 4.0, A100-SXM4-40GB, arrays of 256 MiB, kernels by Nsight Systems: "
    "argonne-lcf/ALCFBeginnersGuide@01f2193, polaris/02_profiling.md"
)
TRANSPOSE = "an A100 of 1.55 TB/s, 4096 x 4096, mean of 1000 launches: ayush-os/transpose@5f945d6"


@frozen
class Kernel:
    """A kernel of a size.

    Attributes:
        start: places its arrays, and makes its launch.
        moved: bytes that its source counts.
    """

    start: Callable[[gpu.AddressSpace], Launch]
    moved: int


@frozen
class Published:
    """A rate of a kernel on a GPU.

    Attributes:
        model: that stands for the GPU.
        what: the kernel, for people.
        ours: the name of one of `KERNELS`, or of a stream test.
        rate: GB/s.
        source: who measured it, and how.
    """

    model: str
    what: str
    ours: str
    rate: float
    source: str


def _arrays(memory: gpu.AddressSpace, *lengths: int) -> list[gpu.Floats]:
    return [memory.blank(f"array{i}", length, np.float32) for i, length in enumerate(lengths)]


def _narrow(kernel: gpu.KernelFunction[...], n: int) -> Kernel:
    def start(memory: gpu.AddressSpace) -> Launch:
        return kernel[(n // W, n // W), (W, W)](*_arrays(memory, n * W, n * W, n * n), n)

    return Kernel(start, 4 * (2 * n * W + n * n))


def _square(kernel: gpu.KernelFunction[...], n: int, *pitch: int) -> Kernel:
    def start(memory: gpu.AddressSpace) -> Launch:
        return kernel[(n // W, n // W), (W, W)](*_arrays(memory, n * W, n * n), n, *pitch)

    return Kernel(start, 4 * (n * W + n * n))


def _dot(blocks: int, n: int) -> Kernel:
    def start(memory: gpu.AddressSpace) -> Launch:
        a, b, sums = (
            memory.blank(f"{i}", size, np.float64) for i, size in enumerate((n, n, blocks))
        )
        return kernels.dot[blocks, 1024](a, b, sums, n)

    return Kernel(start, 16 * n)


def _transpose(n: int, by_column: bool) -> Kernel:
    def start(memory: gpu.AddressSpace) -> Launch:
        a, b = _arrays(memory, n * n, n * n)
        return kernels.transpose_16[(n // 16, n // 16), (16, 16)](a, b, n, by_column)

    return Kernel(start, 8 * n * n)


N = 320
"""Rows of the guide's matrices: 100 blocks, ten for each SM of an eighth of a V100."""
SIDE = 1440
"""Rows of a matrix of an eighth of 4096 x 4096 elements, in blocks of 16."""
KERNELS: dict[str, Kernel] = {
    "narrow": _narrow(kernels.narrow_plain, N),
    "narrow-a": _narrow(kernels.narrow_tile_a, N),
    "narrow-tiles": _narrow(kernels.narrow_tiles, N),
    "square": _square(kernels.square_plain, N),
    "square-32": _square(kernels.square_tiles, N, 32),
    "square-33": _square(kernels.square_tiles, N, 33),
    "dot": _dot(32, 1 << 19),
    "transpose-stores": _transpose(SIDE, by_column=False),
    "transpose-loads": _transpose(SIDE, by_column=True),
}

PUBLISHED = (
    Published("v100", "C = AB, 32 columns, no shared memory", "narrow", 119.9, GUIDE),
    Published("v100", "the same, a tile of A in shared memory", "narrow-a", 144.4, GUIDE),
    Published("v100", "the same, tiles of both", "narrow-tiles", 195.5, GUIDE),
    Published("v100", "C = AA', no shared memory", "square", 12.8, GUIDE),
    Published("v100", "the same, tiles with bank conflicts", "square-32", 140.2, GUIDE),
    Published("v100", "the same, tiles with padding", "square-33", 199.4, GUIDE),
    Published("v100", "copy of doubles", "stream-scale", 811.7, ISAMBARD),
    Published("v100", "triad of doubles", "stream-triad", 846.5, ISAMBARD),
    Published("v100", "dot product of doubles", "dot", 887.4, ISAMBARD),
    Published("a100", "copy of doubles", "stream-scale", 1399.4, POLARIS),
    Published("a100", "triad of doubles", "stream-triad", 1386.6, POLARIS),
    Published("a100", "dot product of doubles", "dot", 1232.6, POLARIS),
    Published("a100", "transpose, stores across", "transpose-stores", 832.9, TRANSPOSE),
    Published("a100", "transpose, loads across", "transpose-loads", 934.7, TRANSPOSE),
)


@gpu.program("published_kernel")
def published_kernel(
    memory: gpu.AddressSpace, _seed: int, kernel: str = "narrow", sms: int = 80
) -> gpu.Launches:
    """One of `KERNELS`, behind a launch after which the TLBs know all pages."""
    launch = KERNELS[kernel].start(memory)
    yield streams.touch_pages[sms, 1024](memory.arrays, PAGE)
    yield launch


def rate(model: str, ours: str) -> tuple[float, str]:
    """GB/s of a kernel, or of a stream, and the state in which its warps are longest."""
    if ours not in KERNELS:
        return PARTS * measure(model, Point(ours, 32 * MIB, variant=EIGHTH)), ""
    loaded = model_of(model, EIGHTH)
    parameters = {"kernel": ours, "sms": loaded.config.sm.count}
    with simulate(loaded, load_workload(published_kernel, overrides=parameters)) as result:
        launch = result.launches.iloc[-1]
        shares = launch[[name for name in launch.index if name.startswith("share_")]].astype(float)
        clock = loaded.config.clock
        cycles = int(launch["end"] - launch["begin"]) - loaded.config.launch_overhead.cycles(clock)
        mostly = f"{str(shares.idxmax()).removeprefix('share_')} {shares.max():.0%}"
        return PARTS * KERNELS[ours].moved * float(clock) / cycles / 1e9, mostly


def beside_published(rates: dict[tuple[str, str], tuple[float, str]]) -> pd.DataFrame:
    """A row a kernel: both rates, and our time as a multiple of the measured one."""
    rows = [
        {
            "model": one.model,
            "kernel": one.what,
            "measured": one.rate,
            "simulated": rates[one.model, one.ours][0],
            "time": one.rate / rates[one.model, one.ours][0],
            "mostly": rates[one.model, one.ours][1],
            "source": one.source,
        }
        for one in PUBLISHED
        if (one.model, one.ours) in rates
    ]
    return pd.DataFrame(rows)

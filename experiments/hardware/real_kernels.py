"""Real kernels on an H100 beside the same on its model.

The measured cycles are Nsight Compute's of one launch with cold caches, from the begin of the
kernel to its end (`docs/tables/h100`); ours are those of a launch from its begin to its
end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import frozen

from experiments.hardware.held_back import HELD_BACK
from experiments.hardware.kernels import inputs, irregular, matrices, streams
from experiments.hardware.measure import model_of
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs import writing as gpu
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload

MODEL = "h100"
TABLES = ("held_back.csv", "kernels.csv")
"""Of measured kernels; what both have is the second one's."""
WARMED, PAGE = 132, 2 << 20
"""SMs whose TLBs know all pages before a kernel begins, as they did on hardware; bytes of one."""

Start = Callable[[gpu.AddressSpace, int], Launch]
"""Places a kernel's arrays, and makes its launch, of a size."""


def _floats(memory: gpu.AddressSpace, *lengths: int) -> list[gpu.Floats]:
    return [memory.blank(f"array{i}", length, np.float32) for i, length in enumerate(lengths)]


def _empty(memory: gpu.AddressSpace, n: int) -> Launch:
    memory.blank("unused", 1, np.float32)
    return streams.empty[n * 256]()


def _add(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b, c = _floats(memory, n, n, n)
    return streams.vector_add[n](a, b, c)


def _add4(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b, c = (memory.blank(name, n // 4, gpu.FLOAT4) for name in "abc")
    return streams.vector_add[n // 4](a, b, c)


def _copy(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b = _floats(memory, n, n)
    return streams.copy[n](a, b)


def _transpose(pitch: int) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        place = (n // 32, n // 32), (32, 8)
        a, b = _floats(memory, n * n, n * n)
        if not pitch:
            return streams.transpose_naive[place](a, b, n)
        return streams.transpose_tiled[place](a, b, n, pitch)

    return start


def _reduction(memory: gpu.AddressSpace, n: int) -> Launch:
    a, sums = _floats(memory, n, 1056)
    return streams.reduction[1056, 256](a, sums, n)


def _scan_blocks(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b, sums = (memory.blank(f"{i}", length, np.int32) for i, length in enumerate((n, n, n >> 8)))
    return streams.scan_blocks[n // 256, 256](a, b, sums)


def _scan_add(memory: gpu.AddressSpace, n: int) -> Launch:
    b, sums = (memory.blank(f"{i}", length, np.int32) for i, length in enumerate((n, n >> 8)))
    return streams.scan_add[n // 256, 256](b, sums)


def _stencil(deep: bool) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        size = n * n * (n if deep else 1)
        grid = (n // 32, n // 8, n if deep else 1)
        offsets = (0, -1, 1, -n, n) + ((-n * n, n * n) if deep else ())
        a, b = _floats(memory, size, size)
        return streams.stencil[grid, (32, 8)](a, b, n, offsets)

    return start


def _convolution(memory: gpu.AddressSpace, n: int) -> Launch:
    offsets = tuple(row * n + column for row in (-1, 0, 1) for column in (-1, 0, 1))
    a, b = _floats(memory, n * n, n * n)
    return streams.stencil[(n // 32, n // 8), (32, 8)](a, b, n, offsets)


def _histogram(shared: bool) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        bins = memory.blank("bins", 256, np.uint32)
        values = inputs.mixed(np.arange(n))
        a = memory.read_only("values", values)
        if shared:
            return streams.histogram_shared[528, 256](a, bins, n, _bank_passes(values[: 1 << 15]))
        return streams.histogram_global[528, 256](a, bins, n)

    return start


def _bank_passes(values: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> int:
    """Passes of a warp's atomics on 256 bins: the most different bins in one of 32 banks.

    Lanes of one bin are counted together (ATOMS.POPC.INC).
    """
    warps = np.sort(values.reshape(-1, 32) & np.uint32(255), axis=1)
    first = np.diff(warps, axis=1, prepend=np.uint32(256)) != 0
    banks = (warps & np.uint32(31))[:, :, None] == np.arange(32)
    return round(float((banks & first[:, :, None]).sum(axis=1).max(axis=1).mean()))


def _gemm(kernel: gpu.KernelFunction[...], tile: tuple[int, int], block: tuple[int, int]) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        place = (n // tile[0], n // tile[1]), block
        return kernel[place](*_floats(memory, n * n, n * n, n * n), n)

    return start


def _registers(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b, c = (memory.blank(name, n * n // 4, gpu.FLOAT4) for name in "abc")
    return matrices.gemm_registers[(n // 128, n // 128), 256](a, b, c, n)


def _matvec(by_row: bool) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        a, x, y = _floats(memory, n * n, n, n)
        return matrices.matvec[n // 256, 256](a, x, y, n, by_row)

    return start


def _spmv(kernel: gpu.KernelFunction[...], make: Callable[[int], inputs.Csr], lanes: int) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        csr = make(n)
        row, column = memory.read_only("row", csr.row), memory.read_only("column", csr.column)
        matrix = matrices.Sparse(row, column, memory.blank("value", len(csr.column), np.float32))
        return kernel[n * lanes](matrix, *_floats(memory, n, n))

    return start


def _gather(memory: gpu.AddressSpace, n: int) -> Launch:
    index = (inputs.mixed(np.arange(n)) & np.uint32(n - 1)).astype(np.int32)
    return irregular.gather[n](memory.read_only("index", index), *_floats(memory, n, n))


def _gups(memory: gpu.AddressSpace, n: int) -> Launch:
    return irregular.gups[1024, 256](memory.blank("table", n, np.int64), n, 8)


def _bfs(now: int) -> Start:
    def start(memory: gpu.AddressSpace, n: int) -> Launch:
        graph = inputs.random_graph(n)
        row, column = memory.read_only("row", graph.row), memory.read_only("column", graph.column)
        level = memory.allocate("level", inputs.levels(graph, now))
        return irregular.bfs_level[n](row, column, level, now)

    return start


KI, MI = 1 << 10, 1 << 20
KERNELS: Mapping[str, tuple[Start, tuple[int, ...]]] = {
    "empty": (_empty, (1, 1024, 8 * KI)),
    "vector_add": (_add, (MI, 4 * MI)),
    "vector_add4": (_add4, (4 * MI,)),
    "copy": (_copy, (MI, 4 * MI)),
    "transpose_naive": (_transpose(0), (1024,)),
    "transpose_tiled_32": (_transpose(32), (1024, 2048)),
    "transpose_tiled_33": (_transpose(33), (1024, 2048)),
    "reduction": (_reduction, (MI, 4 * MI)),
    "scan_blocks": (_scan_blocks, (MI, 4 * MI)),
    "scan_add": (_scan_add, (MI,)),
    "stencil5": (_stencil(False), (1024, 2048)),
    "stencil7": (_stencil(True), (64, 128)),
    "convolution3x3": (_convolution, (1024, 2048)),
    "histogram_shared": (_histogram(True), (MI, 4 * MI)),
    "histogram_global": (_histogram(False), (MI,)),
    "gemm_naive": (_gemm(matrices.gemm_naive, (32, 8), (32, 8)), (128, 256)),
    "gemm_stored": (_gemm(matrices.gemm_stored, (32, 8), (32, 8)), (128, 256)),
    "gemm_tiled_16": (_gemm(matrices.gemm_tiled_16, (16, 16), (16, 16)), (256, 512)),
    "gemm_tiled_32": (_gemm(matrices.gemm_tiled_32, (32, 32), (32, 32)), (256, 512)),
    "gemm_registers": (_registers, (512, 1024)),
    "gemm_row_tiles": (_gemm(matrices.gemm_row_tiles, (128, 16), (128, 1)), (256, 512)),
    "matvec_rows": (_matvec(True), (1024, 2048)),
    "matvec_columns": (_matvec(False), (1024, 2048)),
    "spmv_row_banded": (_spmv(matrices.spmv_row, inputs.banded, 1), (64 * KI,)),
    "spmv_row_power_law": (_spmv(matrices.spmv_row, inputs.power_law, 1), (16 * KI,)),
    "spmv_warp_banded": (_spmv(matrices.spmv_warp, inputs.banded, 32), (64 * KI,)),
    "spmv_warp_power_law": (_spmv(matrices.spmv_warp, inputs.power_law, 32), (16 * KI, 64 * KI)),
    "gather": (_gather, (MI, 4 * MI)),
    "gups": (_gups, (MI, 16 * MI)),
    "bfs_level_5": (_bfs(5), (64 * KI, 256 * KI)),
    "bfs_level_6": (_bfs(6), (256 * KI,)),
    **HELD_BACK,
}
"""How each is started, and the sizes that the table has."""


@gpu.program("hardware_kernel")
def hardware_kernel(
    memory: gpu.AddressSpace, _seed: int, kernel: str = "vector_add", n: int = MI
) -> gpu.Launches:
    """A kernel of a size, behind a launch after which the TLBs know all pages."""
    launch = KERNELS[kernel][0](memory, n)
    yield streams.touch_pages[WARMED, 1024](memory.arrays, PAGE)
    yield launch


@frozen
class Counted:
    """What a kernel did on the model.

    Attributes:
        cycles: from its begin to its end.
        launch: of them, before the first block is placed, and until it begins.
        instructions: of warps.
        shared_passes: of shared memory.
        dram_bytes: read and written.
        mostly: the state in which its warps are longest, and what part of their time.
    """

    cycles: int
    launch: int
    instructions: int
    shared_passes: int
    dram_bytes: int
    mostly: str


def run_kernel(kernel: str, n: int) -> Counted:
    """Run one."""
    model = model_of(MODEL)
    workload = load_workload(hardware_kernel, overrides={"kernel": kernel, "n": n})
    with simulate(model, workload) as result:
        counters = result.counters.groupby(["component", "counter"])["value"].sum()
        launch = result.launches.iloc[-1]
        shares = launch[[name for name in launch.index if name.startswith("share_")]].astype(float)
        clock = model.config.clock
        start = model.config.launch_overhead.cycles(clock) + model.config.sm.block_start.cycles(
            clock
        )
        return Counted(
            cycles=int(launch["end"] - launch["begin"]),
            launch=start,
            instructions=int(launch["instructions"]),
            shared_passes=int(counters["sm", "shared_passes"]),
            dram_bytes=int(counters["dram", "data_read_bytes"] + counters["dram", "write_bytes"]),
            mostly=f"{str(shares.idxmax()).removeprefix('share_')} {shares.max():.0%}",
        )


def beside_measured(ran: Mapping[tuple[str, int], Counted], folder: Path) -> pd.DataFrame:
    """A row a kernel and size: cycles without an empty kernel's, and what explains a difference.

    Raises:
        UserError: the folder lacks one of `TABLES`, or they lack a kernel.
    """
    measured = {}
    for name in TABLES:
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path}: there is no such file; --kernels needs it")
        for row in pd.read_csv(path).to_dict("records"):
            measured[str(row["kernel"]), int(row["size"])] = row
    rows = []
    for (kernel, n), one in ran.items():
        if (kernel, n) not in measured:
            raise UserError(f"{folder}: no table has {kernel} of size {n}")
        row = measured[kernel, n]
        hardware, ours = row["cycles"] - one.launch, one.cycles - one.launch
        moved = row["dram_read_bytes"] + row["dram_write_bytes"]
        rows.append(
            {
                "kernel": kernel,
                "size": n,
                "hardware": hardware,
                "ours": ours,
                "ratio": _part(ours, hardware),
                "instructions": one.instructions / row["instructions"],
                "shared passes": _part(one.shared_passes, row["shared_passes"]),
                "DRAM bytes": _part(one.dram_bytes, moved),
                "mostly": one.mostly,
            }
        )
    return pd.DataFrame(rows)


def _part(ours: float, hardware: float) -> float | None:
    return ours / hardware if hardware else None

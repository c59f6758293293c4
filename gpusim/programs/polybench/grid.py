"""What PolyBench's two-dimensional kernels share: a thread an element of a matrix."""

from __future__ import annotations

from gpusim.programs import writing as gpu

COLUMNS = 32
ROWS = 8


def grid_of(rows: int, columns: int) -> gpu.Shape:
    """Blocks of 32 x 8 threads for a matrix: a warp of 32 is a piece of one row."""
    return gpu.Shape((-(-columns // COLUMNS), -(-rows // ROWS), 1), (COLUMNS, ROWS, 1))


def row_and_column(k: gpu.BlockTracer) -> tuple[gpu.Lanes, gpu.Lanes]:
    """(threads,) row and column of each thread's element."""
    return ROWS * k.by + k.ty, k.t

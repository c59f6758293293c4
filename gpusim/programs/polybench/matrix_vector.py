"""atax, bicg and mvt: matrix-vector products."""

from __future__ import annotations

from functools import partial

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

BLOCK = 256


@frozen
class Code:
    """Instructions of a kernel that access no memory, as a compiler makes them.

    Attributes:
        start: before the first access.
        ready: between that and the loop.
        ahead, sum: in each iteration before its loads, and between them and the store.
        unroll, turn: iterations of the unrolled loop, and instructions after them; 0: none.
        end: after the loop.
    """

    start: int
    ready: int
    ahead: int
    sum: int
    unroll: int = 0
    turn: int = 0
    end: int = 0


ROWS = {
    "ptx": Code(start=12, ready=7, ahead=0, sum=1, unroll=16, turn=5),
    "gcn3": Code(start=23, ready=6, ahead=1, sum=9, end=2),
}
"""A thread a row.  ``ptx``: nvcc 11.8 for sm_35, 69 instructions for 16 iterations.  ``gcn3``:
MGPUSim's trace, 13 an iteration and 32 more a wavefront."""

COLUMNS = {
    "ptx": Code(start=12, ready=5, ahead=0, sum=1, unroll=8, turn=5),
    "gcn3": Code(start=22, ready=2, ahead=6, sum=8, end=2),
}
"""A thread a column.  ``ptx``: 37 instructions for 8 iterations.  ``gcn3``: 17 an iteration and 27
more."""


@frozen
class Sums:
    """One sum per thread, over a row or a column of a matrix.

    Attributes:
        matrix, vector, result: the operands.
        threads: sums.
        iterations: length of a sum.
        lane_step, loop_step: matrix elements between neighbouring threads and iterations.
        code: instructions that access no memory.
        clear: start by storing 0 instead of loading the result.
    """

    matrix: gpu.Floats
    vector: gpu.Floats
    result: gpu.Floats
    threads: int
    iterations: int
    lane_step: int
    loop_step: int
    code: Code
    clear: bool


def sum_up(k: gpu.BlockTracer, of: Sums) -> gpu.Steps:
    """The kernel of all three programs.

    L result[t] (or S result[t] = 0), then for each j: L matrix[t * lane_step + j * loop_step],
    L vector[j] (the same for all lanes), FMA, S result[t].  The running sum stays in a register,
    but since the pointers may alias it is stored in every iteration and nothing is batched.
    Addresses and the loop are counted as a compiler makes them.
    """
    where = None if (of.threads % BLOCK == 0) else k.t < of.threads
    code = of.code
    k.compute(code.start, where)
    if of.clear:
        total = np.zeros(k.threads, dtype=np.float32)
        k.store(of.result, k.t, total, where)
    else:
        total = k.load(of.result, k.t, where)
    k.compute(code.ready, where)
    index = k.t * of.lane_step
    for j in range(of.iterations):
        _some(k, code.ahead, where)
        element = k.load(of.matrix, index, where)
        factor = k.load(of.vector, j, where)
        k.wait(0, where)
        k.compute(code.sum, where)
        total = total + element * factor
        k.store(of.result, k.t, total, where)
        index = index + of.loop_step
        if code.unroll and j % code.unroll == code.unroll - 1:
            k.compute(code.turn, where)
        yield
    _some(k, code.end, where)


_kernel = partial(gpu.kernel, block=BLOCK, in_step=True)


def _some(k: gpu.BlockTracer, instructions: int, where: gpu.Mask | None) -> None:
    """Arithmetic of any number of instructions, also of none."""
    if instructions:
        k.compute(instructions, where)


def _shortest(n: int, rows: int | None, column_iterations: int | None) -> int:
    """The most elements that the threads of both kernels can sum up."""
    return min(n, rows or n) if column_iterations is None else n


@frozen
class MatrixParameters:
    """Size and length of a matrix-vector program.

    Attributes:
        n: columns of the matrix (the suite: 4096).
        rows: of the matrix; None: n, as in the suite.
        iterations: elements that each thread sums up; None: all.  Fewer shorten both kernels
            alike and keep what decides the cost of translation: threads, and rows of 4 n bytes.
        column_iterations: those of the kernel with a thread a column, where they are others.
        kernels: both, or the one with a thread a row, or a column, alone.
        compiled_for: whose instructions are counted: PolyBench's CUDA by nvcc, or its OpenCL by
            AMD's compiler as MGPUSim has it, whose bicg begins with the rows.
    """

    n: int = gpu.number(4096, 1, 32768)
    rows: int | None = gpu.number(None, 1, 32768)
    iterations: int | None = gpu.number(None, most=_shortest)
    column_iterations: int | None = gpu.number(None, most=lambda n, rows: rows or n)
    kernels: str = gpu.choice("both", ("both", "rows", "columns"))
    compiled_for: str = gpu.choice("ptx", ("ptx", "gcn3"))

    @property
    def height(self) -> int:
        """Rows of the matrix."""
        return self.rows or self.n

    @property
    def across(self) -> int:
        """Elements of a row that are summed up."""
        return self.iterations or self.n

    @property
    def down(self) -> int:
        """Elements of a column that are summed up."""
        return self.column_iterations or self.iterations or self.height


@frozen
class Matrix:
    """A[i][j] = i * j / n (row-major, n columns) in memory, as far as sums reach.

    Attributes:
        array: (rows, n) float32.
        parameters: of the program.
    """

    array: gpu.Floats
    parameters: MatrixParameters

    @classmethod
    def place(cls, memory: gpu.AddressSpace, name: str, parameters: MatrixParameters) -> Matrix:
        """Allocate it."""
        rows, n = parameters.height, parameters.n
        across, down = parameters.across, parameters.down
        values = np.zeros((rows, n), dtype=np.float32)
        i, j = (np.arange(size, dtype=np.float32) for size in (rows, n))
        np.multiply(i[:, None], j[:across] / n, out=values[:, :across])
        np.multiply(i[:down, None], j / n, out=values[:down])
        return cls(memory.read_only(name, values), parameters)

    def row_sums(
        self, name: str, vector: gpu.Floats, result: gpu.Floats, clear: bool = False
    ) -> gpu.KernelLaunch:
        """A thread per row: neighbouring lanes are 4 n bytes apart."""
        of = self.parameters
        rows, code = of.height, ROWS[of.compiled_for]
        sums = Sums(self.array, vector, result, rows, of.across, of.n, 1, code, clear)
        return _kernel(name, registers=16)(sum_up)[rows](sums)

    def column_sums(
        self, name: str, vector: gpu.Floats, result: gpu.Floats, clear: bool = False
    ) -> gpu.KernelLaunch:
        """A thread per column: coalesced."""
        of = self.parameters
        n, code = of.n, COLUMNS[of.compiled_for]
        sums = Sums(self.array, vector, result, n, of.down, 1, n, code, clear)
        return _kernel(name, registers=20)(sum_up)[n](sums)

    def chosen(
        self, rows: gpu.KernelLaunch, columns: gpu.KernelLaunch, columns_first: bool = False
    ) -> gpu.Launches:
        """The launches that are asked for."""
        ordered = (columns, rows) if columns_first else (rows, columns)
        left_out = {"both": None, "rows": columns, "columns": rows}[self.parameters.kernels]
        return (launch for launch in ordered if launch is not left_out)


@gpu.program("atax", MatrixParameters)
def atax(memory: gpu.AddressSpace, parameters: MatrixParameters, _seed: int) -> gpu.Launches:
    """The product y = A^T (A x).  Arrays in the order A, x, y, tmp; x[i] = pi * i (our choices)."""
    matrix = Matrix.place(memory, "A", parameters)
    x = memory.allocate("x", (np.arange(parameters.n) * np.pi).astype(np.float32))
    y = memory.zeros("y", parameters.n, np.float32)
    tmp = memory.zeros("tmp", parameters.height, np.float32)
    yield from matrix.chosen(
        matrix.row_sums("atax_kernel1", x, tmp), matrix.column_sums("atax_kernel2", tmp, y)
    )


@gpu.program("bicg", MatrixParameters)
def bicg(memory: gpu.AddressSpace, parameters: MatrixParameters, _seed: int) -> gpu.Launches:
    """The products s = A^T r, q = A p.  Arrays in the order A, r, s, p, q; r[i] = p[i] = pi * i."""
    n, rows = parameters.n, parameters.height
    matrix = Matrix.place(memory, "A", parameters)
    r = memory.allocate("r", (np.arange(rows) * np.pi).astype(np.float32))
    s = memory.zeros("s", n, np.float32)
    p = memory.allocate("p", (np.arange(n) * np.pi).astype(np.float32))
    q = memory.zeros("q", rows, np.float32)
    cuda = parameters.compiled_for == "ptx"
    first, second = "bicg_kernel1", "bicg_kernel2"
    yield from matrix.chosen(
        matrix.row_sums(second if cuda else first, p, q, clear=True),
        matrix.column_sums(first if cuda else second, r, s, clear=True),
        columns_first=cuda,
    )


@gpu.program("mvt", MatrixParameters)
def mvt(memory: gpu.AddressSpace, parameters: MatrixParameters, _seed: int) -> gpu.Launches:
    """The sums x1 += a y1 and x2 += a^T y2.

    Arrays in the order a, x1, x2, y1, y2, with (i, i + 1, i + 3, i + 4) / n (our choices); y1
    and x2 have n elements, x1 and y2 as many as there are rows.
    """
    n = parameters.n
    matrix = Matrix.place(memory, "a", parameters)
    i, j = np.arange(parameters.height), np.arange(n)
    vectors = {"x1": i, "x2": j + 1, "y1": j + 3, "y2": i + 4}
    x1, x2, y1, y2 = (
        memory.allocate(name, (values / n).astype(np.float32)) for name, values in vectors.items()
    )
    yield from matrix.chosen(
        matrix.row_sums("mvt_kernel1", y1, x1), matrix.column_sums("mvt_kernel2", y2, x2)
    )

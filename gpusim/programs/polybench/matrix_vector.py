"""atax, bicg and mvt: matrix-vector products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, in_, le, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
Floats = DeviceArray[np.float32]


@frozen
class Code:
    """Instructions of a kernel that access no memory, as a compiler makes them.

    Attributes:
        start: before the first access.
        ready: between that and the loop.
        ahead, sum: in each iteration before its loads, and between them and the store.
        unroll, turn: after so many iterations, so many of the loop; 0: none.
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


@define(kw_only=True, eq=False)
class MatrixVector(Kernel):
    """One sum per thread, over a row or a column of a matrix.

    L result[t] (or S result[t] = 0), then for each j: L matrix[t * lane_step + j * loop_step],
    L vector[j] (the same for all lanes), FMA, S result[t].  The running sum stays in a register,
    but since the pointers may alias it is stored in every iteration and nothing is batched.
    Addresses and the loop are counted as a compiler makes them.

    Attributes:
        matrix, vector, result: the operands.
        threads: sums.
        iterations: length of a sum.
        lane_step, loop_step: matrix elements between neighbouring threads and iterations.
        code: instructions that access no memory.
        clear: start by storing 0 instead of loading the result.
    """

    matrix: Floats
    vector: Floats
    result: Floats
    threads: int
    iterations: int
    lane_step: int
    loop_step: int
    code: Code
    clear: bool = False
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        where = None if (self.threads % BLOCK == 0) else t < self.threads
        code = self.code
        k.compute(code.start, where)
        if self.clear:
            total = np.zeros(k.threads, dtype=np.float32)
            k.store(self.result, t, total, where)
        else:
            total = k.load(self.result, t, where)
        k.compute(code.ready, where)
        index = t * self.lane_step
        for j in range(self.iterations):
            _some(k, code.ahead, where)
            element = k.load(self.matrix, index, where)
            factor = k.load(self.vector, j, where)
            k.wait(0, where)
            k.compute(code.sum, where)
            total = total + element * factor
            k.store(self.result, t, total, where)
            index = index + self.loop_step
            if code.unroll and j % code.unroll == code.unroll - 1:
                k.compute(code.turn, where)
            yield
        _some(k, code.end, where)


def _some(k: BlockTracer, instructions: int, where: Mask | None) -> None:
    """So many instructions, which may be none."""
    if instructions:
        k.compute(instructions, where)


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

    n: int = field(default=4096, validator=[ge(1), le(32768)])
    rows: int | None = field(default=None, validator=optional([ge(1), le(32768)]))
    iterations: int | None = field(default=None)
    column_iterations: int | None = field(default=None)
    kernels: str = field(default="both", validator=in_(("both", "rows", "columns")))
    compiled_for: str = field(default="ptx", validator=in_(("ptx", "gcn3")))

    def __attrs_post_init__(self) -> None:
        across, down = (self.n, "n"), (self.rows or self.n, "rows")
        alike = self.column_iterations is None
        self._check("iterations", self.iterations, min(across, down) if alike else across)
        self._check("column_iterations", self.column_iterations, down)

    @staticmethod
    def _check(key: str, number: int | None, most: tuple[int, str]) -> None:
        if number is not None and not 1 <= number <= most[0]:
            raise ValueError(f"{key!r} must be from 1 to {most[1]} = {most[0]}: {number}")


class _MatrixProgram(Program):
    """A program around one matrix with A[i][j] = i * j / n (row-major, n columns).

    Attributes:
        n, rows: its size.
        across, down: how many elements of a row and of a column are summed up.
        kernels, compiled_for: as in its parameters.
    """

    def __init__(self, name: str, matrix: str, parameters: MatrixParameters) -> None:
        super().__init__(name)
        self.n = n = parameters.n
        self.rows = parameters.rows or n
        self.kernels, self.compiled_for = parameters.kernels, parameters.compiled_for
        self.across = parameters.iterations or n
        self.down = parameters.column_iterations or parameters.iterations or self.rows
        values = np.zeros((self.rows, n), dtype=np.float32)
        i, j = (np.arange(size, dtype=np.float32) for size in (self.rows, n))
        np.multiply(i[:, None], j[: self.across] / n, out=values[:, : self.across])
        np.multiply(i[: self.down, None], j / n, out=values[: self.down])
        values.flags.writeable = False
        self.matrix = self.memory.allocate(matrix, values)

    def _vector(self, name: str, values: NDArray[np.floating]) -> Floats:
        return self.memory.allocate(name, values.astype(np.float32))

    def _row_sums(
        self, name: str, vector: Floats, result: Floats, clear: bool = False
    ) -> MatrixVector:
        """A thread per row: neighbouring lanes are 4 n bytes apart."""
        return MatrixVector(
            shape=Shape.linear(self.rows, BLOCK),
            name=name,
            registers_per_thread=16,
            matrix=self.matrix,
            vector=vector,
            result=result,
            threads=self.rows,
            iterations=self.across,
            lane_step=self.n,
            loop_step=1,
            clear=clear,
            code=ROWS[self.compiled_for],
        )

    def _column_sums(
        self, name: str, vector: Floats, result: Floats, clear: bool = False
    ) -> MatrixVector:
        """A thread per column: coalesced."""
        return MatrixVector(
            shape=Shape.linear(self.n, BLOCK),
            name=name,
            registers_per_thread=20,
            matrix=self.matrix,
            vector=vector,
            result=result,
            threads=self.n,
            iterations=self.down,
            lane_step=1,
            loop_step=self.n,
            clear=clear,
            code=COLUMNS[self.compiled_for],
        )

    def _chosen(
        self, rows: MatrixVector, columns: MatrixVector, columns_first: bool = False
    ) -> Iterator[Launch]:
        """The kernels that are asked for."""
        ordered = (columns, rows) if columns_first else (rows, columns)
        left_out = {"both": None, "rows": columns, "columns": rows}[self.kernels]
        return iter([kernel for kernel in ordered if kernel is not left_out])


@program("atax", MatrixParameters)
class Atax(_MatrixProgram):
    """y = A^T (A x).  Arrays in the order A, x, y, tmp; x[i] = pi * i (our choices)."""

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("atax", "A", parameters)
        self.x = self._vector("x", np.arange(self.n) * np.pi)
        self.y = self._vector("y", np.zeros(self.n))
        self.tmp = self._vector("tmp", np.zeros(self.rows))

    def launches(self) -> Iterator[Launch]:
        return self._chosen(
            self._row_sums("atax_kernel1", self.x, self.tmp),
            self._column_sums("atax_kernel2", self.tmp, self.y),
        )


@program("bicg", MatrixParameters)
class Bicg(_MatrixProgram):
    """s = A^T r and q = A p.  Arrays in the order A, r, s, p, q; r[i] = p[i] = pi * i."""

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("bicg", "A", parameters)
        self.r = self._vector("r", np.arange(self.rows) * np.pi)
        self.s = self._vector("s", np.zeros(self.n))
        self.p = self._vector("p", np.arange(self.n) * np.pi)
        self.q = self._vector("q", np.zeros(self.rows))

    def launches(self) -> Iterator[Launch]:
        cuda = self.compiled_for == "ptx"
        first, second = "bicg_kernel1", "bicg_kernel2"
        return self._chosen(
            self._row_sums(second if cuda else first, self.p, self.q, clear=True),
            self._column_sums(first if cuda else second, self.r, self.s, clear=True),
            columns_first=cuda,
        )


@program("mvt", MatrixParameters)
class Mvt(_MatrixProgram):
    """x1 += a y1 and x2 += a^T y2.

    Arrays in the order a, x1, x2, y1, y2, with (i, i + 1, i + 3, i + 4) / n (our choices); y1
    and x2 have n elements, x1 and y2 as many as there are rows.
    """

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("mvt", "a", parameters)
        i, j = np.arange(self.rows), np.arange(self.n)
        self.x1 = self._vector("x1", i / self.n)
        self.x2 = self._vector("x2", (j + 1) / self.n)
        self.y1 = self._vector("y1", (j + 3) / self.n)
        self.y2 = self._vector("y2", (i + 4) / self.n)

    def launches(self) -> Iterator[Launch]:
        return self._chosen(
            self._row_sums("mvt_kernel1", self.y1, self.x1),
            self._column_sums("mvt_kernel2", self.y2, self.x2),
        )

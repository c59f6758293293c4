"""atax, bicg and mvt: matrix-vector products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.warp_program import Launch

BLOCK = 256
Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class MatrixVector(Kernel):
    """One sum per thread, over a row or a column of a matrix.

    L result[t] (or S result[t] = 0), then for each j: L matrix[t * lane_step + j * loop_step],
    L vector[j] (the same for all lanes), FMA, S result[t].  The running sum stays in a register,
    but since the pointers may alias it is stored in every iteration and nothing is batched.  The
    loop's own instructions, few after unrolling 16 times, are left out.

    Attributes:
        matrix, vector, result: the operands.
        threads: sums.
        iterations: length of a sum.
        lane_step, loop_step: matrix elements between neighbouring threads and iterations.
        clear: start by storing 0 instead of loading the result.
    """

    matrix: Floats
    vector: Floats
    result: Floats
    threads: int
    iterations: int
    lane_step: int
    loop_step: int
    clear: bool = False

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        where = None if (self.threads % BLOCK == 0) else t < self.threads
        k.compute(PROLOGUE, where)
        if self.clear:
            total = np.zeros(k.threads, dtype=np.float32)
            k.store(self.result, t, total, where)
        else:
            total = k.load(self.result, t, where)
        index = t * self.lane_step
        for j in range(self.iterations):
            element = k.load(self.matrix, index, where)
            factor = k.load(self.vector, j, where)
            k.wait(0, where)
            k.compute(1, where)
            total = total + element * factor
            k.store(self.result, t, total, where)
            index = index + self.loop_step
            yield


@frozen
class MatrixParameters:
    """Size of a matrix-vector program.

    Attributes:
        n: rows of the matrix, and the distance of its rows in elements (the suite: 4096).
        columns: columns that are computed with; None: all n.  Fewer columns shorten the program
            and keep what decides the cost of translation: n rows, 4 n bytes apart.
    """

    n: int = field(default=4096, validator=[ge(1), le(32768)])
    columns: int | None = field(default=None)

    @columns.validator
    def _fits(self, _: object, columns: int | None) -> None:
        if columns is not None and not 1 <= columns <= self.n:
            raise ValueError(f"'columns' must be from 1 to n = {self.n}: {columns}")


class _MatrixProgram(Program):
    """A program around one n x n matrix with A[i][j] = i * j / n (row-major)."""

    def __init__(self, name: str, matrix: str, parameters: MatrixParameters) -> None:
        super().__init__(name)
        self.rows = parameters.n
        self.columns = parameters.columns or parameters.n
        values = np.zeros((self.rows, self.rows), dtype=np.float32)
        i = np.arange(self.rows, dtype=np.float32)
        np.multiply(i[:, None], i[None, : self.columns] / self.rows, out=values[:, : self.columns])
        values.flags.writeable = False
        self.matrix = self.memory.allocate(matrix, values)

    def _vector(self, name: str, values: NDArray[np.floating]) -> Floats:
        return self.memory.allocate(name, values.astype(np.float32))

    def _row_sums(
        self, name: str, vector: Floats, result: Floats, clear: bool = False
    ) -> MatrixVector:
        """A thread per row: neighbouring lanes are 4 n bytes apart."""
        return MatrixVector(
            shape=Shape.linear(self.rows, BLOCK), name=name, registers_per_thread=16,
            matrix=self.matrix, vector=vector, result=result, threads=self.rows,
            iterations=self.columns, lane_step=self.rows, loop_step=1, clear=clear,
        )  # fmt: skip

    def _column_sums(
        self, name: str, vector: Floats, result: Floats, clear: bool = False
    ) -> MatrixVector:
        """A thread per column: coalesced."""
        return MatrixVector(
            shape=Shape.linear(self.columns, BLOCK), name=name, registers_per_thread=20,
            matrix=self.matrix, vector=vector, result=result, threads=self.columns,
            iterations=self.rows, lane_step=1, loop_step=self.rows, clear=clear,
        )  # fmt: skip


@program("atax", MatrixParameters)
class Atax(_MatrixProgram):
    """y = A^T (A x).  Arrays in the order A, x, y, tmp; x[i] = pi * i (our choices)."""

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("atax", "A", parameters)
        self.x = self._vector("x", np.arange(self.columns) * np.pi)
        self.y = self._vector("y", np.zeros(self.columns))
        self.tmp = self._vector("tmp", np.zeros(self.rows))

    def launches(self) -> Iterator[Launch]:
        yield self._row_sums("atax_kernel1", self.x, self.tmp)
        yield self._column_sums("atax_kernel2", self.tmp, self.y)


@program("bicg", MatrixParameters)
class Bicg(_MatrixProgram):
    """s = A^T r and q = A p.  Arrays in the order A, r, s, p, q; r[i] = p[i] = pi * i."""

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("bicg", "A", parameters)
        self.r = self._vector("r", np.arange(self.rows) * np.pi)
        self.s = self._vector("s", np.zeros(self.columns))
        self.p = self._vector("p", np.arange(self.columns) * np.pi)
        self.q = self._vector("q", np.zeros(self.rows))

    def launches(self) -> Iterator[Launch]:
        yield self._column_sums("bicg_kernel1", self.r, self.s, clear=True)
        yield self._row_sums("bicg_kernel2", self.p, self.q, clear=True)


@program("mvt", MatrixParameters)
class Mvt(_MatrixProgram):
    """x1 += a y1 and x2 += a^T y2.

    Arrays in the order a, x1, x2, y1, y2, with (i, i + 1, i + 3, i + 4) / n (our choices).  With
    fewer columns than rows, y1 and x2 are as long as a row.
    """

    def __init__(self, parameters: MatrixParameters, seed: int) -> None:
        super().__init__("mvt", "a", parameters)
        rows, columns = np.arange(self.rows), np.arange(self.columns)
        self.x1 = self._vector("x1", rows / self.rows)
        self.x2 = self._vector("x2", (columns + 1) / self.rows)
        self.y1 = self._vector("y1", (columns + 3) / self.rows)
        self.y2 = self._vector("y2", (rows + 4) / self.rows)

    def launches(self) -> Iterator[Launch]:
        yield self._row_sums("mvt_kernel1", self.y1, self.x1)
        yield self._column_sums("mvt_kernel2", self.y2, self.x2)

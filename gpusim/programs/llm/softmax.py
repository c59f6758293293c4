"""softmax: of the rows of a matrix, such as the logits of a vocabulary."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.llm.rows import over_the_block

THREADS = 1024
"""Most threads of a block."""


@gpu.kernel("softmax_forward", registers=32, shared=128, in_step=True)
def exponentials(
    k: gpu.BlockTracer, source: gpu.Floats, out: gpu.Floats, columns: int
) -> gpu.Steps:
    """A row a thread block, in three passes over it: its maximum, the sum, the quotients.

    L each number in each pass, S in the last.  Registers are our choice.

    Takes `source`, `out` (rows of `columns` numbers), `columns`.
    """
    k.compute(gpu.PROLOGUE)
    largest = np.full(k.threads, -np.inf, dtype=np.float32)
    for number, where in gpu.rounds(k.tid, columns, k.shape.threads):
        value = k.fetch(source, k.bx * columns + number, where)
        k.arithmetic(gpu.Unit.FP32, 2, 1, where)
        largest = np.maximum(largest, value if where is None else np.where(where, value, -np.inf))
        yield
    largest = over_the_block(k, largest, np.max)
    total = np.zeros(k.threads, dtype=np.float32)
    for number, where in gpu.rounds(k.tid, columns, k.shape.threads):
        value = np.exp(k.fetch(source, k.bx * columns + number, where) - largest)
        k.arithmetic(gpu.Unit.SPECIAL, 1, 1, where)
        k.arithmetic(gpu.Unit.FP32, 3, 2, where)
        total += value if where is None else np.where(where, value, 0)
        yield
    total = over_the_block(k, total, np.sum)
    for number, where in gpu.rounds(k.tid, columns, k.shape.threads):
        place = k.bx * columns + number
        value = np.exp(k.fetch(source, place, where) - largest)
        k.arithmetic(gpu.Unit.SPECIAL, 1, 1, where)
        k.arithmetic(gpu.Unit.FP32, 3, 2, where)
        k.store(out, place, value / total, where)
        yield


@gpu.program("softmax")
def softmax(
    memory: gpu.AddressSpace,
    seed: int,
    rows: int = gpu.number(256, 1, 1 << 20),
    columns: int = gpu.number(32000, 1, 1 << 20),
) -> gpu.Launches:
    """The quotients of exponentials, as PyTorch computes them of long rows (SoftMax.cu).

    One launch.  Arrays in the order input (random from -4 to 4), out.

    Parameters:
        rows: of the matrix.
        columns: of the matrix (Llama 2's vocabulary: 32,000; Llama 3's: 128,256).
    """
    rng = np.random.default_rng(seed)
    values = 8 * rng.random((rows, columns), dtype=np.float32) - 4
    source = memory.read_only("input", values)
    out = memory.zeros("out", rows * columns, np.float32)
    yield exponentials[rows, min(-(-columns // 32) * 32, THREADS)](source, out, columns)

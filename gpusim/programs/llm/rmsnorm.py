"""rmsnorm: rows are divided by the root of their mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.llm.rows import over_the_block

THREADS = 1024
"""Most threads of a block."""
EPSILON = np.float32(1e-6)


@gpu.kernel("rms_norm", registers=32, shared=132, in_step=True)
def normalize(
    k: gpu.BlockTracer,
    source: gpu.DeviceArray[Any],
    weight: gpu.DeviceArray[Any],
    out: gpu.DeviceArray[Any],
    hidden: int,
) -> gpu.Steps:
    """A row a thread block: L each number, square, sum over the block; then L it again, and S.

    Four instructions an element; registers are our choice.

    Takes `source`, `out` (rows of `hidden` 16-bit numbers), `weight` (`hidden`), `hidden`.
    """
    k.compute(gpu.PROLOGUE)
    total = np.zeros(k.threads, dtype=np.float32)
    for number, where in gpu.rounds(k.tid, hidden, k.shape.threads):
        value = k.fetch(source, k.bx * hidden + number, where).astype(np.float32)
        k.arithmetic(gpu.Unit.FP32, 4, 1, where)
        total += value * value if where is None else np.where(where, value * value, 0)
        yield
    mean = over_the_block(k, total, np.sum) / np.float32(hidden)
    k.arithmetic(gpu.Unit.SPECIAL, 1, 1)
    factor = np.float32(1) / np.sqrt(mean + EPSILON)
    for number, where in gpu.rounds(k.tid, hidden, k.shape.threads):
        value = k.load(source, k.bx * hidden + number, where).astype(np.float32)
        scale = k.load(weight, number, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 4, 2, where)
        k.store(out, k.bx * hidden + number, value * factor * scale, where)
        yield


@gpu.program("rmsnorm")
def rmsnorm(
    memory: gpu.AddressSpace,
    seed: int,
    tokens: int = gpu.number(2048, 1, 1 << 20),
    hidden: int = gpu.number(4096, 1, 1 << 16),
) -> gpu.Launches:
    """Root-mean-square normalization, as vLLM's rms_norm_kernel has it (csrc/layernorm_kernels.cu).

    Zhang, Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.  One launch.  Arrays in
    the order input, weight (random numbers of 16 bits), out.

    Parameters:
        tokens: rows.
        hidden: numbers of a row.
    """
    rng = np.random.default_rng(seed)
    rows = rng.random((tokens, hidden), dtype=np.float32).astype(np.float16)
    source = memory.read_only("input", rows)
    weight = memory.read_only("weight", rng.random(hidden, dtype=np.float32).astype(np.float16))
    out = memory.zeros("out", tokens * hidden, np.float16)
    yield normalize[tokens, min(-(-hidden // 32) * 32, THREADS)](source, weight, out, hidden)

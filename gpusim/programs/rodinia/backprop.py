"""backprop: a training step of a neural network with one hidden layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

SIDE = 16
"""Hidden units, and input units of a thread block."""

PITCH = SIDE + 1
"""Words of a row of weights: the first belongs to the bias."""

LEARNING_RATE = 0.3
MOMENTUM = 0.3


def _weight(k: gpu.BlockTracer) -> gpu.Lanes:
    """Each thread's weight: its input unit's row, its hidden unit's column."""
    weight: gpu.Lanes = PITCH * (SIDE * k.by + k.ty + 1) + k.tx + 1
    return weight


@gpu.kernel("bpnn_layerforward_CUDA", registers=20, shared=1088, in_step=True)
def layer_forward(
    k: gpu.BlockTracer, units: gpu.Floats, weights: gpu.Floats, partial: gpu.Floats
) -> None:
    """Each block multiplies 16 inputs with their weights and adds them up for each hidden unit.

    The input unit runs along y, the hidden unit along x.  L input[16 by + ty + 1] by the threads
    with tx = 0, barrier, L w[q] (rows of 16 words with a pitch of 17), 96 instructions that
    compute powers, remainders and logarithms of the tree, 4 steps of a tree over y in shared
    memory, S w[q] (the suite writes the partial sums over the weights and copies the weights again
    later), and S partial by the threads with tx = 0.  With 96 a warp has 181 instructions in both
    kernels, as in gem5-gpu's own reference run.

    Takes `units` ((inputs + 1,) input values; the first is the bias), `weights` ((inputs + 1, 17)
    weights), `partial` ((inputs,) sums of the blocks, 16 each).
    """
    first = k.tx == 0
    k.compute(12)
    unit = k.fetch(units, SIDE * k.by + k.ty + 1, first)
    k.shared(1, first)
    k.barrier()
    weight = k.fetch(weights, _weight(k))
    k.shared(1)
    k.barrier()
    k.shared(1)
    k.shared(1)
    k.compute(1)
    k.shared(1)
    k.barrier()
    k.compute(96)
    tiles = (k.blocks, SIDE, SIDE)
    grid = weight.reshape(tiles) * unit.reshape(tiles)[:, :, :1]
    for step in (1, 2, 4, 8):
        grid[:, :: 2 * step] += grid[:, step :: 2 * step]
        adding = k.ty % (2 * step) == 0
        k.shared(1, adding)
        k.shared(1, adding)
        k.compute(1, adding)
        k.shared(1, adding)
        k.barrier()
    k.store(weights, _weight(k), grid.ravel())
    k.barrier()
    k.shared(1, first)
    sums = np.repeat(grid[:, 0], SIDE)
    k.store(partial, k.by * SIDE + k.ty, sums, first)


def _adjust_bias(
    k: gpu.BlockTracer,
    weights: gpu.Floats,
    changes: gpu.Floats,
    error: NDArray[np.float32],
    first: gpu.Mask,
) -> None:
    q = k.tx + 1
    weight = k.load(weights, q, first)
    old = k.load(changes, q, first)
    k.wait(0, first)
    k.compute(4, first)
    change = (LEARNING_RATE * error + MOMENTUM * old).astype(np.float32)
    k.store(weights, q, weight + change, first)
    k.store(changes, q, change, first)


@gpu.kernel("bpnn_adjust_weights_cuda", registers=27, in_step=True)
def adjust_weights(
    k: gpu.BlockTracer,
    units: gpu.Floats,
    weights: gpu.Floats,
    changes: gpu.Floats,
    delta: gpu.Floats,
) -> None:
    """New weights from the error of the hidden units.

    20 instructions; L delta, L input, L w, L old; 9 instructions; S w; the three operands are
    loaded again, since the store may alias; 8 instructions; S old: as many as in PTX of nvcc 11.8
    for sm_35.  Block 0 also updates the bias row.

    Takes `changes` ((inputs + 1, 17) the last changes of the weights), `delta` ((17,) errors of the
    hidden units; the first is the bias).
    """
    q = _weight(k)
    row = SIDE * k.by + k.ty + 1
    k.compute(20)
    error = k.load(delta, k.tx + 1)
    unit = k.load(units, row)
    weight = k.load(weights, q)
    old = k.load(changes, q)
    k.wait()
    k.compute(9)
    change = (LEARNING_RATE * error * unit + MOMENTUM * old).astype(np.float32)
    k.store(weights, q, weight + change)
    for array, index in ((units, row), (delta, k.tx + 1), (changes, q)):
        k.load(array, index)
    k.wait()
    k.compute(8)
    k.store(changes, q, change)
    k.barrier()
    first = (k.ty == 0) & (k.by == 0)
    if first.any():
        _adjust_bias(k, weights, changes, error, first)


@gpu.program("backprop")
def backprop(
    memory: gpu.AddressSpace, seed: int, inputs: int = gpu.number(65536, SIDE, multiple=SIDE)
) -> gpu.Launches:
    """Forward through the first layer; the rest of the network on the host; then new weights.

    Arrays in the order input, weights, partial, delta, old.  Inputs and weights are uniform random
    numbers (weights up to 0.01, so that the units do not saturate: our choice).

    Parameters:
        inputs: input units, a multiple of 16 (the suite's run: 65,536).
    """
    rng = np.random.default_rng(seed)
    values = rng.random(inputs + 1, dtype=np.float32)
    values[0] = 1.0
    start_weights = 0.01 * rng.random((inputs + 1) * PITCH, dtype=np.float32)
    output_weights = rng.random(PITCH, dtype=np.float32)
    target = float(rng.random())
    units = memory.allocate("input", values)
    weights = memory.allocate("weights", start_weights)
    partial = memory.zeros("partial", inputs, np.float32)
    delta = memory.zeros("delta", PITCH, np.float32)
    old = memory.zeros("old", start_weights.size, np.float32)
    shape = gpu.Shape((1, inputs // SIDE, 1), (SIDE, SIDE, 1))
    yield layer_forward[shape](units, weights, partial)
    weights.data[:] = start_weights
    sums = partial.data.reshape(-1, SIDE).sum(axis=0, dtype=np.float64)
    hidden = _sigmoid(sums + start_weights[1:PITCH])
    output = _sigmoid(output_weights[0] + hidden @ output_weights[1:])
    error = output * (1 - output) * (target - output)
    delta.data[1:] = hidden * (1 - hidden) * output_weights[1:] * error
    yield adjust_weights[shape](units, weights, old, delta)


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 1 / (1 + np.exp(-values))
    return found

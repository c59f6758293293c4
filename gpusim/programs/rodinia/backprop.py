"""backprop: a training step of a neural network with one hidden layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.tracer import BlockTracer, Shape

SIDE = 16
"""Hidden units, and input units of a thread block."""

PITCH = SIDE + 1
"""Words of a row of weights: the first belongs to the bias."""

LEARNING_RATE = 0.3
MOMENTUM = 0.3

Floats = DeviceArray[np.float32]


def _weight(k: BlockTracer) -> Lanes:
    """Each thread's weight: its input unit's row, its hidden unit's column."""
    weight: Lanes = PITCH * (SIDE * k.by + k.ty + 1) + k.tx + 1
    return weight


@define(kw_only=True, eq=False)
class LayerForward(Kernel):
    """Each block multiplies 16 inputs with their weights and adds them up for each hidden unit.

    The input unit runs along y, the hidden unit along x.  L input[16 by + ty + 1] by the threads
    with tx = 0, barrier, L w[q] (rows of 16 words with a pitch of 17), 96 instructions that
    compute powers, remainders and logarithms of the tree, 4 steps of a tree over y in shared
    memory, S w[q] (the suite writes the partial sums over the weights and copies the weights again
    later), and S partial by the threads with tx = 0.  With 96 a warp has 181 instructions in both
    kernels, as in gem5-gpu's own reference run.

    Attributes:
        units: (inputs + 1,) input values; the first is the bias.
        weights: (inputs + 1, 17) weights.
        partial: (inputs,) sums of the blocks, 16 each.
    """

    units: Floats
    weights: Floats
    partial: Floats
    name: str = "bpnn_layerforward_CUDA"
    registers_per_thread: int = 20
    shared_bytes: int = 1088
    in_step = True

    def body(self, k: BlockTracer) -> None:
        first = k.tx == 0
        k.compute(12)
        unit = k.load(self.units, SIDE * k.by + k.ty + 1, first)
        k.wait(0, first)
        k.shared(1, first)
        k.barrier()
        weight = k.load(self.weights, _weight(k))
        k.wait()
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
        k.store(self.weights, _weight(k), grid.ravel())
        k.barrier()
        k.shared(1, first)
        sums = np.repeat(grid[:, 0], SIDE)
        k.store(self.partial, k.by * SIDE + k.ty, sums, first)


@define(kw_only=True, eq=False)
class AdjustWeights(Kernel):
    """New weights from the error of the hidden units.

    20 instructions; L delta, L input, L w, L old; 9 instructions; S w; the three operands are
    loaded again, since the store may alias; 8 instructions; S old: as many as in PTX of nvcc 11.8
    for sm_35.  Block 0 also updates the bias row.

    Attributes:
        units, weights: as in `LayerForward`.
        old: (inputs + 1, 17) the last changes of the weights.
        delta: (17,) errors of the hidden units; the first is the bias.
    """

    units: Floats
    weights: Floats
    old: Floats
    delta: Floats
    name: str = "bpnn_adjust_weights_cuda"
    registers_per_thread: int = 27
    in_step = True

    def body(self, k: BlockTracer) -> None:
        q = _weight(k)
        row = SIDE * k.by + k.ty + 1
        k.compute(20)
        delta = k.load(self.delta, k.tx + 1)
        unit = k.load(self.units, row)
        weight = k.load(self.weights, q)
        old = k.load(self.old, q)
        k.wait()
        k.compute(9)
        change = (LEARNING_RATE * delta * unit + MOMENTUM * old).astype(np.float32)
        k.store(self.weights, q, weight + change)
        for array, index in ((self.units, row), (self.delta, k.tx + 1), (self.old, q)):
            k.load(array, index)
        k.wait()
        k.compute(8)
        k.store(self.old, q, change)
        k.barrier()
        first = (k.ty == 0) & (k.by == 0)
        if first.any():
            self._adjust_bias(k, delta, first)

    def _adjust_bias(self, k: BlockTracer, delta: NDArray[np.float32], first: Mask) -> None:
        q = k.tx + 1
        weight = k.load(self.weights, q, first)
        old = k.load(self.old, q, first)
        k.wait(0, first)
        k.compute(4, first)
        change = (LEARNING_RATE * delta + MOMENTUM * old).astype(np.float32)
        k.store(self.weights, q, weight + change, first)
        k.store(self.old, q, change, first)


@frozen
class BackpropParameters:
    """Parameters of backprop.

    Attributes:
        inputs: input units, a multiple of 16 (the suite's run: 65,536).
    """

    inputs: int = field(default=65536, validator=ge(SIDE))

    @inputs.validator
    def _whole_blocks(self, _: object, inputs: int) -> None:
        if inputs % SIDE:
            raise ValueError(f"'inputs' must be a multiple of {SIDE}: {inputs}")


@program("backprop", BackpropParameters)
class Backprop(Program):
    """Forward through the first layer; the rest of the network on the host; then new weights.

    Arrays in the order input, weights, partial, delta, old.  Inputs and weights are uniform random
    numbers (weights up to 0.01, so that the units do not saturate: our choice).
    """

    def __init__(self, parameters: BackpropParameters, seed: int) -> None:
        super().__init__("backprop")
        self.inputs = parameters.inputs
        rng = np.random.default_rng(seed)
        units = rng.random(self.inputs + 1, dtype=np.float32)
        units[0] = 1.0
        self.start_weights = 0.01 * rng.random((self.inputs + 1) * PITCH, dtype=np.float32)
        self.output_weights = rng.random(PITCH, dtype=np.float32)
        self.target = float(rng.random())
        zeros = np.zeros(self.inputs, dtype=np.float32)
        self.units = self.memory.allocate("input", units)
        self.weights = self.memory.allocate("weights", self.start_weights)
        self.partial = self.memory.allocate("partial", zeros)
        self.delta = self.memory.allocate("delta", np.zeros(PITCH, dtype=np.float32))
        self.old = self.memory.allocate("old", np.zeros_like(self.start_weights))

    def launches(self) -> Iterator[Launch]:
        shape = Shape((1, self.inputs // SIDE, 1), (SIDE, SIDE, 1))
        yield LayerForward(
            shape=shape, units=self.units, weights=self.weights, partial=self.partial
        )
        self._finish_on_the_host()
        yield AdjustWeights(
            shape=shape, units=self.units, weights=self.weights, old=self.old, delta=self.delta
        )

    def _finish_on_the_host(self) -> None:
        """The hidden units, the output and its error; the weights are copied again."""
        self.weights.data[:] = self.start_weights
        sums = self.partial.data.reshape(-1, SIDE).sum(axis=0, dtype=np.float64)
        self.hidden = _sigmoid(sums + self.start_weights[1:PITCH])
        output = _sigmoid(self.output_weights[0] + self.hidden @ self.output_weights[1:])
        error = output * (1 - output) * (self.target - output)
        self.delta.data[1:] = self.hidden * (1 - self.hidden) * self.output_weights[1:] * error


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 1 / (1 + np.exp(-values))
    return found

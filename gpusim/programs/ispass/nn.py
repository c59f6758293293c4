"""ispass_nn: handwritten digits recognised by a convolutional network of four layers."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

IMAGE, FIRST_MAP, SECOND_MAP = 29, 13, 5
"""Sides of an image and of the maps of the first two layers."""

WINDOW, STEP = 5, 2
"""Side of the window that a neuron of a map sees, and how far the next one's is."""

FIRST_MAPS, DIGITS = 6, 10
SCALE, SLOPE = np.float32(1.7159), np.float32(0.66666667)
"""Of the neurons' function, ``SCALE * tanh(SLOPE * sum)``."""

SETUP = 20
"""Instructions of a thread outside the loop (our choice)."""

Values = NDArray[np.float32]


def activation(total: Values) -> Values:
    """What neurons answer to the sums of their inputs."""
    answer: Values = SCALE * np.tanh(SLOPE * total)
    return answer


@frozen(eq=False)
class Inputs:
    """Which neurons the threads of a layer see.

    Attributes:
        first: (inputs of a neuron,) its inputs' places relative to its window's.
        window: how many inputs, side by side, the window moves from thread to thread; 0: each
            neuron sees all of them.
        side: of a map of the inputs.
    """

    first: gpu.Lanes
    window: int = 0
    side: int = 1


def answer(
    k: gpu.BlockTracer, inputs: gpu.Floats, weights: gpu.Floats, outputs: gpu.Floats, seen: Inputs
) -> gpu.Steps:
    """A layer: a neuron a thread, an image for each `y` of the grid.

    L weight 0; for each input: L neuron, L weight, 5 instructions (a multiplication with addition,
    addresses, loop); 20 instructions in all beside them; S.  A block's threads take the same
    weight.  The loop is not unrolled: each input is waited for.  With 7 instructions an input the
    suite's 28 digits have 68 million instructions of threads, as published (ISPASS 2009, Table 1).
    """
    images = k.shape.grid[1]
    k.compute(SETUP)
    weight = k.bx * (len(seen.first) + 1)
    place = seen.window * (k.ty * seen.side + k.tx) + k.by * (inputs.length // images)
    bias = k.fetch(weights, weight)
    total: Values = np.zeros(k.threads, dtype=np.float32) + bias
    for number, there in enumerate(seen.first.tolist(), 1):
        value = k.load(inputs, place + there)
        factor = k.load(weights, weight + number)
        total = total + value * factor
        k.wait()
        k.compute(5)
        yield
    own = k.bx * k.shape.threads + k.tid + k.by * (outputs.length // images)
    k.store(outputs, own, activation(total))


LAYERS = [
    gpu.kernel(f"execute{number}Layer", registers=16, in_step=True)(answer)
    for number in ("First", "Second", "Third", "Fourth")
]


@gpu.program("ispass_nn")
def ispass_nn(
    memory: gpu.AddressSpace,
    seed: int,
    images: int = gpu.number(28),
    maps: int = gpu.number(50),
    hidden: int = gpu.number(100),
) -> gpu.Launches:
    """Four launches: two layers of maps, and two in which every neuron sees all before it.

    Arrays in the order neurons and weights of layer 1, 2, 3, 4, then the answers.  Images and
    weights are random: from 0 to 1, and from -0.1 to 0.1 (our choice; the suite has a trained
    network).  A block of the last two layers has a single thread, as in the suite.

    Parameters:
        images: digits that are recognised (the suite: 28).
        maps: of the second layer (the suite: 50).
        hidden: neurons of the third layer (the suite: 100).
    """
    rng = np.random.default_rng(seed)
    units = [FIRST_MAPS, maps, hidden, DIGITS]  # with weights of their own: a map shares its
    blocks = [FIRST_MAP**2, SECOND_MAP**2, 1, 1]  # neurons of a unit
    second = np.add.outer(_window(FIRST_MAP), np.arange(FIRST_MAPS) * FIRST_MAP**2).ravel()
    seen = [
        Inputs(_window(IMAGE), STEP, IMAGE),
        Inputs(second, STEP, FIRST_MAP),
        Inputs(np.arange(maps * SECOND_MAP**2)),
        Inputs(np.arange(hidden)),
    ]
    neurons = [memory.allocate("neurons1", rng.random(images * IMAGE**2, dtype=np.float32))]
    weights = []
    for layer in range(4):
        values = rng.random(units[layer] * (len(seen[layer].first) + 1), dtype=np.float32)
        small = (values - np.float32(0.5)) * np.float32(0.2)
        weights.append(memory.allocate(f"weights{layer + 1}", small))
        size = images * units[layer] * blocks[layer]
        neurons.append(memory.zeros(f"neurons{layer + 2}", size, np.float32))
    shapes = [(FIRST_MAP, FIRST_MAP), (SECOND_MAP, SECOND_MAP), (1, 1), (1, 1)]
    for layer, launch in enumerate(LAYERS):
        yield launch[(units[layer], images), shapes[layer]](
            neurons[layer], weights[layer], neurons[layer + 1], seen[layer]
        )


def _window(side: int) -> gpu.Lanes:
    """(25,) places of a window's inputs in a map, relative to its first."""
    line = np.arange(WINDOW)
    return np.add.outer(side * line, line).ravel()

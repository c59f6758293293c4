"""ispass_nn: handwritten digits recognised by a convolutional network of four layers."""

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
from gpusim.programs.lane_record import Lanes
from gpusim.programs.tracer import BlockTracer, Shape

IMAGE, FIRST_MAP, SECOND_MAP = 29, 13, 5
"""Sides of an image and of the maps of the first two layers."""

WINDOW, STEP = 5, 2
"""Side of the window that a neuron of a map sees, and how far the next one's is."""

FIRST_MAPS, DIGITS = 6, 10
SCALE, SLOPE = np.float32(1.7159), np.float32(0.66666667)
"""Of the neurons' function, ``SCALE * tanh(SLOPE * sum)``."""

SETUP = 20
"""Instructions of a thread outside the loop (our choice)."""

Floats = DeviceArray[np.float32]
Values = NDArray[np.float32]


def activation(total: Values) -> Values:
    """What neurons answer to the sums of their inputs."""
    answer: Values = SCALE * np.tanh(SLOPE * total)
    return answer


@define(kw_only=True, eq=False)
class Layer(Kernel):
    """A layer: a neuron a thread, an image for each `y` of the grid.

    L weight 0; for each input: L neuron, L weight, 5 instructions (a multiplication with addition,
    addresses, loop); 20 instructions in all beside them; S.  A block's threads take the same
    weight.  The loop is not unrolled: each input is waited for.  With 7 instructions an input the
    suite's 28 digits have 68 million instructions of threads, as published (ISPASS 2009, Table 1).

    Attributes:
        inputs, weights, outputs: neurons of all images, weights, neurons of all images.
        first: (inputs of a neuron,) its inputs' places relative to its window's.
        window: how many inputs, side by side, the window moves from thread to thread; 0: each
            neuron sees all of them.
        side: of a map of the inputs.
        inputs_per_image, outputs_per_image: neurons.
    """

    inputs: Floats
    weights: Floats
    outputs: Floats
    first: Lanes
    window: int
    side: int
    inputs_per_image: int
    outputs_per_image: int
    registers_per_thread: int = 16
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(SETUP)
        weight = k.bx * (len(self.first) + 1)
        place = self.window * (k.ty * self.side + k.tx) + k.by * self.inputs_per_image
        bias = k.load(self.weights, weight)
        k.wait()
        total: Values = np.zeros(k.threads, dtype=np.float32) + bias
        for number, there in enumerate(self.first.tolist(), 1):
            value = k.load(self.inputs, place + there)
            factor = k.load(self.weights, weight + number)
            total = total + value * factor
            k.wait()
            k.compute(5)
            yield
        own = k.bx * self.threads_per_block + k.tid + k.by * self.outputs_per_image
        k.store(self.outputs, own, activation(total))


@frozen
class IspassNnParameters:
    """Parameters of ispass_nn.

    Attributes:
        images: digits that are recognised (the suite: 28).
        maps: of the second layer (the suite: 50).
        hidden: neurons of the third layer (the suite: 100).
    """

    images: int = field(default=28, validator=ge(1))
    maps: int = field(default=50, validator=ge(1))
    hidden: int = field(default=100, validator=ge(1))


@program("ispass_nn", IspassNnParameters)
class IspassNn(Program):
    """Four launches: two layers of maps, and two in which every neuron sees all before it.

    Arrays in the order neurons and weights of layer 1, 2, 3, 4, then the answers.  Images and
    weights are random: from 0 to 1, and from -0.1 to 0.1 (our choice; the suite has a trained
    network).  A block of the last two layers has a single thread, as in the suite.
    """

    def __init__(self, parameters: IspassNnParameters, seed: int) -> None:
        super().__init__("ispass_nn")
        self.parameters = parameters
        rng = np.random.default_rng(seed)
        self.neurons = [
            IMAGE**2,
            FIRST_MAPS * FIRST_MAP**2,
            parameters.maps * SECOND_MAP**2,
            parameters.hidden,
            DIGITS,
        ]
        """Of an image, layer by layer."""
        grid = _window(IMAGE)
        self.places = [
            grid,
            np.add.outer(_window(FIRST_MAP), np.arange(FIRST_MAPS) * FIRST_MAP**2).ravel(),
            np.arange(self.neurons[2]),
            np.arange(self.neurons[3]),
        ]
        self.units = [FIRST_MAPS, parameters.maps, parameters.hidden, DIGITS]
        """Neurons with weights of their own, layer by layer: a map's share theirs."""
        self.layers: list[Floats] = []
        self.weights: list[Floats] = []
        for layer, (units, places) in enumerate(zip(self.units, self.places, strict=True), 1):
            self.layers.append(self._neurons(layer, rng))
            values = rng.random(units * (len(places) + 1), dtype=np.float32)
            small = (values - np.float32(0.5)) * np.float32(0.2)
            self.weights.append(self.memory.allocate(f"weights{layer}", small))
        self.layers.append(self._neurons(len(self.neurons), rng))

    def _neurons(self, layer: int, rng: np.random.Generator) -> Floats:
        size = self.parameters.images * self.neurons[layer - 1]
        values = rng.random(size, dtype=np.float32) if layer == 1 else np.zeros(size, np.float32)
        return self.memory.allocate(f"neurons{layer}", values)

    def launches(self) -> Iterator[Launch]:
        blocks = ((FIRST_MAP, FIRST_MAP, 1), (SECOND_MAP, SECOND_MAP, 1), (1, 1, 1), (1, 1, 1))
        names = (
            "executeFirstLayer",
            "executeSecondLayer",
            "executeThirdLayer",
            "executeFourthLayer",
        )
        for layer, (name, block) in enumerate(zip(names, blocks, strict=True)):
            yield Layer(
                name=name,
                shape=Shape((self.units[layer], self.parameters.images, 1), block),
                inputs=self.layers[layer],
                weights=self.weights[layer],
                outputs=self.layers[layer + 1],
                first=self.places[layer],
                window=STEP if layer < 2 else 0,
                side=(IMAGE, FIRST_MAP, 1, 1)[layer],
                inputs_per_image=self.neurons[layer],
                outputs_per_image=self.neurons[layer + 1],
            )


def _window(side: int) -> Lanes:
    """(25,) places of a window's inputs in a map, relative to its first."""
    line = np.arange(WINDOW)
    return np.add.outer(side * line, line).ravel()

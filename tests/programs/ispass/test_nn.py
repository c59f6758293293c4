"""ispass_nn: the network's answers, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.ispass.nn import IspassNn, IspassNnParameters, activation
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

SMALL = IspassNnParameters(images=2, maps=3, hidden=4)


def convolved(maps: np.ndarray, weights: np.ndarray, side: int) -> np.ndarray:
    """(maps, side, side) a layer of maps, by its definition."""
    found = np.zeros((len(weights), side, side))
    for unit, (bias, *factors) in enumerate(weights):
        kernel = np.reshape(factors, (5, 5, len(maps)))
        for y in range(side):
            for x in range(side):
                window = maps[:, 2 * y : 2 * y + 5, 2 * x : 2 * x + 5]
                found[unit, y, x] = bias + (window.transpose(1, 2, 0) * kernel).sum()
    return activation(found)


def test_answers_are_those_of_the_network() -> None:
    program = IspassNn(SMALL, 3)
    names = ["executeFirstLayer", "executeSecondLayer", "executeThirdLayer", "executeFourthLayer"]
    assert drain(program) == names
    weights = [
        array.data.reshape(units, -1)
        for array, units in zip(program.weights, program.units, strict=True)
    ]
    for image in range(2):
        pixels = program.layers[0].data.reshape(2, 1, 29, 29)[image]
        second = convolved(convolved(pixels, weights[0], 13), weights[1], 5).ravel()
        third = activation(weights[2][:, 0] + weights[2][:, 1:] @ second)
        expected = activation(weights[3][:, 0] + weights[3][:, 1:] @ third)
        assert program.layers[4].data.reshape(2, 10)[image] == pytest.approx(expected, rel=1e-4)


def test_geometry_and_footprint_are_the_suite_s() -> None:
    program = IspassNn(IspassNnParameters(), 0)
    shapes = [(launch.blocks, launch.threads_per_block) for launch in program.launches()]
    assert shapes == [(6 * 28, 169), (50 * 28, 25), (100 * 28, 1), (10 * 28, 1)]
    assert program.weights[2].length == 100 * 1251
    assert sum(buffer.bytes for buffer in program.buffers) == pytest.approx(0.9e6, rel=0.05)


def test_a_thread_of_the_third_layer_reads_neurons_and_weights_in_turn() -> None:
    program = IspassNn(SMALL, 0)
    operations = warp_operations(nth_launch(program, 2), program, block=4 + 1)
    first = 76  # weights of the second neuron
    assert operations[:7] == [
        ("COMPUTE", 20, []),
        ("LOAD", "weights3", [first]),
        ("WAIT", 0, []),
        ("LOAD", "neurons3", [75]),
        ("LOAD", "weights3", [first + 1]),
        ("WAIT", 0, []),
        ("COMPUTE", 5, []),
    ]
    assert operations[-1] == ("STORE", "neurons4", [4 + 1])


def test_the_order_of_blocks_is_no_matter() -> None:
    assert run_forwards(IspassNn(SMALL, 1)) == run_backwards(IspassNn(SMALL, 1))

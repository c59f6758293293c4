"""Kernels as functions: their launches, and what a mistake in one says."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import numpy as np
import pytest

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs.kernel_function import kernel
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.programs.writing import AddressSpace, Floats


@kernel("scale", registers=9, block=64, in_step=True)
def scale(k: BlockTracer, array: Floats, factor: float, count: int) -> None:
    """Multiply an array."""
    inside = k.t < count
    value = k.load(array, k.t, inside)
    k.wait(0, inside)
    k.store(array, k.t, value * np.float32(factor), inside)


def numbers(length: int = 100) -> Floats:
    return AddressSpace().allocate("a", np.arange(length, dtype=np.float32))


def run(launch: Launch) -> None:
    for block in range(launch.blocks):
        for _ in launch.run_block(block, 32):
            pass


@pytest.mark.parametrize(
    ("place", "shape"),
    [
        (100, Shape((2, 1, 1), (64, 1, 1))),
        (64, Shape((1, 1, 1), (64, 1, 1))),
        (np.int64(100), Shape((2, 1, 1), (64, 1, 1))),
        (Shape((4, 1, 1), (25, 1, 1)), Shape((4, 1, 1), (25, 1, 1))),
        ((4, 25), Shape((4, 1, 1), (25, 1, 1))),
        (((4,), (25, 1)), Shape((4, 1, 1), (25, 1, 1))),
        (((2, 3, 4), (25, 2)), Shape((2, 3, 4), (25, 2, 1))),
    ],
)
def test_a_launch_has_its_shape_and_its_needs(place: Any, shape: Shape) -> None:
    launch = scale[place](numbers(), 2.0, count=100)
    assert (launch.name, launch.registers_per_thread, launch.shared_bytes) == ("scale", 9, 0)
    assert launch.shape == shape
    x, y, z = shape.block
    assert launch.threads_per_block == x * y * z
    assert launch.blocks == np.prod(shape.grid)


def test_it_computes_and_several_launches_do_not_disturb_each_other() -> None:
    one, other = numbers(), numbers()
    first, second = scale[100](one, 2.0, 100), scale[100](other, factor=3.0, count=50)
    run(second)
    run(first)
    assert one.data.tolist() == [2 * i for i in range(100)]
    assert other.data.tolist() == [(3 if i < 50 else 1) * i for i in range(100)]


def test_in_step_as_said() -> None:
    array = numbers()
    launch = scale[100](array, 2.0, 100)
    assert [len(chunk.kind) for chunk in launch.run_in_step(range(2), 32) or ()] == [3]
    assert array.data.tolist() == [2 * i for i in range(100)]

    @kernel("alone", registers=8)
    def alone(k: BlockTracer) -> None:
        k.compute(1)

    assert alone[100]().run_in_step(range(1), 32) is None


def test_needs_may_depend_on_arguments() -> None:
    @kernel("needy", registers=lambda wide: 40 if wide else 20, shared=lambda rows, wide: 4 * rows)
    def needy(k: BlockTracer, rows: int, wide: bool = False) -> None:
        k.compute(1)

    launches = needy[32](3), needy[32](5, wide=True)
    assert [launch.registers_per_thread for launch in launches] == [20, 40]
    assert [launch.shared_bytes for launch in launches] == [12, 20]


def test_a_body_with_loops_is_handed_over_in_pieces() -> None:
    @kernel("busy", registers=8, block=256)
    def busy(k: BlockTracer) -> Iterator[None]:
        for _ in range(4000):
            k.compute(1)
            yield

    lengths = [len(chunk.kind) for chunk in busy[256]().run_block(0, 32)]
    assert sum(lengths) == 4000
    assert max(lengths) <= 512


def test_the_body_knows_the_shape_of_its_launch() -> None:
    seen = []

    @kernel("asks", registers=8)
    def asks(k: BlockTracer) -> None:
        seen.append(k.shape)

    run(asks[(3, 2), 32]())
    assert seen == [Shape((3, 2, 1), (32, 1, 1))] * 6


def test_it_keeps_the_functions_name_and_words() -> None:
    assert (scale.__name__, scale.__doc__) == ("scale", "Multiply an array.")
    assert scale.__module__ == __name__


def test_it_goes_to_other_processes() -> None:
    twin = pickle.loads(cloudpickle.dumps(scale))
    array = numbers()
    run(twin[100](array, 2.0, 100))
    assert array.data.tolist() == [2 * i for i in range(100)]


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (
            lambda: scale[100](numbers(), 2.0),
            "'scale': missing a required argument: 'count'; its arguments: array, factor, count",
        ),
        (lambda: scale[100](numbers(), 2.0, 100, 7), "kernel 'scale': too many positional"),
        (
            lambda: scale[100](numbers(), 2.0, coumt=100),
            "'scale': missing a required argument: 'count'; did you mean 'count'?; its arguments",
        ),
        (
            lambda: scale[100](numbers(), 2.0, 100, cont=100),
            "kernel 'scale': got an unexpected keyword argument 'cont'; did you mean 'count'?",
        ),
        (
            lambda: scale(numbers(), 2.0, 100),
            "'scale' is launched without a shape: write scale[threads](...), or scale[grid, block]",
        ),
        (lambda: scale[0], "kernel 'scale': 0 is no shape; allowed: a number of threads, grid"),
        (lambda: scale[2, 0], r"kernel 'scale': (2, 0) is no shape"),
        (lambda: scale[(1, 1, 1, 1), 32], "is no shape"),
        (lambda: scale["100"], "kernel 'scale': '100' is no shape"),
        (lambda: scale[1, 2, 3], "kernel 'scale': (1, 2, 3) is no shape"),
    ],
)
def test_mistakes_name_kernel_and_argument(launch: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        launch()


def test_a_kernel_returns_nothing() -> None:
    @kernel("returning", registers=8)
    def returning(k: BlockTracer) -> Any:
        return k.t

    with pytest.raises(UserError, match="kernel 'returning' returns array"):
        run(returning[32]())


def test_needs_depend_on_arguments_that_there_are() -> None:
    def body(k: BlockTracer, rows: int) -> None:
        k.compute(1)

    message = "kernel 'odd' has no argument 'row'; did you mean 'rows'?, on which"
    with pytest.raises(UserError, match=re.escape(message)):
        kernel("odd", registers=8, shared=lambda row: 4 * row)(body)

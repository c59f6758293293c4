"""The ISPASS 2009 collection's lps and nn: what they compute, and what their warps do."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.programs.ispass.lps import pitch_of
from gpusim.programs.ispass.nn import activation
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Start,
    Warp,
    compute,
    load,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"ispass_nn": {}, "lps": {}}

# -- lps -------------------------------------------------------------------------------------------


def jacobi(old: np.ndarray) -> np.ndarray:
    """Means of the six neighbours; the surface stays."""
    new = old.copy()
    near = [np.roll(old, shift, axis) for axis in range(3) for shift in (-1, 1)]
    inner = (slice(1, -1),) * 3
    new[inner] = np.mean(near, axis=0)[inner]
    return new


def three_steps(width: int, height: int, depth: int) -> Run:
    outer = (depth, height, pitch_of(width))

    def scatter(arrays: Arrays) -> None:
        arrays["u1"][:] = np.random.default_rng(1).random(arrays["u1"].size)

    def results(before: Arrays) -> Arrays:
        expected = before["u1"].reshape(outer)[:, :, :width].astype(float)
        for _ in range(3):
            expected = jacobi(expected)
        written = np.zeros(outer)  # nothing is written between the rows
        written[:, :, :width] = expected
        return {"u2": written.ravel()}

    return Run(
        "lps",
        {"width": width, "height": height, "depth": depth, "iterations": 3},
        edit=scatter,
        launches=["GPU_laplace3d"] * 3,
        arrays=["u1", "u2"],
        results=results,
    )


def marching(warp: int) -> Warp:
    """A warp of block (1, 1) goes through three planes."""
    x, y = 32, 4
    own = [128 * (y + warp) + x + lane for lane in LANES]
    border = {
        0: [128 * (y - 1) + x + lane for lane in LANES],
        1: [128 * (y + 4) + x + lane for lane in LANES],
        2: [128 * (y + j) + x + i for j in range(-1, 5) for i in (-1, 32)],
        3: [],
    }[warp]

    def loads(z: int) -> list[Operation]:
        found = [load("u2", [at + z * 12800 for at in part]) for part in (own, border) if part]
        return [*found, *[WAIT, shared()] * len(found)]

    def plane(z: int) -> list[Operation]:
        shuffle = [compute(57), *[shared()] * (8 if border else 4)]
        value = [*[shared()] * 6, compute(6)] if z == 1 else [shared()]
        following = loads(z + 1) if z < 2 else []
        result = store("u1", [place + z * 12800 for place in own])
        return [*shuffle, *following, BARRIER, *value, result, BARRIER]

    return Warp(
        "lps",
        {"depth": 3, "iterations": 2},
        launch=1,
        block=4 + 1,
        warp=warp,
        geometry=("GPU_laplace3d", 4 * 25, 128, 21, 2448),
        operations=[compute(20), *loads(0), *plane(0), *plane(1), *plane(2)],
    )


def at_the_edge(warp: int, block: int, loads: list[list[int]]) -> Warp:
    """The volume's edge has no border."""

    def check(operations: list[Operation]) -> None:
        assert [op[2] for op in operations if op[0] == "LOAD"] == loads

    return Warp("lps", {"depth": 1}, block=block, warp=warp, operations=check)


def rows_are_pitched() -> None:
    assert [pitch_of(width) for width in (1, 100, 128, 129)] == [128, 128, 128, 256]
    buffers = Start("lps").application().buffers
    assert [(b.name, b.bytes) for b in buffers] == [("u1", 5_120_000), ("u2", 5_120_000)]


def the_surface_is_hot() -> None:
    sizes = {"width": 5, "height": 4, "depth": 3}
    memory = Start("lps", sizes).application().memory
    volume = memory["u1"].data.reshape(3, 4, -1)[:, :, :5]
    assert volume.sum() == 5 * 4 * 3 - 3 * 2 * 1
    assert not volume[1, 1:3, 1:4].any()


# -- ispass_nn -------------------------------------------------------------------------------------

SMALL = {"images": 2, "maps": 3, "hidden": 4}
LAYERS = [f"execute{number}Layer" for number in ("First", "Second", "Third", "Fourth")]


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


def answers(before: Arrays) -> Arrays:
    units = [6, SMALL["maps"], SMALL["hidden"], 10]
    w = [before[f"weights{layer}"].reshape(n, -1) for layer, n in enumerate(units, 1)]
    found = []
    for pixels in before["neurons1"].reshape(2, 1, 29, 29):
        second = convolved(convolved(pixels, w[0], 13), w[1], 5).ravel()
        third = activation(w[2][:, 0] + w[2][:, 1:] @ second)
        found.append(activation(w[3][:, 0] + w[3][:, 1:] @ third))
    return {"neurons5": np.concatenate(found)}


def geometry_and_footprint_are_the_suites() -> None:
    application = Start("ispass_nn").application()
    shapes = [(launch.blocks, launch.threads_per_block) for launch in application.launches()]
    assert shapes == [(6 * 28, 169), (50 * 28, 25), (100 * 28, 1), (10 * 28, 1)]
    assert application.memory["weights3"].length == 100 * 1251
    assert sum(buffer.bytes for buffer in application.buffers) == pytest.approx(0.9e6, rel=0.05)


def neurons_and_weights_in_turn(operations: list[Operation]) -> None:
    first = 76  # weights of the second neuron
    start = [compute(20), load("weights3", [first]), WAIT]
    one = [load("neurons3", [75]), load("weights3", [first + 1]), WAIT, compute(5)]
    assert operations[:7] == [*start, *one]
    assert operations[-1] == store("neurons4", [4 + 1])


RUNS = [
    *(three_steps(*sizes) for sizes in ((40, 10, 6), (64, 8, 3), (1, 1, 1), (33, 5, 2))),
    Run(
        "ispass_nn",
        SMALL,
        seed=3,
        launches=LAYERS,
        arrays=[f"{kind}{n}" for n in range(1, 5) for kind in ("neurons", "weights")]
        + ["neurons5"],
        results=answers,
        rel=1e-4,
    ),
]

WARPS = [
    *map(marching, range(4)),
    at_the_edge(0, 0, [LANES]),  # no row before
    at_the_edge(1, 0, [[128 + lane for lane in LANES], [128 * 4 + lane for lane in LANES]]),
    at_the_edge(  # the right side only
        2, 0, [[2 * 128 + lane for lane in LANES], [128 * row + 32 for row in range(5)]]
    ),
    at_the_edge(0, 3, [[96 + lane for lane in range(4)]]),  # 100 = 3 * 32 + 4
    Warp(
        "ispass_nn",
        SMALL,
        launch=2,
        block=4 + 1,
        geometry=("executeThirdLayer", 8, 1, 16, 0),
        operations=neurons_and_weights_in_turn,
    ),
]

CHECKS = [rows_are_pitched, the_surface_is_hot, geometry_and_footprint_are_the_suites]

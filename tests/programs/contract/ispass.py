"""The ISPASS 2009 collection: what its programs compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.programs.ispass.lps import pitch_of
from gpusim.programs.ispass.nn import activation
from gpusim.programs.ispass.ray import SCENE
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
    operations_of,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"ispass_nn": {}, "lps": {}, "ray": {}}

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
        program="lps",
        parameters={"width": width, "height": height, "depth": depth, "iterations": 3},
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
        program="lps",
        parameters={"depth": 3, "iterations": 2},
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

    return Warp(program="lps", parameters={"depth": 1}, block=block, warp=warp, operations=check)


def rows_are_pitched() -> None:
    assert [pitch_of(width) for width in (1, 100, 128, 129)] == [128, 128, 128, 256]
    buffers = Start(program="lps").application().buffers
    assert [(b.name, b.bytes) for b in buffers] == [("u1", 5_120_000), ("u2", 5_120_000)]


def the_surface_is_hot() -> None:
    sizes = {"width": 5, "height": 4, "depth": 3}
    memory = Start(program="lps", parameters=sizes).application().memory
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
    application = Start(program="ispass_nn").application()
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


# -- ray -------------------------------------------------------------------------------------------

LIGHT = np.array([10.0, 10.0, 10.0])


def hit(number: int, origin: np.ndarray, direction: np.ndarray) -> float:
    """How far a ray goes to a body, by the quadratic equation; 0 if it misses it."""
    body = SCENE[number]
    centre = body.centre[:, 0].astype(float)
    if body.plane:
        if abs(direction[1]) < 1e-4:
            return 0.0
        return float(max((centre[1] - origin[1]) / direction[1], 0.0))
    a, b = direction @ direction, 2 * direction @ (origin - centre)
    c = (origin - centre) @ (origin - centre) - body.radius**2
    roots = np.roots([a, b, c])
    if np.iscomplexobj(roots) and abs(roots[0].imag) > 0:
        return 0.0
    ahead = [float(root) for root in roots.real if root > 0]
    return min(ahead, default=0.0)


def colour(origin: np.ndarray, direction: np.ndarray, depth: int = 0) -> np.ndarray:
    """What a ray sees, recursively."""
    ways = [hit(number, origin, direction) for number in range(4)]
    if depth == 5 or not any(ways):
        return np.array([0.0, 0.0, 0.0, 1.0 if depth == 0 else 0.0])
    way, number = min((way, n) for n, way in enumerate(ways) if way > 0)
    body = SCENE[number]
    place = origin + direction * way
    normal = np.array([0.0, 1.0, 0.0]) if body.plane else place - body.centre[:, 0]
    normal = normal / np.linalg.norm(normal)
    to_light = (LIGHT - place) / np.linalg.norm(LIGHT - place)
    to_eye = (origin - place) / np.linalg.norm(origin - place)
    facing = -normal if normal @ to_eye < 0 else normal
    own = body.colour[:, 0].astype(float)
    seen = 0.05 * own
    if facing @ to_light > 0 and not in_shadow(place, to_light):
        middle = (to_light + to_eye) / np.linalg.norm(to_light + to_eye)
        shine = 0.8 * float(np.clip(facing @ middle, 0, 1)) ** 50
        diffuse = 0.3 * own * float(np.minimum(1, facing @ to_light))
        seen = seen + diffuse + np.array([shine] * 3 + [0])
    reflected = 2 * normal * (normal @ to_eye) - to_eye
    reflected /= np.linalg.norm(reflected)
    return np.asarray(seen + 0.8 * colour(place + reflected * 1e-4, reflected, depth + 1))


def in_shadow(place: np.ndarray, to_light: np.ndarray) -> bool:
    """The suite compares the distance of the obstacle from the origin, not from the place."""
    for number in range(4):
        way = hit(number, place + to_light * 1e-4, to_light)
        end = place + to_light * way
        if way > 0 and end @ end <= (LIGHT - place) @ (LIGHT - place):
            return True
    return False


def picture(width: int, height: int) -> Run:
    def check(output: np.ndarray) -> None:
        found = np.stack([output >> shift & 255 for shift in (0, 8, 16, 24)], axis=1)
        ahead = np.array([0, -0.5, -2.0]) / np.hypot(0.5, 2)
        over = np.array([0, 1.0, 0]) - ahead[1] * ahead
        over /= np.linalg.norm(over)
        aside = np.cross(ahead, over)
        size, focus = 2 / min(width, height), 1 / np.tan(np.radians(65) / 2)
        differing = 0
        for pixel in range(width * height):
            y, x = divmod(pixel, width)
            right, high = (x - width / 2) * size, (y - height / 2) * size
            direction = ahead * focus + aside * right + over * high
            direction /= np.linalg.norm(direction)
            expected = np.clip(colour(np.array([0, 0.5, 2.0]), direction), 0, 1) * 255
            differing += np.abs(expected - found[pixel]).max() > 1.5
        assert differing <= 0.02 * width * height, "but where a ray grazes an edge"
        assert len(np.unique(output)) > 20

    return Run(
        program="ray",
        parameters={"width": width, "height": height},
        launches=["render"],
        results=lambda before: {"output": check},
    )


def a_ray_that_meets_nothing() -> list[Operation]:
    rows = [(60 + lane // 16) * 64 + 48 + lane % 16 for lane in LANES]
    frame = (31 * 4 + 2) * 5 * 32
    pile = [[frame + 32 * level + lane for lane in LANES] for level in range(5)]
    return [
        compute(8),
        *[store("local", level) for level in pile],
        store("output", rows),
        compute(100),
        BARRIER,
        compute(240),
        load("local", pile[0]),
        load("output", rows),
        WAIT,
        compute(40),
        store("output", rows),
    ]


def colours_of_16_bytes_are_mixed_backwards() -> None:
    program = Start(program="ray", parameters={"width": 64, "height": 64}).application()
    kernel = next(program.launches())
    chunk = next(iter(kernel.run_block(13, 32)))
    assert chunk.size[:6].tolist() == [16] * 5 + [4]
    seen = [operations_of(kernel, program, block) for block in range(kernel.blocks)]
    surfaces = [operations.count(compute(120)) for operations in seen]
    assert max(surfaces) == 5
    block = surfaces.index(2)
    mixed = [("LOAD", "local"), ("LOAD", "local"), ("WAIT", 0), ("COMPUTE", 8), ("STORE", "local")]
    shown = [("LOAD", "local"), ("LOAD", "output"), ("WAIT", 0), ("COMPUTE", 40)]
    kinds = [op[:2] for op in seen[block]]
    assert kinds[-10:] == [*mixed, *shown, ("STORE", "output")]
    first, second = (op[2] for op in seen[block][-10:-8])
    assert [other - one for one, other in zip(first, second, strict=True)] == [32] * len(first)
    assert first[0] // 160 == block * 4, "the frame of the warp"


def blocks_that_share_local_memory_do_not_disturb_each_other() -> None:
    """256 blocks have 240 areas: what lies there differs with their order, the picture does not."""
    start = Start(program="ray", parameters={"width": 256, "height": 128})
    pictures, did = [], []
    for order in (1, -1):
        program = start.application()
        launch = next(program.launches())
        assert launch.blocks > 240
        found = {
            block: [(chunk.kind.tobytes(), chunk.address.tobytes()) for chunk in chunks]
            for block in range(launch.blocks)[::order]
            if (chunks := list(launch.run_block(block, 32)))
        }
        did.append(found)
        pictures.append(program.memory["output"].data)
    assert did[0] == did[1]
    assert np.array_equal(*pictures)


def four_pixels(operations: list[Operation]) -> None:
    assert [op[2] for op in operations if op[1] == "output"] == [[176, 177, 178, 179]] * 3


def outside(operations: list[Operation]) -> None:
    assert [op[:2] for op in operations[1:]] == [("STORE", "local")] * 5 + [("BARRIER", 0)]


def arrays_lie_in_the_order_of_the_suite() -> None:
    buffers = Start(program="ray").application().buffers
    assert [(buffer.name, buffer.bytes) for buffer in buffers] == [
        ("output", 1 << 18),
        ("node", 160),
        ("temp", 1 << 18),
        ("nObj", 1 << 18),
        ("prof", 1 << 18),
        ("ray", 6 << 18),
        ("A", 3 << 18),
        ("u", 3 << 18),
        ("local", 240 * 128 * 80),
    ]


RUNS = [
    *(three_steps(*sizes) for sizes in ((40, 10, 6), (64, 8, 3), (1, 1, 1), (33, 5, 2))),
    Run(
        program="ispass_nn",
        parameters=SMALL,
        seed=3,
        launches=LAYERS,
        arrays=[f"{kind}{n}" for n in range(1, 5) for kind in ("neurons", "weights")]
        + ["neurons5"],
        results=answers,
        rel=1e-4,
    ),
    picture(24, 16),
    picture(19, 21),
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
        program="ispass_nn",
        parameters=SMALL,
        launch=2,
        block=4 + 1,
        geometry=("executeThirdLayer", 8, 1, 16, 0),
        operations=neurons_and_weights_in_turn,
    ),
    Warp(
        program="ray",
        parameters={"width": 64, "height": 64},
        block=31,
        warp=2,
        geometry=("render", 32, 128, 40, 0),
        operations=a_ray_that_meets_nothing(),
    ),
    Warp(
        program="ray",
        parameters={"width": 20, "height": 9},
        block=3,
        geometry=("render", 4, 128, 40, 0),
        operations=four_pixels,
    ),
    Warp(
        program="ray",
        parameters={"width": 20, "height": 9},
        block=3,
        warp=1,
        operations=outside,
    ),
]

CHECKS: list[Any] = [
    rows_are_pitched,
    the_surface_is_hot,
    geometry_and_footprint_are_the_suites,
    colours_of_16_bytes_are_mixed_backwards,
    blocks_that_share_local_memory_do_not_disturb_each_other,
    arrays_lie_in_the_order_of_the_suite,
]

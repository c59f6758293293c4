"""The ISPASS 2009 collection's ray: its picture, and what its warps do."""

from __future__ import annotations

import numpy as np

from gpusim.programs.ispass.ray import SCENE
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Operation,
    Run,
    Start,
    Warp,
    compute,
    load,
    operations_of,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"ray": {}}

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
        "ray",
        {"width": width, "height": height},
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
    program = Start("ray", {"width": 64, "height": 64}).application()
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
    start = Start("ray", {"width": 256, "height": 128})
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
    buffers = Start("ray").application().buffers
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


RUNS = [picture(24, 16), picture(19, 21)]

WARPS = [
    Warp(
        "ray",
        {"width": 64, "height": 64},
        block=31,
        warp=2,
        geometry=("render", 32, 128, 40, 0),
        operations=a_ray_that_meets_nothing(),
    ),
    Warp(
        "ray",
        {"width": 20, "height": 9},
        block=3,
        geometry=("render", 4, 128, 40, 0),
        operations=four_pixels,
    ),
    Warp("ray", {"width": 20, "height": 9}, block=3, warp=1, operations=outside),
]

CHECKS = [
    colours_of_16_bytes_are_mixed_backwards,
    blocks_that_share_local_memory_do_not_disturb_each_other,
    arrays_lie_in_the_order_of_the_suite,
]

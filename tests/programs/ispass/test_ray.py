"""ray: its picture, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.ispass.ray import SCENE, Ray, RayParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run_backwards, run_forwards

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
        seen = (
            seen + 0.3 * own * float(np.minimum(1, facing @ to_light)) + np.array([shine] * 3 + [0])
        )
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


@pytest.mark.parametrize(("width", "height"), [(24, 16), (19, 21)])
def test_the_picture(width: int, height: int) -> None:
    program = Ray(RayParameters(width, height), 0)
    assert drain(program) == ["render"]
    found = np.stack([program.result.data >> shift & 255 for shift in (0, 8, 16, 24)], axis=1)
    ahead = np.array([0, -0.5, -2.0]) / np.hypot(0.5, 2)
    over = np.array([0, 1.0, 0]) - ahead[1] * ahead
    over /= np.linalg.norm(over)
    aside = np.cross(ahead, over)
    size, focus = 2 / min(width, height), 1 / np.tan(np.radians(65) / 2)
    differing = 0
    for pixel in range(width * height):
        y, x = divmod(pixel, width)
        direction = ahead * focus + aside * (x - width / 2) * size + over * (y - height / 2) * size
        direction /= np.linalg.norm(direction)
        expected = np.clip(colour(np.array([0, 0.5, 2.0]), direction), 0, 1) * 255
        differing += np.abs(expected - found[pixel]).max() > 1.5
    assert differing <= 0.02 * width * height, "but where a ray grazes an edge"
    assert len(np.unique(program.result.data)) > 20


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Ray(RayParameters(256, 128), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.result.data == other.result.data).all()


def test_a_ray_that_meets_nothing() -> None:
    program = Ray(RayParameters(64, 64), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (32, 128)
    operations = warp_operations(kernel, program, block=31, warp=2)
    rows = [(60 + lane // 16) * 64 + 48 + lane % 16 for lane in LANES]
    frame = (31 * 4 + 2) * 5 * 32
    assert operations == [
        ("COMPUTE", 8, []),
        *[("STORE", "local", [frame + 32 * level + lane for lane in LANES]) for level in range(5)],
        ("STORE", "output", rows),
        ("COMPUTE", 100, []),
        ("BARRIER", 0, []),
        ("COMPUTE", 240, []),
        ("LOAD", "local", [frame + lane for lane in LANES]),
        ("LOAD", "output", rows),
        ("WAIT", 0, []),
        ("COMPUTE", 40, []),
        ("STORE", "output", rows),
    ]


def test_colours_of_16_bytes_are_mixed_backwards() -> None:
    program = Ray(RayParameters(64, 64), 0)
    kernel = nth_launch(program, 0)
    chunk = next(iter(kernel.run_block(13, 32)))
    assert chunk.size[:6].tolist() == [16] * 5 + [4]
    seen = [warp_operations(kernel, program, block=block) for block in range(kernel.blocks)]
    surfaces = [operations.count(("COMPUTE", 120, [])) for operations in seen]
    assert max(surfaces) == 5
    block = surfaces.index(2)
    kinds = [op[:2] for op in seen[block]]
    assert kinds[-10:] == [
        ("LOAD", "local"),
        ("LOAD", "local"),
        ("WAIT", 0),
        ("COMPUTE", 8),
        ("STORE", "local"),
        ("LOAD", "local"),
        ("LOAD", "output"),
        ("WAIT", 0),
        ("COMPUTE", 40),
        ("STORE", "output"),
    ]
    first, second = (op[2] for op in seen[block][-10:-8])
    assert [other - one for one, other in zip(first, second, strict=True)] == [32] * len(first)
    assert first[0] // 160 == block * 4, "the frame of the warp"


def test_pixels_outside_the_picture() -> None:
    program = Ray(RayParameters(20, 9), 0)
    kernel = nth_launch(program, 0)
    assert kernel.blocks == 4
    operations = warp_operations(kernel, program, block=3)
    assert [op[2] for op in operations if op[1] == "output"] == [[176, 177, 178, 179]] * 3
    idle = warp_operations(kernel, program, block=3, warp=1)
    assert [op[:2] for op in idle[1:]] == [("STORE", "local")] * 5 + [("BARRIER", 0)]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Ray(RayParameters(), 0)
    sizes = {buffer.name: buffer.bytes for buffer in program.buffers}
    assert list(sizes.items()) == [
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

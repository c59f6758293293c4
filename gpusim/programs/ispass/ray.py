"""ray: ray tracing of three spheres above a plane, with reflections and shadows."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = (16, 8, 1)
BOUNCES = 5
"""Surfaces that a ray meets at most; each has a colour in the pile."""

WARP = 32
"""Threads whose local memory is interleaved; a wavefront of 64 has two such frames."""

RESIDENT = 30 * 8
"""Thread blocks with local memory of their own: 8 on each of 30 SMs (our choice)."""

FARTHEST = np.float32(10_000)
OFFSET = np.float32(1e-4)

Vectors = NDArray[np.float32]
"""(3, n), or (3, 1) for all."""
Reals = NDArray[np.float32]

COLOUR = np.dtype([("rgba", np.float32, 4)])
"""A colour of the pile: 16 bytes, one access."""

Colours = gpu.DeviceArray[np.void]
Rays = tuple[Vectors, Vectors, gpu.Lanes, Reals]
"""Origins and directions, which body each ray meets first, and how far that is."""


def _vector(x: float, y: float, z: float) -> Vectors:
    return np.array([[x], [y], [z]], dtype=np.float32)


LIGHT = _vector(10, 10, 10)
UP = _vector(0, 1, 0)


@frozen(eq=False)
class Body:
    """A sphere, or the plane through its centre.

    Attributes:
        centre: (3, 1).
        radius: of a sphere.
        colour: (4, 1) red, green, blue, opacity.
        plane: whether it is a plane, with its normal along y.
    """

    centre: Vectors
    radius: float
    colour: Reals
    plane: bool = False

    def meet(self, origin: Vectors, direction: Vectors) -> Reals:
        """(n,) how far each ray goes to it; 0 if it misses it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.plane:
                way = (self.centre - origin)[1] / direction[1]
                return np.where((np.abs(direction[1]) >= OFFSET) & (way > 0), way, np.float32(0))
            to_centre = self.centre - origin
            along, squared = _dot(to_centre, direction), _dot(to_centre, to_centre)
            radius2 = np.float32(self.radius**2)
            beside = squared - along * along
            half = np.sqrt(radius2 - beside)
        behind = (along < 0) & (squared > radius2)
        way = np.where(squared > radius2, along - half, along + half)
        return np.where(behind | (beside > radius2), np.float32(0), way)

    def normal(self, place: Vectors) -> Vectors:
        """(3, n) the normal at a place of its surface."""
        return np.broadcast_to(UP, place.shape) if self.plane else _unit(place - self.centre)


def _colour(red: float, green: float, blue: float) -> Reals:
    return np.array([[red], [green], [blue], [1]], dtype=np.float32)


SCENE = (
    Body(_vector(0, -1.5, 0), 0.5, _colour(0, 1, 1), plane=True),
    Body(_vector(-1, 0, -1), 0.5, _colour(1, 0, 0)),
    Body(_vector(1, 0, -1), 0.5, _colour(0, 0, 1)),
    Body(_vector(0, 0, -2), 0.75, _colour(0, 1, 0)),
)
"""The suite's scene; it lies in constant memory."""

EYE = _vector(0, 0.5, 2)
ANGLE = np.deg2rad(65.0)


def _dot(a: Vectors, b: Vectors) -> Reals:
    product: Reals = (a * b).sum(axis=0)
    return product


def _unit(a: Vectors) -> Vectors:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(a, np.sqrt(_dot(a, a)), dtype=np.float32)


def first_rays(x: NDArray[np.int64], y: NDArray[np.int64], width: int, height: int) -> Vectors:
    """(3, n) directions from the eye through pixels."""
    ahead = _unit(-EYE)
    over = _unit(UP - _dot(ahead, UP) * ahead)
    aside = _unit(np.cross(ahead, over, axis=0))
    size = np.float32(2 / min(width, height))
    right = (x.astype(np.float32) - np.float32(width / 2)) * size
    high = (y.astype(np.float32) - np.float32(height / 2)) * size
    focus = np.float32(1 / np.tan(ANGLE / 2))
    return _unit(ahead * focus + aside * right + over * high)


def nearest(origin: Vectors, direction: Vectors) -> tuple[NDArray[np.int64], Reals]:
    """The first body that each ray meets, and how far it is; `FARTHEST` if there is none."""
    ways = np.stack([body.meet(origin, direction) for body in SCENE])
    ways = np.where(ways > 0, ways, FARTHEST)
    which = ways.argmin(axis=0)
    return which, ways.min(axis=0)


def lit(place: Vectors, to_light: Vectors) -> gpu.Mask:
    """(n,) whether nothing stands between a place and the light."""
    origin = place + to_light * OFFSET
    distance2 = _dot(LIGHT - place, LIGHT - place)
    shadow = np.zeros(place.shape[1], dtype=bool)
    for body in SCENE:
        way = body.meet(origin, to_light)
        end = place + to_light * way
        shadow |= (way > 0) & (_dot(end, end) <= distance2)
    return ~shadow


def packed(colour: Reals) -> NDArray[np.uint32]:
    """(n,) four bytes of a colour (4, n), red lowest."""
    byte = (np.clip(colour, 0, 1) * np.float32(255)).astype(np.uint32)
    pixel: NDArray[np.uint32] = byte[0] | byte[1] << 8 | byte[2] << 16 | byte[3] << 24
    return pixel


@gpu.kernel("render", registers=40, in_step=True)
def render(
    k: gpu.BlockTracer, result: gpu.Words, local: Colours, width: int, height: int
) -> gpu.Steps:
    """One pixel a thread; its ray is followed over at most five surfaces.

    S pile five times; S result 0; barrier; for each surface: four bodies from constant memory,
    without traffic; if one is met: S pile[i], and if the light reaches it, S pile[i] again; then
    backwards {L pile[i - 1], L pile[i], S pile[i - 1]}; L pile[0], L result, S result.  The pile is
    indexed by a variable and therefore in local memory: 16 bytes a colour, and neighbouring
    threads side by side.  Blocks use `RESIDENT` areas of it in turn, as if no more of them were
    in residence; what a thread reads back is what it wrote, even if another block has overwritten
    it here.  40 registers; 240 instructions for the bodies, 120 for a surface, 240 for its shadow,
    80 for its light: our choices, of such a size that the suite's picture has 69 million
    instructions of threads, where 71 million are published (ISPASS 2009, Table 1).
    """
    x, y = k.bx * BLOCK[0] + k.tx, k.by * BLOCK[1] + k.ty
    inside = (x < width) & (y < height)
    pixel = y * width + x
    k.compute(gpu.PROLOGUE)
    pile = np.zeros((BOUNCES, 4, k.threads), dtype=np.float32)
    pile[:, 3] = 1
    for level in range(BOUNCES):
        _push(k, local, pile, level)
    k.store(result, pixel, 0, inside)
    k.compute(100, inside)
    k.barrier()
    direction = first_rays(x, y, width, height)
    origin = np.broadcast_to(EYE, direction.shape)
    met = np.zeros(k.threads, dtype=np.int64)
    active = inside
    for level in range(BOUNCES):
        k.compute(240, active)
        which, way = nearest(origin, direction)
        active = active & (way < FARTHEST)
        if not active.any():
            break
        rays = origin, direction, which, way
        origin, direction = _surface(k, local, pile, level, rays, active)
        met[active] += 1
        yield
    _mix(k, local, pile, met)
    _pop(k, local, 0, inside)
    k.fetch(result, pixel, inside)
    k.compute(40, inside)
    k.store(result, pixel, packed(pile[0]), inside)


def _surface(
    k: gpu.BlockTracer, local: Colours, pile: Reals, level: int, rays: Rays, where: gpu.Mask
) -> tuple[Vectors, Vectors]:
    """The colour of a surface goes to the pile; returns the reflected rays."""
    origin, direction, which, way = rays
    place = origin + direction * way
    normals = np.stack([body.normal(place) for body in SCENE])
    normal = normals[which, :, np.arange(k.threads)].T
    colour = np.concatenate([body.colour for body in SCENE], axis=1)[:, which]
    to_light, to_eye = _unit(LIGHT - place), _unit(origin - place)
    facing = np.where(_dot(to_eye, normal) < 0, -normal, normal)
    k.compute(120, where)
    pile[level] = np.where(where, np.float32(0.05) * colour, pile[level])
    _push(k, local, pile, level, where)
    bright = where & (_dot(facing, to_light) > 0)
    k.compute(240, bright)
    bright = bright & lit(place, to_light)
    k.compute(80, bright)
    with np.errstate(invalid="ignore"):  # rays that met nothing
        diffuse = np.float32(0.3) * colour * np.minimum(1, _dot(facing, to_light))
        shine = np.float32(0.8) * np.clip(_dot(facing, _unit(to_light + to_eye)), 0, 1) ** 50
    light = diffuse + np.stack((shine, shine, shine, np.zeros_like(shine)))
    pile[level] = np.where(bright, pile[level] + light, pile[level])
    _push(k, local, pile, level, bright)
    k.compute(40, where)
    reflected = _unit(2 * normal * _dot(normal, to_eye) - to_eye)
    return place + reflected * OFFSET, reflected


def _mix(k: gpu.BlockTracer, local: Colours, pile: Reals, met: gpu.Lanes) -> None:
    """Each surface shows four fifths of what the next one shows."""
    for level in range(BOUNCES - 1, 0, -1):
        where = met > level
        _pop(k, local, level - 1, where)
        _pop(k, local, level, where)
        k.wait(0, where)
        k.compute(8, where)
        mixed = pile[level - 1] + np.float32(0.8) * pile[level]
        pile[level - 1] = np.where(where, mixed, pile[level - 1])
        _push(k, local, pile, level - 1, where)


def _place(k: gpu.BlockTracer, level: int) -> gpu.Lanes:
    """Where each thread's colour of a level lies."""
    block = (k.by * k.shape.grid[0] + k.bx) % RESIDENT
    thread: gpu.Lanes = block * k.shape.threads + k.tid
    return (thread // WARP * BOUNCES + level) * WARP + thread % WARP


def _push(
    k: gpu.BlockTracer, local: Colours, pile: Reals, level: int, where: gpu.Mask | None = None
) -> None:
    value = np.empty(k.threads, dtype=COLOUR)
    value["rgba"] = pile[level].T
    k.store(local, _place(k, level), value, where)


def _pop(k: gpu.BlockTracer, local: Colours, level: int, where: gpu.Mask) -> None:
    k.load(local, _place(k, level), where)


@gpu.program("ray")
def ray(
    memory: gpu.AddressSpace,
    _seed: int,
    width: int = gpu.number(256),
    height: int = gpu.number(256),
) -> gpu.Launches:
    """One picture, in one launch.

    Scene, view, launch geometry and arrays are those of the public source.  Arrays in the order
    output, node, temp, nObj, prof, ray, A, u, of which only output is accessed (the kernel reads
    the scene from constant memory), then the local memory.  There is nothing random.

    Parameters:
        width, height: of the picture (the suite: 256 x 256).
    """
    pixels = width * height
    grid = -(-width // BLOCK[0]), -(-height // BLOCK[1])
    result = memory.zeros("output", pixels, np.uint32)
    unused = np.zeros(1, dtype=np.float32)
    sizes = ("node", 10 * len(SCENE)), ("temp", pixels), ("nObj", pixels), ("prof", pixels)
    vectors = ("ray", 6 * pixels), ("A", 3 * pixels), ("u", 3 * pixels)
    for name, words in (*sizes, *vectors):
        memory.allocate(name, np.broadcast_to(unused, words))
    frames = min(RESIDENT, grid[0] * grid[1]) * BLOCK[0] * BLOCK[1]
    local = memory.allocate("local", np.zeros(frames * BOUNCES, dtype=COLOUR))
    yield render[grid, BLOCK](result, local, width, height)

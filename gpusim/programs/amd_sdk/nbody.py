"""nbody: bodies that attract each other, all pairs, a tile of bodies in shared memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 256
TIME_STEP, SOFTENING = np.float32(0.005), np.float32(50)
START, FIRST, TILE, TILE_STORE, BODY, TILE_END, END, MOVED = 14, 38, 7, 4, 22, 10, 14, 13
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: before the first load
and after it; of a tile before its load, after it, a body, after the tile; before the load of the
velocity and after it."""


@gpu.kernel("nbody_sim", registers=20, block=BLOCK, shared=16 * BLOCK, in_step=True)
def move(
    k: gpu.BlockTracer,
    position: gpu.Vectors,
    velocity: gpu.Vectors,
    new_position: gpu.Vectors,
    new_velocity: gpu.Vectors,
) -> gpu.Steps:
    """A body a thread: its acceleration by all, then its next place and velocity.

    Tiles of 256 bodies go through shared memory, whose 256 loads, the same for all lanes, and the
    instructions of a tile's bodies are counted together.
    """
    k.compute(START)
    own = k.load(position, k.t)
    k.compute(FIRST)
    here = _floats(own)
    force = np.zeros((k.threads, 3), dtype=np.float32)
    bodies = _floats(position.data)
    for first in range(0, position.length, BLOCK):
        k.compute(TILE)
        k.load(position, first + k.tx)
        k.wait()
        k.compute(TILE_STORE)
        k.shared(1)
        k.barrier()
        k.shared(1, times=BLOCK)
        k.compute(BODY * BLOCK)
        k.barrier()
        k.compute(TILE_END)
        force += _attraction(here, bodies[first : first + BLOCK])
        yield
    k.compute(END)
    before = _floats(k.load(velocity, k.t))
    k.wait()
    k.compute(MOVED)
    place, speed = here.copy(), before.copy()
    place[:, :3] += before[:, :3] * TIME_STEP + force * np.float32(0.5) * TIME_STEP * TIME_STEP
    speed[:, :3] += force * TIME_STEP
    k.store(new_position, k.t, _vectors(place))
    k.store(new_velocity, k.t, _vectors(speed))
    k.compute(1)


def _attraction(here: NDArray[np.float32], bodies: NDArray[np.float32]) -> NDArray[np.float32]:
    """(threads, 3) the accelerations of bodies `here` by others; the last component is the mass."""
    apart = bodies[None, :, :3] - here[:, None, :3]
    inverse = 1 / np.sqrt((apart**2).sum(axis=2) + SOFTENING)
    pull: NDArray[np.float32] = ((bodies[:, 3] * inverse**3)[:, :, None] * apart).sum(axis=1)
    return pull


def _floats(vectors: NDArray[np.void]) -> NDArray[np.float32]:
    return np.ascontiguousarray(vectors).view(np.float32).reshape(-1, 4)


def _vectors(floats: NDArray[np.float32]) -> NDArray[np.void]:
    return np.ascontiguousarray(floats).view(gpu.FLOAT4).reshape(-1)


@gpu.program("nbody")
def nbody(
    memory: gpu.AddressSpace,
    seed: int,
    bodies: int = gpu.number(1024, BLOCK, 1 << 20, multiple=BLOCK),
    iterations: int = gpu.number(8),
) -> gpu.Launches:
    """Random bodies of random mass at rest, moved in steps of 5 ms.

    Arrays in the order position, new_position, velocity, new_velocity: three coordinates and the
    mass, from 0 to 50 and from 1 to 1000 (our choice).  Old and new change places after a launch.

    Parameters:
        bodies: a multiple of 256 (MGPUSim: 1024).
        iterations: launches (MGPUSim: 8).
    """
    rng = np.random.default_rng(seed)
    places = 50 * rng.random((bodies, 4), dtype=np.float32)
    places[:, 3] = 1 + 999 * rng.random(bodies, dtype=np.float32)
    here = memory.allocate("position", _vectors(places))
    there = memory.zeros("new_position", bodies, gpu.FLOAT4)
    now = memory.zeros("velocity", bodies, gpu.FLOAT4)
    then = memory.zeros("new_velocity", bodies, gpu.FLOAT4)
    for _ in range(iterations):
        yield move[bodies](here, now, there, then)
        here, there, now, then = there, here, then, now

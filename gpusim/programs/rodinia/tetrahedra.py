"""The mesh of cfd: tetrahedra around a solid body, with their faces and neighbours."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

FACES = 4
WALL, FAR_FIELD = -1, -2
"""Instead of a neighbour: the solid body, and where the mesh ends."""

CUBE = 0.5
"""Side of a cube (our choice; small enough for the suite's time steps to be stable)."""

_ORDERS = tuple(permutations(range(3)))
"""Six tetrahedra fill a cube: of order (a, b, c) is the one where 1 >= x_a >= x_b >= x_c >= 0."""


@frozen(eq=False)
class Mesh:
    """Tetrahedra.

    Attributes:
        neighbours: (FACES, elements) int32, the element behind each face, or `WALL`, `FAR_FIELD`.
        normals: (3, FACES, elements) float32, x, y, z of the faces' areas, pointing outwards.
        volume: of every element.
    """

    neighbours: NDArray[np.int32]
    normals: NDArray[np.float32]
    volume: float


def make_mesh(elements: int, disorder: float, rng: np.random.Generator) -> Mesh:
    """Tetrahedra in a cube of cubes with a cubic hole of a third of its side in the middle.

    The smallest such grid is taken, and its last elements are left out.  Elements are numbered
    along the grid, x fastest, and then displaced by random numbers of a normal distribution.

    Args:
        elements: their number.
        disorder: standard deviation of the displacement, in elements.
        rng: randomness.
    """
    side = 1
    while len(_ORDERS) * _cubes(side) < elements:
        side += 1
    solid = np.zeros((side, side, side), dtype=bool)
    hole = slice((side - side // 3) // 2, (side - side // 3) // 2 + side // 3)
    solid[hole, hole, hole] = True
    cube = np.full(solid.shape, -1)
    cube[~solid] = np.arange(_cubes(side))
    z, y, x = (axis.repeat(len(_ORDERS))[:elements] for axis in np.nonzero(~solid))
    order = np.arange(elements) % len(_ORDERS)
    neighbours = np.empty((FACES, elements), dtype=np.int64)
    normals = np.zeros((3, FACES, elements), dtype=np.float32)
    for number, (a, b, c) in enumerate(_ORDERS):
        own = np.flatnonzero(order == number)
        here = np.stack((x[own], y[own], z[own]))
        behind = (
            (_moved(here, a, 1), (b, c, a), {a: 0.5}),
            (here, (b, a, c), {a: -0.5, b: 0.5}),
            (here, (a, c, b), {b: -0.5, c: 0.5}),
            (_moved(here, c, -1), (c, a, b), {c: -0.5}),
        )
        for face, (place, across, normal) in enumerate(behind):
            neighbours[face, own] = _element(place, _ORDERS.index(across), cube, elements)
            for axis, area in normal.items():
                normals[axis, face, own] = area * CUBE**2
    new_order = np.argsort(np.arange(elements) + disorder * rng.standard_normal(elements))
    number_of = np.empty(elements, dtype=np.int64)
    number_of[new_order] = np.arange(elements)
    inside = neighbours >= 0
    neighbours[inside] = number_of[neighbours[inside]]
    return Mesh(
        neighbours[:, new_order].astype(np.int32), normals[:, :, new_order], CUBE**3 / len(_ORDERS)
    )


def _cubes(side: int) -> int:
    """Cubes of a grid without those of its hole."""
    return int(side**3 - (side // 3) ** 3)


def _moved(place: NDArray[np.int64], axis: int, step: int) -> NDArray[np.int64]:
    moved = place.copy()
    moved[axis] += step
    return moved


def _element(
    place: NDArray[np.int64], order: int, cube: NDArray[np.int64], elements: int
) -> NDArray[np.int64]:
    """Numbers of the elements of one order in the cubes at (3, n) x, y, z."""
    side = len(cube)
    outside = ((place < 0) | (place >= side)).any(axis=0)
    x, y, z = np.where(outside, 0, place)
    found = cube[z, y, x]
    number = found * len(_ORDERS) + order
    number = np.where(found < 0, WALL, np.where(number < elements, number, FAR_FIELD))
    return np.where(outside, FAR_FIELD, number)

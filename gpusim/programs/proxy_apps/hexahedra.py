"""Geometry of hexahedra with eight corners, as LULESH computes it; last axis: one each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

SIDES = np.array(
    [
        [-1, -1, -1],
        [1, -1, -1],
        [1, 1, -1],
        [-1, 1, -1],
        [-1, -1, 1],
        [1, -1, 1],
        [1, 1, 1],
        [-1, 1, 1],
    ],
    dtype=np.float64,
)
"""(8, 3) on which side of the middle each corner is, along the element's own three axes."""

FACES = ((0, 1, 2, 3), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (4, 7, 6, 5))
"""Corners of each face, in turn."""

VOLUME_NEIGHBOURS = np.array(
    [
        [1, 2, 3, 4, 5, 7],
        [2, 3, 0, 5, 6, 4],
        [3, 0, 1, 6, 7, 5],
        [0, 1, 2, 7, 4, 6],
        [7, 6, 5, 0, 3, 1],
        [4, 7, 6, 1, 0, 2],
        [5, 4, 7, 2, 1, 3],
        [6, 5, 4, 3, 2, 0],
    ]
)
"""(8, 6) corners that the derivative of the volume by a corner's place depends on."""


def cross(a: Reals, b: Reals) -> Reals:
    """Cross product along the first axis."""
    return np.stack(
        (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    )


def dot(a: Reals, b: Reals) -> Reals:
    """Scalar product along the first axis."""
    product: Reals = (a * b).sum(axis=0)
    return product


def axes(corners: Reals) -> Reals:
    """(3 axes of the element, 3, n) an eighth of the sum over corners, each with its side."""
    middle: Reals = np.einsum("cj,acn->jan", SIDES, corners) / 8
    return middle


def shape_derivatives(corners: Reals) -> tuple[Reals, Reals]:
    """Derivatives of the shape functions (3, 8, n), and the volume (n,), of (3, 8, n) corners."""
    xi, eta, zeta = axes(corners)
    cofactors = np.stack((cross(eta, zeta), cross(zeta, xi), cross(xi, eta)))
    derivatives: Reals = np.einsum("cj,jan->acn", SIDES, cofactors)
    return derivatives, 8 * dot(eta, cofactors[1])


def node_normals(corners: Reals) -> Reals:
    """(3, 8, n) a quarter of the areas of the three faces at each corner."""
    normals = np.zeros_like(corners)
    for face in FACES:
        c0, c1, c2, c3 = (corners[:, corner] for corner in face)
        area = cross((c3 + c2 - c1 - c0) / 2, (c2 + c1 - c3 - c0) / 2) / 4
        for corner in face:
            normals[:, corner] += area
    return normals


def volume(corners: Reals) -> Reals:
    """(n,) volumes by three determinants."""

    def d(a: int, b: int) -> Reals:
        return corners[:, a] - corners[:, b]

    return (
        dot(d(3, 1) + d(7, 2), cross(d(6, 3), d(2, 0)))
        + dot(d(4, 3) + d(5, 7), cross(d(6, 4), d(7, 0)))
        + dot(d(1, 4) + d(2, 5), cross(d(6, 1), d(5, 0)))
    ) / 12


def characteristic_length(corners: Reals, volumes: Reals) -> Reals:
    """(n,) four volumes by the root of the largest face's squared area, as LULESH defines it."""
    largest = np.zeros_like(volumes)
    for face in FACES:
        c0, c1, c2, c3 = (corners[:, corner] for corner in face)
        f, g = (c2 - c0) - (c3 - c1), (c2 - c0) + (c3 - c1)
        largest = np.maximum(largest, dot(f, f) * dot(g, g) - dot(f, g) ** 2)
    return 4 * volumes / np.sqrt(largest)


def volume_derivative(a: Reals, b: Reals) -> Reals:
    """(n,) derivative of the volume by a coordinate of a corner.

    Args:
        a: (6, n) the next coordinate of its `VOLUME_NEIGHBOURS`.
        b: (6, n) the one after that.
    """
    derivative: Reals = (
        (a[1] + a[2]) * (b[0] + b[1])
        - (a[0] + a[1]) * (b[1] + b[2])
        + (a[0] + a[4]) * (b[3] + b[4])
        - (a[3] + a[4]) * (b[0] + b[4])
        - (a[2] + a[5]) * (b[3] + b[5])
        + (a[3] + a[5]) * (b[2] + b[5])
    ) / 12
    return derivative

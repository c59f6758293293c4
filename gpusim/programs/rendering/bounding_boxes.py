"""A tree of bounding boxes over random triangles, and where rays meet these."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Reals = NDArray[np.float32]
Numbers = NDArray[np.int64]

_MORTON_BITS = 10
"""Bits of each coordinate in a Morton code."""

_SLACK = np.float32(1 + 2e-6)
"""Boxes are this much longer for rays, so that rounding loses no triangle (Ize, "Robust BVH Ray
Traversal", JCGT 2013)."""

_LEAST = np.float32(1e-12)
"""Determinant below which a ray is parallel to a triangle."""


@frozen(eq=False)
class Boxes:
    """A complete binary tree: node *n* has the children 2 n + 1 and 2 n + 2.

    Attributes:
        low, high: (nodes, 3) corners of the boxes, leaves behind the inner nodes.
        corners: (triangles, 3, 3) a corner and the two edges from it, in the order of the leaves.
        order: (triangles,) their numbers before they were sorted.
        leaves: a power of two.
    """

    low: Reals
    high: Reals
    corners: Reals
    order: Numbers
    leaves: int


def random_triangles(count: int, seed: int) -> Reals:
    """(count, 3, 3) a corner, evenly in the unit cube, and two edges as long as gaps between."""
    rng = np.random.default_rng(seed)
    found = rng.random((count, 3, 3), dtype=np.float32)
    found[:, 1:] -= np.float32(0.5)
    found[:, 1:] *= np.float32(3 / np.cbrt(count))
    return found


def _spread(number: Numbers) -> Numbers:
    """Two zero bits between each two bits."""
    for shift, mask in ((16, 0x30000FF), (8, 0x300F00F), (4, 0x30C30C3), (2, 0x9249249)):
        number = (number | number << shift) & mask
    return number


def tree_of(triangles: Reals, leaves: int) -> Boxes:
    """The tree: triangles in the order of their centres' Morton codes, halved level by level.

    Lauterbach et al., "Fast BVH Construction on GPUs", Eurographics 2009, sort so; that the two
    halves of a node have as many triangles is our choice.
    """
    centre = triangles[:, 0] + triangles[:, 1:].sum(axis=1) / 3
    cell = np.clip(centre * (1 << _MORTON_BITS), 0, (1 << _MORTON_BITS) - 1).astype(np.int64)
    code = sum((_spread(cell[:, axis]) << axis for axis in range(3)), np.int64(0))
    order = np.argsort(code, kind="stable")
    corners = triangles[order]
    points = np.stack((corners[:, 0], corners[:, 0] + corners[:, 1], corners[:, 0] + corners[:, 2]))
    low = np.empty((2 * leaves - 1, 3), np.float32)
    high = np.empty_like(low)
    low[leaves - 1 :] = points.min(axis=0).reshape(leaves, -1, 3).min(axis=1)
    high[leaves - 1 :] = points.max(axis=0).reshape(leaves, -1, 3).max(axis=1)
    first = leaves - 1
    while first:
        above = first // 2
        children = low[first : 2 * first + 1].reshape(-1, 2, 3)
        low[above:first] = children.min(axis=1)
        children = high[first : 2 * first + 1].reshape(-1, 2, 3)
        high[above:first] = children.max(axis=1)
        first = above
    return Boxes(low, high, corners, order, leaves)


def meets_box(origin: Reals, inverse: Reals, low: Reals, high: Reals, nearest: Reals) -> Reals:
    """(n,) where rays come into boxes, before `nearest`; infinite: they miss them."""
    with np.errstate(invalid="ignore"):
        one, other = (low - origin) * inverse, (high - origin) * inverse
    enter = np.fmax(np.fmin(one, other).max(axis=1), np.float32(0))
    leave = np.fmin(np.fmax(one, other).min(axis=1) * _SLACK, nearest)
    return np.where(enter <= leave, enter, np.float32(np.inf))


def meets_triangle(origin: Reals, direction: Reals, corners: Reals) -> Reals:
    """(n,) how far rays go to triangles (n, 3, 3); infinite: they miss them.

    Möller, Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", 1997.
    """
    corner, edge, other = corners[:, 0], corners[:, 1], corners[:, 2]
    across = np.cross(direction, other)
    determinant = (edge * across).sum(axis=1)
    to_corner = origin - corner
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.float32(1) / determinant
        u = (to_corner * across).sum(axis=1) * scale
        along = np.cross(to_corner, edge)
        v = (direction * along).sum(axis=1) * scale
        way: Reals = (other * along).sum(axis=1) * scale
        met = (np.abs(determinant) > _LEAST) & (u >= 0) & (v >= 0) & (u + v <= 1) & (way > 0)
    return np.where(met, way, np.float32(np.inf))

"""The points that qtc clusters, and which of them are near each other."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

WIDTH = 20.0
"""Of the square that holds the points."""

FAR = np.float32(np.finfo(np.float32).max)
"""The distance of points that are not neighbours."""


@frozen(eq=False)
class Neighbourhood:
    """Distances below a threshold.

    Attributes:
        distance: (points, points) float32, `FAR` where they are not below it.
        neighbours: (points, most) int32, each point's neighbours in order, then -1.
    """

    distance: NDArray[np.float32]
    neighbours: NDArray[np.int32]


def random_points(count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """(count, 2) points in groups, as in SHOC: up to a thirtieth of all around a random centre.

    A group's radius R is uniform from 0 to 10; a point's distance r from the centre is uniform
    from 0 to R, its offset in x uniform from -r to r; points outside the square are drawn anew.
    """
    points = np.empty((0, 2), dtype=np.float32)
    while len(points) < count:
        centre, radius = rng.random(2) * WIDTH, rng.random() * WIDTH / 2
        missing = min(int(rng.integers(0, count // 30)), count - len(points))
        while missing:
            r = rng.random(missing) * radius
            x = (2 * rng.random(missing) - 1) * r
            y = np.sqrt(r**2 - x**2) * rng.choice((-1, 1), missing)
            drawn = (centre + np.stack((x, y), axis=1)).astype(np.float32)
            inside = ((drawn >= 0) & (drawn <= WIDTH)).all(axis=1)
            points = np.concatenate((points, drawn[inside]))
            missing -= int(np.count_nonzero(inside))
    return points


def neighbourhood(points: NDArray[np.float32], threshold: float) -> Neighbourhood:
    """Which points are nearer to each other than the threshold.

    Raises:
        ValueError: no two points are.
    """
    count = len(points)
    distance = np.full((count, count), FAR, dtype=np.float32)
    rows, columns = [], []
    for first in range(0, count, 256):
        part = points[first : first + 256]
        squared = ((part[:, None] - points[None]) ** 2).sum(axis=2)
        row, column = np.nonzero(squared < np.float32(threshold) ** 2)
        other = row + first != column
        rows.append(row[other] + first)
        columns.append(column[other])
        distance[rows[-1], columns[-1]] = np.sqrt(squared[row[other], columns[-1]])
    row, column = np.concatenate(rows), np.concatenate(columns)
    if not len(row):
        raise ValueError(f"threshold = {threshold}: no two of the {count} points are that near")
    degree = np.bincount(row, minlength=count)
    neighbours = np.full((count, degree.max()), -1, dtype=np.int32)
    neighbours[row, np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)] = column
    return Neighbourhood(distance, neighbours)

"""Growing a cluster of limited diameter around a seed: what the kernels of qtc share.

A cluster takes in the neighbour of its seed that keeps its diameter smallest, as long as that is
within the threshold; of equal ones, the first in number.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

THREADS = 64

Flags = gpu.DeviceArray[np.bool_]
Values = NDArray[np.float32]

Point = gpu.Lanes | int
"""A number that a block's threads have in common; of blocks in step, that of each thread's."""

Best = tuple[Values, gpu.Lanes]
"""Each thread's least diameter, and the candidate that has it."""


@frozen
class Problem:
    """The sizes of qtc, and its arrays in the order of their allocation.

    Attributes:
        points: their number.
        most: most neighbours of a point.
        threshold: of the diameter.
        distance: (points, points), a row a point.
        neighbours: (points, most), each point's neighbours, then -1.
        degrees: (points,) number of neighbours.
        ungrouped: (points,) the points that are in no cluster yet.
        members: (blocks, points) the cluster that a block is growing.
        reach: (blocks, most) each neighbour's largest distance from that cluster.
        clustered: (points,) whether a point is in a cluster.
        cardinalities: (blocks, 2) size and seed of each block's largest cluster.
        result: (points,) the points of the largest cluster.
    """

    points: int
    most: int
    threshold: float
    distance: gpu.Floats
    neighbours: gpu.Ints
    degrees: gpu.Ints
    ungrouped: gpu.Ints
    members: Flags
    reach: gpu.Floats
    clustered: Flags
    cardinalities: gpu.Ints
    result: gpu.Ints

    def unknown(self, k: gpu.BlockTracer) -> Best:
        """What each thread knows before it has looked."""
        worst = np.full(k.threads, 2 * self.threshold, dtype=np.float32)
        return worst, np.full(k.threads, -1, dtype=np.int64)


def begin(k: gpu.BlockTracer, of: Problem, seed: Point, where: gpu.Mask) -> gpu.Steps:
    """S members 0 and reach 0 all along, S members[seed] 1; barrier."""
    for first in range(0, of.points, THREADS):
        point = first + k.tid
        k.store(of.members, k.bx * of.points + point, False, where & (point < of.points))
    yield
    for first in range(0, of.most, THREADS):
        slot = first + k.tid
        k.store(of.reach, k.bx * of.most + slot, 0.0, where & (slot < of.most))
    yield
    join(k, of, seed, where)


def join(k: gpu.BlockTracer, of: Problem, point: Point, where: gpu.Mask) -> None:
    """The first thread marks a member, unless it is -1; barrier."""
    place = np.full(k.threads, k.bx * of.points + point)
    k.store(of.members, place, True, where & (k.tid == 0) & (point >= 0))
    k.barrier(where)


def free(k: gpu.BlockTracer, of: Problem, candidate: gpu.Lanes, where: gpu.Mask) -> gpu.Mask:
    """L members, then, of those that are not, L clustered: which candidates are in no cluster."""
    member = k.fetch(of.members, k.bx * of.points + candidate, where)
    k.compute(2, where)
    outside = where & ~member
    clustered = k.fetch(of.clustered, candidate, outside)
    k.compute(2, outside)
    return outside & ~clustered


def distances(
    k: gpu.BlockTracer, of: Problem, candidate: gpu.Lanes, latest: Point, where: gpu.Mask
) -> Values:
    """L distance[candidate * points + latest]: 4 points bytes apart; no wait."""
    return k.load(of.distance, candidate * of.points + latest, where)


def nearest(k: gpu.BlockTracer, of: Problem, best: Best, where: gpu.Mask) -> Point:
    """The block's nearest candidate, or -1: two STS, barrier, one thread goes through them."""
    least, candidate = best
    k.shared(1, where, times=2)
    k.barrier(where)
    leader = where & (k.tid == 0)
    for _ in range(THREADS - 1):
        k.shared(1, leader)
        k.compute(3, leader)
    k.barrier(where)
    k.shared(1, where)
    smallest = _of_block(k, least)
    first = _of_block(k, np.where(least == smallest, candidate, of.points))
    return np.where(smallest <= of.threshold, first, -1)


def from_memory(
    k: gpu.BlockTracer,
    of: Problem,
    cluster: tuple[Point, Point],
    slots: tuple[int, Point],
    best: Best,
    where: gpu.Mask,
) -> Generator[None, None, Best]:
    """Neighbours of a stretch of slots: L neighbours; if free, L reach, L distance, S reach.

    Args:
        k: the blocks.
        of: the problem.
        cluster: its seed, and its latest member.
        slots: the first of the seed's neighbours, and one after the last.
        best: what is known before.
        where: threads that look.

    Returns:
        `best` or better.
    """
    (seed, latest), (first, end) = cluster, slots
    for slot, inside in gpu.strides(first + k.tid, np.where(where, end, 0), THREADS):
        row = k.fetch(of.neighbours, seed * of.most + slot, inside)
        k.compute(2, inside)
        candidate = row.astype(np.int64)
        fit = free(k, of, candidate, inside & (candidate >= 0))
        place = k.bx * of.most + slot
        reach = k.load(of.reach, place, fit)
        distance = distances(k, of, candidate, latest, fit)
        k.wait(0, fit)
        k.compute(4, fit)
        k.store(of.reach, place, distance, fit & (distance > reach))
        best = better(best, np.maximum(reach, distance), candidate, fit)
        yield
    return best


def better(best: Best, diameter: Values, candidate: gpu.Lanes, where: gpu.Mask) -> Best:
    """The smaller diameters, and the candidates that have them."""
    least, found = best
    smaller = where & (diameter < least)
    return np.where(smaller, diameter, least), np.where(smaller, candidate, found)


def _of_block(k: gpu.BlockTracer, values: NDArray[Any]) -> Any:
    """The least of the values of a block's threads; of blocks in step, for each thread."""
    return values.reshape(k.blocks, THREADS).min(axis=1)[k.which]

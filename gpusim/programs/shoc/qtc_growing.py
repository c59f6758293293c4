"""Growing a cluster of limited diameter around a seed: what the kernels of qtc share."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel
from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer

THREADS = 64

Floats = DeviceArray[np.float32]
Ints = DeviceArray[np.int32]
Flags = DeviceArray[np.bool_]
Indices = NDArray[np.int64]
Values = NDArray[np.float32]

Point = Indices | int
"""A number that a block's threads have in common; of blocks in step, that of each thread's."""


@frozen
class Arrays:
    """The arrays of qtc, in the order of their allocation.

    Attributes:
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

    distance: Floats
    neighbours: Ints
    degrees: Ints
    ungrouped: Ints
    members: Flags
    reach: Floats
    clustered: Flags
    cardinalities: Ints
    result: Ints


@define(kw_only=True, eq=False)
class QtcKernel(Kernel):
    """A kernel of qtc; registers are our choice.

    Attributes:
        arrays: as above.
        points: of the whole problem.
        most: most neighbours of a point.
    """

    arrays: Arrays
    points: int
    most: int
    registers_per_thread: int = 16


@define(kw_only=True, eq=False)
class Growing(QtcKernel):
    """What the kernels that grow clusters share.

    A cluster takes in the neighbour of its seed that keeps its diameter smallest, as long as that
    is within the threshold; of equal ones, the first in number.

    Attributes:
        threshold: of the diameter.
    """

    threshold: float
    shared_bytes: int = 2 * THREADS * 4

    def begin(self, k: BlockTracer, seed: Point, where: Mask) -> Iterator[None]:
        """S members 0 and reach 0 all along, S members[seed] 1; barrier."""
        arrays, block = self.arrays, k.bx
        for first in range(0, self.points, THREADS):
            point = first + k.tid
            inside = where & (point < self.points)
            k.store(arrays.members, block * self.points + point, False, inside)
        yield
        for first in range(0, self.most, THREADS):
            slot = first + k.tid
            k.store(arrays.reach, block * self.most + slot, 0.0, where & (slot < self.most))
        yield
        self.join(k, seed, where)

    def join(self, k: BlockTracer, point: Point, where: Mask) -> None:
        """The first thread marks a member, unless it is -1; barrier."""
        place = np.full(k.threads, k.bx * self.points + point)
        k.store(self.arrays.members, place, True, where & (k.tid == 0) & (point >= 0))
        k.barrier(where)

    def free(self, k: BlockTracer, candidate: Indices, where: Mask) -> Mask:
        """L members, then, of those that are not, L clustered: who is in no cluster."""
        member = k.load(self.arrays.members, k.bx * self.points + candidate, where)
        k.wait(0, where)
        k.compute(2, where)
        outside = where & ~member
        clustered = k.load(self.arrays.clustered, candidate, outside)
        k.wait(0, outside)
        k.compute(2, outside)
        return outside & ~clustered

    def distances(self, k: BlockTracer, candidate: Indices, latest: Point, where: Mask) -> Values:
        """L distance[candidate * points + latest]: 4 points bytes apart; no wait."""
        return k.load(self.arrays.distance, candidate * self.points + latest, where)

    def nearest(self, k: BlockTracer, least: Values, candidate: Indices, where: Mask) -> Point:
        """The block's nearest candidate, or -1: two STS, barrier, one thread goes through them."""
        k.shared(1, where)
        k.shared(1, where)
        k.barrier(where)
        leader = where & (k.tid == 0)
        for _ in range(THREADS - 1):
            k.shared(1, leader)
            k.compute(3, leader)
        k.barrier(where)
        k.shared(1, where)
        smallest = _of_block(k, least)
        first = _of_block(k, np.where(least == smallest, candidate, self.points))
        return np.where(smallest <= self.threshold, first, -1)

    def from_memory(
        self,
        k: BlockTracer,
        seed: Point,
        latest: Point,
        first: int,
        end: Point,
        best: tuple[Values, Indices],
        where: Mask,
    ) -> Generator[None, None, tuple[Values, Indices]]:
        """Neighbours `first` to `end`: L neighbours; if free, L reach, L distance, S reach.

        Returns:
            each thread's least diameter and its candidate, `best` or better.
        """
        least, found = best
        slot = first + k.tid
        while (inside := where & (slot < end)).any():
            row = k.load(self.arrays.neighbours, seed * self.most + slot, inside)
            k.wait(0, inside)
            k.compute(2, inside)
            candidate = row.astype(np.int64)
            fit = self.free(k, candidate, inside & (candidate >= 0))
            place = k.bx * self.most + slot
            reach = k.load(self.arrays.reach, place, fit)
            distance = self.distances(k, candidate, latest, fit)
            k.wait(0, fit)
            k.compute(4, fit)
            k.store(self.arrays.reach, place, distance, fit & (distance > reach))
            least, found = better(least, found, np.maximum(reach, distance), candidate, fit)
            slot = slot + THREADS
            yield
        return least, found

    def nobody(self, k: BlockTracer) -> tuple[Values, Indices]:
        """What each thread knows before it has looked."""
        worst = np.full(k.threads, 2 * self.threshold, dtype=np.float32)
        return worst, np.full(k.threads, -1, dtype=np.int64)


def _of_block(k: BlockTracer, values: NDArray[Any]) -> Any:
    """The least of the values of a block's threads; of blocks in step, for each thread."""
    return values.reshape(k.blocks, THREADS).min(axis=1)[k.which]


def better(
    least: Values, found: Indices, diameter: Values, candidate: Indices, where: Mask
) -> tuple[Values, Indices]:
    """The smaller diameters, and whose they are."""
    better = where & (diameter < least)
    return np.where(better, diameter, least), np.where(better, candidate, found)

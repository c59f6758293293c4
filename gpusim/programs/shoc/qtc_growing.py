"""Growing a cluster of limited diameter around a seed: what the kernels of qtc share."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel
from gpusim.programs.tracer import BlockTracer, Mask

THREADS = 64

Floats = DeviceArray[np.float32]
Ints = DeviceArray[np.int32]
Flags = DeviceArray[np.bool_]
Indices = NDArray[np.int64]
Values = NDArray[np.float32]


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

    def begin(self, k: BlockTracer, seed: int) -> Iterator[None]:
        """S members 0 and reach 0 all along, S members[seed] 1; barrier."""
        arrays, block = self.arrays, k.bx
        for first in range(0, self.points, k.threads):
            point = first + k.tid
            k.store(arrays.members, block * self.points + point, False, point < self.points)
        yield
        for first in range(0, self.most, k.threads):
            slot = first + k.tid
            k.store(arrays.reach, block * self.most + slot, 0.0, slot < self.most)
        yield
        self.join(k, seed)

    def join(self, k: BlockTracer, point: int) -> None:
        """The first thread marks a member; barrier."""
        place = np.full(k.threads, k.bx * self.points + point)
        k.store(self.arrays.members, place, True, k.tid == 0)
        k.barrier()

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

    def distances(self, k: BlockTracer, candidate: Indices, latest: int, where: Mask) -> Values:
        """L distance[candidate * points + latest]: 4 points bytes apart; no wait."""
        return k.load(self.arrays.distance, candidate * self.points + latest, where)

    def nearest(self, k: BlockTracer, least: Values, candidate: Indices) -> int:
        """The block's nearest candidate, or -1: two STS, barrier, one thread goes through them."""
        k.shared(1)
        k.shared(1)
        k.barrier()
        leader = k.tid == 0
        for _ in range(k.threads - 1):
            k.shared(1, leader)
            k.compute(3, leader)
        k.barrier()
        k.shared(1)
        smallest = least.min()
        return int(candidate[least == smallest].min()) if smallest <= self.threshold else -1

    def from_memory(
        self, k: BlockTracer, seed: int, latest: int, slots: range, best: tuple[Values, Indices]
    ) -> Generator[None, None, tuple[Values, Indices]]:
        """Neighbours in `slots`, from memory: L neighbours; if free, L reach, L distance, S reach.

        Returns:
            each thread's least diameter and its candidate, `best` or better.
        """
        least, found = best
        for first in slots:
            slot = first + k.tid
            inside = slot < slots.stop
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
            yield
        return least, found

    def nobody(self, k: BlockTracer) -> tuple[Values, Indices]:
        """What each thread knows before it has looked."""
        worst = np.full(k.threads, 2 * self.threshold, dtype=np.float32)
        return worst, np.full(k.threads, -1, dtype=np.int64)


def better(
    least: Values, found: Indices, diameter: Values, candidate: Indices, where: Mask
) -> tuple[Values, Indices]:
    """The smaller diameters, and whose they are."""
    better = where & (diameter < least)
    return np.where(better, diameter, least), np.where(better, candidate, found)

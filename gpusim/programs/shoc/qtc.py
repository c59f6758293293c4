"""qtc: quality threshold clustering; the largest cluster of limited diameter, again and again."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, gt, optional

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.shoc.qtc_growing import (
    THREADS,
    Arrays,
    Growing,
    Indices,
    Point,
    QtcKernel,
    better,
)
from gpusim.programs.shoc.qtc_points import neighbourhood, random_points
from gpusim.programs.tracer import BlockTracer, Shape

HELD = 12
"""Neighbours of a seed that each thread keeps in registers."""

UNROLL = 4


@define(kw_only=True, eq=False)
class ComputeDegrees(QtcKernel):
    """Neighbours of every point, counted: one point a thread, a stretch of points a block.

    L neighbours[(start + t) * most + j] for all j, four at a time (lanes 4 most bytes apart); S
    degrees.
    """

    name: str = "compute_degrees"
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        stretch = -(-self.points // self.blocks)
        first = k.bx * stretch
        point, last = first + k.tid, np.minimum(first + stretch, self.points)
        while (inside := point < last).any():
            count = np.zeros(k.threads, dtype=np.int32)
            for j in range(0, self.most, UNROLL):
                columns = range(j, min(j + UNROLL, self.most))
                loads = [
                    k.load(self.arrays.neighbours, point * self.most + column, inside)
                    for column in columns
                ]
                k.wait(0, inside)
                k.compute(2 * len(columns), inside)
                count += sum(found >= 0 for found in loads)
                yield
            k.store(self.arrays.degrees, point, count, inside)
            point = point + self.threads_per_block


@define(kw_only=True, eq=False)
class QtcDevice(Growing):
    """Each block grows the clusters of its seeds, and keeps the size of its largest.

    For each seed, every `blocks`-th ungrouped point: L ungrouped, L degrees, the same for all
    threads; a seed with no more neighbours than the largest cluster has points is left out.  Then
    `Growing.begin`; L neighbours, the first 768, into registers; until no neighbour fits: for
    each of them that is still free {L members, L clustered, L distance}, for others
    `from_memory`; the block's nearest one joins.  At the end the first thread stores two words.

    Attributes:
        ungrouped: points that are in no cluster yet.
        seeds: most seeds of a block; None: all.
    """

    ungrouped: int
    seeds: int | None
    name: str = "QTC_device"
    registers_per_thread: int = 48
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        block = np.full(k.threads, k.bx)
        largest = winner = np.full(k.threads, -1)
        for first in range(0, self.ungrouped, self.blocks)[: self.seeds]:
            trying = first + block < self.ungrouped
            seed = k.load(self.arrays.ungrouped, first + block, trying).astype(np.int64)
            k.wait(0, trying)
            degree = k.load(self.arrays.degrees, seed, trying).astype(np.int64)
            k.wait(0, trying)
            k.compute(4, trying)
            growing = trying & (degree > largest)
            if growing.any():
                size = yield from self._grow(k, seed, degree, growing)
                larger = growing & (size > largest)
                largest = np.where(larger, size, largest)
                winner = np.where(larger, seed, winner)
        for word, value in enumerate((largest, winner)):
            k.store(self.arrays.cardinalities, 2 * block + word, value, k.tid == 0)

    def _grow(
        self, k: BlockTracer, seed: Indices, degree: Indices, where: Mask
    ) -> Generator[None, None, Indices]:
        """Grow the cluster of a block's seed; returns its size, for each thread."""
        yield from self.begin(k, seed, where)
        held, reach = [], []
        for first in range(0, min(degree[where].max(), HELD * THREADS), THREADS):
            inside = where & (first + k.tid < degree)
            row = k.load(self.arrays.neighbours, seed * self.most + first + k.tid, inside)
            held.append(np.where(inside, row.astype(np.int64), -1))
            reach.append(np.zeros(k.threads, dtype=np.float32))
        k.wait(0, where)
        k.barrier(where)
        size: Indices = np.ones(k.threads, dtype=np.int64)
        latest: Point = seed
        growing = where
        while (growing := growing & (size < self.ungrouped) & (latest >= 0)).any():
            least, found = self.nobody(k)
            for slot, candidate in enumerate(held):
                k.compute(1, growing & (slot * THREADS < degree))
                fit = self.free(k, candidate, growing & (candidate >= 0))
                held[slot] = np.where(fit, candidate, -1)
                distance = self.distances(k, candidate, latest, fit)
                k.wait(0, fit)
                k.compute(4, fit)
                reach[slot] = np.where(fit, np.maximum(reach[slot], distance), reach[slot])
                least, found = better(least, found, reach[slot], candidate, fit)
                yield
            best = yield from self.from_memory(
                k, seed, latest, HELD * THREADS, degree, (least, found), growing
            )
            latest = self.nearest(k, *best, growing)
            self.join(k, latest, growing)
            size = size + (growing & (latest >= 0))
        k.barrier(where)
        return size


@define(kw_only=True, eq=False)
class ReduceCardinalities(QtcKernel):
    """One thread finds the largest of the blocks' clusters: the first one of that size.

    L cardinalities[2 b], four at a time; where larger, L the seed beside it; S both in front.

    Attributes:
        clusters: blocks that have one.
    """

    clusters: int
    name: str = "reduce_card_device"

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        array = self.arrays.cardinalities
        largest, winner = -1, -1
        for first in range(0, self.clusters, UNROLL):
            blocks = range(first, min(first + UNROLL, self.clusters))
            sizes = [int(k.load(array, 2 * block)[0]) for block in blocks]
            k.wait()
            k.compute(2 * len(blocks))
            for block, size in zip(blocks, sizes, strict=True):
                if size > largest:
                    largest, winner = size, int(k.load(array, 2 * block + 1)[0])
            yield
        k.wait()
        k.store(array, 0, largest)
        k.store(array, 1, winner)


@define(kw_only=True, eq=False)
class TrimUngrouped(Growing):
    """One block grows the winning cluster again, and takes its points off the list.

    All neighbours are gone through in memory (`from_memory`); S result for each member.  Then, 64
    points at a time: L ungrouped, STS, L members; S ungrouped of those that stay, barrier; if one
    left, the first thread stores all of them again, closed up; barrier.

    Attributes:
        ungrouped: points on the list.
        seed: of the winning cluster.
    """

    ungrouped: int
    seed: int
    name: str = "trim_ungrouped_pnts_indr_array"
    registers_per_thread: int = 32
    shared_bytes: int = 3 * THREADS * 4 + 8

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        leader, everyone = k.tid == 0, np.ones(k.threads, dtype=bool)
        yield from self.begin(k, self.seed, everyone)
        k.store(self.arrays.result, np.zeros(k.threads, dtype=np.int64), self.seed, leader)
        size, latest = 1, self.seed
        while size < self.ungrouped and latest >= 0:
            best = yield from self.from_memory(
                k, self.seed, latest, 0, self.most, self.nobody(k), everyone
            )
            latest = int(self.nearest(k, *best, everyone))
            if latest >= 0:
                k.store(self.arrays.result, np.full(k.threads, size), latest, leader)
                size += 1
            self.join(k, latest, everyone)
        k.barrier()
        yield from self._close_up(k, leader)

    def _close_up(self, k: BlockTracer, leader: Mask) -> Iterator[None]:
        ungrouped = self.arrays.ungrouped
        kept = 0
        k.shared(1, leader)
        k.barrier()
        for first in range(0, self.ungrouped, k.threads):
            inside = first + k.tid < self.ungrouped
            point = k.load(ungrouped, first + k.tid, inside)
            k.wait(0, inside)
            k.shared(1, inside)
            member = inside & k.load(self.arrays.members, point, inside)
            k.wait(0, inside)
            stays = inside & ~member
            k.shared(1, member)
            k.shared(1, stays)
            k.store(ungrouped, kept + k.tid, point, stays)
            k.barrier()
            k.shared(1, leader)
            if member.any():
                for value in point[inside].tolist():
                    k.shared(1, leader)
                    if not member[point == value].any():
                        k.store(ungrouped, np.full(k.threads, kept), value, leader)
                        kept += 1
            else:
                kept += k.threads
            k.shared(1, leader)
            k.barrier()
            yield


@define(kw_only=True, eq=False)
class UpdateClustered(QtcKernel):
    """One block marks the points of the winning cluster: {L clustered, L members, S clustered}."""

    name: str = "update_clustered_pnts_mask"

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        clustered = self.arrays.clustered
        for first in range(0, self.points, k.threads):
            point = first + k.tid
            inside = point < self.points
            before = k.load(clustered, point, inside)
            member = k.load(self.arrays.members, point, inside)
            k.wait(0, inside)
            k.compute(1, inside)
            k.store(clustered, point, before | member, inside)
            yield
        k.barrier()


@frozen
class QtcParameters:
    """Parameters of qtc.

    Attributes:
        points: their number (the suite, size 1: 4096).
        threshold: largest diameter of a cluster; the points' square is 20 wide (the suite: 1).
        blocks: most thread blocks (the suite: 16 for each of 16 SMs).
        seeds: most seeds that a block tries in a launch; None: all (the suite).
        clusters: clusters that are found, a round of four launches each; None: all (the suite).
    """

    points: int = field(default=4096, validator=ge(60))
    threshold: float = field(default=1.0, validator=gt(0.0))
    blocks: int = field(default=256, validator=ge(1))
    seeds: int | None = field(default=None, validator=optional(ge(1)))
    clusters: int | None = field(default=None, validator=optional(ge(1)))


@program("qtc", QtcParameters)
class Qtc(Program):
    """compute_degrees, then a round of four launches for each cluster, until one has one point.

    Launch geometry, arrays and the order of accesses follow the public source with the full
    distance matrix in global memory (the suite's default).  The distance matrix is read by
    columns: each lane touches another row, 4 points bytes apart.

    Attributes:
        arrays: on the device.
        found: points of the clusters, in the order in which they were found.
    """

    def __init__(self, parameters: QtcParameters, seed: int) -> None:
        super().__init__("qtc")
        self.parameters = parameters
        n = parameters.points
        points = random_points(n, np.random.default_rng(seed))
        near = neighbourhood(points, parameters.threshold)
        self.most = near.neighbours.shape[1]
        self.blocks = blocks = min(parameters.blocks, n)
        self.found: list[list[int]] = []
        allocate = self.memory.allocate
        self.arrays = Arrays(
            allocate("distance_matrix", near.distance),
            allocate("indr_mtrx", near.neighbours),
            allocate("degrees", np.zeros(n, dtype=np.int32)),
            allocate("ungrpd_pnts_indr", np.arange(n, dtype=np.int32)),
            allocate("Ai_mask", np.zeros(blocks * n, dtype=bool), 1),
            allocate("dist_to_clust", np.zeros(blocks * self.most, dtype=np.float32)),
            allocate("clustered_pnts_mask", np.zeros(n, dtype=bool), 1),
            allocate("cardinalities", np.zeros(2 * blocks, dtype=np.int32)),
            allocate("result", np.zeros(n, dtype=np.int32)),
        )

    def launches(self) -> Iterator[Launch]:
        arrays, n, most = self.arrays, self.parameters.points, self.most
        threshold = self.parameters.threshold
        one = Shape((1, 1, 1), (THREADS, 1, 1))
        grid = Shape((self.blocks, 1, 1), (min(THREADS, n), 1, 1))
        yield ComputeDegrees(shape=grid, arrays=arrays, points=n, most=most)
        ungrouped = n
        rounds = self.parameters.clusters or n
        while ungrouped and len(self.found) < rounds:
            blocks = min(self.blocks, ungrouped)
            yield QtcDevice(
                shape=Shape((blocks, 1, 1), (THREADS, 1, 1)),
                arrays=arrays,
                points=n,
                most=most,
                threshold=threshold,
                ungrouped=ungrouped,
                seeds=self.parameters.seeds,
            )
            if blocks > 1:
                yield ReduceCardinalities(
                    shape=Shape((1, 1, 1), (1, 1, 1)),
                    arrays=arrays,
                    points=n,
                    most=most,
                    clusters=blocks,
                )
            size, winner = arrays.cardinalities.data[:2].tolist()
            yield TrimUngrouped(
                shape=one,
                arrays=arrays,
                points=n,
                most=most,
                threshold=threshold,
                ungrouped=ungrouped,
                seed=winner,
            )
            yield UpdateClustered(shape=one, arrays=arrays, points=n, most=most)
            self.found.append(arrays.result.data[:size].tolist())
            ungrouped -= size
            if size <= 1:
                return

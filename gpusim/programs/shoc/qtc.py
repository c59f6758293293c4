"""qtc: quality threshold clustering; the largest cluster of limited diameter, again and again."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.shoc.qtc_growing import (
    THREADS,
    Point,
    Problem,
    begin,
    better,
    distances,
    free,
    from_memory,
    join,
    nearest,
)
from gpusim.programs.shoc.qtc_points import neighbourhood, random_points

HELD = 12
"""Neighbours of a seed that each thread keeps in registers."""

UNROLL = 4


@gpu.kernel("compute_degrees", registers=16, in_step=True)
def compute_degrees(k: gpu.BlockTracer, of: Problem) -> gpu.Steps:
    """Neighbours of every point, counted: one point a thread, a stretch of points a block.

    L neighbours[(start + t) * most + j] for all j, four at a time (lanes 4 most bytes apart); S
    degrees.
    """
    k.compute(gpu.PROLOGUE)
    stretch = -(-of.points // k.shape.blocks)
    first = k.bx * stretch
    last = np.minimum(first + stretch, of.points)
    for point, inside in gpu.strides(first + k.tid, last, k.shape.threads):
        count = np.zeros(k.threads, dtype=np.int32)
        for columns in gpu.groups(of.most, UNROLL):
            loads = [k.load(of.neighbours, point * of.most + column, inside) for column in columns]
            k.wait(0, inside)
            k.compute(2 * len(columns), inside)
            count += sum(found >= 0 for found in loads)
            yield
        k.store(of.degrees, point, count, inside)


@gpu.kernel("QTC_device", registers=48, shared=2 * THREADS * 4, in_step=True)
def try_seeds(k: gpu.BlockTracer, of: Problem, ungrouped: int, seeds: int | None) -> gpu.Steps:
    """Each block grows the clusters of its seeds, and keeps the size of its largest.

    For each seed, every `blocks`-th ungrouped point: L ungrouped, L degrees, the same for all
    threads; a seed with no more neighbours than the largest cluster has points is left out.  Then
    `begin`; L neighbours, the first 768, into registers; until no neighbour fits: for
    each of them that is still free {L members, L clustered, L distance}, for others
    `from_memory`; the block's nearest one joins.  At the end the first thread stores two words.

    Takes `ungrouped` (points that are in no cluster yet), `seeds` (most of a block; None: all).
    """
    k.compute(gpu.PROLOGUE)
    block = np.full(k.threads, k.bx)
    largest = winner = np.full(k.threads, -1)
    for first in range(0, ungrouped, k.shape.blocks)[:seeds]:
        trying = first + block < ungrouped
        seed = k.fetch(of.ungrouped, first + block, trying).astype(np.int64)
        degree = k.fetch(of.degrees, seed, trying).astype(np.int64)
        k.compute(4, trying)
        growing = trying & (degree > largest)
        if growing.any():
            size = yield from _grow(k, of, (seed, degree), ungrouped, growing)
            larger = growing & (size > largest)
            largest = np.where(larger, size, largest)
            winner = np.where(larger, seed, winner)
    for word, value in enumerate((largest, winner)):
        k.store(of.cardinalities, 2 * block + word, value, k.tid == 0)


def _grow(
    k: gpu.BlockTracer, of: Problem, seeds: tuple[gpu.Lanes, gpu.Lanes], most: int, where: gpu.Mask
) -> Generator[None, None, gpu.Lanes]:
    """Grow the clusters of the blocks' seeds, given with their degrees, up to `most` points.

    Returns:
        (threads,) the size of the cluster of each thread's block.
    """
    seed, degree = seeds
    yield from begin(k, of, seed, where)
    held, reach = [], []
    for first in range(0, min(degree[where].max(), HELD * THREADS), THREADS):
        inside = where & (first + k.tid < degree)
        row = k.load(of.neighbours, seed * of.most + first + k.tid, inside)
        held.append(np.where(inside, row.astype(np.int64), -1))
        reach.append(np.zeros(k.threads, dtype=np.float32))
    k.wait(0, where)
    k.barrier(where)
    size: gpu.Lanes = np.ones(k.threads, dtype=np.int64)
    latest: Point = seed
    growing = where
    while (growing := growing & (size < most) & (latest >= 0)).any():
        best = of.unknown(k)
        for slot, candidate in enumerate(held):
            k.compute(1, growing & (slot * THREADS < degree))
            fit = free(k, of, candidate, growing & (candidate >= 0))
            held[slot] = np.where(fit, candidate, -1)
            distance = distances(k, of, candidate, latest, fit)
            k.wait(0, fit)
            k.compute(4, fit)
            reach[slot] = np.where(fit, np.maximum(reach[slot], distance), reach[slot])
            best = better(best, reach[slot], candidate, fit)
            yield
        others = HELD * THREADS, degree
        best = yield from from_memory(k, of, (seed, latest), others, best, growing)
        latest = nearest(k, of, best, growing)
        join(k, of, latest, growing)
        size = size + (growing & (latest >= 0))
    k.barrier(where)
    return size


@gpu.kernel("reduce_card_device", registers=16)
def reduce_cardinalities(k: gpu.BlockTracer, of: Problem, clusters: int) -> gpu.Steps:
    """One thread finds the largest of the blocks' clusters: the first one of that size.

    L cardinalities[2 b], four at a time; where larger, L the seed beside it; S both in front.
    """
    k.compute(gpu.PROLOGUE)
    largest, winner = -1, -1
    for blocks in gpu.groups(clusters, UNROLL):
        sizes = [int(k.load(of.cardinalities, 2 * block)[0]) for block in blocks]
        k.wait()
        k.compute(2 * len(blocks))
        for block, size in zip(blocks, sizes, strict=True):
            if size > largest:
                largest, winner = size, int(k.load(of.cardinalities, 2 * block + 1)[0])
        yield
    k.wait()
    k.store(of.cardinalities, 0, largest)
    k.store(of.cardinalities, 1, winner)


@gpu.kernel("trim_ungrouped_pnts_indr_array", registers=32, shared=3 * THREADS * 4 + 8)
def trim_ungrouped(k: gpu.BlockTracer, of: Problem, ungrouped: int, seed: int) -> gpu.Steps:
    """One block grows the winning cluster of `seed` again, and takes its points off the list.

    All neighbours are gone through in memory (`from_memory`); S result for each member.  Then, 64
    points at a time: L ungrouped, STS, L members; S ungrouped of those that stay, barrier; if one
    left, the first thread stores all of them again, closed up; barrier.
    """
    k.compute(gpu.PROLOGUE)
    leader, everyone = k.tid == 0, np.ones(k.threads, dtype=bool)
    yield from begin(k, of, seed, everyone)
    k.store(of.result, np.zeros(k.threads, dtype=np.int64), seed, leader)
    size, latest = 1, seed
    while size < ungrouped and latest >= 0:
        cluster, slots = (seed, latest), (0, of.most)
        best = yield from from_memory(k, of, cluster, slots, of.unknown(k), everyone)
        latest = int(nearest(k, of, best, everyone))
        if latest >= 0:
            k.store(of.result, np.full(k.threads, size), latest, leader)
            size += 1
        join(k, of, latest, everyone)
    k.barrier()
    yield from _close_up(k, of, ungrouped, leader)


def _close_up(k: gpu.BlockTracer, of: Problem, ungrouped: int, leader: gpu.Mask) -> gpu.Steps:
    kept = 0
    k.shared(1, leader)
    k.barrier()
    for first in range(0, ungrouped, k.threads):
        inside = first + k.tid < ungrouped
        point = k.fetch(of.ungrouped, first + k.tid, inside)
        k.shared(1, inside)
        member = inside & k.fetch(of.members, point, inside)
        stays = inside & ~member
        k.shared(1, member)
        k.shared(1, stays)
        k.store(of.ungrouped, kept + k.tid, point, stays)
        k.barrier()
        k.shared(1, leader)
        if member.any():
            for value in point[inside].tolist():
                k.shared(1, leader)
                if not member[point == value].any():
                    k.store(of.ungrouped, np.full(k.threads, kept), value, leader)
                    kept += 1
        else:
            kept += k.threads
        k.shared(1, leader)
        k.barrier()
        yield


@gpu.kernel("update_clustered_pnts_mask", registers=16)
def update_clustered(k: gpu.BlockTracer, of: Problem) -> gpu.Steps:
    """One block marks the points of the winning cluster: {L clustered, L members, S clustered}."""
    k.compute(gpu.PROLOGUE)
    for first in range(0, of.points, k.threads):
        point = first + k.tid
        inside = point < of.points
        before = k.load(of.clustered, point, inside)
        member = k.load(of.members, point, inside)
        k.wait(0, inside)
        k.compute(1, inside)
        k.store(of.clustered, point, before | member, inside)
        yield
    k.barrier()


@gpu.program("qtc")
def qtc(
    memory: gpu.AddressSpace,
    seed: int,
    points: int = gpu.number(4096, 60),
    threshold: float = gpu.number(1.0, 1e-12),
    blocks: int = gpu.number(256),
    seeds: int | None = gpu.number(None),
    clusters: int | None = gpu.number(None),
) -> gpu.Launches:
    """compute_degrees, then a round of four launches for each cluster, until one has one point.

    Launch geometry, arrays and the order of accesses follow the public source with the full
    distance matrix in global memory (the suite's default).  The distance matrix is read by
    columns: each lane touches another row, 4 points bytes apart.  Registers are our choice.

    Parameters:
        points: their number (the suite, size 1: 4096).
        threshold: largest diameter of a cluster; the points' square is 20 wide (the suite: 1).
        blocks: most thread blocks (the suite: 16 for each of 16 SMs).
        seeds: most seeds that a block tries in a launch; None: all (the suite).
        clusters: clusters that are found, a round of four launches each; None: all (the suite).
    """
    n, most_blocks = points, min(blocks, points)
    of = _place(memory, points, threshold, most_blocks, seed)
    yield compute_degrees[most_blocks, min(THREADS, n)](of)
    ungrouped = n
    for _ in range(clusters or n):
        blocks = min(most_blocks, ungrouped)
        yield try_seeds[blocks, THREADS](of, ungrouped, seeds)
        if blocks > 1:
            yield reduce_cardinalities[1, 1](of, blocks)
        size, winner = of.cardinalities.data[:2].tolist()
        yield trim_ungrouped[1, THREADS](of, ungrouped, winner)
        yield update_clustered[1, THREADS](of)
        ungrouped -= size
        if size <= 1 or not ungrouped:
            return


def _place(memory: gpu.AddressSpace, n: int, threshold: float, blocks: int, seed: int) -> Problem:
    """The arrays, with `n` random points that are in no cluster."""
    near = neighbourhood(random_points(n, np.random.default_rng(seed)), threshold)
    most = near.neighbours.shape[1]
    return Problem(
        n,
        most,
        threshold,
        memory.allocate("distance_matrix", near.distance),
        memory.allocate("indr_mtrx", near.neighbours),
        memory.zeros("degrees", n, np.int32),
        memory.allocate("ungrpd_pnts_indr", np.arange(n, dtype=np.int32)),
        memory.zeros("Ai_mask", blocks * n, np.bool_),
        memory.zeros("dist_to_clust", blocks * most, np.float32),
        memory.zeros("clustered_pnts_mask", n, np.bool_),
        memory.zeros("cardinalities", 2 * blocks, np.int32),
        memory.zeros("result", n, np.int32),
    )

"""gnn_sample: neighbours of a batch of vertices are drawn, hop by hop, and features gathered."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

WARP = 32
THREADS = 128
WARPS = THREADS // WARP


@frozen
class Hop:
    """The vertices whose neighbours are drawn.

    Attributes:
        row: [vertices + 1] where each vertex's arcs begin.
        col: [arcs] their targets.
        of: [count] the vertices.
        picked: [count, fanout] numbers of the arcs that are drawn, of each vertex from 0.
        out: [count, fanout] their targets; -1 where a vertex has fewer.
        fanout: neighbours of a vertex, at most.
        seed: of what is drawn.
    """

    row: gpu.Ints
    col: gpu.Ints
    of: gpu.Ints
    picked: gpu.Ints
    out: gpu.Ints
    fanout: int
    seed: int


def drawn(vertex: NDArray[np.int64], arc: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """A number from 0 to `arc` for an arc of a vertex, always the same."""
    mixed = vertex.astype(np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15)
    mixed ^= (arc.astype(np.uint64) + np.uint64(seed + 1)) * np.uint64(0xBF58_476D_1CE4_E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D0_49BB_1331_11EB)
    mixed ^= mixed >> np.uint64(32)
    return (mixed % (arc.astype(np.uint64) + np.uint64(1))).astype(np.int64)


@gpu.kernel("sample_neighbours", registers=40, block=THREADS, in_step=True)
def sample(k: gpu.BlockTracer, hop: Hop) -> gpu.Steps:
    """A vertex a warp: L vertex, L both ends of its row.

    Of at most `fanout` arcs all are taken.  Of more, S the first arcs' numbers; then each further
    arc, one a lane, draws a number, and where that is below `fanout`, replaces what is there
    (a reduction to the largest: reservoir sampling).  L what was picked, L targets, S them.
    Registers are our choice.
    """
    number = k.bx * WARPS + k.tid // WARP
    lane = k.tid % WARP
    inside = number < hop.of.length
    k.compute(gpu.PROLOGUE, inside)
    vertex = k.fetch(hop.of, number, inside).astype(np.int64)
    first = k.load(hop.row, vertex, inside)
    end = k.load(hop.row, vertex + 1, inside)
    k.wait(0, inside)
    degree = np.where(inside, end - first, 0).astype(np.int64)
    many = degree > hop.fanout
    for slot, _ in gpu.rounds(lane, np.full(k.threads, hop.fanout), WARP):
        k.store(hop.picked, number * hop.fanout + slot, slot, many & (slot < hop.fanout))
    for arc, here in gpu.rounds(hop.fanout + lane, np.where(many, degree, 0), WARP):
        where = many & (arc < degree) if here is None else many & here
        if not where.any():
            continue
        k.arithmetic(gpu.Unit.INTEGER, 20, 12, where)
        slot = drawn(vertex, np.maximum(arc, 0), hop.seed)
        kept = where & (slot < hop.fanout)
        index = number * hop.fanout + np.where(kept, slot, 0)
        k.reduce_max(hop.picked, index, arc.astype(np.int32), kept)
        yield
    for slot, _ in gpu.rounds(lane, np.full(k.threads, hop.fanout), WARP):
        where = inside & (slot < np.minimum(degree, hop.fanout))
        place = number * hop.fanout + slot
        arc = np.where(many, k.fetch(hop.picked, place, where & many), slot)
        target = k.fetch(hop.col, first + arc, where)
        k.store(hop.out, place, target, where)


@gpu.kernel("gather_rows", registers=24, block=THREADS, in_step=True)
def gather(
    k: gpu.BlockTracer,
    vertices: gpu.Ints,
    features: gpu.DeviceArray[np.void],
    out: gpu.DeviceArray[np.void],
    vectors: int,
) -> gpu.Steps:
    """A vertex a warp: L its number; then 16 bytes of its features a thread at a time, L and S.

    Registers are our choice.

    Takes `vertices`, `features` (a row a vertex), `out`, `vectors` (of a row).
    """
    number = k.bx * WARPS + k.tid // WARP
    inside = number < vertices.length
    k.compute(gpu.PROLOGUE, inside)
    vertex = k.fetch(vertices, number, inside).astype(np.int64)
    for first in range(0, vectors, WARP):
        piece = first + k.tid % WARP
        where = inside & (piece < vectors)
        k.load(features, vertex * vectors + piece, where)
        k.wait(0, where)
        k.store(out, number * vectors + piece, 0, where)
        yield


@gpu.program("gnn_sample")
def gnn_sample(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    seed: int,
    batch: int = gpu.number(1024, 1, 1 << 24),
    first_fanout: int = gpu.number(25, 1, 1024),
    second_fanout: int = gpu.number(10, 1, 1024),
    width: int = gpu.number(128, 4, 4096, multiple=4),
) -> gpu.Launches:
    """A mini-batch of a graph neural network: two hops of neighbours, and all their features.

    Hamilton, Ying, Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017
    (25 and 10 neighbours), as DGL samples on a GPU (CSRRowWiseSampleUniform).  Vertices of the
    batch are different and random; those of the second hop are what the first one found, each once.
    Three launches.  Features have no contents.

    Arrays in the order row, col, features, then of each hop vertices, picked, neighbours; gathered
    vertices and features.

    Parameters:
        batch: vertices of the mini-batch.
        first_fanout, second_fanout: neighbours of a vertex, of each hop.
        width: features of a vertex, of 4 bytes.
    """
    rng = np.random.default_rng(seed)
    count = min(batch, graph.vertices)
    row = memory.read_only("row", graph.row)
    col = memory.read_only("col", graph.col)
    vectors = width // 4
    features = memory.blank("features", graph.vertices * vectors, gpu.FLOAT4)
    seeds = rng.choice(graph.vertices, count, replace=False).astype(np.int32)
    most = min(count * (first_fanout + 1), graph.vertices)
    hops = []
    for number, (size, fanout) in enumerate(((count, first_fanout), (most, second_fanout))):
        vertices = memory.zeros(f"vertices_{number}", size, np.int32)
        picked = memory.zeros(f"picked_{number}", size * fanout, np.int32)
        found = memory.allocate(f"neighbours_{number}", np.full(size * fanout, -1, dtype=np.int32))
        hops.append(Hop(row, col, vertices, picked, found, fanout, seed + number))
    last = min(most * (second_fanout + 1), graph.vertices)
    wanted = memory.zeros("wanted", last, np.int32)
    out = memory.blank("gathered", last * vectors, gpu.FLOAT4)
    frontier = seeds
    for hop in hops:
        hop.of.data[: len(frontier)] = frontier
        one = evolve(hop, of=_first(hop.of, len(frontier)))
        yield sample[-(-len(frontier) // WARPS), THREADS](one)
        targets = hop.out.data[: len(frontier) * hop.fanout]
        frontier = np.union1d(frontier, targets[targets >= 0]).astype(np.int32)
    wanted.data[: len(frontier)] = frontier
    grid = -(-len(frontier) // WARPS)
    yield gather[grid, THREADS](_first(wanted, len(frontier)), features, out, vectors)


def _first(array: gpu.Ints, count: int) -> gpu.Ints:
    """The first elements of an array."""
    return gpu.DeviceArray(array.name, array.data[:count], array.base, array.element_bytes, count)

"""sssp and sssp_ell: shortest paths from one vertex (Bellman and Ford), as min-plus products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import UNROLL, Rows, transposed, unrolled, whole_weights

BLOCK = 64

UNREACHED = 99_999_999
"""The distance of a vertex that no path has reached; also the weight of an empty slot."""

MOST_SLOTS = 1 << 28
"""Of the ELL format: two arrays of 1 GiB."""


@gpu.kernel("vector_init", registers=10, block=BLOCK, in_step=True)
def start(k: gpu.BlockTracer, old: gpu.Ints, new: gpu.Ints, n: int, source: int) -> None:
    """Only the source is reached.  Registers are our choice."""
    inside = gpu.threads_below(k, n)
    distance = np.where(k.t == source, 0, UNREACHED)
    k.store(old, k.t, distance, inside)
    k.store(new, k.t, distance, inside)


@gpu.kernel("vector_assign", registers=10, block=BLOCK, in_step=True)
def assign(k: gpu.BlockTracer, old: gpu.Ints, new: gpu.Ints, n: int) -> None:
    """The new distances become the old ones.  Registers are our choice."""
    inside = gpu.threads_below(k, n)
    k.store(old, k.t, k.fetch(new, k.t, inside), inside)


@gpu.kernel("vector_diff", registers=10, block=BLOCK, in_step=True)
def compare(k: gpu.BlockTracer, old: gpu.Ints, new: gpu.Ints, n: int, stop: gpu.Ints) -> None:
    """Has a distance changed?  `stop` (1,) has the answer.  Registers are our choice."""
    inside = gpu.threads_below(k, n)
    after = k.load(new, k.t, inside)
    before = k.load(old, k.t, inside)
    k.wait(0, inside)
    k.store(stop, 0, 1, inside & (after != before))


@frozen
class Arcs:
    """Where arcs come from and how long they are, by places in two arrays.

    Attributes:
        col: vertices where they come from.
        data: their weights.
    """

    col: gpu.Ints
    data: gpu.Ints

    def relax(
        self,
        k: gpu.BlockTracer,
        old: gpu.Ints,
        slots: Sequence[tuple[NDArray[np.int32] | NDArray[np.int64], gpu.Mask]],
        least: NDArray[np.int32],
    ) -> NDArray[np.int32]:
        """The least distances, now over some arcs more.

        The loads of `data` and `col` are issued together, then those of the distances.  Four
        instructions an arc, five for the loop of four, as in PTX of nvcc 11.8 for sm_35.

        Args:
            k: the block.
            old: (vertices,) distances before the round.
            slots: (threads,) places of arcs in the arrays, and which threads have one.
            least: (threads,) the distances so far.
        """
        first = slots[0][1]
        weights = [k.load(self.data, slot, where) for slot, where in slots]
        origins = [k.load(self.col, slot, where) for slot, where in slots]
        k.wait(0, first)
        paths = [
            k.load(old, origin, where) for origin, (_, where) in zip(origins, slots, strict=True)
        ]
        k.wait(0, first)
        for weight, path, (_, where) in zip(weights, paths, slots, strict=True):
            k.compute(4, where)
            least = np.where(where, np.minimum(least, weight + path), least)
        k.compute(5, first)
        return least


@gpu.kernel("spmv_min_dot_plus_kernel", registers=24, block=BLOCK, in_step=True)
def rows_product(
    k: gpu.BlockTracer, rows: Rows, data: gpu.Ints, old: gpu.Ints, new: gpu.Ints
) -> gpu.Steps:
    """The least distance over all arcs into a vertex, from compressed sparse rows.

    There is no store in the loop: the loads of four arcs are issued together.  Registers are our
    choice.  `data` (arcs,) are their weights.
    """
    inside = gpu.threads_below(k, rows.vertices)
    first, end = rows.loaded_end(k, inside)
    least = k.fetch(old, k.t, inside)
    for slots in unrolled(first, end):
        least = Arcs(rows.col, data).relax(k, old, slots, least)
        yield
    k.store(new, k.t, least, inside)


@gpu.kernel("ell_min_dot_plus_kernel", registers=24, block=BLOCK, in_step=True)
def slots_product(
    k: gpu.BlockTracer, arcs: Arcs, count: int, n: int, old: gpu.Ints, new: gpu.Ints
) -> gpu.Steps:
    """The same from the ELL format: slot i of vertex t at ``t + i * vertices``, coalesced.

    All vertices go through as many slots as the largest in-degree, `count`; empty ones lead from
    vertex 0 and are too long (our choice).  Registers are our choice, too.
    """
    inside = gpu.threads_below(k, n)
    least = k.fetch(old, k.t, inside)
    for group in gpu.groups(count, UNROLL):
        slots = [(k.t + slot * n, inside) for slot in group]
        least = arcs.relax(k, old, slots, least)
        yield
    k.store(new, k.t, least, inside)


@gpu.program("sssp")
def sssp(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    seed: int,
    source: int = gpu.number(0, 0),
    rounds: int | None = gpu.number(None),
) -> gpu.Launches:
    """Shortest paths on compressed sparse rows, of the graph with its arcs reversed.

    Arrays in the order row, col, data, stop, vector1, vector2.

    Parameters:
        source: where the paths start (the suite: 0).
        rounds: most rounds, of three launches each; None: until no distance changes, at most
            vertices - 1 (the suite).
    """
    reverse = transposed(graph)
    rows = Rows.place(memory, reverse)
    data = memory.allocate("data", whole_weights(reverse, seed))

    product = partial(rows_product[graph.vertices], rows, data)
    yield from _rounds(memory, graph, source, rounds, product)


@gpu.program("sssp_ell")
def sssp_ell(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    seed: int,
    source: int = gpu.number(0, 0),
    rounds: int | None = gpu.number(None),
) -> gpu.Launches:
    """Shortest paths on the ELL format, of the graph with its arcs reversed.

    Arrays in the order col, data, stop, vector1, vector2.

    Parameters:
        source, rounds: as those of sssp.
    """
    n, reverse = graph.vertices, transposed(graph)
    count = int(reverse.degrees.max())
    if count * n > MOST_SLOTS:
        raise ValueError(
            f"{graph.name} has a vertex of in-degree {count}, too much for the ELL format "
            f"of {n} vertices; at most {MOST_SLOTS} slots are allowed"
        )
    col = np.zeros((count, n), dtype=np.int32)
    data = np.full_like(col, UNREACHED)
    vertex = np.repeat(np.arange(n), reverse.degrees)
    slot = np.arange(reverse.arcs) - reverse.row[vertex]
    col[slot, vertex] = reverse.col
    data[slot, vertex] = whole_weights(reverse, seed)
    arcs = Arcs(memory.allocate("col", col), memory.allocate("data", data))

    product = partial(slots_product[n], arcs, count, n)
    yield from _rounds(memory, graph, source, rounds, product)


def _rounds(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    source: int,
    rounds: int | None,
    product: Callable[[gpu.Ints, gpu.Ints], gpu.Launch],
) -> gpu.Launches:
    """{stop = 0; assign; min-plus product; compare} until no distance changes."""
    n = graph.vertices
    if source >= n:
        raise ValueError(f"source = {source}: {graph.name} has {n} vertices")
    stop = memory.zeros("stop", 1, np.int32)
    old, new = (memory.zeros(name, n, np.int32) for name in ("vector1", "vector2"))
    yield start[n](old, new, n, source)
    for _ in range(min(rounds or n, n - 1)):
        stop.data[0] = 0
        yield assign[n](old, new, n)
        yield product(old, new)
        yield compare[n](old, new, n, stop)
        if not stop.data[0]:
            return

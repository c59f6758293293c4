"""mis: a maximal independent set by random vertex values (Luby)."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import FAR, Rows, unrolled, vertex_values

OPEN, CLOSED, MEMBER = -1, -2, 2
"""Marks of vertices: undecided and decided (in `c` and `cu`), in the set (in `s`)."""


@frozen
class Vertices:
    """Arrays with an element a vertex.

    Attributes:
        smallest: the smallest value of its undecided neighbours, `min`.
        c, cu: whether it is decided, now and after this round.
        s: the set.
        value: random values.
    """

    smallest: gpu.Ints
    c: gpu.Ints
    cu: gpu.Ints
    s: gpu.Ints
    value: gpu.Ints


@gpu.kernel("init", registers=12, in_step=True)
def start(k: gpu.BlockTracer, v: Vertices, n: int) -> None:
    """Every vertex is undecided."""
    inside = gpu.threads_below(k, n)
    k.store(v.c, k.t, OPEN, inside)
    k.store(v.cu, k.t, OPEN, inside)
    k.store(v.s, k.t, 0, inside)


@gpu.kernel("mis1", registers=28, in_step=True)
def find_smallest(k: gpu.BlockTracer, rows: Rows, v: Vertices, stop: gpu.Ints) -> gpu.Steps:
    """The smallest value among the undecided neighbours of each undecided vertex.

    There is no store in the loop: four arcs at a time load `col`, then `c`, then `value`.  Five
    instructions an arc, three more for a rival, five for the loop of four: PTX of nvcc 11.8, sm_35.
    """
    inside = gpu.threads_below(k, rows.vertices)
    active = inside & (k.fetch(v.c, k.t, inside) == OPEN)
    if not active.any():
        return
    k.store(stop, 0, 1, active)
    smallest = np.full(k.threads, FAR, dtype=np.int32)
    for arcs in unrolled(*rows.known_end(k, active)):
        first = arcs[0][1]
        targets = [k.load(rows.col, arc, where) for arc, where in arcs]
        k.wait(0, first)
        rivals = [
            where & (k.load(v.c, target, where) == OPEN)
            for target, (_, where) in zip(targets, arcs, strict=True)
        ]
        k.wait(0, first)
        for target, rival in zip(targets, rivals, strict=True):
            value = k.load(v.value, target, rival)
            smallest = np.where(rival, np.minimum(smallest, value), smallest)
        k.wait(0, np.logical_or.reduce(rivals))
        for rival, (_, where) in zip(rivals, arcs, strict=True):
            k.compute(5, where)
            k.compute(3, rival)
        k.compute(5, first)
        yield
    k.store(v.smallest, k.t, smallest, active)


@gpu.kernel("mis2", registers=22, in_step=True)
def join(k: gpu.BlockTracer, rows: Rows, v: Vertices, before: NDArray[np.int32]) -> gpu.Steps:
    """Vertices that no neighbour undercuts join the set and rule out their neighbours.

    Neighbours with equal values both join: a flaw of the suite, kept.  In the suite a vertex may or
    may not see that such a neighbour has just joined; here it sees `before`, which is `c` as it was
    at the launch, so that the result and the addresses do not depend on the order of blocks.  Six
    instructions an arc, three more if it rules its target out, as in PTX of nvcc 11.8 for sm_35.
    """
    inside = gpu.threads_below(k, rows.vertices)
    value = k.load(v.value, k.t, inside)
    smallest = k.load(v.smallest, k.t, inside)
    k.wait(0, inside)
    candidate = inside & (value <= smallest)
    joins = candidate & (k.fetch(v.c, k.t, candidate) == OPEN)
    if not joins.any():
        return
    k.store(v.s, k.t, MEMBER, joins)
    first, end = rows.known_end(k, joins)
    k.store(v.c, k.t, CLOSED, joins)
    for edge, where in gpu.strides(first, end):
        target = k.fetch(rows.col, edge, where)
        k.compute(2, where)
        k.fetch(v.c, target, where)
        k.compute(4, where)
        rival = where & (before[np.where(where, target, 0)] == OPEN)
        k.compute(3, rival)
        k.store(v.cu, target, CLOSED, rival)
        yield


@gpu.kernel("mis3", registers=8, in_step=True)
def update(k: gpu.BlockTracer, c: gpu.Ints, cu: gpu.Ints, n: int) -> None:
    """Vertices that were ruled out are decided."""
    inside = gpu.threads_below(k, n)
    closed = inside & (k.fetch(cu, k.t, inside) == CLOSED)
    k.store(c, k.t, CLOSED, closed)


@gpu.program("mis")
def mis(
    memory: gpu.AddressSpace, graph: gpu.Graph, seed: int, rounds: int | None = gpu.number(None)
) -> gpu.Launches:
    """A maximal independent set: init, then {stop = 0; mis1; mis2; mis3} until stop stays 0.

    Arrays in the order row, col, stop, min, c, cu, s, value.

    Parameters:
        rounds: most rounds, of three launches each; None: until all vertices are decided.
    """
    n = graph.vertices
    rows = Rows.place_starts(memory, graph)
    stop = memory.zeros("stop", 1, np.int32)
    smallest, c, cu, s = (memory.zeros(name, n, np.int32) for name in ("min", "c", "cu", "s"))
    value = memory.allocate("value", vertex_values(n, seed))
    v = Vertices(smallest, c, cu, s, value)
    yield start[n](v, n)
    number = 0
    while rounds is None or number < rounds:
        stop.data[0] = 0
        yield find_smallest[n](rows, v, stop)
        yield join[n](rows, v, c.data.copy())
        yield update[n](c, cu, n)
        if not stop.data[0]:
            return
        number += 1

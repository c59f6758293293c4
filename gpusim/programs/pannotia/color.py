"""color_max and color_maxmin: graph colouring by random vertex values (Jones and Plassmann)."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import FAR, Rows, vertex_values

BLOCK = 256
NONE = -1
"""The color of a vertex that has none yet."""


@frozen
class Vertices:
    """Arrays with an element a vertex.

    Attributes:
        color: colors.
        value: random values.
        largest, smallest: values of its uncolored neighbours, `max` and `min`; color_max has no
            `smallest`.
    """

    color: gpu.Ints
    value: gpu.Ints
    largest: gpu.Ints
    smallest: gpu.Ints | None = None


@gpu.kernel("ini", registers=8, block=BLOCK, in_step=True)
def reset(k: gpu.BlockTracer, largest: gpu.Ints, smallest: gpu.Ints, n: int) -> None:
    """Before color_maxmin's first round: no neighbour is larger or smaller.

    Registers are our choice.
    """
    inside = gpu.threads_below(k, n)
    k.store(largest, k.t, -1, inside)
    k.store(smallest, k.t, FAR, inside)


@gpu.kernel("color1", registers=30, block=BLOCK, in_step=True)
def compare_neighbours(k: gpu.BlockTracer, rows: Rows, v: Vertices, stop: gpu.Ints) -> gpu.Steps:
    """The extreme values among the uncolored neighbours of each uncolored vertex.

    The target of an arc is loaded again after the store that clears the way for another round,
    since it may alias.  An arc takes seven instructions, five more if its target has no color yet,
    as in PTX of nvcc 11.8 for sm_35.  A vertex of degree 1 sees no neighbour: the suite's way out
    for them.
    """
    inside = gpu.threads_below(k, rows.vertices)
    active = inside & (k.fetch(v.color, k.t, inside) == NONE)
    if not active.any():
        return
    first, end = rows.known_end(k, active)
    linked = end - first != 1
    largest = np.full(k.threads, -1, dtype=np.int32)
    smallest = np.full(k.threads, FAR, dtype=np.int32)
    for edge, where in gpu.strides(first, end):
        target = k.fetch(rows.col, edge, where)
        k.compute(2, where)
        rival = where & linked & (k.fetch(v.color, target, where) == NONE)
        if rival.any():
            k.store(stop, 0, 1, rival)
            target = k.fetch(rows.col, edge, rival)
            value = k.fetch(v.value, target, rival)
            k.compute(5, rival)
            largest = np.where(rival, np.maximum(largest, value), largest)
            smallest = np.where(rival, np.minimum(smallest, value), smallest)
        k.compute(5, where)
        yield
    k.store(v.largest, k.t, largest, active)
    if v.smallest is not None:
        k.store(v.smallest, k.t, smallest, active)


@gpu.kernel("color2", registers=10, block=BLOCK, in_step=True)
def color_extremes(k: gpu.BlockTracer, v: Vertices, n: int, color: int) -> None:
    """Vertices that no neighbour exceeds get this round's color; the smallest ones the next.

    Neighbours with equal values get equal colors: a flaw of the suite, kept.
    """
    inside = gpu.threads_below(k, n)
    active = inside & (k.fetch(v.color, k.t, inside) == NONE)
    k.compute(7, active)
    value = k.load(v.value, k.t, active)
    largest = k.load(v.largest, k.t, active)
    k.wait(0, active)
    k.store(v.color, k.t, color, active & (value >= largest))
    if v.smallest is not None:
        value = k.load(v.value, k.t, active)
        smallest = k.load(v.smallest, k.t, active)
        k.wait(0, active)
        k.store(v.color, k.t, color + 1, active & (value <= smallest))


@gpu.program("color_max")
def color_max(
    memory: gpu.AddressSpace, graph: gpu.Graph, seed: int, rounds: int | None = gpu.number(None)
) -> gpu.Launches:
    """One color a round.  Arrays in the order row, col, stop, color, value, max.

    Parameters:
        rounds: most rounds, of two launches each; None: until all vertices have colors.
    """
    rows, stop = Rows.place_starts(memory, graph), memory.zeros("stop", 1, np.int32)
    v = _place(memory, graph, seed)
    yield from _rounds(rows, v, stop, rounds, colors=1)


@gpu.program("color_maxmin")
def color_maxmin(
    memory: gpu.AddressSpace, graph: gpu.Graph, seed: int, rounds: int | None = gpu.number(None)
) -> gpu.Launches:
    """Two colors a round, for the largest and the smallest vertices; arrays as color_max, then min.

    A vertex that is both (it has no uncolored neighbour) gets the second color.

    Parameters:
        rounds: as color_max's.
    """
    n = graph.vertices
    rows, stop = Rows.place_starts(memory, graph), memory.zeros("stop", 1, np.int32)
    v = _place(memory, graph, seed)
    smallest = memory.zeros("min", n, np.int32)
    yield reset[n](v.largest, smallest, n)
    v = Vertices(v.color, v.value, v.largest, smallest)
    yield from _rounds(rows, v, stop, rounds, colors=2)


def _place(memory: gpu.AddressSpace, graph: gpu.Graph, seed: int) -> Vertices:
    n = graph.vertices
    color = memory.allocate("color", np.full(n, NONE, dtype=np.int32))
    value = memory.allocate("value", vertex_values(n, seed))
    return Vertices(color, value, memory.zeros("max", n, np.int32))


def _rounds(rows: Rows, v: Vertices, stop: gpu.Ints, most: int | None, colors: int) -> gpu.Launches:
    """Rounds of both kernels, of `colors` colors each: {stop = 0; color1; color2} until 0 stays."""
    n, number = rows.vertices, 0
    while most is None or number < most:
        stop.data[0] = 0
        yield compare_neighbours[n](rows, v, stop)
        yield color_extremes[n](v, n, 1 + number * colors)
        if not stop.data[0]:
            return
        number += 1

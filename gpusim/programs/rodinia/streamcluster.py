"""streamcluster: online clustering; each launch tries one point as a new centre."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 512
UNROLL = 4
"""Dimensions a pass: the loop has no store, so their loads are issued together."""

POINT = np.dtype(
    {
        "names": ["weight", "assign", "cost"],
        "formats": ["f4", "i8", "f4"],
        "offsets": [0, 16, 24],
        "itemsize": 32,
    }
)
"""A point of 32 bytes; bytes 8 to 15 are a pointer that the kernel does not follow."""
Matrix = NDArray[np.float32]


@frozen
class Stream:
    """Points, and what each of them would save.

    Attributes:
        words, assign: the points, as 32-bit words and as 64-bit words.
        coord: (dimensions * points,) their coordinates, dimension by dimension.
        work: (points + 1, centers + 1) savings at each centre, and at the candidate.
        table: (points,) a centre's number among the centres.
        switch: (points,) whether a point would change to the candidate.
        count, dimensions: points, and their dimensions.
    """

    words: gpu.Floats
    assign: gpu.Longs
    coord: gpu.Floats
    work: gpu.Floats
    table: gpu.Ints
    switch: gpu.DeviceArray[np.bool_]
    count: int
    dimensions: int


@gpu.kernel("kernel_compute_cost", registers=24, block=BLOCK, in_step=True)
def compute_cost(k: gpu.BlockTracer, of: Stream, centers: int, x: int) -> gpu.Steps:
    """What every point would save if point x were a centre: one point a thread.

    Dimensions x { L coord[i * points + t], L coord[i * points + x] }, four at a time, with 2
    instructions for each distance, 4 for each dimension's two addresses of 64 bits, and 3 for the
    loop; L weight, L cost.  If x is cheaper: S switch, then L, S work[t * (K + 1) + K]; else L
    assign, L center_table[assign], then L, S work at that centre.  24 registers (our choice).

    Takes `centers` (their number), `x` (the candidate).
    """
    t = k.t
    inside = gpu.threads_below(k, of.count)
    distance = np.zeros(k.threads, dtype=np.float32)
    for rows in gpu.groups(of.dimensions, UNROLL):
        pairs = [
            (
                k.load(of.coord, row * of.count + t, inside),
                k.load(of.coord, row * of.count + x, inside),
            )
            for row in rows
        ]
        k.wait(0, inside)
        k.compute(6 * len(rows) + 3, inside)
        for own, other in pairs:
            distance += (own - other) ** 2
        yield
    weight = k.load(of.words, 8 * t, inside)
    cost = k.load(of.words, 8 * t + 6, inside)
    k.wait(0, inside)
    k.compute(2, inside)
    saving = distance * weight - cost
    cheaper = inside & (saving < 0)
    k.store(of.switch, t, True, cheaper)
    column = np.full(k.threads, centers)
    stays = inside & ~cheaper
    assign = k.fetch(of.assign, 4 * t + 2, stays)
    column[stays] = k.fetch(of.table, assign, stays)[stays]
    cell = t * (centers + 1) + column
    for where, change in ((cheaper, saving), (stays, -saving)):
        before = k.fetch(of.work, cell, where)
        k.compute(1, where)
        k.store(of.work, cell, before + change, where)


@gpu.program("streamcluster")
def streamcluster(
    memory: gpu.AddressSpace,
    seed: int,
    points: int = gpu.number(65536),
    dimensions: int = gpu.number(256),
    fewest_centers: int = gpu.number(10, 2),
    most_centers: int = gpu.number(20, "fewest_centers", "points"),
    candidates: int = gpu.number(1000),
) -> gpu.Launches:
    """The local search of streamcluster: one launch a candidate, then the host decides.

    The host opens the candidate if it saves more than the cost of a centre, closes the centres
    that are no longer worth theirs, and moves the points.  Arrays in the order center_table,
    switch_membership, p, coord, work_mem.  Coordinates are uniform from 0 to 1, all weights 1, as
    in the suite's random stream.  Our choices: the first centres and the candidates are random;
    the cost of a centre is what the last of the first centres saved, where the suite searches for
    a cost that leaves k1 to k2 centres; `work_mem`, which the suite allocates for every launch,
    has room for `most_centers` and stays where it is.

    Parameters:
        points: points of the stream's one chunk (the suite: 65536).
        dimensions: of a point (the suite: 256).
        fewest_centers: centres at the start (the suite's k1: 10).
        most_centers: no candidate opens beyond them (the suite's k2: 20).
        candidates: points that are tried as a centre, one a launch (the suite: thousands).
    """
    rng = np.random.default_rng(seed)
    coordinates = rng.random((dimensions, points), dtype=np.float32)
    centers = rng.choice(points, fewest_centers, replace=False).tolist()
    tried = rng.integers(0, points, candidates).tolist()
    state = np.zeros(points, dtype=POINT)
    state["weight"] = 1
    state["cost"] = np.inf
    total = np.inf
    for center in centers:
        distance = _distances(coordinates, center)
        nearer = distance < state["cost"]
        state["assign"][nearer] = center
        state["cost"][nearer] = distance[nearer]
        before, total = total, float(state["cost"].sum(dtype=np.float64))
    price = before - total
    table = memory.zeros("center_table", points, np.int32)
    switch = memory.allocate("switch_membership", np.zeros(points, dtype=bool), 1)
    words = memory.allocate("p", state.view(np.float32))
    coord = memory.allocate("coord", coordinates)
    work = memory.zeros("work_mem", (points + 1) * (most_centers + 1), np.float32)
    assign = words.view(np.int64)
    of = Stream(words, assign, coord, work, table, switch, points, dimensions)
    for x in tried:
        table.data[centers] = np.arange(len(centers))
        switch.data[:] = False
        work.data[:] = 0
        yield compute_cost[points](of, len(centers), x)
        centers = _decided(of, centers, x, price, most_centers)


def _decided(of: Stream, centers: list[int], x: int, price: float, most: int) -> list[int]:
    """The centres after a candidate; points move if it opens.

    Args:
        of: the points, and their savings.
        centers: before, in the order of the table.
        x: the candidate.
        price: of a centre.
        most: centres.
    """
    n, count = of.count, len(centers)
    savings = of.work.data[: n * (count + 1)].reshape(n, count + 1).sum(axis=0, dtype=np.float64)
    gain = price + savings[:count]  # by closing a centre and moving its points to x
    closing = [c for c, value in zip(centers, gain, strict=True) if value > 0 and c != x]
    change = price + savings[count] - np.maximum(gain, 0).sum()
    if change >= 0 or x in centers or count - len(closing) >= most:
        return centers
    points = of.words.data.view(POINT)
    moving = of.switch.data | np.isin(points["assign"], closing)
    distance = _distances(of.coord.data.reshape(-1, n), x)
    points["assign"][moving] = x
    points["cost"][moving] = (distance * points["weight"])[moving]
    return [c for c in centers if c not in closing] + [x]


def _distances(coordinates: Matrix, point: int) -> Matrix:
    """(points,) squared distances of all points to one."""
    difference = coordinates - coordinates[:, point : point + 1]
    squared: Matrix = np.einsum("ij,ij->j", difference, difference)
    return squared

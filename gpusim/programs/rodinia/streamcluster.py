"""streamcluster: online clustering; each launch tries one point as a new centre."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

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

Floats = DeviceArray[np.float32]
Matrix = NDArray[np.float32]


@define(kw_only=True, eq=False)
class ComputeCost(Kernel):
    """What every point would save if point x were a centre: one point a thread.

    Dimensions x { L coord[i * points + t], L coord[i * points + x] }, four at a time, with 2
    instructions for each distance, 4 for each dimension's two addresses of 64 bits, and 3 for the
    loop; L weight, L cost.  If x is cheaper: S switch, then L, S work[t * (K + 1) + K]; else L
    assign, L center_table[assign], then L, S work at that centre.  24 registers (our choice).

    Attributes:
        words, assign: the points, as 32-bit words and as 64-bit words.
        coord: (dimensions * points,) their coordinates, dimension by dimension.
        work: (points + 1, centers + 1) savings at each centre, and at x.
        table: (points,) a centre's number among the centres.
        switch: (points,) whether a point would change to x.
        points, dimensions, centers: their numbers.
        x: the candidate.
    """

    words: Floats
    assign: DeviceArray[np.int64]
    coord: Floats
    work: Floats
    table: DeviceArray[np.int32]
    switch: DeviceArray[np.bool_]
    points: int
    dimensions: int
    centers: int
    x: int
    name: str = "kernel_compute_cost"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = threads_below(k, self.points)
        distance = np.zeros(k.threads, dtype=np.float32)
        for first in range(0, self.dimensions, UNROLL):
            rows = range(first, min(first + UNROLL, self.dimensions))
            pairs = [
                (
                    k.load(self.coord, row * self.points + t, inside),
                    k.load(self.coord, row * self.points + self.x, inside),
                )
                for row in rows
            ]
            k.wait(0, inside)
            k.compute(6 * len(rows) + 3, inside)
            for own, other in pairs:
                distance += (own - other) ** 2
            yield
        weight = k.load(self.words, 8 * t, inside)
        cost = k.load(self.words, 8 * t + 6, inside)
        k.wait(0, inside)
        k.compute(2, inside)
        saving = distance * weight - cost
        cheaper = inside & (saving < 0)
        k.store(self.switch, t, True, cheaper)
        column = np.full(k.threads, self.centers)
        stays = inside & ~cheaper
        assign = k.load(self.assign, 4 * t + 2, stays)
        k.wait(0, stays)
        column[stays] = k.load(self.table, assign, stays)[stays]
        k.wait(0, stays)
        cell = t * (self.centers + 1) + column
        for where, change in ((cheaper, saving), (stays, -saving)):
            before = k.load(self.work, cell, where)
            k.wait(0, where)
            k.compute(1, where)
            k.store(self.work, cell, before + change, where)


@frozen
class StreamclusterParameters:
    """Parameters of streamcluster.

    Attributes:
        points: points of the stream's one chunk (the suite: 65536).
        dimensions: of a point (the suite: 256).
        fewest_centers: centres at the start (the suite's k1: 10).
        most_centers: no candidate opens beyond them (the suite's k2: 20).
        candidates: points that are tried as a centre, one a launch (the suite: thousands).
    """

    points: int = field(default=65536, validator=ge(1))
    dimensions: int = field(default=256, validator=ge(1))
    fewest_centers: int = field(default=10, validator=ge(2))
    most_centers: int = field(default=20)
    candidates: int = field(default=1000, validator=ge(1))

    @most_centers.validator
    def _fits(self, _: object, most: int) -> None:
        if not self.fewest_centers <= most <= self.points:
            raise ValueError(
                f"'most_centers' must be from fewest_centers = {self.fewest_centers} to "
                f"points = {self.points}: {most}"
            )


@program("streamcluster", StreamclusterParameters)
class Streamcluster(Program):
    """The local search of streamcluster: one launch a candidate, then the host decides.

    The host opens the candidate if it saves more than the cost of a centre, closes the centres
    that are no longer worth theirs, and moves the points.  Arrays in the order center_table,
    switch_membership, p, coord, work_mem.  Coordinates are uniform from 0 to 1, all weights 1, as
    in the suite's random stream.  Our choices: the first centres and the candidates are random;
    the cost of a centre is what the last of the first centres saved, where the suite searches for
    a cost that leaves k1 to k2 centres; `work_mem`, which the suite allocates for every launch,
    has room for `most_centers` and stays where it is.

    Attributes:
        centers: the points that are centres, in the order of the table.
        price: the cost of a centre.
    """

    def __init__(self, parameters: StreamclusterParameters, seed: int) -> None:
        super().__init__("streamcluster")
        self.parameters = parameters
        n = parameters.points
        rng = np.random.default_rng(seed)
        coordinates = rng.random((parameters.dimensions, n), dtype=np.float32)
        self.centers = rng.choice(n, parameters.fewest_centers, replace=False).tolist()
        self.candidates = rng.integers(0, n, parameters.candidates).tolist()
        points = np.zeros(n, dtype=POINT)
        points["weight"] = 1
        points["cost"] = np.inf
        total = np.inf
        for center in self.centers:
            distance = _distances(coordinates, center)
            nearer = distance < points["cost"]
            points["assign"][nearer] = center
            points["cost"][nearer] = distance[nearer]
            before, total = total, float(points["cost"].sum(dtype=np.float64))
        self.price = before - total
        self.table = self.memory.allocate("center_table", np.zeros(n, dtype=np.int32))
        self.switch = self.memory.allocate("switch_membership", np.zeros(n, dtype=bool), 1)
        self.words = self.memory.allocate("p", points.view(np.float32))
        self.coord = self.memory.allocate("coord", coordinates)
        room = (n + 1) * (parameters.most_centers + 1)
        self.work = self.memory.allocate("work_mem", np.zeros(room, dtype=np.float32))

    @property
    def points(self) -> NDArray[np.void]:
        """(points,) of `POINT`: the device's, not a copy."""
        return self.words.data.view(POINT)

    def launches(self) -> Iterator[Launch]:
        n, dimensions = self.parameters.points, self.parameters.dimensions
        words = self.words
        assign = DeviceArray("p", words.data.view(np.int64), words.base, 8, words.length // 2)
        for x in self.candidates:
            count = len(self.centers)
            self.table.data[self.centers] = np.arange(count)
            self.switch.data[:] = False
            self.work.data[:] = 0
            yield ComputeCost(
                shape=Shape.linear(n, BLOCK),
                words=words,
                assign=assign,
                coord=self.coord,
                work=self.work,
                table=self.table,
                switch=self.switch,
                points=n,
                dimensions=dimensions,
                centers=count,
                x=x,
            )
            self._decide(x)

    def _decide(self, x: int) -> None:
        """Open centre x, and close those that it makes worthless, if that saves something."""
        n, count = self.parameters.points, len(self.centers)
        work = self.work.data[: n * (count + 1)].reshape(n, count + 1)
        savings = work.sum(axis=0, dtype=np.float64)
        gain = self.price + savings[:count]  # by closing a centre and moving its points to x
        closing = [c for c, value in zip(self.centers, gain, strict=True) if value > 0 and c != x]
        change = self.price + savings[count] - np.maximum(gain, 0).sum()
        room = count - len(closing) < self.parameters.most_centers
        if change >= 0 or x in self.centers or not room:
            return
        points = self.points
        moving = self.switch.data | np.isin(points["assign"], closing)
        distance = _distances(self.coord.data.reshape(-1, n), x)
        points["assign"][moving] = x
        points["cost"][moving] = (distance * points["weight"])[moving]
        self.centers = [c for c in self.centers if c not in closing] + [x]


def _distances(coordinates: Matrix, point: int) -> Matrix:
    """(points,) squared distances of all points to one."""
    difference = coordinates - coordinates[:, point : point + 1]
    squared: Matrix = np.einsum("ij,ij->j", difference, difference)
    return squared

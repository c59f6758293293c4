"""kmeans: the nearest of a few centres for every point, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE, threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
UNROLL = 4
"""Features a pass of the loop without stores: their loads are issued together."""

THRESHOLD = 0.001
"""The host stops when at most this share of the points has changed its centre."""

CONSTANT_FLOATS = 16384
"""Floats that fit the constant memory, 64 KiB, where the centres lie."""

Floats = DeviceArray[np.float32]
Matrix = NDArray[np.float32]


@define(kw_only=True, eq=False)
class InvertMapping(Kernel):
    """Transposes the points: one point a thread.

    Features x { L input[t * features + i], S output[t + points * i] }; the store may alias the
    next load, so each is waited for.  The loop is unrolled four times: an address a feature, five
    instructions for the four, as in PTX of nvcc 11.8 for sm_35.  10 registers (our choice).

    Attributes:
        source: (points * features,) point by point.
        output: (features * points,) feature by feature.
        points, features: their numbers.
    """

    source: Floats
    output: Floats
    points: int
    features: int
    name: str = "invert_mapping"
    registers_per_thread: int = 10
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.points)
        for i in range(self.features):
            value = k.load(self.source, k.t * self.features + i, inside)
            k.wait(0, inside)
            k.store(self.output, k.t + self.points * i, value, inside)
            k.compute(6 if i % UNROLL == UNROLL - 1 else 1, inside)
            yield


@define(kw_only=True, eq=False)
class KmeansPoint(Kernel):
    """The nearest centre of every point: one point a thread.

    Clusters x features x { texture load feature[t + j * points], sub, FMA }, four features at a
    time; S membership[t].  The centres are in constant memory and make no traffic; their load and
    the address of the feature make it four instructions a feature, and the loops take five for four
    features and 18 a cluster, as in PTX of nvcc 11.8 for sm_35.  The grid is
    square; t counts its blocks row by row.  16 registers (our choice).

    Attributes:
        feature: (features * points,) feature by feature.
        membership: (points,) the nearest centre.
        centers: (clusters, features) the centres, in constant memory.
        points: their number.
    """

    feature: Floats
    membership: DeviceArray[np.int32]
    centers: Matrix
    points: int
    name: str = "kmeansPoint"
    registers_per_thread: int = 16
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = (self.shape.grid[0] * k.by + k.bx) * BLOCK + k.tx
        inside = t < self.points
        k.compute(PROLOGUE, inside)
        nearest = np.full(k.threads, -1, dtype=np.int32)
        smallest = np.full(k.threads, np.inf, dtype=np.float32)
        features = self.centers.shape[1]
        for number, center in enumerate(self.centers):
            distance = np.zeros(k.threads, dtype=np.float32)
            for first in range(0, features, UNROLL):
                group = range(first, min(first + UNROLL, features))
                values = [k.load(self.feature, t + j * self.points, inside) for j in group]
                k.wait(0, inside)
                k.compute(4 * len(group) + 5, inside)
                for j, value in zip(group, values, strict=True):
                    distance += (value - center[j]) ** 2
                yield
            k.compute(18, inside)
            nearer = distance < smallest
            nearest[nearer] = number
            smallest[nearer] = distance[nearer]
        k.store(self.membership, t, nearest, inside)


@frozen
class KmeansParameters:
    """Parameters of kmeans.

    Attributes:
        points: their number (the suite's kdd_cup: 494020).
        features: coordinates of a point (kdd_cup: 34).
        clusters: centres (the suite: 5).
        iterations: most launches of kmeansPoint (the suite: 500).
    """

    points: int = field(default=494_020, validator=ge(1))
    features: int = field(default=34, validator=[ge(1), le(CONSTANT_FLOATS)])
    clusters: int = field(default=5, validator=ge(1))
    iterations: int = field(default=500, validator=ge(1))

    @clusters.validator
    def _fits(self, _: object, clusters: int) -> None:
        most = min(self.points, CONSTANT_FLOATS // self.features)
        if clusters > most:
            raise ValueError(
                f"'clusters' must be at most {most}, the points that there are and the centres of "
                f"{self.features} features that fit 64 KiB of constant memory: {clusters}"
            )


@program("kmeans", KmeansParameters)
class Kmeans(Program):
    """invert_mapping once, then kmeansPoint until hardly a point changes its centre.

    The first points are the first centres; after each launch the host moves every centre to the
    mean of its points.  Arrays in the order feature_flipped, feature, membership, clusters (never
    read: its copy in constant memory is).  Points lie around as many random places as there are
    clusters, uniform from 0 to 1, with a deviation of 0.2 (our choice).

    Attributes:
        centers: (clusters, features) the current centres.
    """

    def __init__(self, parameters: KmeansParameters, seed: int) -> None:
        super().__init__("kmeans")
        self.parameters = parameters
        n, features, clusters = parameters.points, parameters.features, parameters.clusters
        rng = np.random.default_rng(seed)
        places = rng.random((clusters, features), dtype=np.float32)
        points = rng.standard_normal((n, features), dtype=np.float32)
        points *= 0.2
        points += places[rng.integers(0, clusters, n)]
        self.centers = points[:clusters].copy()
        self.flipped = self.memory.allocate("feature_flipped", points)
        self.feature = self.memory.allocate("feature", np.zeros(n * features, dtype=np.float32))
        self.membership = self.memory.allocate("membership", np.full(n, -1, dtype=np.int32))
        self.memory.allocate("clusters", self.centers)

    def launches(self) -> Iterator[Launch]:
        n, features = self.parameters.points, self.parameters.features
        blocks = -(-n // BLOCK)
        side = isqrt(blocks - 1) + 1
        yield InvertMapping(
            shape=Shape((side * side, 1, 1), (BLOCK, 1, 1)),
            source=self.flipped,
            output=self.feature,
            points=n,
            features=features,
        )
        for _ in range(self.parameters.iterations):
            before = self.membership.data.copy()
            yield KmeansPoint(
                shape=Shape((side, side, 1), (BLOCK, 1, 1)),
                feature=self.feature,
                membership=self.membership,
                centers=self.centers,
                points=n,
            )
            self._move()
            if np.count_nonzero(self.membership.data != before) <= THRESHOLD * n:
                return

    def _move(self) -> None:
        """Every centre to the mean of its points; one without points stays where it is."""
        points = self.flipped.data.reshape(self.parameters.points, -1)
        centers = self.centers.copy()
        for number in range(len(centers)):
            own = self.membership.data == number
            if own.any():
                centers[number] = points[own].mean(axis=0, dtype=np.float64)
        self.centers = centers

"""kmeans: the nearest of a few centres for every point, again and again."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 256
UNROLL = 4
"""Features a pass of the loop without stores: their loads are issued together."""

THRESHOLD = 0.001
"""The host stops when at most this share of the points has changed its centre."""

CONSTANT_FLOATS = 16384
"""Floats that fit the constant memory, 64 KiB, where the centres lie."""
Matrix = NDArray[np.float32]


@gpu.kernel("invert_mapping", registers=10, in_step=True)
def invert_mapping(
    k: gpu.BlockTracer, source: gpu.Floats, output: gpu.Floats, points: int, features: int
) -> gpu.Steps:
    """Transposes the points: one point a thread.

    Features x { L input[t * features + i], S output[t + points * i] }; the store may alias the
    next load, so each is waited for.  The loop is unrolled four times: an address a feature, five
    instructions for the four, as in PTX of nvcc 11.8 for sm_35.  10 registers (our choice).

    Takes `source` ((points * features,) point by point), `output` ((features * points,) feature by
    feature).
    """
    inside = gpu.threads_below(k, points)
    for i in range(features):
        value = k.fetch(source, k.t * features + i, inside)
        k.store(output, k.t + points * i, value, inside)
        k.compute(6 if i % UNROLL == UNROLL - 1 else 1, inside)
        yield


@gpu.kernel("kmeansPoint", registers=16, in_step=True)
def kmeans_point(
    k: gpu.BlockTracer, feature: gpu.Floats, membership: gpu.Ints, centers: Matrix, points: int
) -> gpu.Steps:
    """The nearest centre of every point: one point a thread.

    Clusters x features x { texture load feature[t + j * points], sub, FMA }, four features at a
    time; S membership[t].  The centres are in constant memory and make no traffic; their load and
    the address of the feature make it four instructions a feature, and the loops take five for four
    features and 18 a cluster, as in PTX of nvcc 11.8 for sm_35.  The grid is
    square; t counts its blocks row by row.  16 registers (our choice).

    Takes `feature` ((features * points,) feature by feature), `membership` ((points,) the nearest
    centre), `centers` ((clusters, features) the centres, in constant memory).
    """
    t = (k.shape.grid[0] * k.by + k.bx) * BLOCK + k.tx
    inside = t < points
    k.compute(gpu.PROLOGUE, inside)
    nearest = np.full(k.threads, -1, dtype=np.int32)
    smallest = np.full(k.threads, np.inf, dtype=np.float32)
    features = centers.shape[1]
    for number, center in enumerate(centers):
        distance = np.zeros(k.threads, dtype=np.float32)
        for group in gpu.groups(features, UNROLL):
            values = [k.load(feature, t + j * points, inside) for j in group]
            k.wait(0, inside)
            k.compute(4 * len(group) + 5, inside)
            for j, value in zip(group, values, strict=True):
                distance += (value - center[j]) ** 2
            yield
        k.compute(18, inside)
        nearer = distance < smallest
        nearest[nearer] = number
        smallest[nearer] = distance[nearer]
    k.store(membership, t, nearest, inside)


def _moved(centers: Matrix, points: Matrix, membership: NDArray[np.int32]) -> Matrix:
    """Every centre at the mean of its points; one without points stays where it is."""
    moved = centers.copy()
    for number in range(len(centers)):
        own = membership == number
        if own.any():
            moved[number] = points[own].mean(axis=0, dtype=np.float64)
    return moved


@gpu.program("kmeans")
def kmeans(
    memory: gpu.AddressSpace,
    seed: int,
    points: int = gpu.number(494_020),
    features: int = gpu.number(34, 1, CONSTANT_FLOATS),
    clusters: int = gpu.number(
        5, most=lambda points, features: min(points, CONSTANT_FLOATS // features)
    ),
    iterations: int = gpu.number(500),
) -> gpu.Launches:
    """invert_mapping once, then kmeansPoint until hardly a point changes its centre.

    The first points are the first centres; after each launch the host moves every centre to the
    mean of its points.  Arrays in the order feature_flipped, feature, membership, clusters (never
    read: its copy in constant memory is).  Points lie around as many random places as there are
    clusters, uniform from 0 to 1, with a deviation of 0.2 (our choice).

    Parameters:
        points: their number (the suite's kdd_cup: 494020).
        features: coordinates of a point (kdd_cup: 34).
        clusters: centres (the suite: 5).
        iterations: most launches of kmeansPoint (the suite: 500).
    """
    rng = np.random.default_rng(seed)
    middles = rng.random((clusters, features), dtype=np.float32)
    places = rng.standard_normal((points, features), dtype=np.float32)
    places *= 0.2
    places += middles[rng.integers(0, clusters, points)]
    centers = places[:clusters].copy()
    flipped = memory.allocate("feature_flipped", places)
    feature = memory.zeros("feature", points * features, np.float32)
    membership = memory.allocate("membership", np.full(points, -1, dtype=np.int32))
    copy = memory.allocate("clusters", centers)
    side = isqrt(-(-points // BLOCK) - 1) + 1
    yield invert_mapping[side * side, BLOCK](flipped, feature, points, features)
    for _ in range(iterations):
        before = membership.data.copy()
        yield kmeans_point[(side, side), BLOCK](feature, membership, centers, points)
        centers = _moved(centers, places, membership.data)
        copy.data[:] = centers.ravel()
        if np.count_nonzero(membership.data != before) <= THRESHOLD * points:
            return

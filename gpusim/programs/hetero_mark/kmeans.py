"""hetero_mark_kmeans: the nearest of a few centres for every point, a point a thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 64
SWAP, COPY, NEXT = 16, 6, 11
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: of a copy before the
first feature, and of each one before its load and between it and the store."""
START, CENTRE, FEATURE, SUM, COMPARE, END = 28, 5, 5, 13, 10, 7
"""The same, before the first centre; of a centre; of a feature before its load and after it; after
the last feature; before the store.  A wavefront has 3152 with 5 centres of 32 features."""


@gpu.kernel("kmeans_kernel_swap", registers=8, block=BLOCK, in_step=True)
def swap(k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, points: int) -> gpu.Steps:
    """A point a thread: its features, neighbours in `source`, go `points` apart in `result`."""
    inside = k.t < points
    features = source.length // points
    k.compute(SWAP, inside)
    for feature in range(features):
        k.compute(COPY, inside)
        value = k.load(source, k.t * features + feature, inside)
        k.compute(NEXT, inside)
        k.wait(0, inside)
        k.store(result, k.t + points * feature, value, inside)
        k.compute(1, inside)
        yield
    k.compute(1)


@gpu.kernel("kmeans_kernel_compute", registers=15, block=BLOCK, in_step=True)
def find_nearest(
    k: gpu.BlockTracer,
    features: gpu.Floats,
    membership: gpu.Ints,
    centres: NDArray[np.float32],
    points: int,
) -> gpu.Steps:
    """A point a thread: centres x features x { L feature, the centre's, difference, square }.

    The centres' features are scalar loads in GCN3, which make no traffic here.
    """
    inside = k.t < points
    k.compute(START, inside)
    nearest = np.zeros(k.threads, dtype=np.int32)
    smallest = np.full(k.threads, np.inf, dtype=np.float32)
    for number, centre in enumerate(centres):
        k.compute(CENTRE, inside)
        distance = np.zeros(k.threads, dtype=np.float32)
        for feature, middle in enumerate(centre):
            k.compute(FEATURE, inside)
            value = k.fetch(features, feature * points + k.t, inside)
            k.compute(SUM, inside)
            distance += (value - middle) ** 2
            yield
        k.compute(COMPARE, inside)
        nearer = distance < smallest
        nearest[nearer] = number
        smallest[nearer] = distance[nearer]
    k.compute(END, inside)
    k.store(membership, k.t, nearest, inside)
    k.compute(1)


@gpu.program("hetero_mark_kmeans")
def hetero_mark_kmeans(
    memory: gpu.AddressSpace,
    seed: int,
    points: int = gpu.number(1024),
    clusters: int = gpu.number(5, most="points"),
    features: int = gpu.number(32),
    iterations: int = gpu.number(5),
) -> gpu.Launches:
    """A copy of the points, feature by feature, then launches until no point changes its centre.

    Arrays in the order features, features_swap, membership, clusters (which no load reads, see
    `find_nearest`).  Features are random from 0 to 1; the first points are the first centres.

    Parameters:
        points: their number (MGPUSim: 1024).
        clusters: centres (MGPUSim: 5).
        features: coordinates of a point (MGPUSim: 32).
        iterations: most launches after the copy (MGPUSim: 5).
    """
    places = np.random.default_rng(seed).random((points, features), dtype=np.float32)
    source = memory.allocate("features", places)
    swapped = memory.zeros("features_swap", points * features, np.float32)
    membership = memory.allocate("membership", np.full(points, -1, dtype=np.int32))
    centres = memory.allocate("clusters", places[:clusters].copy())
    yield swap[points](source, swapped, points)
    for _ in range(iterations):
        before = membership.data.copy()
        found = centres.data.reshape(clusters, features)
        yield find_nearest[points](swapped, membership, found.copy(), points)
        if (before == membership.data).all():
            return
        for number in range(clusters):
            own = membership.data == number
            if own.any():
                found[number] = places[own].mean(axis=0, dtype=np.float64)

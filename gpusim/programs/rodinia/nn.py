"""nn: nearest neighbours of a point among hurricane positions."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 256
LATITUDES = (7.0, 63.9)
LONGITUDES = (0.0, 358.9)
"""Ranges of the suite's generator of records, in degrees."""


@gpu.kernel("euclid", registers=10, block=BLOCK, in_step=True)
def euclid(
    k: gpu.BlockTracer,
    locations: gpu.Floats,
    distances: gpu.Floats,
    n: int,
    query: tuple[float, float],
) -> None:
    """The distance of each record to the query: one record a thread.

    L latitude and L longitude, the two words of a record (neighbouring lanes are 8 bytes apart),
    then about 12 instructions with a square root, S distance.  Registers and instructions are our
    choice.

    Takes `locations` ((2 * records,) latitude and longitude in turn), `distances` ((n,) results),
    `query` (latitude and longitude).
    """
    inside = gpu.threads_below(k, n)
    latitude = k.load(locations, 2 * k.t, inside)
    longitude = k.load(locations, 2 * k.t + 1, inside)
    k.wait(0, inside)
    k.compute(12, inside)
    distance = np.hypot(latitude - query[0], longitude - query[1])
    k.store(distances, k.t, distance.astype(np.float32), inside)


@gpu.program("nn")
def nn(
    memory: gpu.AddressSpace,
    seed: int,
    records: int = gpu.number(42764),
    latitude: float = 30.0,
    longitude: float = 90.0,
) -> gpu.Launches:
    """One launch; the host picks the nearest records.  Arrays in the order locations, distances.

    Parameters:
        records: hurricane positions (the suite's four files have 42,764).
        latitude, longitude: the query in degrees (the suite's example: 30, 90).
    """
    rng = np.random.default_rng(seed)
    size = records
    places = np.stack((rng.uniform(*LATITUDES, size), rng.uniform(*LONGITUDES, size)), axis=1)
    locations = memory.allocate("locations", places.astype(np.float32))
    distances = memory.zeros("distances", size, np.float32)
    query = latitude, longitude
    yield euclid[size](locations, distances, size, query)

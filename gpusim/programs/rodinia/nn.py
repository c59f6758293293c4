"""nn: nearest neighbours of a point among hurricane positions."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from gpusim.programs.idioms import threads_below
from gpusim.programs.writing import AddressSpace, BlockTracer, Floats, Launches, kernel, program

BLOCK = 256
LATITUDES = (7.0, 63.9)
LONGITUDES = (0.0, 358.9)
"""Ranges of the suite's generator of records, in degrees."""


@kernel("euclid", registers=10, block=BLOCK, in_step=True)
def euclid(
    k: BlockTracer, locations: Floats, distances: Floats, n: int, query: tuple[float, float]
) -> None:
    """The distance of each record to the query: one record a thread.

    L latitude and L longitude, the two words of a record (neighbouring lanes are 8 bytes apart),
    then about 12 instructions with a square root, S distance.  Registers and instructions are our
    choice.

    Takes `locations` ((2 * records,) latitude and longitude in turn), `distances` ((n,) results),
    `query` (latitude and longitude).
    """
    inside = threads_below(k, n)
    latitude = k.load(locations, 2 * k.t, inside)
    longitude = k.load(locations, 2 * k.t + 1, inside)
    k.wait(0, inside)
    k.compute(12, inside)
    distance = np.hypot(latitude - query[0], longitude - query[1])
    k.store(distances, k.t, distance.astype(np.float32), inside)


@frozen
class NnParameters:
    """Parameters of nn.

    Attributes:
        records: hurricane positions (the suite's four files have 42,764).
        latitude, longitude: the query in degrees (the suite's example: 30, 90).
    """

    records: int = field(default=42764, validator=ge(1))
    latitude: float = 30.0
    longitude: float = 90.0


@program("nn", NnParameters)
def nn(memory: AddressSpace, parameters: NnParameters, seed: int) -> Launches:
    """One launch; the host picks the nearest records.  Arrays in the order locations, distances."""
    rng = np.random.default_rng(seed)
    size = parameters.records
    places = np.stack((rng.uniform(*LATITUDES, size), rng.uniform(*LONGITUDES, size)), axis=1)
    locations = memory.allocate("locations", places.astype(np.float32))
    distances = memory.zeros("distances", size, np.float32)
    query = parameters.latitude, parameters.longitude
    yield euclid[size](locations, distances, size, query)

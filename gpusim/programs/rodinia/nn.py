"""nn: nearest neighbours of a point among hurricane positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
LATITUDES = (7.0, 63.9)
LONGITUDES = (0.0, 358.9)
"""Ranges of the suite's generator of records, in degrees."""


@define(kw_only=True, eq=False)
class Euclid(Kernel):
    """The distance of each record to the query: one record a thread.

    L latitude and L longitude, the two words of a record (neighbouring lanes are 8 bytes apart),
    then about 12 instructions with a square root, S distance.  Registers and instructions are our
    choice.

    Attributes:
        locations: (2 * records,) latitude and longitude in turn.
        distances: (records,) results.
        records: their number.
        latitude, longitude: the query.
    """

    locations: DeviceArray[np.float32]
    distances: DeviceArray[np.float32]
    records: int
    latitude: float
    longitude: float
    name: str = "euclid"
    registers_per_thread: int = 10
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.records)
        latitude = k.load(self.locations, 2 * k.t, inside)
        longitude = k.load(self.locations, 2 * k.t + 1, inside)
        k.wait(0, inside)
        k.compute(12, inside)
        distance = np.hypot(latitude - self.latitude, longitude - self.longitude)
        k.store(self.distances, k.t, distance.astype(np.float32), inside)


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
class Nn(Program):
    """One launch; the host picks the nearest records.  Arrays in the order locations, distances."""

    def __init__(self, parameters: NnParameters, seed: int) -> None:
        super().__init__("nn")
        self.parameters = parameters
        rng = np.random.default_rng(seed)
        size = parameters.records
        places = np.stack((rng.uniform(*LATITUDES, size), rng.uniform(*LONGITUDES, size)), axis=1)
        self.locations = self.memory.allocate("locations", places.astype(np.float32))
        self.distances = self.memory.allocate("distances", np.zeros(size, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        yield Euclid(
            shape=Shape.linear(self.distances.length, BLOCK),
            locations=self.locations,
            distances=self.distances,
            records=self.parameters.records,
            latitude=self.parameters.latitude,
            longitude=self.parameters.longitude,
        )

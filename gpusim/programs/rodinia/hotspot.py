"""hotspot: the temperature of a chip, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.rodinia.pyramid import PyramidAxis
from gpusim.programs.tracer import BlockTracer, Shape

TILE = 16
AMBIENT = 80.0
"""Temperature of the surroundings."""

CHIP_METRES = 0.016
"""Width and height of the chip."""
THICKNESS_METRES = 0.0005
SPECIFIC_HEAT = 1.75e6
"""Of silicon, in J / (m^3 K)."""
CAPACITANCE_FACTOR = 0.5
CONDUCTIVITY = 100.0
"""Of silicon, in W / (m K)."""
MAX_POWER_DENSITY = 3.0e6
"""In W / m^2."""
PRECISION = 0.001
"""Of the temperature, in degrees: it sets the time step."""

Floats = DeviceArray[np.float32]


@frozen
class Heat:
    """Constants of a step for cells of one size, from the physics of the suite.

    Attributes:
        gain: time step over heat capacity of a cell.
        lateral: conductance to a neighbouring cell, the same in all four directions.
        vertical: conductance to the surroundings.
    """

    gain: float
    lateral: float
    vertical: float

    @classmethod
    def of_grid(cls, n: int) -> Heat:
        """For a chip of n x n cells."""
        side = CHIP_METRES / n
        volume_heat = CAPACITANCE_FACTOR * SPECIFIC_HEAT * THICKNESS_METRES
        return cls(
            gain=PRECISION * volume_heat / MAX_POWER_DENSITY / (volume_heat * side * side),
            lateral=2 * CONDUCTIVITY * THICKNESS_METRES,
            vertical=CONDUCTIVITY * side * side / THICKNESS_METRES,
        )

    def warmed(
        self, own: NDArray[np.float32], neighbours: NDArray[np.float32], power: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Temperatures a step later; `neighbours` are sums of four."""
        flow = (neighbours - 4 * own) * self.lateral + (AMBIENT - own) * self.vertical
        warmer: NDArray[np.float32] = own + self.gain * (power + flow)
        return warmer


@define(kw_only=True, eq=False)
class CalculateTemp(Kernel):
    """Several steps in one launch: 16 x 16 threads, a tile of 16 - 2 * steps cells a side is kept.

    L temperature, L power; barrier; for each step { 6 LDS, 19 instructions, STS; barrier;
    copy the new temperatures in shared memory; barrier } without the copy after the last step; S
    temperature.  Instructions as in PTX of nvcc 11.8 for sm_35: 51 before the loads, 60 after them,
    21 for the bounds of a step and its loop, 19 for a new temperature.  A warp's two rows lie side
    by side in shared memory: no bank conflicts.

    Attributes:
        power, source, result: (n * n,) power, temperature before and after.
        n: rows and columns of the grid.
        steps: of this launch.
        border: steps of a full launch.
        heat: constants.
    """

    power: Floats
    source: Floats
    result: Floats
    n: int
    steps: int
    border: int
    heat: Heat
    name: str = "calculate_temp"
    registers_per_thread: int = 32
    shared_bytes: int = 3 * 4 * TILE * TILE
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        x = PyramidAxis.of_block(k.tx, k.bx, TILE, self.steps, self.border, self.n)
        y = PyramidAxis.of_block(k.ty, k.by, TILE, self.steps, self.border, self.n)
        cell = self.n * y.position + x.position
        inside = x.inside & y.inside
        k.compute(51)
        own = k.load(self.source, cell, inside)
        power = k.load(self.power, cell, inside)
        k.wait(0, inside)
        k.shared(1, inside)
        k.shared(1, inside)
        k.barrier()
        k.compute(60)
        column = TILE * TILE * k.which + k.tx
        row = TILE * TILE * k.which + TILE * k.ty
        above, below = column + TILE * y.above, column + TILE * y.below
        left, right = row + x.below, row + x.above
        computed = inside
        for step in range(self.steps):
            computed = x.computed(step) & y.computed(step)
            k.compute(21)
            for _ in range(6):
                k.shared(1, computed)
            k.compute(19, computed)
            k.shared(1, computed)
            k.barrier()
            neighbours = own[above] + own[below]
            neighbours += own[right] + own[left]
            own = np.where(computed, self.heat.warmed(own, neighbours, power), own)
            if step < self.steps - 1:
                k.shared(1, computed)
                k.shared(1, computed)
                k.barrier()
            yield
        k.store(self.result, cell, own, computed)


@frozen
class HotspotParameters:
    """Parameters of hotspot.

    Attributes:
        n: rows and columns of the grid (the suite: 512; it also has files of 64 and 1024).
        height: steps of a launch (the suite: 2).
        iterations: steps in all (the suite: 2).
    """

    n: int = field(default=512, validator=[ge(1), le(16384)])
    height: int = field(default=2, validator=[ge(1), le(TILE // 2 - 1)])
    iterations: int = field(default=2, validator=ge(1))


@program("hotspot", HotspotParameters)
class Hotspot(Program):
    """Heat flows between the cells of a chip, and from it to the surroundings.

    Arrays in the order temperature 0, temperature 1, power.  Temperatures are random from 320 to
    340, powers from 0 to 0.01 (our choices, after the suite's files).

    Attributes:
        final: the temperatures after the last launch.
    """

    def __init__(self, parameters: HotspotParameters, seed: int) -> None:
        super().__init__("hotspot")
        self.parameters = parameters
        rng = np.random.default_rng(seed)
        cells = parameters.n**2
        start = 320 + 20 * rng.random(cells, dtype=np.float32)
        self.first = self.memory.allocate("temperature 0", start)
        self.second = self.memory.allocate("temperature 1", np.zeros_like(start))
        power = rng.random(cells, dtype=np.float32) * np.float32(0.01)
        self.power = self.memory.allocate("power", power)
        self.final = self.first

    def launches(self) -> Iterator[Launch]:
        n, height = self.parameters.n, self.parameters.height
        side = -(-n // (TILE - 2 * height))
        shape = Shape((side, side, 1), (TILE, TILE, 1))
        source, result = self.first, self.second
        for done in range(0, self.parameters.iterations, height):
            yield CalculateTemp(
                shape=shape,
                power=self.power,
                source=source,
                result=result,
                n=n,
                steps=min(height, self.parameters.iterations - done),
                border=height,
                heat=Heat.of_grid(n),
            )
            self.final = result
            source, result = result, source

"""hotspot: the temperature of a chip, step by step."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.rodinia.pyramid import Pyramid, PyramidAxis

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


@gpu.kernel("calculate_temp", registers=32, shared=3 * 4 * TILE * TILE, in_step=True)
def calculate_temp(
    k: gpu.BlockTracer,
    power: gpu.Floats,
    source: gpu.Floats,
    result: gpu.Floats,
    pyramid: Pyramid,
    heat: Heat,
) -> gpu.Steps:
    """Several steps in one launch: 16 x 16 threads, a tile of 16 - 2 * steps cells a side is kept.

    L temperature, L power; barrier; for each step { 6 LDS, 19 instructions, STS; barrier;
    copy the new temperatures in shared memory; barrier } without the copy after the last step; S
    temperature.  Instructions as in PTX of nvcc 11.8 for sm_35: 51 before the loads, 60 after them,
    21 for the bounds of a step and its loop, 19 for a new temperature.  A warp's two rows lie side
    by side in shared memory: no bank conflicts.

    Takes `power`, `source`, `result` ((n * n,) power, temperature before and after), `pyramid` (of
    both axes).
    """
    x = PyramidAxis.of_block(k.tx, k.bx, TILE, pyramid)
    y = PyramidAxis.of_block(k.ty, k.by, TILE, pyramid)
    cell = pyramid.length * y.position + x.position
    inside = x.inside & y.inside
    k.compute(51)
    own = k.load(source, cell, inside)
    own_power = k.load(power, cell, inside)
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
    for step in range(pyramid.steps):
        computed = x.computed(step) & y.computed(step)
        k.compute(21)
        k.shared(1, computed, times=6)
        k.compute(19, computed)
        k.shared(1, computed)
        k.barrier()
        neighbours = own[above] + own[below]
        neighbours += own[right] + own[left]
        own = np.where(computed, heat.warmed(own, neighbours, own_power), own)
        if step < pyramid.steps - 1:
            k.shared(1, computed)
            k.shared(1, computed)
            k.barrier()
        yield
    k.store(result, cell, own, computed)


@gpu.program("hotspot")
def hotspot(
    memory: gpu.AddressSpace,
    seed: int,
    n: int = gpu.number(512, 1, 16384),
    height: int = gpu.number(2, 1, TILE // 2 - 1),
    iterations: int = gpu.number(2),
) -> gpu.Launches:
    """Heat flows between the cells of a chip, and from it to the surroundings.

    Arrays in the order temperature 0, temperature 1, power.  Temperatures are random from 320 to
    340, powers from 0 to 0.01 (our choices, after the suite's files).

    Parameters:
        n: rows and columns of the grid (the suite: 512; it also has files of 64 and 1024).
        height: steps of a launch (the suite: 2).
        iterations: steps in all (the suite: 2).
    """
    rng = np.random.default_rng(seed)
    start = 320 + 20 * rng.random(n * n, dtype=np.float32)
    source = memory.allocate("temperature 0", start)
    result = memory.zeros("temperature 1", n * n, np.float32)
    watts = rng.random(n * n, dtype=np.float32) * np.float32(0.01)
    power = memory.allocate("power", watts)
    side = -(-n // (TILE - 2 * height))
    for done in range(0, iterations, height):
        pyramid = Pyramid(min(height, iterations - done), height, n)
        yield calculate_temp[(side, side), (TILE, TILE)](
            power, source, result, pyramid, Heat.of_grid(n)
        )
        source, result = result, source

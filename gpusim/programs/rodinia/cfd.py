"""cfd: the Euler equations on an unstructured mesh (euler3d), by finite volumes."""

from __future__ import annotations

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.rodinia.tetrahedra import FACES, FAR_FIELD, WALL, make_mesh

BLOCK = 192
VARIABLES = 5
"""Density, momentum x, y, z, density of energy: in this order, one array after the other."""

ENERGY = VARIABLES - 1
STAGES = 3
"""Of a time step (Runge-Kutta)."""

GAMMA = np.float32(1.4)
SMOOTHING = np.float32(0.2)
MACH = 1.2
Values = NDArray[np.float32]


def far_field() -> Values:
    """(VARIABLES,) the flow far away: Mach 1.2 along x, pressure 1, density 1.4."""
    density, speed = 1.4, MACH  # the speed of sound is 1
    energy = 0.5 * density * speed**2 + 1 / (float(GAMMA) - 1)
    return np.array([density, density * speed, 0, 0, energy], dtype=np.float32)


@define
class Flow:
    """The state of one element a thread, and what follows from it.

    Attributes:
        state: (VARIABLES, threads).
        pressure, speed, sound: (threads,) pressure, speed, speed of sound.
        flux: (VARIABLES, 3, threads), the flux of each variable along x, y, z.
    """

    state: Values
    pressure: Values
    speed: Values
    sound: Values
    flux: Values

    @classmethod
    def of(cls, state: Values) -> Flow:
        """The flow of a state."""
        density, momentum, energy = state[0], state[1:ENERGY], state[ENERGY]
        velocity = momentum / density
        squared = (velocity * velocity).sum(axis=0)
        pressure = (GAMMA - np.float32(1)) * (energy - np.float32(0.5) * density * squared)
        flux = np.empty((VARIABLES, 3, *density.shape), dtype=np.float32)
        flux[0] = momentum
        flux[1:ENERGY] = velocity[:, None] * momentum[None]
        for axis in range(3):
            flux[1 + axis, axis] += pressure
        flux[ENERGY] = velocity * (energy + pressure)
        sound = np.sqrt(GAMMA * pressure / density)
        return cls(state, pressure, np.sqrt(squared), sound, flux)


@frozen
class Elements:
    """Elements in memory; kernels have one a thread, and a full grid: numbers are not checked.

    Attributes:
        variables: (VARIABLES * count,).
        count: their number, a multiple of the block.
    """

    variables: gpu.Floats
    count: int

    def load(
        self, k: gpu.BlockTracer, element: NDArray[np.int64], where: gpu.Mask | None = None
    ) -> Values:
        """(VARIABLES, threads) the five variables of an element a thread; no wait."""
        rows = range(VARIABLES)
        return np.stack([k.load(self.variables, element + j * self.count, where) for j in rows])


@gpu.kernel("cuda_initialize_variables", registers=8, block=BLOCK, in_step=True)
def initialize_variables(k: gpu.BlockTracer, variables: gpu.Floats, elements: int) -> None:
    """Every element gets the far field, which is in constant memory; 8 registers (our choice)."""
    k.compute(gpu.PROLOGUE)
    for j, value in enumerate(far_field()):
        k.store(variables, k.t + j * elements, float(value))


@gpu.kernel("cuda_compute_step_factor", registers=18, block=BLOCK, in_step=True)
def compute_step_factor(
    k: gpu.BlockTracer, elements: Elements, areas: gpu.Floats, step_factors: gpu.Floats
) -> None:
    """The time step of each element, divided by its volume; 18 registers (our choice).

    L the five variables, L areas[t]; about 40 instructions; S step_factors[t].

    Takes `areas`, `step_factors` ((elements,)).
    """
    k.compute(gpu.PROLOGUE)
    flow = Flow.of(elements.load(k, k.t))
    area = k.fetch(areas, k.t)
    k.compute(40)
    factor = np.float32(0.5) / (np.sqrt(area) * (flow.speed + flow.sound))
    k.store(step_factors, k.t, factor)


@gpu.kernel("cuda_compute_flux", registers=64, block=BLOCK, in_step=True)
def compute_flux(
    k: gpu.BlockTracer,
    elements: Elements,
    neighbours: gpu.Ints,
    normals: gpu.Floats,
    fluxes: gpu.Floats,
) -> gpu.Steps:
    """What flows into each element through its four faces.

    L the five variables; for each face: L neighbour[t + j * elements], L normal x, y, z, then,
    where there is a neighbour, L its five variables (gather); at the end S the five fluxes.  The
    far field is in constant memory.  The loads of the next face do not move above the branches
    of this one.  64 registers; 45 instructions before the faces, 6 for a face, 95 for a neighbour,
    75 for the far field, 6 for the wall (our choices); and for addresses of 64 bits 12 a face, 20 a
    neighbour and 15 for the stores (counted in the source).

    Takes `neighbours` ((FACES * elements,)), `normals` ((3 * FACES * elements,), pointing inwards),
    `fluxes` ((VARIABLES * elements,)).
    """
    n = elements.count
    k.compute(gpu.PROLOGUE)
    own = Flow.of(elements.load(k, k.t))
    k.wait()
    k.compute(60)
    far = Flow.of(far_field()[:, None])
    total = np.zeros((VARIABLES, k.threads), dtype=np.float32)
    for face in range(FACES):
        neighbour = k.load(neighbours, k.t + face * n).astype(np.int64)
        axes = range(3)
        normal = np.stack([k.load(normals, k.t + (face + axis * FACES) * n) for axis in axes])
        k.wait()
        k.compute(18)
        inner, wall, outer = neighbour >= 0, neighbour == WALL, neighbour == FAR_FIELD
        other = elements.load(k, neighbour, inner)
        k.wait(0, inner)
        k.compute(115, inner)
        k.compute(6, wall)
        k.compute(75, outer)
        flow = Flow.of(np.where(inner, other, own.state))
        beyond = np.where(inner, flow.flux, far.flux)
        through = np.float32(0.5) * (normal * (beyond + own.flux)).sum(axis=1)
        speeds = own.speed + flow.speed + own.sound + flow.sound
        length = np.sqrt((normal * normal).sum(axis=0))
        viscosity = np.float32(0.5) * SMOOTHING * length * speeds
        through -= viscosity * (own.state - flow.state)  # zero without a neighbour
        through[:, wall] = 0
        through[1:ENERGY, wall] = (normal * own.pressure)[:, wall]
        total += through
        yield
    for j in range(VARIABLES):
        k.store(fluxes, k.t + j * n, total[j])


@gpu.kernel("cuda_time_step", registers=16, block=BLOCK, in_step=True)
def time_step(
    k: gpu.BlockTracer,
    elements: Elements,
    old: gpu.Floats,
    step_factors: gpu.Floats,
    fluxes: gpu.Floats,
    stage: int,
) -> None:
    """A stage of the time step: L step_factors[t], then five times {L old, L flux, S variable}.

    Density, energy, momentum x, y, z, in this order; each store may alias the next loads.  For each
    variable, 3 instructions for each of three addresses, and a multiplication and addition.  16
    registers (our choice).

    Takes `old` ((VARIABLES * elements,) the variables before the time step), `stage` (0, 1 or 2).
    """
    k.compute(gpu.PROLOGUE)
    factor = k.load(step_factors, k.t) / np.float32(STAGES + 1 - stage)
    for j in (0, ENERGY, 1, 2, 3):
        index = k.t + j * elements.count
        before = k.load(old, index)
        flux = k.load(fluxes, index)
        k.wait()
        k.compute(10)
        k.store(elements.variables, index, before + factor * flux)


@gpu.program("cfd")
def cfd(
    memory: gpu.AddressSpace,
    seed: int,
    elements: int = gpu.number(97_046),
    disorder: float = gpu.number(16.0, 0.0),
    iterations: int = gpu.number(2000),
) -> gpu.Launches:
    """euler3d: {step factors; three times {fluxes; time step}}, again and again.

    Arrays in the order areas, neighbours, normals, variables, old_variables, fluxes,
    step_factors; elements are padded to whole blocks with copies of the last one.  What the suite
    copies from device to device at the start of a time step is copied without traffic.
    The mesh is made by `gpusim.programs.rodinia.tetrahedra` (our choice): of 97046 elements 0.2 %
    of the faces lie at the wall and 2 % at the far field; half of all neighbours are less than
    26 elements away, but one in six is a layer of the grid away; a warp's 32 neighbours through a
    face lie on 7.0 lines of 128 bytes.  At the start all elements hold the far field already.

    Parameters:
        elements: tetrahedra (the suite's fvcorr.domn.097K: 97046).
        disorder: how far the numbering is from that of a grid, in elements (our choice): standard
            deviation of an element's displacement; the suite's mesh files are not reproduced.
        iterations: time steps (the suite: 2000).
    """
    mesh = make_mesh(elements, disorder, np.random.default_rng(seed))
    padded = -(-elements // BLOCK) * BLOCK
    source = np.minimum(np.arange(padded), elements - 1)
    start = far_field().repeat(padded)
    areas = memory.allocate("areas", np.full(padded, mesh.volume, dtype=np.float32))
    neighbours = memory.allocate("elements_surrounding_elements", mesh.neighbours[:, source])
    normals = memory.allocate("normals", -mesh.normals[:, :, source])
    variables = memory.allocate("variables", start)
    old = memory.allocate("old_variables", start)
    fluxes = memory.allocate("fluxes", start)
    step_factors = memory.zeros("step_factors", padded, np.float32)
    of = Elements(variables, padded)
    for array in (variables, old, fluxes):
        yield initialize_variables[padded](array, padded)
    for _ in range(iterations):
        old.data[:] = variables.data
        yield compute_step_factor[padded](of, areas, step_factors)
        for stage in range(STAGES):
            yield compute_flux[padded](of, neighbours, normals, fluxes)
            yield time_step[padded](of, old, step_factors, fluxes, stage)

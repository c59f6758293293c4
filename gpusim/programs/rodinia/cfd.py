"""cfd: the Euler equations on an unstructured mesh (euler3d), by finite volumes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.rodinia.tetrahedra import FACES, FAR_FIELD, WALL, make_mesh
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 192
VARIABLES = 5
"""Density, momentum x, y, z, density of energy: in this order, one array after the other."""

ENERGY = VARIABLES - 1
STAGES = 3
"""Of a time step (Runge-Kutta)."""

GAMMA = np.float32(1.4)
SMOOTHING = np.float32(0.2)
MACH = 1.2

Floats = DeviceArray[np.float32]
Ints = DeviceArray[np.int32]
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


@define(kw_only=True, eq=False)
class _Elements(Kernel):
    """A kernel with one element a thread; the grid is full, element numbers are not checked.

    Attributes:
        variables: (VARIABLES * elements,).
        elements: their number, a multiple of the block.
    """

    variables: Floats
    elements: int

    def load_state(self, k: BlockTracer, element: NDArray[np.int64], where: Mask | None) -> Values:
        """(VARIABLES, threads) the five variables of an element a thread; no wait."""
        rows = range(VARIABLES)
        return np.stack([k.load(self.variables, element + j * self.elements, where) for j in rows])


@define(kw_only=True, eq=False)
class InitializeVariables(_Elements):
    """Every element gets the far field, which is in constant memory; 8 registers (our choice)."""

    name: str = "cuda_initialize_variables"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.compute(PROLOGUE)
        for j, value in enumerate(far_field()):
            k.store(self.variables, k.t + j * self.elements, float(value))


@define(kw_only=True, eq=False)
class ComputeStepFactor(_Elements):
    """The time step of each element, divided by its volume; 18 registers (our choice).

    L the five variables, L areas[t]; about 40 instructions; S step_factors[t].

    Attributes:
        areas, step_factors: (elements,).
    """

    areas: Floats
    step_factors: Floats
    name: str = "cuda_compute_step_factor"
    registers_per_thread: int = 18
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.compute(PROLOGUE)
        flow = Flow.of(self.load_state(k, k.t, None))
        area = k.load(self.areas, k.t)
        k.wait()
        k.compute(40)
        factor = np.float32(0.5) / (np.sqrt(area) * (flow.speed + flow.sound))
        k.store(self.step_factors, k.t, factor)


@define(kw_only=True, eq=False)
class ComputeFlux(_Elements):
    """What flows into each element through its four faces.

    L the five variables; for each face: L neighbour[t + j * elements], L normal x, y, z, then,
    where there is a neighbour, L its five variables (gather); at the end S the five fluxes.  The
    far field is in constant memory.  The loads of the next face do not move above the branches
    of this one.  64 registers; 45 instructions before the faces, 6 for a face, 95 for a neighbour,
    75 for the far field, 6 for the wall (our choices); and for addresses of 64 bits 12 a face, 20 a
    neighbour and 15 for the stores (counted in the source).

    Attributes:
        neighbours: (FACES * elements,).
        normals: (3 * FACES * elements,), pointing inwards.
        fluxes: (VARIABLES * elements,).
    """

    neighbours: Ints
    normals: Floats
    fluxes: Floats
    name: str = "cuda_compute_flux"
    registers_per_thread: int = 64
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        n = self.elements
        k.compute(PROLOGUE)
        own = Flow.of(self.load_state(k, k.t, None))
        k.wait()
        k.compute(60)
        far = Flow.of(far_field()[:, None])
        total = np.zeros((VARIABLES, k.threads), dtype=np.float32)
        for face in range(FACES):
            neighbour = k.load(self.neighbours, k.t + face * n).astype(np.int64)
            axes = range(3)
            normal = np.stack(
                [k.load(self.normals, k.t + (face + axis * FACES) * n) for axis in axes]
            )
            k.wait()
            k.compute(18)
            inner, wall, outer = neighbour >= 0, neighbour == WALL, neighbour == FAR_FIELD
            other = self.load_state(k, neighbour, inner)
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
            k.store(self.fluxes, k.t + j * n, total[j])


@define(kw_only=True, eq=False)
class TimeStep(_Elements):
    """A stage of the time step: L step_factors[t], then five times {L old, L flux, S variable}.

    Density, energy, momentum x, y, z, in this order; each store may alias the next loads.  For each
    variable, 3 instructions for each of three addresses, and a multiplication and addition.  16
    registers (our choice).

    Attributes:
        old: (VARIABLES * elements,) the variables before the time step.
        step_factors, fluxes: as in the other kernels.
        stage: 0, 1 or 2.
    """

    old: Floats
    step_factors: Floats
    fluxes: Floats
    stage: int
    name: str = "cuda_time_step"
    registers_per_thread: int = 16
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.compute(PROLOGUE)
        factor = k.load(self.step_factors, k.t) / np.float32(STAGES + 1 - self.stage)
        for j in (0, ENERGY, 1, 2, 3):
            index = k.t + j * self.elements
            old = k.load(self.old, index)
            flux = k.load(self.fluxes, index)
            k.wait()
            k.compute(10)
            k.store(self.variables, index, old + factor * flux)


@frozen
class CfdParameters:
    """Parameters of cfd.

    Attributes:
        elements: tetrahedra (the suite's fvcorr.domn.097K: 97046).
        disorder: how far the numbering is from that of a grid, in elements (our choice): standard
            deviation of an element's displacement; the suite's mesh files are not reproduced.
        iterations: time steps (the suite: 2000).
    """

    elements: int = field(default=97_046, validator=ge(1))
    disorder: float = field(default=16.0, validator=ge(0.0))
    iterations: int = field(default=2000, validator=ge(1))


@program("cfd", CfdParameters)
class Cfd(Program):
    """euler3d: {step factors; three times {fluxes; time step}}, again and again.

    Arrays in the order areas, neighbours, normals, variables, old_variables, fluxes,
    step_factors; elements are padded to whole blocks with copies of the last one.  What the suite
    copies from device to device at the start of a time step is copied without traffic.
    The mesh is made by `gpusim.programs.rodinia.tetrahedra` (our choice): of 97046 elements 0.2 %
    of the faces lie at the wall and 2 % at the far field; half of all neighbours are less than
    26 elements away, but one in six is a layer of the grid away; a warp's 32 neighbours through a
    face lie on 7.0 lines of 128 bytes.  At the start all elements hold the far field already.
    """

    def __init__(self, parameters: CfdParameters, seed: int) -> None:
        super().__init__("cfd")
        self.iterations = parameters.iterations
        mesh = make_mesh(parameters.elements, parameters.disorder, np.random.default_rng(seed))
        self.padded = padded = -(-parameters.elements // BLOCK) * BLOCK
        source = np.minimum(np.arange(padded), parameters.elements - 1)
        start = far_field().repeat(padded)
        self.areas = self.memory.allocate("areas", np.full(padded, mesh.volume, dtype=np.float32))
        self.neighbours = self.memory.allocate(
            "elements_surrounding_elements", mesh.neighbours[:, source]
        )
        self.normals = self.memory.allocate("normals", -mesh.normals[:, :, source])
        self.variables = self.memory.allocate("variables", start)
        self.old = self.memory.allocate("old_variables", start)
        self.fluxes = self.memory.allocate("fluxes", start)
        self.step_factors = self.memory.allocate("step_factors", np.zeros(padded, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        n = self.padded
        shape = Shape.linear(n, BLOCK)
        for array in (self.variables, self.old, self.fluxes):
            yield InitializeVariables(shape=shape, variables=array, elements=n)
        for _ in range(self.iterations):
            self.old.data[:] = self.variables.data
            yield ComputeStepFactor(
                shape=shape,
                variables=self.variables,
                elements=n,
                areas=self.areas,
                step_factors=self.step_factors,
            )
            for stage in range(STAGES):
                yield ComputeFlux(
                    shape=shape,
                    variables=self.variables,
                    elements=n,
                    neighbours=self.neighbours,
                    normals=self.normals,
                    fluxes=self.fluxes,
                )
                yield TimeStep(
                    shape=shape,
                    variables=self.variables,
                    elements=n,
                    old=self.old,
                    step_factors=self.step_factors,
                    fluxes=self.fluxes,
                    stage=stage,
                )

"""lulesh: a Lagrangian shock through a cube of hexahedra, the Sedov blast (LULESH 1.0)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Program
from gpusim.programs.proxy_apps import lulesh_streams as streams
from gpusim.programs.proxy_apps.hexahedra import Reals, volume
from gpusim.programs.proxy_apps.lulesh_elements import (
    BOUNDARIES,
    HUGE,
    Kinematics,
    QGradients,
    QRegion,
    TimeConstraint,
)
from gpusim.programs.proxy_apps.lulesh_forces import (
    AddNodeForces,
    BoundaryConditions,
    HourglassControl,
    HourglassForce,
    IntegrateStress,
)
from gpusim.programs.proxy_apps.lulesh_kernel import BLOCK, CORNERS, Domain, linear

SIDE = 1.125
"""Length of the cube."""

BLAST = 3.948746e7
"""Energy in the element at the origin."""

FIRST_STEP, LONGEST_STEP, END = 1e-7, 1e-2, 1e-2
"""Time steps, and the time at the end."""

NODE_REALS = ("x", "y", "z", "xd", "yd", "zd", "xdd", "ydd", "zdd", "fx", "fy", "fz", "nodalMass")
ELEMENT_REALS = (
    "dxx",
    "dyy",
    "dzz",
    "delv_xi",
    "delv_eta",
    "delv_zeta",
    "delx_xi",
    "delx_eta",
    "delx_zeta",
    "e",
    "p",
    "q",
    "ql",
    "qq",
    "v",
    "volo",
    "vnew",
    "delv",
    "vdov",
    "arealg",
    "ss",
    "elemMass",
)
STRESSES = ("sigxx", "sigyy", "sigzz", "determ")
CORNER_REALS = ("fx_elem", "fy_elem", "fz_elem", "dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n")
EOS_REALS = (
    "vnewc",
    "e_old",
    "delvc",
    "p_old",
    "q_old",
    "compression",
    "compHalfStep",
    "qq_old",
    "ql_old",
    "work",
    "p_new",
    "e_new",
    "q_new",
    "bvc",
    "pbvc",
    "pHalfStep",
)
MINIMA = ("mindtcourant", "mindthydro")


@frozen
class LuleshParameters:
    """Parameters of lulesh.

    Attributes:
        edge: elements along a side of the cube (the suite: 45).
        steps: most time steps, of 28 launches each (the suite: until time 0.01, about 1500).
    """

    edge: int = field(default=45, validator=ge(2))
    steps: int = field(default=1_000_000, validator=ge(1))


@program("lulesh", LuleshParameters)
class Lulesh(Program):
    """Time steps of 28 launches: forces, motion, kinematics, viscosity, material, constraints.

    The loops of the kernels are as in the public CUDA port of LULESH 1.0: one thread a node or
    element, eight threads an element in the two hourglass kernels; all reals are doubles.  Arrays
    in the order in which it copies them to the device; what it allocates and frees in each time
    step comes last and stays allocated (our choice).

    Attributes:
        domain: arrays and sizes.
        time, dt: simulated time and time step, both in LULESH's units.
    """

    def __init__(self, parameters: LuleshParameters, seed: int) -> None:
        super().__init__("lulesh")
        self.steps = parameters.steps
        self.time, self.dt = 0.0, FIRST_STEP
        self._courant = self._hydro = HUGE
        edge = parameters.edge
        elements = edge**3
        nodelist = _nodelist(edge)
        corner = np.arange(edge + 1) * SIDE / edge
        z, y, x = (axis.reshape(-1) for axis in np.meshgrid(corner, corner, corner, indexing="ij"))
        volumes = volume(np.stack((x, y, z))[:, nodelist])
        mass = np.bincount(nodelist.reshape(-1), np.tile(volumes / CORNERS, CORNERS)).astype(float)
        blast = np.zeros(elements)
        blast[0] = BLAST
        known: dict[str, Reals] = {
            "x": x,
            "y": y,
            "z": z,
            "nodalMass": mass,
            "e": blast,
            "v": np.ones(elements),
            "volo": volumes,
            "elemMass": volumes,
            **{name: np.full(-(-elements // BLOCK), HUGE) for name in MINIMA},
        }

        def reals(names: tuple[str, ...], count: int) -> dict[str, DeviceArray[np.float64]]:
            return {
                name: self.memory.allocate(name, known.get(name, np.zeros(count))) for name in names
            }

        of_nodes = reals(NODE_REALS, len(mass))
        indices = {
            name: self.memory.allocate(name, values.astype(np.int32))
            for name, values in _connections(edge, nodelist).items()
        }
        self.domain = Domain(
            of_nodes
            | reals(ELEMENT_REALS + STRESSES, elements)
            | reals(CORNER_REALS, CORNERS * elements)
            | reals(EOS_REALS, elements)
            | reals(MINIMA, -(-elements // BLOCK)),
            indices,
            edge,
        )

    def launches(self) -> Iterator[Launch]:
        for step in range(self.steps):
            if self.time >= END:
                return
            self._increment(first=step == 0)
            yield from self._forces_and_motion()
            yield from self._elements()
            courant, hydro = (self._constraint(name) for name in MINIMA)
            yield courant
            yield hydro
            self._courant = self._smallest(MINIMA[0], self._courant)
            self._hydro = self._smallest(MINIMA[1], self._hydro)

    def _smallest(self, name: str, before: float) -> float:
        """The least of the blocks' minima, or what it was if no element moves."""
        smallest = float(self.domain.reals[name].data.min())
        return smallest if smallest < HUGE else before

    def _increment(self, first: bool) -> None:
        """The next time step: as long as the constraints allow, and at most a fifth longer."""
        if not first:
            allowed = self._courant / 2 if self._courant < HUGE else HUGE
            if self._hydro < allowed:
                allowed = self._hydro * 2 / 3
            ratio = allowed / self.dt
            if 1 <= ratio < 1.1:
                allowed = self.dt
            self.dt = min(allowed, 1.2 * self.dt, LONGEST_STEP)
        left = END - self.time
        if self.dt < left < 4 * self.dt / 3:
            left = 2 * self.dt / 3
        self.dt = min(self.dt, left)
        self.time += self.dt

    def _forces_and_motion(self) -> Iterator[Launch]:
        domain = self.domain
        elements, nodes = linear(domain.elements), linear(domain.nodes)
        corners = linear(CORNERS * domain.elements)
        yield streams.element_stream(domain, "InitStressTermsForElems", streams.INIT_STRESS)
        yield IntegrateStress(shape=elements, domain=domain)
        add = "AddNodeForcesFromElems"
        yield AddNodeForces(shape=nodes, domain=domain, name=f"{add}_kernel", add=False)
        yield HourglassControl(shape=corners, domain=domain)
        yield HourglassForce(shape=corners, domain=domain)
        yield AddNodeForces(shape=nodes, domain=domain, name=f"{add}2_kernel", add=True)
        yield streams.node_stream(domain, "CalcAccelerationForNodes", streams.ACCELERATION)
        yield BoundaryConditions(shape=linear((domain.edge + 1) ** 2), domain=domain)
        velocity, position = streams.velocity_steps(self.dt), streams.position_steps(self.dt)
        yield streams.node_stream(domain, "CalcVelocityForNodes", velocity)
        yield streams.node_stream(domain, "CalcPositionForNodes", position)

    def _elements(self) -> Iterator[Launch]:
        domain = self.domain
        shape = linear(domain.elements)
        yield Kinematics(shape=shape, domain=domain, dt=self.dt)
        yield streams.element_stream(domain, "CalcLagrangeElementsPart2", streams.STRAINS)
        yield QGradients(shape=shape, domain=domain)
        yield QRegion(shape=shape, domain=domain)
        yield streams.element_stream(
            domain, "ApplyMaterialPropertiesForElemsPart1", streams.CLIPPED_VOLUME, True
        )
        yield from streams.equation_of_state(domain)
        yield streams.element_stream(domain, "UpdateVolumesForElems", streams.VOLUMES)

    def _constraint(self, result: str) -> TimeConstraint:
        courant = result == MINIMA[0]
        kind = "Courant" if courant else "Hydro"
        return TimeConstraint(
            shape=linear(self.domain.elements),
            domain=self.domain,
            courant=courant,
            name=f"Calc{kind}ConstraintForElems_kernel",
            result=result,
        )


def _nodelist(edge: int) -> NDArray[np.int64]:
    """(CORNERS, elements) nodes at the elements' corners; x runs fastest, then y."""
    z, y, x = (axis.reshape(-1) for axis in np.indices((edge, edge, edge)))
    offsets = (
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
        (0, 1, 1),
    )
    side = edge + 1
    return np.stack([(x + i) + side * ((y + j) + side * (z + m)) for i, j, m in offsets])


def _connections(edge: int, nodelist: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The arrays of ints by name, in the order of their allocation."""
    elements, side = edge**3, edge + 1
    node = np.arange(side**3)
    corner_of = nodelist.T.reshape(-1)  # element by element
    order = np.argsort(corner_of, kind="stable")
    count = np.bincount(corner_of, minlength=len(node))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    corner_list = np.zeros((CORNERS, len(node)), dtype=np.int64)
    corner_list[rank, corner_of[order]] = order // CORNERS + elements * (order % CORNERS)
    planes = node.reshape(side, side, side)
    element = np.arange(elements)
    connections = {
        "symmX": planes[:, :, 0],
        "symmY": planes[:, 0],
        "symmZ": planes[0],
        "nodeElemCount": count,
        "nodeElemCornerList": corner_list,
        "matElemlist": element,
        "nodelist": nodelist,
    }
    grid = np.indices((edge, edge, edge)).reshape(3, -1)[::-1]
    flags = np.zeros(elements, dtype=np.int64)
    for place, (axis, step) in zip(
        grid, (("xi", 1), ("eta", edge), ("zeta", edge**2)), strict=True
    ):
        low_symmetric, _, _, high_free = BOUNDARIES[axis]
        flags |= np.where(place == 0, low_symmetric, 0) | np.where(place == edge - 1, high_free, 0)
        low, high = element - step, element + step
        connections[f"l{axis}m"] = np.where(low >= 0, low, element)
        connections[f"l{axis}p"] = np.where(high < elements, high, element)
    connections["elemBC"] = flags
    return connections


def total_energy(domain: Domain) -> float:
    """Internal and kinetic energy of all elements and nodes."""
    reals = {name: array.data for name, array in domain.reals.items()}
    speed: Reals = reals["xd"] ** 2 + reals["yd"] ** 2 + reals["zd"] ** 2
    internal = float((reals["e"] * reals["volo"]).sum())
    return internal + float((speed * reals["nodalMass"]).sum() / 2)

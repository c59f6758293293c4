"""lulesh: a Lagrangian shock through a cube of hexahedra, the Sedov blast (LULESH 1.0)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.proxy_apps import lulesh_streams as streams
from gpusim.programs.proxy_apps.hexahedra import SIDES, Reals, volume
from gpusim.programs.proxy_apps.lulesh_elements import (
    BOUNDARIES,
    HUGE,
    constrain_courant,
    constrain_hydro,
    find_gradients,
    find_kinematics,
    find_viscosity,
)
from gpusim.programs.proxy_apps.lulesh_forces import (
    add_hourglass,
    control_hourglass,
    hold_planes,
    integrate_stress,
    resist_hourglass,
    sum_stress,
)
from gpusim.programs.proxy_apps.lulesh_kernel import BLOCK, CORNERS, Domain, Stream

SIDE = 1.125
"""Length of the cube."""

BLAST = 3.948746e7
"""Energy in the element at the origin."""

FIRST_STEP, LONGEST_STEP, END = 1e-7, 1e-2, 1e-2
"""Time steps, and the time at the end."""

NODE_REALS = ("x", "y", "z", "xd", "yd", "zd", "xdd", "ydd", "zdd", "fx", "fy", "fz", "nodalMass")
ELEMENT_REALS = (
    *("dxx", "dyy", "dzz", "delv_xi", "delv_eta", "delv_zeta", "delx_xi", "delx_eta", "delx_zeta"),
    *("e", "p", "q", "ql", "qq", "v", "volo", "vnew", "delv", "vdov", "arealg", "ss", "elemMass"),
    *("sigxx", "sigyy", "sigzz", "determ"),
)
CORNER_REALS = ("fx_elem", "fy_elem", "fz_elem", "dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n")
EOS_REALS = (
    *("vnewc", "e_old", "delvc", "p_old", "q_old", "compression", "compHalfStep", "qq_old"),
    *("ql_old", "work", "p_new", "e_new", "q_new", "bvc", "pbvc", "pHalfStep"),
)
MINIMA = ("mindtcourant", "mindthydro")


@gpu.program("lulesh")
def lulesh(
    memory: gpu.AddressSpace,
    _seed: int,
    edge: int = gpu.number(45, 2),
    steps: int = gpu.number(1_000_000),
) -> gpu.Launches:
    """Time steps of 28 launches: forces, motion, kinematics, viscosity, material, constraints.

    The loops of the kernels are as in the public CUDA port of LULESH 1.0: one thread a node or
    element, eight threads an element in the two hourglass kernels; all reals are doubles.  Arrays
    in the order in which it copies them to the device; what it allocates and frees in each time
    step comes last and stays allocated (our choice).

    Parameters:
        edge: elements along a side of the cube (the suite: 45).
        steps: most time steps, of 28 launches each (the suite: until time 0.01, about 1500).
    """
    yield from time_steps(place(memory, edge), steps, FIRST_STEP)


def time_steps(domain: Domain, steps: int, dt: float) -> gpu.Launches:
    """The launches of `steps` time steps at most, the first one `dt` long in LULESH's units."""
    time, courant, hydro = 0.0, HUGE, HUGE
    for step in range(steps):
        if time >= END:
            return
        if step:
            dt = _next_step(dt, courant, hydro)
        left = END - time
        dt = min(dt, 2 * dt / 3 if dt < left < 4 * dt / 3 else left)
        time += dt
        yield from _forces_and_motion(domain, dt)
        yield from _elements(domain, dt)
        yield constrain_courant[domain.elements](domain)
        yield constrain_hydro[domain.elements](domain)
        courant, hydro = (
            _smallest(domain.reals[name].data, before)
            for name, before in zip(MINIMA, (courant, hydro), strict=True)
        )


def _smallest(minima: Reals, before: float) -> float:
    """The least of the blocks' minima, or what it was if no element moves."""
    smallest = float(minima.min())
    return smallest if smallest < HUGE else before


def _next_step(dt: float, courant: float, hydro: float) -> float:
    """The next time step: as long as the constraints allow, and at most a fifth longer."""
    allowed = courant / 2 if courant < HUGE else HUGE
    if hydro < allowed:
        allowed = hydro * 2 / 3
    if 1 <= allowed / dt < 1.1:
        allowed = dt
    return min(allowed, 1.2 * dt, LONGEST_STEP)


def _forces_and_motion(domain: Domain, dt: float) -> gpu.Launches:
    corners = CORNERS * domain.elements
    yield Stream("InitStressTermsForElems", streams.INIT_STRESS).on(domain)
    yield integrate_stress[domain.elements](domain)
    yield sum_stress[domain.nodes](domain, add=False)
    yield control_hourglass[corners](domain)
    yield resist_hourglass[corners](domain)
    yield add_hourglass[domain.nodes](domain, add=True)
    yield Stream("CalcAccelerationForNodes", streams.ACCELERATION, nodes=True).on(domain)
    yield hold_planes[(domain.edge + 1) ** 2](domain)
    yield Stream("CalcVelocityForNodes", streams.velocity_steps(dt), nodes=True).on(domain)
    yield Stream("CalcPositionForNodes", streams.position_steps(dt), nodes=True).on(domain)


def _elements(domain: Domain, dt: float) -> gpu.Launches:
    yield find_kinematics[domain.elements](domain, dt)
    yield Stream("CalcLagrangeElementsPart2", streams.STRAINS).on(domain)
    yield find_gradients[domain.elements](domain)
    yield find_viscosity[domain.elements](domain)
    material = "ApplyMaterialPropertiesForElemsPart1"
    yield Stream(material, streams.CLIPPED_VOLUME, by_material=True).on(domain)
    for stream in streams.EQUATION_OF_STATE:
        yield stream.on(domain)
    yield Stream("UpdateVolumesForElems", streams.VOLUMES).on(domain)


def place(memory: gpu.AddressSpace, edge: int) -> Domain:
    """The arrays of a cube at rest, with the blast's energy in the element at the origin."""
    elements = edge**3
    nodelist = _nodelist(edge)
    corner = np.arange(edge + 1) * SIDE / edge
    z, y, x = (axis.reshape(-1) for axis in np.meshgrid(corner, corner, corner, indexing="ij"))
    volumes = volume(np.stack((x, y, z))[:, nodelist])
    mass = np.bincount(nodelist.reshape(-1), np.tile(volumes / CORNERS, CORNERS)).astype(float)
    blast = np.zeros(elements)
    blast[0] = BLAST
    minima = {name: np.full(-(-elements // BLOCK), HUGE) for name in MINIMA}
    moving = {"x": x, "y": y, "z": z, "nodalMass": mass, "e": blast, "v": np.ones(elements)}
    known = moving | {"volo": volumes, "elemMass": volumes} | minima

    def reals(names: tuple[str, ...], count: int) -> dict[str, gpu.Doubles]:
        return {name: memory.allocate(name, known.get(name, np.zeros(count))) for name in names}

    of_nodes = reals(NODE_REALS, len(mass))
    indices = {
        name: memory.allocate(name, values.astype(np.int32))
        for name, values in _connections(edge, nodelist).items()
    }
    of_elements = reals(ELEMENT_REALS, elements) | reals(CORNER_REALS, CORNERS * elements)
    temporary = reals(EOS_REALS, elements) | reals(MINIMA, len(minima[MINIMA[0]]))
    return Domain(of_nodes | of_elements | temporary, indices, edge)


def _nodelist(edge: int) -> NDArray[np.int64]:
    """(CORNERS, elements) nodes at the elements' corners; x runs fastest, then y."""
    z, y, x = (axis.reshape(-1) for axis in np.indices((edge, edge, edge)))
    offsets = (SIDES.astype(np.int64) + 1) // 2
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

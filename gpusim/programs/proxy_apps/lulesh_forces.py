"""LULESH's kernels that turn stresses and hourglass modes into forces on nodes."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.proxy_apps.hexahedra import (
    VOLUME_NEIGHBOURS,
    Reals,
    node_normals,
    shape_derivatives,
    volume_derivative,
)
from gpusim.programs.proxy_apps.lulesh_kernel import (
    BLOCK,
    CORNERS,
    DOUBLE_PASSES,
    FORCE,
    VELOCITY,
    XYZ,
    Domain,
    lulesh_kernel,
)

GROUP = BLOCK // CORNERS
"""Elements of a block with eight threads each: 32, one warp a corner where warps have 32 lanes."""

UNROLL = 4

ELEMENT_FORCE = ("fx_elem", "fy_elem", "fz_elem")
DERIVATIVES = ("dvdx", "dvdy", "dvdz")
PLACES = ("x8n", "y8n", "z8n")
HOURGLASS = 3.0

MODES = np.array(
    [
        [1, 1, -1, -1, -1, -1, 1, 1],
        [1, -1, -1, 1, -1, 1, 1, -1],
        [1, -1, 1, -1, 1, -1, 1, -1],
        [-1, 1, -1, 1, 1, -1, 1, -1],
    ],
    dtype=np.float64,
)
"""(4, CORNERS) the hourglass modes."""


@lulesh_kernel("IntegrateStressForElems")
def integrate_stress(k: gpu.BlockTracer, domain: Domain) -> None:
    """Forces of each element on its corners by its stress: one element a thread.

    L nodelist at 8 corners, L x, y, z at each of them (the loop is unrolled and has no store);
    about 400 instructions; S determ; L sigxx, sigyy, sigzz; S the forces: 8 in x, 8 in y, 8 in z,
    each `elements` apart.
    """
    n = domain.elements
    inside = gpu.threads_below(k, n)
    corners = domain.gather(k, XYZ, domain.corners(k, k.t, inside), inside)
    k.compute(400, inside)
    _, volume = shape_derivatives(corners)
    normals = node_normals(corners)
    domain.store(k, ("determ",), k.t, volume[None], inside)
    stress = domain.read(k, ("sigxx", "sigyy", "sigzz"), k.t, inside)
    k.compute(3 * CORNERS, inside)
    for axis, name in enumerate(ELEMENT_FORCE):
        for corner in range(CORNERS):
            force = -stress[axis] * normals[axis, corner]
            k.store(domain.reals[name], k.t + corner * n, force, inside)


def sum_corners(k: gpu.BlockTracer, domain: Domain, add: bool) -> gpu.Steps:
    """Each node adds up what its elements' corners exert on it: one node a thread.

    L count; for each corner, four at a time: L cornerList[t + j * nodes], then L fx, fy, fz of
    that corner (gather); S three forces, or, if the forces are added to those that are there,
    three times {L force, S force}.
    """
    n = domain.nodes
    inside = gpu.threads_below(k, n)
    count = k.fetch(domain.indices["nodeElemCount"], k.t, inside)
    total = np.zeros((3, k.threads))
    corner_list = domain.indices["nodeElemCornerList"]
    for first in range(0, CORNERS, UNROLL):
        group = [
            (j, where)
            for j in range(first, first + UNROLL)
            if (where := inside & (j < count)).any()
        ]
        if not group:
            break
        corners = [k.load(corner_list, k.t + j * n, where) for j, where in group]
        k.wait(0, group[0][1])
        forces = [
            domain.load(k, ELEMENT_FORCE, corner.astype(np.int64), where)
            for corner, (_, where) in zip(corners, group, strict=True)
        ]
        k.wait(0, group[0][1])
        for force, (_, where) in zip(forces, group, strict=True):
            k.compute(3, where)
            total += np.where(where, force, 0)
        yield
    for axis, name in enumerate(FORCE):
        value = total[axis]
        if add:
            value = value + domain.load(k, (name,), k.t, inside)[0]
            k.wait(0, inside)
            k.compute(1, inside)
        k.store(domain.reals[name], k.t, value, inside)


sum_stress = lulesh_kernel("AddNodeForcesFromElems", registers=32)(sum_corners)
add_hourglass = lulesh_kernel("AddNodeForcesFromElems2", registers=32)(sum_corners)


def _place(k: gpu.BlockTracer, domain: Domain) -> tuple[gpu.Lanes, gpu.Lanes]:
    """Each thread's element, and its place in arrays with `elements` values a corner.

    Eight threads have an element: thread `tid` works on corner ``tid // 32``.  Threads beyond the
    last element repeat it.
    """
    k.compute(gpu.PROLOGUE)
    n = domain.elements
    element = np.minimum(k.bx * GROUP + k.tid % GROUP, n - 1)
    return element, element + n * (k.tid // GROUP)


def _nodes(k: gpu.BlockTracer, domain: Domain, place: gpu.Lanes) -> gpu.Lanes:
    """L nodelist, and a wait."""
    return k.fetch(domain.indices["nodelist"], place).astype(np.int64)


@lulesh_kernel("CalcHourglassControlForElems", shared=2 * BLOCK * 8)
def control_hourglass(k: gpu.BlockTracer, domain: Domain) -> None:
    """What the hourglass force needs: corners' places, and the volume's derivatives by them.

    L nodelist; L x, y, z; three times {STS; barrier; 12 LDS}, barriers between; S dvdx, dvdy,
    dvdz, x8n, y8n, z8n; L volo, v; S determ, the same from all eight threads.
    """
    element, place = _place(k, domain)
    own = domain.read(k, XYZ, _nodes(k, domain, place))
    corners = own.reshape(3, k.blocks, CORNERS, GROUP)
    around = corners[:, :, VOLUME_NEIGHBOURS].transpose(0, 3, 1, 2, 4).reshape(3, 6, k.threads)
    derivatives = []
    for stored, (a, b) in ((2, (1, 2)), (1, (2, 0)), (1, (0, 1))):
        k.barrier()
        k.shared(DOUBLE_PASSES, times=stored)
        k.barrier()
        k.shared(DOUBLE_PASSES, times=2 * 6)
        k.compute(25)
        derivatives.append(volume_derivative(around[a], around[b]))
    k.barrier()
    domain.store(k, DERIVATIVES, place, np.stack(derivatives))
    domain.store(k, PLACES, place, own)
    volo, v = domain.read(k, ("volo", "v"), element)
    k.compute(1)
    domain.store(k, ("determ",), element, (volo * v)[None])


@lulesh_kernel("CalcFBHourglassForceForElems", shared=BLOCK * 8)
def resist_hourglass(k: gpu.BlockTracer, domain: Domain) -> gpu.Steps:
    """The Flanagan-Belytschko force against hourglass modes.

    L determ; L x8n, y8n, z8n, dvdx, dvdy, dvdz; 12 sums over the corners in shared memory; L ss,
    elemMass; L nodelist, L xd, yd, zd; 12 more sums; S three forces.
    """
    element, place = _place(k, domain)
    (determ,) = domain.load(k, ("determ",), element)
    places = domain.load(k, PLACES, place)
    derivatives = domain.read(k, DERIVATIVES, place)
    k.compute(20)
    gamma = np.empty((len(MODES), k.threads))
    for mode, signs in enumerate(MODES):
        sign = np.tile(signs.repeat(GROUP), k.blocks)
        sums = np.stack([_over_corners(k, sign * axis) for axis in places])
        k.compute(10)
        gamma[mode] = sign - (derivatives * sums).sum(axis=0) / determ
        yield
    ss, mass = domain.load(k, ("ss", "elemMass"), element)
    velocity = domain.read(k, VELOCITY, _nodes(k, domain, place))
    k.compute(60)
    coefficient = -HOURGLASS * 0.01 * ss * mass / np.cbrt(determ)
    forces = []
    for axis in velocity:
        force = np.zeros(k.threads)
        for shape in gamma:
            force += shape * _over_corners(k, shape * axis)
            k.compute(2)
        forces.append(coefficient * force)
        yield
    domain.store(k, ELEMENT_FORCE, place, np.stack(forces))


def _over_corners(k: gpu.BlockTracer, value: Reals) -> Reals:
    """Sums over the eight threads of an element, for all of them: a tree in shared memory."""
    k.barrier()
    k.shared(DOUBLE_PASSES)
    for adding in gpu.tree(k, BLOCK // 2, last=GROUP):
        k.shared(DOUBLE_PASSES, adding, times=3)
        k.compute(1, adding)
    k.barrier()
    k.shared(DOUBLE_PASSES)
    k.barrier()
    return np.tile(value.reshape(k.blocks, CORNERS, GROUP).sum(axis=1), CORNERS).ravel()


@lulesh_kernel("ApplyAccelerationBoundaryConditionsForNodes", registers=16)
def hold_planes(k: gpu.BlockTracer, domain: Domain) -> None:
    """Nodes on the symmetry planes are not accelerated across them: three times {L symm; S 0}."""
    inside = gpu.threads_below(k, (domain.edge + 1) ** 2)
    for plane, name in (("symmX", "xdd"), ("symmY", "ydd"), ("symmZ", "zdd")):
        node = k.fetch(domain.indices[plane], k.t, inside).astype(np.int64)
        k.store(domain.reals[name], node, 0.0, inside)

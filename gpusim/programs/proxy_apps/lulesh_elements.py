"""LULESH's kernels that see an element's corners or neighbours, and those that reduce."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.proxy_apps.hexahedra import (
    Reals,
    axes,
    characteristic_length,
    cross,
    dot,
    shape_derivatives,
    volume,
)
from gpusim.programs.proxy_apps.lulesh_kernel import (
    BLOCK,
    DOUBLE_PASSES,
    VELOCITY,
    XYZ,
    Domain,
    lulesh_kernel,
)

TINY = 1e-36
HUGE = 1e20

WARP = 32
"""Threads that go on without barriers; a wavefront of 64 has them too."""

LINEAR_Q, QUADRATIC_Q = 0.5, 2 / 3
LIMITER, STEEPEST = 2.0, 1.0

BOUNDARIES = {
    "xi": (0x001, 0x002, 0x004, 0x008),
    "eta": (0x010, 0x020, 0x040, 0x080),
    "zeta": (0x100, 0x200, 0x400, 0x800),
}
"""Flags of an element by axis: symmetric and free on the low side, and on the high side."""


@lulesh_kernel("CalcKinematicsForElems")
def find_kinematics(k: gpu.BlockTracer, domain: Domain, dt: float) -> None:
    """Volumes and velocity gradients: one element a thread.

    L nodelist at 8 corners, L x, y, z at each; L volo; S vnew; L v; S delv; S arealg; since the
    stores may alias it, L nodelist again; L xd, yd, zd at each corner; S dxx, dyy, dzz.
    """
    inside = gpu.threads_below(k, domain.elements)
    corners = domain.gather(k, XYZ, domain.corners(k, k.t, inside), inside)
    k.compute(100, inside)
    volumes = volume(corners)
    (volo,) = domain.read(k, ("volo",), k.t, inside)
    k.compute(10, inside)
    relative = volumes / volo
    domain.store(k, ("vnew",), k.t, relative[None], inside)
    (v,) = domain.read(k, ("v",), k.t, inside)
    domain.store(k, ("delv",), k.t, (relative - v)[None], inside)
    k.compute(190, inside)
    with np.errstate(divide="ignore", invalid="ignore"):  # threads beyond the elements
        length = characteristic_length(corners, volumes)
    domain.store(k, ("arealg",), k.t, length[None], inside)
    velocity = domain.gather(k, VELOCITY, domain.corners(k, k.t, inside), inside)
    k.compute(230, inside)
    derivatives, halfway = shape_derivatives(corners - dt / 2 * velocity)
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = (derivatives * velocity).sum(axis=1) / halfway
    domain.store(k, ("dxx", "dyy", "dzz"), k.t, gradient, inside)


@lulesh_kernel("CalcMonotonicQGradientsForElems")
def find_gradients(k: gpu.BlockTracer, domain: Domain) -> None:
    """Gradients of place and velocity along the element's axes: one element a thread.

    L nodelist at 8 corners; L x of all corners, then y, z, xd, yd, zd; L volo, vnew; S delx and
    delv along zeta, xi, eta.
    """
    inside = gpu.threads_below(k, domain.elements)
    nodes = domain.corners(k, k.t, inside)
    loads = [
        [domain.load(k, (name,), node, inside)[0] for node in nodes] for name in XYZ + VELOCITY
    ]
    volo, vnew = domain.read(k, ("volo", "vnew"), k.t, inside)
    k.compute(110, inside)
    values = np.stack([np.stack(row) for row in loads])
    xi, eta, zeta = 2 * axes(values[:3])
    speed = 2 * axes(values[3:])
    size = volo * vnew
    for name, area, along in (
        ("zeta", cross(xi, eta), speed[2]),
        ("xi", cross(eta, zeta), speed[0]),
        ("eta", cross(zeta, xi), speed[1]),
    ):
        k.compute(45, inside)
        length = size / np.sqrt(dot(area, area) + TINY)
        domain.store(k, (f"delx_{name}",), k.t, length[None], inside)
        gradient = dot(area / (size + TINY), along)
        domain.store(k, (f"delv_{name}",), k.t, gradient[None], inside)


@lulesh_kernel("CalcMonotonicQRegionForElems", registers=40)
def find_viscosity(k: gpu.BlockTracer, domain: Domain) -> None:
    """The artificial viscosity from the gradients of an element and its neighbours.

    L matElemlist; L elemBC; for each axis: L delv, then on both sides, where the element has a
    neighbour, L its number, L its delv; L vdov; where it is compressed: L delv, delx of three
    axes, elemMass, volo, vnew; S qq, ql.
    """
    inside = gpu.threads_below(k, domain.elements)
    i = domain.listed(k, inside)
    flags = k.fetch(domain.indices["elemBC"], i, inside)
    slopes = []
    for axis, (low_symmetric, low_free, high_symmetric, high_free) in BOUNDARIES.items():
        name = f"delv_{axis}"
        (own,) = domain.read(k, (name,), i, inside)
        sides = []
        for side, symmetric, free in (
            ("m", low_symmetric, low_free),
            ("p", high_symmetric, high_free),
        ):
            inner = inside & (flags & (symmetric | free) == 0)
            neighbour = k.fetch(domain.indices[f"l{axis}{side}"], i, inner).astype(np.int64)
            (beyond,) = domain.read(k, (name,), neighbour, inner)
            mirrored = np.where(flags & symmetric, own, 0.0)
            sides.append(np.where(inner, beyond, mirrored))
        k.compute(25, inside)
        slopes.append(_limited(own, sides[0], sides[1]))
    (vdov,) = domain.read(k, ("vdov",), i, inside)
    q = _viscosity(k, domain, np.stack(slopes), i, inside & (vdov <= 0))
    domain.store(k, ("qq", "ql"), i, q, inside)


def _viscosity(
    k: gpu.BlockTracer, domain: Domain, slopes: Reals, i: gpu.Lanes, compressed: gpu.Mask
) -> Reals:
    """(2, threads) the quadratic and the linear term; 0 where an element is not compressed."""
    delv = domain.load(k, tuple(f"delv_{axis}" for axis in BOUNDARIES), i, compressed)
    delx = domain.load(k, tuple(f"delx_{axis}" for axis in BOUNDARIES), i, compressed)
    mass, volo, vnew = domain.read(k, ("elemMass", "volo", "vnew"), i, compressed)
    k.compute(45, compressed)
    closing = np.minimum(delv * delx, 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # threads that take no part
        density = mass / (volo * vnew)
    linear = -LINEAR_Q * density * (closing * (1 - slopes)).sum(axis=0)
    quadratic = QUADRATIC_Q * density * (closing**2 * (1 - slopes**2)).sum(axis=0)
    return np.where(compressed, np.stack((quadratic, linear)), 0.0)


def _limited(own: Reals, low: Reals, high: Reals) -> Reals:
    """(threads,) the monotonic limiter, 0 to 1, of an element's and its neighbours' gradients."""
    norm = 1 / (own + TINY)
    low, high = low * norm, high * norm
    smallest = np.minimum(np.minimum((low + high) / 2, LIMITER * low), LIMITER * high)
    limited: Reals = np.clip(smallest, 0.0, STEEPEST)
    return limited


@lulesh_kernel("CalcCourantConstraintForElems", registers=20, shared=BLOCK * 8)
def constrain_courant(k: gpu.BlockTracer, domain: Domain) -> None:
    """The smallest time step that sound allows in the elements of a block.

    L matElemlist; L vdov, ss, arealg; then `_store_smallest` in mindtcourant.
    """
    inside = gpu.threads_below(k, domain.elements)
    i = domain.listed(k, inside)
    vdov, ss, length = domain.read(k, ("vdov", "ss", "arealg"), i, inside)
    k.compute(40, inside)
    with np.errstate(divide="ignore", invalid="ignore"):  # elements that do not move
        compression = np.where(vdov < 0, 256 * (length * vdov) ** 2, 0)
        allowed = length / np.sqrt(ss**2 + compression)
    _store_smallest(k, domain.reals["mindtcourant"], allowed, inside & (vdov != 0))


@lulesh_kernel("CalcHydroConstraintForElems", registers=20, shared=BLOCK * 8)
def constrain_hydro(k: gpu.BlockTracer, domain: Domain) -> None:
    """The smallest time step that changes of volume allow in the elements of a block.

    L matElemlist; L vdov; then `_store_smallest` in mindthydro.
    """
    inside = gpu.threads_below(k, domain.elements)
    i = domain.listed(k, inside)
    (vdov,) = domain.read(k, ("vdov",), i, inside)
    k.compute(15, inside)
    allowed = 0.1 / (np.abs(vdov) + 1e-20)
    _store_smallest(k, domain.reals["mindthydro"], allowed, inside & (vdov != 0))


def _store_smallest(
    k: gpu.BlockTracer, minima: gpu.Doubles, allowed: Reals, moving: gpu.Mask
) -> None:
    """The smallest time step of the moving elements of a block: a tree in shared memory.

    STS; {barrier; two LDS, STS} by 128, 64 and 32 threads, then five times by the same 32 without a
    barrier, since they are one warp; the first thread stores the block's.
    """
    k.shared(DOUBLE_PASSES)
    for adding in gpu.tree(k, BLOCK // 2, alone=WARP):
        k.shared(DOUBLE_PASSES, adding, times=3)
        k.compute(1, adding)
    k.barrier()
    allowed = np.where(moving, np.minimum(allowed, HUGE), HUGE)
    smallest = allowed.reshape(k.blocks, BLOCK).min(axis=1)[k.which]
    k.store(minima, np.full(k.threads, k.bx), np.full(k.threads, smallest), k.tid == 0)

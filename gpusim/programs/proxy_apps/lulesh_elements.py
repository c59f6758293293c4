"""LULESH's kernels that see an element's corners or neighbours, and those that reduce."""

from __future__ import annotations

import numpy as np
from attrs import define

from gpusim.programs.idioms import threads_below
from gpusim.programs.lane_record import Mask
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
    LuleshKernel,
    Numbers,
)
from gpusim.programs.tracer import BlockTracer

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


@define(kw_only=True, eq=False)
class Kinematics(LuleshKernel):
    """Volumes and velocity gradients: one element a thread.

    L nodelist at 8 corners, L x, y, z at each; L volo; S vnew; L v; S delv; S arealg; since the
    stores may alias it, L nodelist again; L xd, yd, zd at each corner; S dxx, dyy, dzz.

    Attributes:
        dt: the time step.
    """

    dt: float
    name: str = "CalcKinematicsForElems_kernel"
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.domain.elements)
        corners = self.gather(k, XYZ, self.corners(k, k.t, inside), inside)
        k.compute(100, inside)
        volumes = volume(corners)
        (volo,) = self.load(k, ("volo",), k.t, inside)
        k.wait(0, inside)
        k.compute(10, inside)
        relative = volumes / volo
        self.store(k, ("vnew",), k.t, relative[None], inside)
        (v,) = self.load(k, ("v",), k.t, inside)
        k.wait(0, inside)
        self.store(k, ("delv",), k.t, (relative - v)[None], inside)
        k.compute(190, inside)
        with np.errstate(divide="ignore", invalid="ignore"):  # threads beyond the elements
            length = characteristic_length(corners, volumes)
        self.store(k, ("arealg",), k.t, length[None], inside)
        velocity = self.gather(k, VELOCITY, self.corners(k, k.t, inside), inside)
        k.compute(230, inside)
        derivatives, halfway = shape_derivatives(corners - self.dt / 2 * velocity)
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = (derivatives * velocity).sum(axis=1) / halfway
        self.store(k, ("dxx", "dyy", "dzz"), k.t, gradient, inside)


@define(kw_only=True, eq=False)
class QGradients(LuleshKernel):
    """Gradients of place and velocity along the element's axes: one element a thread.

    L nodelist at 8 corners; L x of all corners, then y, z, xd, yd, zd; L volo, vnew; S delx and
    delv along zeta, xi, eta.
    """

    name: str = "CalcMonotonicQGradientsForElems_kernel"
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.domain.elements)
        nodes = self.corners(k, k.t, inside)
        loads = [
            [self.load(k, (name,), node, inside)[0] for node in nodes] for name in XYZ + VELOCITY
        ]
        volo, vnew = self.load(k, ("volo", "vnew"), k.t, inside)
        k.wait(0, inside)
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
            self.store(k, (f"delx_{name}",), k.t, length[None], inside)
            gradient = dot(area / (size + TINY), along)
            self.store(k, (f"delv_{name}",), k.t, gradient[None], inside)


@define(kw_only=True, eq=False)
class QRegion(LuleshKernel):
    """The artificial viscosity from the gradients of an element and its neighbours.

    L matElemlist; L elemBC; for each axis: L delv, then on both sides, where the element has a
    neighbour, L its number, L its delv; L vdov; where it is compressed: L delv, delx of three
    axes, elemMass, volo, vnew; S qq, ql.
    """

    name: str = "CalcMonotonicQRegionForElems_kernel"
    registers_per_thread: int = 40
    in_step = True

    def body(self, k: BlockTracer) -> None:
        indices = self.domain.indices
        inside = threads_below(k, self.domain.elements)
        i = k.load(indices["matElemlist"], k.t, inside).astype(np.int64)
        k.wait(0, inside)
        flags = k.load(indices["elemBC"], i, inside)
        k.wait(0, inside)
        slopes = []
        for axis, (low_symmetric, low_free, high_symmetric, high_free) in BOUNDARIES.items():
            name = f"delv_{axis}"
            (own,) = self.load(k, (name,), i, inside)
            k.wait(0, inside)
            sides = []
            for side, symmetric, free in (
                ("m", low_symmetric, low_free),
                ("p", high_symmetric, high_free),
            ):
                inner = inside & (flags & (symmetric | free) == 0)
                neighbour = k.load(indices[f"l{axis}{side}"], i, inner).astype(np.int64)
                k.wait(0, inner)
                (beyond,) = self.load(k, (name,), neighbour, inner)
                k.wait(0, inner)
                mirrored = np.where(flags & symmetric, own, 0.0)
                sides.append(np.where(inner, beyond, mirrored))
            k.compute(25, inside)
            slopes.append(_limited(own, sides[0], sides[1]))
        (vdov,) = self.load(k, ("vdov",), i, inside)
        k.wait(0, inside)
        q = self._viscosity(k, np.stack(slopes), i, inside & (vdov <= 0))
        self.store(k, ("qq", "ql"), i, q, inside)

    def _viscosity(self, k: BlockTracer, slopes: Reals, i: Numbers, compressed: Mask) -> Reals:
        """(2, threads) the quadratic and the linear term; 0 where an element is not compressed."""
        delv = self.load(k, tuple(f"delv_{axis}" for axis in BOUNDARIES), i, compressed)
        delx = self.load(k, tuple(f"delx_{axis}" for axis in BOUNDARIES), i, compressed)
        mass, volo, vnew = self.load(k, ("elemMass", "volo", "vnew"), i, compressed)
        k.wait(0, compressed)
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


@define(kw_only=True, eq=False)
class TimeConstraint(LuleshKernel):
    """The smallest time step that the elements of a block allow: a tree in shared memory.

    L matElemlist; L vdov (hydro), or vdov, ss, arealg (Courant); STS; {barrier; two LDS, STS} by
    128, 64 and 32 threads, then five times by the same 32 without a barrier, since they are one
    warp; the first thread stores the block's.

    Attributes:
        courant: which of the two constraints.
        result: name of the blocks' minima.
    """

    courant: bool
    result: str
    registers_per_thread: int = 20
    shared_bytes: int = BLOCK * 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.domain.elements)
        i = k.load(self.domain.indices["matElemlist"], k.t, inside).astype(np.int64)
        k.wait(0, inside)
        names = ("vdov", "ss", "arealg") if self.courant else ("vdov",)
        vdov, *others = self.load(k, names, i, inside)
        k.wait(0, inside)
        k.compute(40 if self.courant else 15, inside)
        with np.errstate(divide="ignore", invalid="ignore"):  # elements that do not move
            allowed = self._allowed(vdov, *others)
        moving = inside & (vdov != 0)
        allowed = np.where(moving, np.minimum(allowed, HUGE), HUGE)
        k.shared(DOUBLE_PASSES)
        half = BLOCK // 2
        while half:
            if half >= WARP:
                k.barrier()
            first = k.tid < max(half, WARP)
            for _ in range(3):  # two loads, one store
                k.shared(DOUBLE_PASSES, first)
            k.compute(1, first)
            half //= 2
        k.barrier()
        block = np.full(k.threads, k.bx)
        smallest = allowed.reshape(k.blocks, BLOCK).min(axis=1)[k.which]
        self.store(k, (self.result,), block, np.full((1, k.threads), smallest), k.tid == 0)

    def _allowed(self, vdov: Reals, *others: Reals) -> Reals:
        if not self.courant:
            return 0.1 / (np.abs(vdov) + 1e-20)
        ss, length = others
        compression = np.where(vdov < 0, 256 * (length * vdov) ** 2, 0)
        return length / np.sqrt(ss**2 + compression)

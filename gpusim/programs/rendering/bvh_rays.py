"""bvh_rays: each ray finds the triangle that it meets first, by a tree of bounding boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.rendering.bounding_boxes import (
    Boxes,
    Reals,
    meets_box,
    meets_triangle,
    random_triangles,
    tree_of,
)

THREADS = 128
WARP = 32
IN_A_NODE = 4
"""Vectors of four floats: both children's boxes in three, their numbers in the last one."""

IN_A_TRIANGLE = 3
"""Vectors: a corner and two edges."""

RESIDENT = 2048
"""Thread blocks that have local memory of their own: sixteen on each of 128 SMs [our choice]."""


@frozen
class RayParameters:
    """Sizes of bvh_rays.

    Attributes:
        log2_leaves: logarithm of the tree's leaves, and its depth.
        leaf: triangles of a leaf.
        rays: how many.
        kind: ``random``: from anywhere to anywhere, as of light that bounces; ``primary``: through
            the pixels of a picture in front of the scene, 8 × 4 of them a warp.
    """

    log2_leaves: int = gpu.number(14, 1, 24)
    leaf: int = gpu.number(4, 1, 32)
    rays: int = gpu.number(1 << 16, 1, 1 << 28)
    kind: str = gpu.choice("random", ("random", "primary"))

    @property
    def triangles(self) -> int:
        """All of them."""
        return self.leaf << self.log2_leaves


@frozen(eq=False)
class Scene:
    """The tree as it lies in memory.

    Attributes:
        nodes: `IN_A_NODE` vectors an inner node; leaves have the numbers behind these.
        triangles: `IN_A_TRIANGLE` vectors a triangle, leaf by leaf.
        ids: of triangles, in the same order.
        tree: its contents.
        leaf: triangles of a leaf.
    """

    nodes: gpu.DeviceArray[np.void]
    triangles: gpu.DeviceArray[np.void]
    ids: gpu.Ints
    tree: Boxes
    leaf: int


@frozen(eq=False)
class Rays:
    """What the kernel reads and writes beside the scene.

    Attributes:
        origins, directions: a vector a ray.
        stack: local memory: a level of all lanes of a warp after the other.
        distances, hits: how far each ray goes, infinite if it meets none; the triangle, or -1.
    """

    origins: gpu.DeviceArray[np.void]
    directions: gpu.DeviceArray[np.void]
    stack: gpu.Ints
    distances: gpu.Floats
    hits: gpu.Ints


def _numbers(vectors: Any) -> Reals:
    """(n, 3) the first three floats of vectors."""
    found: Reals = vectors.view(np.float32).reshape(-1, 4)[:, :3]
    return found


class _Traversal:
    """Where the rays of a thread block are.

    Attributes:
        origin, direction: (threads, 3).
        node: that a ray is at.
        walking: rays that have something left.
        nearest, hit: distance and place of the nearest triangle so far.
    """

    def __init__(
        self, k: gpu.BlockTracer, scene: Scene, rays: Rays, levels: int, inside: gpu.Mask
    ) -> None:
        self._k, self._scene, self._rays = k, scene, rays
        self._inner = scene.tree.leaves - 1
        self.walking = inside
        self.origin = _numbers(k.load(rays.origins, k.t, inside))
        self.direction = _numbers(k.load(rays.directions, k.t, inside))
        k.wait(0, inside)
        k.arithmetic(gpu.Unit.SPECIAL, 3, 1, inside)
        with np.errstate(divide="ignore"):
            self._inverse = np.float32(1) / self.direction
        self.node = np.zeros(k.threads, dtype=np.int64)
        self.nearest = np.full(k.threads, np.inf, dtype=np.float32)
        self.hit = np.full(k.threads, -1, dtype=np.int64)
        self._depth = np.zeros(k.threads, dtype=np.int64)
        self._stack = np.zeros((levels, k.threads), dtype=np.int64)
        self._lanes = np.arange(k.threads)
        warp = k.t // WARP % (RESIDENT * THREADS // WARP)
        self._frame = warp * levels * WARP + k.t % WARP

    def above_leaves(self) -> gpu.Mask:
        """Rays that are at an inner node."""
        found: gpu.Mask = self.walking & (self.node < self._inner)
        return found

    def visit_node(self, where: gpu.Mask) -> None:
        """Go to the nearer child whose box is met; the other one is kept for later.

        L four vectors of the node; both boxes; perhaps S the stack, or L it.
        """
        k, tree = self._k, self._scene.tree
        for part in range(IN_A_NODE):
            k.load(self._scene.nodes, IN_A_NODE * self.node + part, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 24, 6, where)
        left = np.where(where, 2 * self.node + 1, 0)
        way = [
            meets_box(self.origin, self._inverse, tree.low[one], tree.high[one], self.nearest)
            for one in (left, left + 1)
        ]
        met = [where & np.isfinite(one) for one in way]
        right_first = met[1] & (~met[0] | (way[1] < way[0]))
        child = np.where(right_first, left + 1, left)
        both = met[0] & met[1]
        self._push(np.where(right_first, left, left + 1), both)
        self.node = np.where(met[0] | met[1], child, self.node)
        self.pop(where & ~met[0] & ~met[1])

    def visit_leaf(self, where: gpu.Mask) -> gpu.Steps:
        """L three vectors of each triangle of a leaf; where it is met."""
        k, scene = self._k, self._scene
        for number in range(scene.leaf):
            place = np.where(where, (self.node - self._inner) * scene.leaf + number, 0)
            for part in range(IN_A_TRIANGLE):
                k.load(scene.triangles, IN_A_TRIANGLE * place + part, where)
            k.wait(0, where)
            k.arithmetic(gpu.Unit.FP32, 46, 16, where)
            k.arithmetic(gpu.Unit.SPECIAL, 1, 1, where)
            way = meets_triangle(self.origin, self.direction, scene.tree.corners[place])
            closer = where & (way < self.nearest)
            self.nearest = np.where(closer, way, self.nearest)
            self.hit = np.where(closer, place, self.hit)
            yield

    def pop(self, where: gpu.Mask) -> None:
        """Go on with what was kept last; a ray for which nothing was has ended."""
        if not where.any():
            return
        self._k.arithmetic(gpu.Unit.INTEGER, 2, 1, where)
        self.walking = self.walking & ~(where & (self._depth == 0))
        kept = where & (self._depth > 0)
        self._depth = self._depth - kept
        if kept.any():
            self._k.fetch(self._rays.stack, self._frame + self._depth * WARP, kept)
            self.node = np.where(
                kept, self._stack[np.where(kept, self._depth, 0), self._lanes], self.node
            )

    def _push(self, child: gpu.Lanes, where: gpu.Mask) -> None:
        if not where.any():
            return
        self._k.arithmetic(gpu.Unit.INTEGER, 2, 1, where)
        self._k.store(self._rays.stack, self._frame + self._depth * WARP, 0, where)
        self._stack[self._depth[where], self._lanes[where]] = child[where]
        self._depth = self._depth + where


@gpu.kernel("trace_rays", registers=48, block=THREADS, in_step=True)
def trace(k: gpu.BlockTracer, scene: Scene, rays: Rays, count: int, levels: int) -> gpu.Steps:
    """A ray a thread, by a stack of its own: node after node, then leaf after leaf.

    Aila, Laine, "Understanding the Efficiency of Ray Traversal on GPUs", HPG 2009: *while-while*,
    without its speculation; lanes that have come to a leaf wait for the others of their warp.
    L ray; `visit_node` and `visit_leaf`; in the end L the triangle's number, S it and its distance.
    Registers are our choice.

    Takes `scene`, `rays`, `count` (of rays), `levels` (of a stack).
    """
    inside = gpu.threads_below(k, count)
    at = _Traversal(k, scene, rays, levels, inside)
    while at.walking.any():
        while (inner := at.above_leaves()).any():
            at.visit_node(inner)
            yield
        leaf = at.walking
        yield from at.visit_leaf(leaf)
        at.pop(leaf)
        yield
    met = inside & (at.hit >= 0)
    found = k.fetch(scene.ids, at.hit, met)
    k.store(rays.distances, k.t, at.nearest, inside)
    k.store(rays.hits, k.t, np.where(met, found, -1), inside)


def made_rays(of: RayParameters, seed: int) -> tuple[Reals, Reals]:
    """(rays, 3) origins and directions."""
    if of.kind == "random":
        rng = np.random.default_rng((seed, 1))
        direction = rng.normal(size=(of.rays, 3)).astype(np.float32)
        direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
        return rng.random((of.rays, 3), dtype=np.float32), direction
    tiles = -(-of.rays // WARP)
    across = max(int(np.sqrt(tiles / 2)), 1)  # tiles are twice as wide as high
    down = -(-tiles // across)
    tile, lane = np.divmod(np.arange(of.rays), WARP)
    x = (tile % across * 8 + lane % 8 + 0.5) / (across * 8)
    y = (tile // across * 4 + lane // 8 + 0.5) / (down * 4)
    eye = np.array([0.5, 0.5, -1.5])
    direction = np.stack((x, y, np.zeros(of.rays)), axis=1) - eye
    direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
    return np.broadcast_to(eye.astype(np.float32), direction.shape), direction.astype(np.float32)


def _placed(memory: gpu.AddressSpace, name: str, numbers: Reals) -> gpu.DeviceArray[np.void]:
    """An array of vectors of four floats."""
    return memory.read_only(name, np.ascontiguousarray(numbers).view(gpu.FLOAT4))


def _padded(numbers: Reals) -> Reals:
    """Vectors of four of rows of three."""
    return np.pad(numbers.reshape(-1, 3), ((0, 0), (0, 1)))


@gpu.program("bvh_rays", RayParameters)
def bvh_rays(memory: gpu.AddressSpace, parameters: RayParameters, seed: int) -> gpu.Launches:
    """Rays through a bounding volume hierarchy of random triangles (`bounding_boxes.tree_of`).

    The tree is that of a linear BVH, complete, and lies level by level; its nodes hold both
    children's boxes, as in Aila and Laine's kernels.  It is built on the host.

    Arrays in the order nodes, triangles, ids, origins, directions, stack, distances, hits.
    """
    of = parameters
    tree = tree_of(random_triangles(of.triangles, seed), 1 << of.log2_leaves)
    inner = tree.leaves - 1
    left = 2 * np.arange(inner) + 1
    node = np.zeros((inner, 4 * IN_A_NODE), dtype=np.float32)
    for side in range(2):
        child = left + side
        node[:, 6 * side : 6 * side + 3], node[:, 6 * side + 3 : 6 * side + 6] = (
            tree.low[child],
            tree.high[child],
        )
        node[:, 12 + side] = child.astype(np.int32).view(np.float32)
    scene = Scene(
        _placed(memory, "nodes", node),
        _placed(memory, "triangles", _padded(tree.corners)),
        memory.read_only("ids", tree.order.astype(np.int32)),
        tree,
        of.leaf,
    )
    origins, directions = (_padded(one) for one in made_rays(of, seed))
    frames = min(RESIDENT, -(-of.rays // THREADS)) * THREADS
    rays = Rays(
        _placed(memory, "origins", origins),
        _placed(memory, "directions", directions),
        memory.blank("stack", frames * of.log2_leaves, np.int32),
        memory.zeros("distances", of.rays, np.float32),
        memory.zeros("hits", of.rays, np.int32),
    )
    yield trace[of.rays](scene, rays, of.rays, of.log2_leaves)

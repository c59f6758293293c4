"""Rays: which triangle each meets first, by trying all of them, and what a warp asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.programs.rendering.bounding_boxes import (
    meets_triangle,
    random_triangles,
    tree_of,
)
from gpusim.programs.rendering.bvh_rays import RayParameters, made_rays
from tests.programs.contract.entries import Arrays, Operation, Refused, Run, Warp

IN_STEP: dict[str, dict[str, object]] = {"bvh_rays": {"log2_leaves": 6, "rays": 700}}
ARRAYS = ["nodes", "triangles", "ids", "origins", "directions", "stack", "distances", "hits"]


def first_met(of: RayParameters, seed: int) -> dict[str, Any]:
    """Each ray beside all triangles."""
    triangles = random_triangles(of.triangles, seed)
    distances = np.full(of.rays, np.inf, dtype=np.float32)
    hits = np.full(of.rays, -1)
    for ray, (origin, direction) in enumerate(zip(*made_rays(of, seed), strict=True)):
        every = (len(triangles), 3)
        way = meets_triangle(
            np.broadcast_to(origin, every), np.broadcast_to(direction, every), triangles
        )
        if np.isfinite(way.min()):
            distances[ray], hits[ray] = way.min(), way.argmin()
    assert 0.2 < (hits >= 0).mean() < 1, "some meet one, some none"
    return {"distances": distances, "hits": hits}


def traced(**parameters: Any) -> Run:
    of = RayParameters(**parameters)

    def results(_: Arrays) -> dict[str, Any]:
        return first_met(of, 5)

    return Run(
        "bvh_rays", parameters, seed=5, launches=["trace_rays"], arrays=ARRAYS, results=results
    )


def boxes_hold_what_is_below_them() -> None:
    tree = tree_of(random_triangles(5 * 64, 3), 64)
    corner, edges = tree.corners[:, :1], tree.corners[:, 1:]
    points = np.concatenate((corner, corner + edges), axis=1)
    assert sorted(tree.order.tolist()) == list(range(320))
    for node in range(127):
        first = last = node
        while first < 63:
            first, last = 2 * first + 1, 2 * last + 2
        below = points[5 * (first - 63) : 5 * (last - 62)].reshape(-1, 3)
        np.testing.assert_array_equal(tree.low[node], below.min(axis=0))
        np.testing.assert_array_equal(tree.high[node], below.max(axis=0))


def from_the_root_to_leaves(found: list[Operation]) -> None:
    """Rays, then nodes of four vectors, level by level, and leaves of two triangles."""
    asked = [(op, name, lanes) for op, name, lanes in found if op in ("LOAD", "STORE")]
    assert [name for _, name, _ in asked[:2]] == ["origins", "directions"]
    nodes = [lanes for _, name, lanes in asked if name == "nodes"]
    assert nodes[:4] == [[part] * 32 for part in range(4)], "the root"
    assert all(set(lanes) <= {4 + part, 8 + part} for part, lanes in enumerate(nodes[4:8]))
    tests = [lanes for _, name, lanes in asked if name == "triangles"]
    assert len(tests) % 6 == 0
    assert {one % 3 for one in tests[0]} == {0}
    assert [name for _, name, _ in asked[-3:]] == ["ids", "distances", "hits"]
    pushed = sum(len(lanes) for op, name, lanes in asked if (op, name) == ("STORE", "stack"))
    popped = sum(len(lanes) for op, name, lanes in asked if (op, name) == ("LOAD", "stack"))
    assert pushed == popped > 0, "what is kept is visited"


RUNS = [
    traced(log2_leaves=6, leaf=3, rays=300),
    traced(log2_leaves=8, leaf=1, rays=200, kind="primary"),
    traced(log2_leaves=1, leaf=32, rays=40),
]
WARPS = [
    Warp(
        "bvh_rays",
        {"log2_leaves": 6, "leaf": 2, "rays": 256},
        block=1,
        warp=1,
        geometry=("trace_rays", 2, 128, 48, 0),
        operations=from_the_root_to_leaves,
    )
]
REFUSED = [
    Refused("bvh_rays", {"log2_leaves": 0}, message="'log2_leaves' must be from 1 to 24"),
    Refused("bvh_rays", {"kind": "shadow"}, message="'kind'"),
]
CHECKS = [boxes_hold_what_is_below_them]

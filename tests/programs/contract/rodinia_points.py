"""Rodinia's kmeans, nn and streamcluster: what they compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.rodinia.streamcluster import POINT
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"kmeans": {}, "nn": {}, "streamcluster": {}}

# -- kmeans ----------------------------------------------------------------------------------------


def lloyd(
    points: NDArray[Any], clusters: int, iterations: int
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Centres, memberships and passes by Lloyd's algorithm in double precision."""
    points = points.astype(float)
    centers, member = points[:clusters], np.full(len(points), -1)
    for number in range(iterations):
        before = member
        member = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        centers = np.array([points[member == c].mean(axis=0) for c in range(clusters)])
        if (member != before).mean() <= 0.001:
            return centers, member, number + 1
    return centers, member, iterations


def kmeans(points: int, features: int, clusters: int, iterations: int = 500) -> Run:
    def found(before: Arrays) -> tuple[NDArray[Any], NDArray[Any], int]:
        data = before["feature_flipped"].reshape(points, features)
        return lloyd(data, clusters, iterations)

    def results(before: Arrays) -> dict[str, Any]:
        centers, member, passes = found(before)
        assert passes == iterations or 2 < passes < 100

        def membership(of: NDArray[Any]) -> None:
            assert (of == member).mean() > 0.99

        def clusters_of(of: NDArray[Any]) -> None:
            assert of.reshape(clusters, features) == pytest.approx(centers, abs=1e-2)

        data = before["feature_flipped"].reshape(points, features)
        return {"feature": data.T.ravel(), "membership": membership, "clusters": clusters_of}

    return Run(
        "kmeans",
        {"points": points, "features": features, "clusters": clusters, "iterations": iterations},
        seed=3,
        launches=lambda before: ["invert_mapping"] + ["kmeansPoint"] * found(before)[2],
        arrays={
            **dict.fromkeys(("feature_flipped", "feature"), 4 * points * features),
            "membership": 4 * points,
            "clusters": 4 * clusters * features,
        },
        results=results,
    )


def strides_over_points(operations: list[Operation]) -> None:
    threads = [2 * 256 + 32 + lane for lane in LANES]
    assert operations[:8] == [
        *(compute(8), load("feature_flipped", [34 * t for t in threads]), WAIT),
        *(store("feature", threads), compute(1)),
        *(load("feature_flipped", [34 * t + 1 for t in threads]), WAIT),
        store("feature", [t + 1300 for t in threads]),
    ]
    assert len(operations) == 1 + 4 * 34
    assert sum(int(op[1]) for op in operations[1:] if op[0] == "COMPUTE") == 34 + 5 * 8


def four_features_at_a_time() -> list[Operation]:
    threads = [5 * 256 + lane for lane in range(20)]
    loads = [load("feature", [t + 1300 * j for t in threads]) for j in range(6)]
    center = [*loads[:4], WAIT, compute(21), *loads[4:], WAIT, compute(13), compute(18)]
    return [compute(8), *center * 3, store("membership", threads)]


MANY = {"points": 1300, "features": 34, "clusters": 3}
KMEANS_WARPS = [
    Warp(  # 6 blocks, rounded up to a square
        program="kmeans",
        parameters=MANY,
        block=2,
        warp=1,
        geometry=("invert_mapping", 9, 256, 10, 0),
        operations=strides_over_points,
    ),
    *(Warp("kmeans", MANY, block=block, operations=[]) for block in (6, 7, 8)),
    Warp(
        "kmeans",
        {"points": 1300, "features": 6, "clusters": 3},
        launch=1,
        block=5,
        geometry=("kmeansPoint", 9, 256, 16, 0),
        operations=four_features_at_a_time(),
    ),
]

# -- nn --------------------------------------------------------------------------------------------


def nearest(records: int) -> Run:
    def results(before: Arrays) -> Arrays:
        places = before["locations"].reshape(-1, 2).astype(float)
        return {"distances": np.linalg.norm(places - (12.0, 100.0), axis=1)}

    return Run(
        "nn",
        {"records": records, "latitude": 12.0, "longitude": 100.0},
        seed=3,
        launches=["euclid"],
        arrays={"locations": 8 * records, "distances": 4 * records},
        results=results,
    )


RECORDS = [256 + 32 + lane for lane in range(12)]
NN_WARP = Warp(
    "nn",
    {"records": 300},
    block=1,
    warp=1,
    geometry=("euclid", 2, 256, 10, 0),
    operations=[
        *(compute(8), load("locations", [2 * record for record in RECORDS])),
        *(load("locations", [2 * record + 1 for record in RECORDS]), WAIT, compute(12)),
        store("distances", RECORDS),
    ],
)

# -- streamcluster ---------------------------------------------------------------------------------

ONE_CANDIDATE = {
    "points": 1000,
    "dimensions": 6,
    "fewest_centers": 3,
    "most_centers": 5,
    "candidates": 1,
}


def candidate(points: int) -> int:
    """The one candidate of three first centres: the generator's third draw."""
    rng = np.random.default_rng(2)
    rng.random((6, points), dtype=np.float32)
    rng.choice(points, 3, replace=False)
    return int(rng.integers(0, points, 1)[0])


def savings(points: int) -> Run:
    """What each point would save if one candidate were a centre."""

    def results(before: Arrays) -> dict[str, Any]:
        rows = before["coord"].reshape(6, -1).T.astype(float)
        distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
        assigned = before["p"].view(POINT)["assign"]
        centers, x = np.unique(assigned), candidate(points)
        assert len(centers) == 3
        cost = distance[:, centers].min(axis=1)
        assert (distance[np.arange(points), assigned] == cost).all()
        cheaper = distance[:, x] < cost
        assert 0 < cheaper.sum() < points
        saved = np.where(cheaper, distance[:, x] - cost, cost - distance[:, x])

        def work(found: NDArray[Any]) -> None:
            cells = found[: points * 4].reshape(points, 4)
            assert cells[cheaper, 3] == pytest.approx(saved[cheaper], abs=1e-5)
            for center in centers:  # the table may have them in any order
                own = ~cheaper & (assigned == center)
                column = np.flatnonzero(np.abs(cells[own]).sum(axis=0))
                assert len(column) <= 1
                assert cells[own].sum(axis=1) == pytest.approx(saved[own], abs=1e-5)

        return {"switch_membership": cheaper, "work_mem": work}

    return Run(
        "streamcluster",
        {**ONE_CANDIDATE, "points": points},
        seed=2,
        launches=["kernel_compute_cost"],
        arrays={
            "center_table": 4 * points,
            "switch_membership": points,
            "p": 32 * points,
            "coord": 24 * points,
            "work_mem": (points + 1) * 6 * 4,
        },
        results=results,
    )


def in_the_order_of_its_kernel(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    x = candidate(1000)

    def row(number: int) -> list[Operation]:
        own = [number * 1000 + lane for lane in LANES]
        return [load("coord", own), load("coord", [number * 1000 + x] * 32)]

    assert operations[:18] == [
        *(compute(8), *row(0), *row(1), *row(2), *row(3), WAIT, compute(27)),
        *(*row(4), *row(5), WAIT, compute(15), load("p", [8 * lane for lane in LANES])),
    ]
    switching = np.flatnonzero(after["switch_membership"][:32]).tolist()
    staying = [lane for lane in LANES if lane not in switching]
    assert switching
    assert staying
    assign = before["p"].view(POINT)["assign"]
    table = [after["center_table"][assign[lane]] for lane in staying]
    own = [4 * lane + c for lane, c in zip(staying, table, strict=True)]
    new = [4 * lane + 3 for lane in switching]
    assert operations[18:] == [
        *(load("p", [8 * lane + 6 for lane in LANES]), WAIT, compute(2)),
        store("switch_membership", switching),
        *(load("p", [4 * lane + 2 for lane in staying]), WAIT),
        *(load("center_table", [assign[lane] for lane in staying]), WAIT),
        *(load("work_mem", new), WAIT, compute(1), store("work_mem", new)),
        *(load("work_mem", own), WAIT, compute(1), store("work_mem", own)),
    ]


def last_points(operations: list[Operation]) -> None:
    assert operations[1][2] == list(range(992, 1000))


STREAM_WARPS = [
    Warp(
        "streamcluster",
        ONE_CANDIDATE,
        seed=2,
        geometry=("kernel_compute_cost", 2, 512, 24, 0),
        check=in_the_order_of_its_kernel,
    ),
    Warp("streamcluster", ONE_CANDIDATE, seed=2, block=1, warp=15, operations=last_points),
]

# --------------------------------------------------------------------------------------------------

RUNS = [
    kmeans(512, 7, 4, 3),
    kmeans(700, 7, 4, 3),
    kmeans(2000, 5, 3),
    kmeans(1000, 34, 5, 2),
    *map(nearest, (1, 300, 1024)),
    *map(savings, (512, 700, 1000)),
]
WARPS = [*KMEANS_WARPS, NN_WARP, *STREAM_WARPS]
REFUSED = [
    *(
        Refused(
            "kmeans",
            {"points": points, "features": features, "clusters": clusters},
            message=f"'clusters' must be from 1 to {clusters - 1}",
        )
        for points, features, clusters in ((4, 3, 5), (10_000, 34, 482))
    ),
    Refused(
        "streamcluster",
        {"points": 10, "fewest_centers": 3, "most_centers": 11},
        message="'most_centers' must be from fewest_centers = 3 to",
    ),
]

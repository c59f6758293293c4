"""Hetero-Mark's kmeans as MGPUSim has it: what it computes, and what its warps do."""

from __future__ import annotations

from typing import Any

import numpy as np

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

IN_STEP: dict[str, dict[str, object]] = {"hetero_mark_kmeans": {"points": 300, "iterations": 2}}


def grouped(points: int, clusters: int, features: int, iterations: int) -> Run:
    """Lloyd's algorithm in double precision, from the first points."""

    def lloyd(before: Arrays) -> tuple[Any, Any, int]:
        places = before["features"].reshape(points, features).astype(float)
        centres, nearest = places[:clusters].copy(), np.full(points, -1)
        for launches in range(1, iterations + 1):
            apart = ((places[:, None] - centres[None]) ** 2).sum(axis=2)
            found = apart.argmin(axis=1)
            if (found == nearest).all():
                return nearest, centres, launches
            nearest = found
            for number in range(clusters):
                if (nearest == number).any():
                    centres[number] = places[nearest == number].mean(axis=0)
        return nearest, centres, iterations

    def results(before: Arrays) -> dict[str, Any]:
        nearest, centres, _ = lloyd(before)
        swapped = before["features"].reshape(points, features).T.ravel()
        return {"membership": nearest, "features_swap": swapped, "clusters": centres.ravel()}

    return Run(
        "hetero_mark_kmeans",
        {"points": points, "clusters": clusters, "features": features, "iterations": iterations},
        launches=lambda before: (
            ["kmeans_kernel_swap"] + ["kmeans_kernel_compute"] * lloyd(before)[2]
        ),
        arrays=["features", "features_swap", "membership", "clusters"],
        results=results,
    )


def two_features_of_two_centres() -> list[Operation]:
    points = [64 + 32 + lane for lane in LANES]
    operations = [compute(28)]
    for _ in range(2):
        operations.append(compute(5))
        for feature in range(2):
            places = [128 * feature + point for point in points]
            operations += [compute(5), load("features_swap", places), WAIT, compute(13)]
        operations.append(compute(10))
    return [*operations, compute(7), store("membership", points), compute(1)]


def features_apart(operations: list[Operation]) -> None:
    loads = [op for op in operations if op[0] == "LOAD"]
    stores = [op for op in operations if op[0] == "STORE"]
    assert loads == [load("features", [3 * lane + f for lane in LANES]) for f in range(3)]
    assert stores == [store("features_swap", [100 * f + lane for lane in LANES]) for f in range(3)]


RUNS = [grouped(300, 5, 8, 3), grouped(64, 2, 2, 50), grouped(100, 3, 33, 1)]
WARPS = [
    Warp(
        "hetero_mark_kmeans",
        {"points": 128, "clusters": 2, "features": 2},
        launch=1,
        block=1,
        warp=1,
        geometry=("kmeans_kernel_compute", 2, 64, 15, 0),
        operations=two_features_of_two_centres(),
    ),
    Warp(
        "hetero_mark_kmeans",
        {"points": 100, "features": 3},
        geometry=("kmeans_kernel_swap", 2, 64, 8, 0),
        operations=features_apart,
    ),
]
REFUSED = [
    Refused("hetero_mark_kmeans", {"points": 4, "clusters": 5}, message="points = 4: 5"),
]

"""The AMD APP SDK's samples that MGPUSim runs: what they compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal
from numpy.typing import NDArray
from scipy.sparse.csgraph import floyd_warshall as all_pairs

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

IN_STEP: dict[str, dict[str, object]] = {
    "bitonic_sort": {},
    "walsh_steps": {},
    "floyd_warshall": {"nodes": 64, "iterations": 4},
    "matrix_multiplication": {},
    "nbody": {"iterations": 2},
    "simple_convolution": {"width": 30, "height": 20},
    "vector_add": {"height": 3},
}


def ordered(length: int, ascending: bool = True) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        up = np.sort(before["array"])
        return {"array": up if ascending else up[::-1]}

    passes = length.bit_length() - 1
    return Run(
        "bitonic_sort",
        {"length": length, "ascending": ascending},
        launches=["BitonicSort"] * (passes * (passes + 1) // 2),
        arrays={"array": 4 * length},
        results=results,
    )


def transformed(log2_length: int) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        return {"array": scipy.linalg.hadamard(1 << log2_length) @ before["array"].astype(float)}

    return Run(
        "walsh_steps",
        {"log2_length": log2_length},
        launches=["fastWalshTransform"] * log2_length,
        arrays={"array": 4 << log2_length},
        results=results,
        rel=1e-3,
        abs=0.1,
    )


def shortened(nodes: int, iterations: int | None = None) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        distance = before["distance"].reshape(nodes, nodes)
        assert (distance == distance.T).all()
        if iterations is None:
            # scipy takes a zero for no edge.
            weights = np.where(distance == 0, 1e-3, distance)
            return {"distance": np.round(all_pairs(weights)).astype(np.int32).ravel()}
        for by in range(iterations):
            distance = np.minimum(distance, distance[:, by : by + 1] + distance[by])
        return {"distance": distance.ravel(), "path": _nodes_below(nodes)}

    return Run(
        "floyd_warshall",
        {"nodes": nodes, "iterations": iterations},
        launches=["floydWarshallPass"] * (iterations or nodes),
        arrays=dict.fromkeys(("path", "distance"), 4 * nodes * nodes),
        results=results,
    )


def _nodes_below(nodes: int) -> Any:
    def check(path: NDArray[Any]) -> None:
        assert ((path >= 0) & (path < nodes)).all()

    return check


def product(rows: int, inner: int, columns: int, own_rows: bool = True) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        a, b = (before[name].view(np.float32).astype(float) for name in "AB")
        a, b = a.reshape(rows, inner), b.reshape(inner, columns)
        if not own_rows:
            a = a[np.arange(rows) % 32]
        expected = (a @ b).ravel()

        def check(found: NDArray[Any]) -> None:
            np.testing.assert_allclose(found.view(np.float32), expected, rtol=1e-4)

        return {"C": check}

    return Run(
        "matrix_multiplication",
        {"rows": rows, "inner": inner, "columns": columns, "own_rows": own_rows},
        launches=["mmmKernel_local"],
        arrays={"A": 4 * rows * inner, "B": 4 * inner * columns, "C": 4 * rows * columns},
        results=results,
    )


def attracted(bodies: int, iterations: int) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        place = before["position"].view(np.float32).reshape(-1, 4).astype(float)
        mass, place = place[:, 3], place[:, :3]
        speed = np.zeros_like(place)
        for _ in range(iterations):
            apart = place[None] - place[:, None]
            cubed = ((apart**2).sum(axis=2) + 50) ** 1.5
            force = (mass[None, :, None] * apart / cubed[:, :, None]).sum(axis=1)
            place = place + speed * 0.005 + force * (0.5 * 0.005**2)
            speed = speed + force * 0.005

        def check(found: NDArray[Any]) -> None:
            values = found.view(np.float32).reshape(-1, 4)
            np.testing.assert_allclose(values[:, :3], place, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(values[:, 3], mass, rtol=1e-6)

        def fast(found: NDArray[Any]) -> None:
            values = found.view(np.float32).reshape(-1, 4)
            np.testing.assert_allclose(values[:, :3], speed, rtol=1e-3, atol=1e-4)

        new = "new_" if iterations % 2 else ""
        return {f"{new}position": check, f"{new}velocity": fast}

    return Run(
        "nbody",
        {"bodies": bodies, "iterations": iterations},
        launches=["nbody_sim"] * iterations,
        arrays=dict.fromkeys(("position", "new_position", "velocity", "new_velocity"), 16 * bodies),
        results=results,
    )


def folded(width: int, height: int, side: int) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        wide = width + side - 1
        picture = before["input"].reshape(-1, wide).astype(float)
        mask = before["mask"].reshape(side, side).astype(float)
        expected = scipy.signal.correlate2d(picture, mask, mode="valid").ravel()

        def check(found: NDArray[Any]) -> None:
            assert np.abs(found - expected).max() <= 0.51

        return {"output": check}

    return Run(
        "simple_convolution",
        {"width": width, "height": height, "side": side},
        launches=["simpleNonSeparableConvolution"],
        arrays=["input", "output", "mask"],
        results=results,
    )


def added(width: int, height: int) -> Run:
    return Run(
        "vector_add",
        {"width": width, "height": height},
        launches=["vectoradd_float"],
        arrays=dict.fromkeys("ABC", 4 * width * height),
        results=lambda before: {"A": before["B"] + before["C"]},
    )


def pairs_16_apart() -> list[Operation]:
    """Launch 4 + 3 + 2 + 1 = 10: stage 4, step 0; thread 32 on are in the second pair of runs."""
    left = [lane % 16 + 32 * (2 + lane // 16) for lane in LANES]
    right = [place + 16 for place in left]
    stores = [store("array", left), store("array", right), compute(1)]
    return [compute(38), load("array", left), load("array", right), WAIT, compute(6), *stores]


def four_rows_of_a_tile(operations: list[Operation]) -> None:
    """Warp 1 of the second row of blocks: lines of A and B that its first tile needs."""
    loads = [op for op in operations if op[0] == "LOAD"]
    x, y = np.arange(32) % 8, 4 + np.arange(32) // 8
    for r, one in enumerate(loads[:4]):
        assert one == load("A", ((32 + 4 * y + r) * 16 + x).tolist())
    for r, one in enumerate(loads[4:8]):
        assert one == load("B", (r * 16 + x).tolist())
    assert len(loads) == 2 * (4 + 8 * 4)


RUNS = [
    ordered(1024),
    ordered(128, ascending=False),
    transformed(10),
    transformed(4),
    shortened(16),
    shortened(24, 5),
    product(64, 32, 96),
    product(96, 64, 32, own_rows=False),
    attracted(256, 1),
    attracted(512, 2),
    folded(30, 17, 3),
    folded(64, 4, 5),
    added(64, 5),
    added(7, 11),
]
WARPS = [
    Warp(
        "bitonic_sort",
        {"length": 256},
        launch=10,
        block=0,
        warp=1,
        geometry=("BitonicSort", 2, 64, 8, 0),
        operations=pairs_16_apart(),
    ),
    Warp(
        "matrix_multiplication",
        block=2,
        warp=1,
        geometry=("mmmKernel_local", 4, 64, 74, 4096),
        operations=four_rows_of_a_tile,
    ),
    Warp("nbody", geometry=("nbody_sim", 4, 256, 20, 4096)),
    Warp("floyd_warshall", geometry=("floydWarshallPass", 4, 64, 14, 0)),
    Warp("simple_convolution", geometry=("simpleNonSeparableConvolution", 1024, 64, 13, 0)),
    Warp("walsh_steps", geometry=("fastWalshTransform", 2, 256, 9, 0)),
]
REFUSED = [
    Refused("bitonic_sort", {"length": 1000}, message="multiple of 1024"),
    Refused("matrix_multiplication", {"rows": 48}, message="multiple of 32: 48"),
    Refused("floyd_warshall", {"nodes": 16, "iterations": 17}, message="nodes = 16: 17"),
]

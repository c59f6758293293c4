"""SHOC's qtc: its clusters, and what its warps do."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from gpusim.programs.shoc import qtc
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    compute,
    load,
    nth_launch,
    operations_of,
    shared,
    store,
)
from tests.programs.drain import drain

IN_STEP: dict[str, dict[str, object]] = {"qtc": {}}

# -- qtc -------------------------------------------------------------------------------------------

ROUND = [
    "QTC_device",
    "reduce_card_device",
    "trim_ungrouped_pnts_indr_array",
    "update_clustered_pnts_mask",
]


def grown(distance: np.ndarray, seed: int, free: set[int], threshold: float) -> list[int]:
    """The cluster of a seed: always the neighbour that keeps the diameter smallest."""
    members = [seed]
    candidates = {p for p in free if p != seed and distance[seed, p] < threshold}
    while candidates:
        diameter, point = min((max(distance[p, m] for m in members), p) for p in candidates)
        if diameter > threshold:
            break
        members.append(point)
        candidates.remove(point)
    return members


def greedy(before: Arrays) -> list[list[int]]:
    """The clusters of the greedy algorithm, until one has a point alone."""
    return clusters_of(before["distance_matrix"].tobytes(), before["degrees"].size)


@cache
def clusters_of(matrix: bytes, n: int) -> list[list[int]]:
    distance, free = np.frombuffer(matrix, dtype=np.float32).reshape(n, n), set(range(n))
    clusters: list[list[int]] = []
    while free and (not clusters or len(clusters[-1]) > 1):
        clusters.append(max((grown(distance, s, free, 3.0) for s in sorted(free)), key=len))
        free -= set(clusters[-1])
    assert len(clusters[0]) > 5
    assert len(clusters[-1]) == 1
    return clusters


def clustered(before: Arrays) -> dict[str, Any]:
    clusters, n = greedy(before), before["degrees"].size
    free = sorted(set(range(n)) - {point for cluster in clusters for point in cluster})

    def left_over(ungrouped: np.ndarray) -> None:
        assert set(ungrouped[: len(free)].tolist()) == set(free)

    return {"ungrpd_pnts_indr": left_over, "clustered_pnts_mask": ~np.isin(np.arange(n), free)}


def each_cluster_is_that_of_the_greedy_algorithm() -> None:
    sizes = {"points": 64, "threshold": 3.0, "blocks": 64}
    program = Start("qtc", sizes, seed=9).application()
    memory = program.memory
    expected = greedy({array.name: array.data for array in memory.arrays})
    found = []
    for launch in program.launches():
        for block in range(launch.blocks):
            list(launch.run_block(block, 32))
        if launch.name == ROUND[2]:
            size = len(expected[len(found)])
            found.append(memory["result"].data[:size].tolist())
    assert found == expected


def seeds_with_more_neighbours_than_registers_hold() -> None:
    sizes = {"points": 450, "threshold": 7.0, "blocks": 4, "seeds": 1, "clusters": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(qtc, "HELD", 1)
        program = Start("qtc", sizes, seed=1).application()
        drain(program)
    memory = program.memory
    distance = memory["distance_matrix"].data.reshape(450, 450)
    near = [int((distance[seed] < 7).sum()) for seed in range(4)]
    assert max(near) > 64
    expected = [len(grown(distance, seed, set(range(450)), 7.0)) for seed in range(4)]
    cardinalities = memory["cardinalities"].data
    assert cardinalities[3::2].tolist() == [1, 2, 3]
    assert cardinalities[2::2].tolist() == expected[1:]
    assert cardinalities[0] == max(expected)
    assert np.count_nonzero(memory["clustered_pnts_mask"].data) == max(expected)


def degrees_are_counted_row_by_row() -> None:
    sizes = {"points": 1000, "blocks": 10}
    program = Start("qtc", sizes).application()
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (10, 64)
    rows = program.memory["indr_mtrx"].data.reshape(1000, -1)
    most = rows.shape[1]
    operations = operations_of(kernel, program, block=3)
    points = [300 + lane for lane in LANES]
    columns = [load("indr_mtrx", [p * most + j for p in points]) for j in range(4)]
    assert operations[1:7] == [*columns, WAIT, compute(8)]
    stores = [op for op in operations if op[0] == "STORE"]
    assert stores[0] == store("degrees", points)
    assert stores[1][2] == [364 + lane for lane in LANES]
    for block in range(10):
        list(kernel.run_block(block, 32))
    assert (program.memory["degrees"].data == (rows >= 0).sum(axis=1)).all()


def a_growing_cluster_reads_a_column_of_the_matrix() -> None:
    sizes = {"points": 2000, "blocks": 64, "seeds": 1}
    program = Start("qtc", sizes).application()
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.registers_per_thread, kernel.shared_bytes) == (64, 48, 512)
    rows = program.memory["indr_mtrx"].data.reshape(2000, -1)
    seed = next(p for p in range(64) if 32 < (rows[p] >= 0).sum() <= 64)
    near = rows[seed][rows[seed] >= 0].tolist()
    operations = operations_of(kernel, program, block=seed)
    assert operations[1] == load("ungrpd_pnts_indr", [seed] * 32)
    assert operations[3] == load("degrees", [seed] * 32)
    start = operations.index(load("indr_mtrx", [seed * rows.shape[1] + lane for lane in LANES]))
    assert operations[start - 2 : start] == [store("Ai_mask", [seed * 2000 + seed]), BARRIER]
    assert operations[start + 1 : start + 15] == [
        WAIT,
        BARRIER,
        compute(1),
        load("Ai_mask", [seed * 2000 + p for p in near[:32]]),
        WAIT,
        compute(2),
        load("clustered_pnts_mask", near[:32]),
        WAIT,
        compute(2),
        load("distance_matrix", [p * 2000 + seed for p in near[:32]]),
        WAIT,
        compute(4),
        shared(),
        shared(),
    ]
    second = operations_of(kernel, program, block=seed, warp=1)
    assert [op for op in second if op[0] == "LOAD"][5][2] == [p * 2000 + seed for p in near[32:]]
    alone = [op[0] for op in operations].count("SHARED")
    together = [op[0] for op in second].count("SHARED")
    rounds = together // 3
    assert alone == together + 63 * rounds, "one thread goes through the others' results"


def one_thread_reduces(operations: list[Operation]) -> None:
    loads = [op for op in operations if op[0] == "LOAD"]
    assert [op[2] for op in loads if op[2][0] % 2 == 0] == [[2 * b] for b in range(6)]


def one_block_updates(operations: list[Operation]) -> None:
    first = [load("clustered_pnts_mask", LANES), load("Ai_mask", LANES), WAIT, compute(1)]
    assert operations[1:6] == [*first, store("clustered_pnts_mask", LANES)]
    assert len(operations) == 1 + 10 * 5 + 1


def of_a_round(number: int, geometry: tuple[int, int, int], check: Any) -> Warp:
    return Warp(
        "qtc",
        {"points": 600, "blocks": 6, "seeds": 1},
        launch=1 + number,
        geometry=(ROUND[number], 1, *geometry),
        operations=check,
    )


def arrays_of_qtc_lie_in_the_order_of_the_suite() -> None:
    program = Start("qtc", {"points": 600, "blocks": 6}).application()
    most = program.memory["indr_mtrx"].length // 600
    assert [(buffer.name, buffer.bytes) for buffer in program.buffers] == [
        ("distance_matrix", 600 * 600 * 4),
        ("indr_mtrx", 600 * most * 4),
        ("degrees", 2400),
        ("ungrpd_pnts_indr", 2400),
        ("Ai_mask", 3600),
        ("dist_to_clust", 6 * most * 4),
        ("clustered_pnts_mask", 600),
        ("cardinalities", 48),
        ("result", 2400),
    ]


RUNS = [
    Run(
        "qtc",
        {"points": 64, "threshold": 3.0, "blocks": 64},
        seed=9,
        launches=lambda before: ["compute_degrees"] + ROUND * len(greedy(before)),
        results=clustered,
    ),
    Run(
        "qtc",
        {"points": 150, "threshold": 2.0, "blocks": 16, "clusters": 2},
        seed=5,
        launches=["compute_degrees"] + ROUND * 2,
        results=lambda before: {"degrees": (before["indr_mtrx"].reshape(150, -1) >= 0).sum(axis=1)},
    ),
]

WARPS = [
    of_a_round(1, (1, 16, 0), one_thread_reduces),
    of_a_round(2, (64, 32, 776), None),
    of_a_round(3, (64, 16, 0), one_block_updates),
]

REFUSED = [
    Refused(
        "qtc",
        {"points": 100, "threshold": 1e-9},
        message="threshold = 1e-09: no two of the 100 points",
    )
]

CHECKS = [
    seeds_with_more_neighbours_than_registers_hold,
    degrees_are_counted_row_by_row,
    a_growing_cluster_reads_a_column_of_the_matrix,
    arrays_of_qtc_lie_in_the_order_of_the_suite,
]

LONG_CHECKS = [each_cluster_is_that_of_the_greedy_algorithm]

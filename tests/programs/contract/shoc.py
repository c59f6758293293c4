"""SHOC: what its programs compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.shoc import qtc
from gpusim.programs.shoc.bfs import UNSEEN
from gpusim.programs.shoc.fft import grid_of
from gpusim.programs.shoc.stencil2d import pitch_of
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
from tests.programs.test_results import bfs_levels, small_graphs

IN_STEP: dict[str, dict[str, object]] = {
    "fft": {},
    "qtc": {},
    "reduction": {"elements": 51200},
    "scan": {"elements": 65684},
    "shoc_bfs": {},
    "stencil2d": {},
    "triad": {},
}

# -- shoc_bfs --------------------------------------------------------------------------------------

PAPERS = CoPapers(1100, 16.0, 64, 32).generate(3)
FAN = np.concatenate(([33, 5], np.arange(200, 238)))
"""Neighbours of vertex 33; a search from 5, whose only neighbour is 33, has seen two of them."""


def distances(graph: Graph, source: int) -> list[int]:
    """Arcs from the source to each vertex; `UNSEEN` if there is no way."""
    return [UNSEEN if level < 0 else level for level in bfs_levels(graph, source)]


def search(graph: Graph, source: int = 0) -> Run:
    levels = distances(graph, source)
    deepest = max(level for level in levels if level != UNSEEN)
    vertices, arcs = graph.vertices, len(graph.col)
    return Run(
        program="shoc_bfs",
        parameters={"source": source},
        graph=graph,
        launches=["BFS_kernel_warp"] * (deepest + 1),
        arrays={
            "levels": 4 * vertices,
            "edgeArray": 4 * vertices + 4,
            "edgeArrayAux": 4 * arcs,
            "flag": 4,
        },
        results=lambda before: {"levels": levels},
    )


@given(small_graphs())
def levels_of_any_directed_graph(graph: Graph) -> None:
    program = Start(program="shoc_bfs", graph=graph).application()
    levels = distances(graph, 0)
    deepest = max(level for level in levels if level != UNSEEN)
    assert drain(program) == ["BFS_kernel_warp"] * (deepest + 1)
    assert program.memory["levels"].data.tolist() == levels


def levels_can_be_limited() -> None:
    tree = KWayTree(100, 3).generate(0)
    program = Start(program="shoc_bfs", parameters={"levels": 2}, graph=tree).application()
    assert len(drain(program)) == 2


def wavefronts_of_64_hold_two_groups_of_lanes() -> None:
    program = Start(program="shoc_bfs", graph=KWayTree(1024, 2).generate(0)).application()
    chunk = next(iter(next(program.launches()).run_block(0, 64)))
    vertex = (chunk.address[0, 3] - program.memory["levels"].base) // 4
    assert vertex.tolist() == [192] * 32 + [224] * 32


def look(vertex: int) -> list[Operation]:
    return [compute(4), load("levels", [vertex] * 32), WAIT, compute(11)]


def arcs_of_a_vertex(operations: list[Operation]) -> None:
    """Vertex 33 is current and has 40 neighbours, two of them seen; 34 is not."""

    def arcs(count: int, first: int, targets: Sequence[int], fresh: Sequence[int]) -> list[Any]:
        return [
            load("edgeArrayAux", range(first, first + count)),
            WAIT,
            compute(6),
            load("levels", targets),
            WAIT,
            compute(4),
            store("levels", fresh),
            store("flag", [0] * len(fresh)),
            compute(17),
        ]

    targets = FAN.tolist()
    assert operations[:35] == [
        compute(69),
        *look(32),
        *look(33),
        load("edgeArray", [34] * 32),
        load("edgeArray", [33] * 32),
        WAIT,
        compute(12),
        *arcs(32, 1, targets[:32], targets[2:32]),
        *arcs(8, 33, targets[32:], targets[32:]),
        *look(34),
    ]
    assert len(operations) == 35 + 29 * 4


def ragged(operations: list[Operation]) -> None:
    assert operations[-4:] == look(1499)
    assert len(operations) == 1 + 4 * (1500 - 1024 - 14 * 32)


def in_the_fan(block: int, warp: int, check: Any) -> Warp:
    tails = np.concatenate(([5], np.full(40, 33)))
    return Warp(
        program="shoc_bfs",
        parameters={"source": 5},
        graph=graph_from_arcs("fan", 1500, tails, np.concatenate(([33], FAN))),
        launch=1,
        block=block,
        warp=warp,
        geometry=("BFS_kernel_warp", 2, 1024, 20, 0),
        operations=check,
    )


# -- fft -------------------------------------------------------------------------------------------

FFT = ["FFT512_device", "IFFT512_device", "chk512_device"]


def forward_and_backward() -> None:
    start = Start(program="fft", parameters={"transforms": 6, "passes": 1}, seed=3)
    program = start.application()
    work = program.memory["work"]
    before = work.data.reshape(6, 512).copy()
    assert (before[:3] == before[3:]).all()
    assert np.abs(before.imag).max() > 0.9
    launches = program.launches()
    for expected, least in ((np.fft.fft(before.astype(complex)), 1e-4), (before, 1e-6)):
        launch = next(launches)
        for block in range(6):
            list(launch.run_block(block, 32))
        assert np.abs(work.data.reshape(6, 512) - expected).max() < least


def the_comparison_finds_what_differs() -> None:
    program = Start(program="fft", parameters={"transforms": 4, "passes": 2}).application()
    check = nth_launch(program, 2)
    program.memory["work"].data[512 + 64 * 3 + 40] += 1
    assert not any(op[0] == "STORE" for op in operations_of(check, program, block=0))
    assert operations_of(check, program, block=1)[-1] == compute(16)
    assert operations_of(check, program, block=1, warp=1)[-1] == store("chk", [0])
    assert program.memory["chk"].data.tolist() == [1]


def transform(launch: int, last: int) -> Warp:
    """A transform loads a page and stores it back."""
    places = [[512 * 3 + 64 * m + 32 + lane for lane in LANES] for m in range(8)]
    writes, reads, work = [shared()] * 8, [shared(2)] * 8, compute(72 + 849)
    first = [*writes, BARRIER, *reads, BARRIER, *writes, BARRIER, *reads, BARRIER]
    second = [*writes, BARRIER, *writes, BARRIER, *writes, BARRIER, *writes]
    loads, stores = ([op("work", place) for place in places] for op in (load, store))
    start, end = [compute(32), *loads, compute(3), WAIT], [compute(last), *stores, compute(47)]
    return Warp(
        program="fft",
        parameters={"transforms": 8, "passes": 1},
        launch=launch,
        block=3,
        warp=1,
        geometry=(FFT[launch], 8, 64, 32, 2304),
        operations=[*start, work, *first, work, *second, *end],
    )


def a_transform_has_one_page() -> None:
    start = Start(program="fft", parameters={"transforms": 8})
    (chunk,) = next(start.application().launches()).run_block(3, 32)
    assert set(chunk.size.tolist()) == {8}
    assert len(np.unique(chunk.address // 4096)) == 1


def both_halves(operations: list[Operation]) -> None:
    loads = [op[2][0] for op in operations if op[0] == "LOAD"]
    first = [512 * 2 + 64 * m for m in range(8)]
    assert loads == first + [2048 + place for place in first]


def many_transforms_need_rows_of_blocks() -> None:
    assert grid_of(65535).grid == (65535, 1, 1)
    assert grid_of(262144).grid == (32768, 8, 1)


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
    n = before["degrees"].size
    distance, free = before["distance_matrix"].reshape(n, n), set(range(n))
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

    return {
        "ungrpd_pnts_indr": left_over,
        "clustered_pnts_mask": ~np.isin(np.arange(n), free),
    }


def each_cluster_is_that_of_the_greedy_algorithm() -> None:
    sizes = {"points": 90, "threshold": 3.0, "blocks": 90}
    program = Start(program="qtc", parameters=sizes, seed=5).application()
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
        program = Start(program="qtc", parameters=sizes, seed=1).application()
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
    program = Start(program="qtc", parameters=sizes).application()
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
    program = Start(program="qtc", parameters=sizes).application()
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
        program="qtc",
        parameters={"points": 600, "blocks": 6, "seeds": 1},
        launch=1 + number,
        geometry=(ROUND[number], 1, *geometry),
        operations=check,
    )


def arrays_of_qtc_lie_in_the_order_of_the_suite() -> None:
    program = Start(program="qtc", parameters={"points": 600, "blocks": 6}).application()
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


# -- reduction -------------------------------------------------------------------------------------


def put(array: np.ndarray, values: np.ndarray) -> None:
    """Into an array that programs only read."""
    if array.base is not None:
        array.base.flags.writeable = True
    array.flags.writeable = True
    array[:] = values


def random_values(arrays: Arrays) -> None:
    put(arrays["in"], np.random.default_rng(0).random(arrays["in"].size))


def sums_of_the_blocks(before: Arrays) -> Arrays:
    padded = np.zeros(-(-before["in"].size // 32768) * 32768)
    padded[: before["in"].size] = before["in"]
    return {"out": padded.reshape(-1, 64, 512).sum(axis=(0, 2))}


def sum_of_the_suite(before: Arrays) -> dict[str, Any]:
    def check(out: np.ndarray) -> None:
        assert out.sum() == sum(i % 3 for i in range(51200))

    return {"out": check}


def summed(block: int, warp: int, check: Any) -> Warp:
    return Warp(
        program="reduction",
        parameters={"elements": 512 * 66, "iterations": 1},
        block=block,
        warp=warp,
        geometry=("reduce", 64, 256, 14, 1024),
        operations=check,
    )


def strides_through_the_vector(operations: list[Operation]) -> None:
    starts = [512 + 96, 512 + 96 + 256, 512 * 65 + 96, 512 * 65 + 96 + 256]
    loads = [op for op in operations if op[0] == "LOAD"]
    assert loads == [load("in", [start + lane for lane in LANES]) for start in starts]
    turn = ["LOAD", "LOAD", "SHARED", "WAIT", "COMPUTE", "SHARED"]
    assert [op[0] for op in operations[:9]] == ["COMPUTE", "SHARED", *turn, "LOAD"]


def idle_beyond_128_threads(operations: list[Operation]) -> None:
    assert operations[-4:] == [shared(), *[BARRIER] * 3]


def one_turn(operations: list[Operation]) -> None:
    assert sum(op[0] == "LOAD" for op in operations) == 2


def the_first_warp_finishes_the_tree(operations: list[Operation]) -> None:
    assert operations[-1] == store("out", [9])
    step = ["SHARED", "SHARED", "COMPUTE", "SHARED"]
    tree = ["BARRIER", *[*step, "BARRIER"] * 2, *step * 6, "SHARED", "STORE"]
    assert [op[0] for op in operations[8:]] == tree


# -- scan ------------------------------------------------------------------------------------------

SCAN = ["reduce", "scan_single_block", "bottom_scan"]


def running_sum(elements: int, values: np.ndarray | None) -> Run:
    """Of the suite's values, or of others."""

    def other_values(arrays: Arrays) -> None:
        if values is not None:
            put(arrays["idata"], values.view(arrays["idata"].dtype))

    def results(before: Arrays) -> dict[str, Any]:
        given = before["idata"].view(np.float32)
        if values is None:
            assert (given == np.arange(elements) % 3).all()

        def check(odata: np.ndarray) -> None:
            assert (odata.view(np.float32) == np.cumsum(given)).all()

        return {"odata": check}

    return Run(
        program="scan",
        parameters={"elements": elements, "iterations": 2},
        edit=other_values,
        launches=SCAN * 2,
        arrays=["idata", "odata", "block_sums"],
        results=results,
    )


def scanned(launch: int, size: int, place: tuple[int, int], operations: Any) -> Warp:
    """A warp of a kernel of a scan of 64 regions of `size` elements."""
    registers, shared_bytes = ((31, 1024), (12, 2048), (26, 2052))[launch]
    return Warp(
        program="scan",
        parameters={"elements": 64 * size, "iterations": 1},
        launch=launch,
        block=place[0],
        warp=place[1],
        geometry=(SCAN[launch], 1 if launch == 1 else 64, 256, registers, shared_bytes),
        operations=operations,
    )


def four_loads_at_a_time(operations: list[Operation]) -> None:
    starts = [3 * 1280 + 64 + 256 * step for step in range(5)]
    # 16 bytes are an element of the buffer for the last kernel; here they are 4
    loads = [load("idata", [start + lane for lane in LANES]) for start in starts]
    assert operations[1:12] == [*loads[:4], WAIT, compute(5), *[compute(1)] * 4, loads[4]]


def sums_of_regions(operations: list[Operation]) -> None:
    assert operations[:2] == [compute(8), load("block_sums", range(32, 64))]
    assert operations[-1] == store("block_sums", range(32, 64))


def no_sums(operations: list[Operation]) -> None:
    assert all(op[0] not in {"LOAD", "STORE"} for op in operations)


def turns_of_the_last_kernel(operations: list[Operation]) -> None:
    step = ["LOAD", "WAIT", "COMPUTE", "SHARED", "SHARED", "BARRIER"]
    step += ["SHARED", "BARRIER", "SHARED", "COMPUTE", "SHARED", "BARRIER"] * 8
    step += ["SHARED", "SHARED", "COMPUTE", "STORE"]
    assert [op[0] for op in operations] == ["COMPUTE", *step * 2]


def start_value(operations: list[Operation]) -> None:
    assert operations[1] == load("block_sums", [5])


def the_last_kernel_moves_vectors_of_16_bytes() -> None:
    sizes = {"elements": 64 * 2048, "iterations": 1}
    program = Start(program="scan", parameters=sizes).application()
    (chunk,) = nth_launch(program, 2).run_block(5, 32)
    assert chunk.size.tolist() == [4, 16, 16, 16, 16]
    vectors = chunk.address[1:, 2]
    assert (np.diff(vectors, axis=1) == 16).all(), "a warp reads 512 bytes in a row"
    for rows, array in (([0, 2], "idata"), ([1, 3], "odata")):
        first = program.memory[array].base + 16 * (5 * 512 + 64)
        assert vectors[rows, 0].tolist() == [first, first + 4096]


# -- stencil2d -------------------------------------------------------------------------------------

WEIGHTS = np.array([[0.05, 0.15, 0.05], [0.15, 0.25, 0.15], [0.05, 0.15, 0.05]])


def smoothed(iterations: int, columns: int = 512, pitch: int | None = None) -> Run:
    width = pitch or pitch_of(columns)

    def results(before: Arrays) -> Arrays:
        expected = before["da"].reshape(34, width)[1:-1, 1 : columns + 1].astype(float)
        assert expected.max() > 0.9
        for _ in range(iterations):
            expected = scipy.ndimage.correlate(expected, WEIGHTS, mode="constant")
        whole = np.zeros((34, width))  # the border stays
        whole[1:-1, 1 : columns + 1] = expected
        return {"db" if iterations % 2 else "da": whole.ravel()}

    return Run(
        program="stencil2d",
        parameters={"rows": 32, "columns": columns, "iterations": iterations, "pitch": pitch},
        seed=4,
        launches=["StencilKernel"] * iterations,
        arrays=dict.fromkeys(("da", "db"), 4 * 34 * width),
        results=results,
        rel=1e-4,
    )


def strip(warp: int, edge: int, column: int) -> Warp:
    """The second launch: a thread's column of 18 rows, and a border beside the strip."""

    def rows(first: int, count: int, column: int) -> list[int]:
        return [528 * (48 + first + r) + 320 + column + 1 for r in range(count)]

    def lanes(place: int) -> list[int]:
        return [place + lane for lane in LANES]

    def loaded(places: list[list[int]], instructions: int) -> list[Operation]:
        rest = [WAIT, shared(), compute(instructions)]
        return [operation for place in places for operation in (load("db", place), *rest)]

    own = [lanes(place) for place in rows(0, 18, edge)]
    stores = [store("da", lanes(place)) for place in rows(1, 16, edge)]
    smooth = [[*[shared()] * 3, compute(10), result] for result in stores]
    return Warp(
        program="stencil2d",
        parameters={"rows": 64, "columns": 512, "iterations": 2},
        launch=1,
        block=3 + 4 * 5,
        warp=warp,
        geometry=("StencilKernel", 4 * 8, 64, 32, 4 * 18 * 66),
        operations=[
            compute(103),
            *loaded(own, 11),
            *loaded([[place] for place in rows(0, 18, column)], 9),
            BARRIER,
            *[shared()] * 6,
            *[operation for step in smooth for operation in step],
            compute(1),
        ],
    )


def rows_are_padded() -> None:
    assert [pitch_of(columns) for columns in (512, 4096, 14)] == [528, 4112, 16]


# -- triad -----------------------------------------------------------------------------------------


def every_chunk_is_computed_in_its_set_of_arrays() -> None:
    start = Start(program="triad", parameters={"elements": 1536, "chunk": 256}, seed=2)
    program = start.application()
    chunks = (10 * np.random.default_rng(2).random(1536, dtype=np.float32)).reshape(6, 256)
    for number, launch in enumerate(program.launches()):
        for block in reversed(range(launch.blocks)):
            list(launch.run_block(block, 32))
        a, b, c = (program.memory[f"{name}{number % 2}"].data for name in "ABC")
        assert (a[:256] == chunks[number]).all()
        assert (b[:256] == chunks[number]).all()
        assert c[:256] == pytest.approx(2.75 * chunks[number])
        assert not c[256:].any()
    assert number == 5


def added() -> list[Operation]:
    mine = list(range(128 * 5 + 64, 128 * 5 + 96))
    start = [compute(13), load("A1", mine), load("B1", mine), WAIT, compute(4)]
    return [*start, store("C1", mine)]


RUNS = [
    search(KWayTree(2500, 2).generate(0)),
    search(PAPERS, 700),
    search(KWayTree(100, 2).generate(0)),
    Run(
        program="fft",
        parameters={"transforms": 4, "passes": 2},
        launches=FFT * 2,
        arrays=["work", "chk"],
        results=lambda before: {"chk": [0]},
    ),
    Run(
        program="fft",
        parameters={"transforms": 6, "passes": 2, "forward_only": True},
        launches=FFT[:1] * 2,
        results=lambda before: {"chk": [0]},
    ),
    Run(
        program="qtc",
        parameters={"points": 90, "threshold": 3.0, "blocks": 90},
        seed=5,
        launches=lambda before: ["compute_degrees"] + ROUND * len(greedy(before)),
        results=clustered,
    ),
    Run(
        program="qtc",
        parameters={"points": 150, "threshold": 2.0, "blocks": 16, "clusters": 2},
        seed=5,
        launches=["compute_degrees"] + ROUND * 2,
        results=lambda before: {"degrees": (before["indr_mtrx"].reshape(150, -1) >= 0).sum(axis=1)},
    ),
    *(
        Run(
            program="reduction",
            parameters={"elements": elements, "iterations": 2},
            edit=random_values,
            launches=["reduce"] * 2,
            arrays=["in", "out"],
            results=sums_of_the_blocks,
        )
        for elements in (512, 512 * 64, 512 * 150)
    ),
    Run(
        program="reduction",
        parameters={"elements": 512 * 100, "iterations": 1},
        launches=["reduce"],
        results=sum_of_the_suite,
    ),
    *(
        running_sum(size, np.random.default_rng(1).integers(0, 9, size).astype(np.float32))
        for size in (256, 300, 64 * 1024, 64 * 1024 + 4 * 77)
    ),
    running_sum(64 * 600, None),
    *map(smoothed, (1, 2, 5)),
    smoothed(1, columns=64, pitch=100),  # a part of wider matrices
    Run(
        program="triad",
        parameters={"elements": 4096, "chunk": 2048},
        launches=["triad"] * 2,
        arrays=dict.fromkeys(("A0", "B0", "C0", "A1", "B1", "C1"), 16384),
        results=lambda before: {},
    ),
]

WARPS = [
    in_the_fan(0, 1, arcs_of_a_vertex),
    in_the_fan(1, 14, ragged),
    transform(0, 72),
    transform(1, 88),
    Warp(
        program="fft",
        parameters={"transforms": 8, "passes": 1},
        launch=2,
        block=2,
        geometry=("chk512_device", 4, 64, 40, 0),
        operations=both_halves,
    ),
    of_a_round(1, (1, 16, 0), one_thread_reduces),
    of_a_round(2, (64, 32, 776), None),
    of_a_round(3, (64, 16, 0), one_block_updates),
    summed(1, 3, strides_through_the_vector),
    summed(1, 5, idle_beyond_128_threads),
    summed(2, 3, one_turn),
    Warp(
        program="reduction",
        parameters={"elements": 512 * 64, "iterations": 1},
        block=9,
        operations=the_first_warp_finishes_the_tree,
    ),
    scanned(0, 1280, (3, 2), four_loads_at_a_time),
    scanned(1, 1024, (0, 1), sums_of_regions),
    scanned(1, 1024, (0, 2), no_sums),
    scanned(2, 2048, (5, 2), turns_of_the_last_kernel),
    scanned(2, 2048, (5, 0), start_value),
    strip(0, 0, -1),
    strip(1, 32, 64),
    Warp(
        program="triad",
        parameters={"elements": 4096, "chunk": 2048},
        launch=1,
        block=5,
        warp=2,
        geometry=("triad", 16, 128, 12, 0),
        operations=added(),
    ),
]

REFUSED = [
    Refused(
        program="shoc_bfs",
        parameters={"source": 100},
        graph=KWayTree(100, 3).generate(0),
        message="source = 100: 3-way-tree-100 has 100 vertices",
    ),
    Refused(
        program="fft",
        parameters={"transforms": 65538 * 2 + 2},
        message="even, and beyond 65535",
    ),
    Refused(program="fft", parameters={"transforms": 7}, message="even"),
    Refused(program="reduction", parameters={"elements": 700}, message="multiple of 512: 700"),
    Refused(program="scan", parameters={"elements": 1026}, message="multiple of 4: 1026"),
    Refused(
        program="stencil2d",
        parameters={"rows": 32, "columns": 64, "pitch": 65},
        message=r"must be at least columns \+ 2 = 66: 65",
    ),
    Refused(program="stencil2d", parameters={"rows": 24}, message="'rows' must be a multiple of"),
    Refused(
        program="stencil2d", parameters={"columns": 300}, message="'columns' must be a multiple of"
    ),
    *(
        Refused(
            program="triad",
            parameters={"elements": 1024, "chunk": chunk},
            message=f"divides elements = 1024: {chunk}",
        )
        for chunk in (384, 200, 2048)
    ),
    Refused(
        program="qtc",
        parameters={"points": 100, "threshold": 1e-9},
        message="threshold = 1e-09: no two of the 100 points",
    ),
]

CHECKS = [
    levels_of_any_directed_graph,
    levels_can_be_limited,
    wavefronts_of_64_hold_two_groups_of_lanes,
    forward_and_backward,
    the_comparison_finds_what_differs,
    a_transform_has_one_page,
    many_transforms_need_rows_of_blocks,
    each_cluster_is_that_of_the_greedy_algorithm,
    seeds_with_more_neighbours_than_registers_hold,
    degrees_are_counted_row_by_row,
    a_growing_cluster_reads_a_column_of_the_matrix,
    arrays_of_qtc_lie_in_the_order_of_the_suite,
    the_last_kernel_moves_vectors_of_16_bytes,
    rows_are_padded,
    every_chunk_is_computed_in_its_set_of_arrays,
]

"""qtc: its clusters, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.shoc import qtc
from gpusim.programs.shoc.qtc import Qtc, QtcParameters, TrimUngrouped, UpdateClustered
from gpusim.programs.shoc.qtc_points import neighbourhood, random_points
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run_backwards, run_forwards


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


def test_the_clusters_are_those_of_the_greedy_algorithm() -> None:
    program = Qtc(QtcParameters(points=90, threshold=3.0, blocks=90), 5)
    distance = program.arrays.distance.data.reshape(90, 90)
    names = drain(program)
    free = set(range(90))
    for found in program.found:
        best = max((grown(distance, s, free, 3.0) for s in sorted(free)), key=len)
        assert found == best
        free -= set(best)
    assert len(program.found[0]) > 5
    assert len(program.found[-1]) == 1
    round_ = [
        "QTC_device",
        "reduce_card_device",
        "trim_ungrouped_pnts_indr_array",
        "update_clustered_pnts_mask",
    ]
    assert names == ["compute_degrees"] + round_ * len(program.found)
    assert set(program.arrays.ungrouped.data[: len(free)].tolist()) == free
    clustered = np.flatnonzero(program.arrays.clustered.data).tolist()
    assert clustered == sorted(set(range(90)) - free)


def test_seeds_with_more_neighbours_than_registers_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qtc, "HELD", 1)
    program = Qtc(QtcParameters(points=450, threshold=7.0, blocks=4, seeds=1, clusters=1), 1)
    distance = program.arrays.distance.data.reshape(450, 450)
    drain(program)
    near = [int((distance[seed] < 7).sum()) for seed in range(4)]
    assert max(near) > 64
    sizes = [len(grown(distance, seed, set(range(450)), 7.0)) for seed in range(4)]
    assert program.arrays.cardinalities.data[3::2].tolist() == [1, 2, 3]
    assert program.arrays.cardinalities.data[2::2].tolist() == sizes[1:]
    assert len(program.found[0]) == max(sizes)


def test_neighbours_and_distances() -> None:
    points = random_points(500, np.random.default_rng(0))
    assert points.shape == (500, 2)
    assert points.min() >= 0
    assert points.max() <= 20
    near = neighbourhood(points, 1.0)
    exact = np.sqrt(((points[:, None].astype(float) - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(exact, 9.0)
    for point, row in enumerate(near.neighbours):
        close = np.flatnonzero(exact[point] < 1)
        assert row[: len(close)].tolist() == close.tolist()
        assert (row[len(close) :] == -1).all()
        assert near.distance[point, close] == pytest.approx(exact[point, close], rel=1e-5)
    assert (near.distance < 1e30).sum() == (near.neighbours >= 0).sum()
    with pytest.raises(ValueError, match="threshold = 1e-09: no two of the 500 points"):
        neighbourhood(points, 1e-9)


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Qtc(QtcParameters(150, 2.0, 16, clusters=2), 5) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert one.found == other.found


def test_degrees_are_counted_row_by_row() -> None:
    program = Qtc(QtcParameters(points=1000, blocks=10), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (10, 64)
    most = program.most
    operations = warp_operations(kernel, program, block=3)
    points = [300 + lane for lane in LANES]
    assert operations[1:7] == [
        *[("LOAD", "indr_mtrx", [p * most + j for p in points]) for j in range(4)],
        ("WAIT", 0, []),
        ("COMPUTE", 8, []),
    ]
    stores = [op for op in operations if op[0] == "STORE"]
    assert stores[0] == ("STORE", "degrees", points)
    assert stores[1][2] == [364 + lane for lane in LANES]
    nth_launch(program, 1)
    neighbours = program.arrays.neighbours.data.reshape(1000, -1)
    assert (program.arrays.degrees.data == (neighbours >= 0).sum(axis=1)).all()


def test_a_growing_cluster_reads_a_column_of_the_matrix() -> None:
    program = Qtc(QtcParameters(points=2000, blocks=64, seeds=1), 0)
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.registers_per_thread, kernel.shared_bytes) == (64, 48, 512)
    rows = program.arrays.neighbours.data.reshape(2000, -1)
    seed = next(p for p in range(64) if 32 < (rows[p] >= 0).sum() <= 64)
    near = rows[seed][rows[seed] >= 0].tolist()
    first = near[:32]
    operations = warp_operations(kernel, program, block=seed)
    assert operations[1] == ("LOAD", "ungrpd_pnts_indr", [seed] * 32)
    assert operations[3] == ("LOAD", "degrees", [seed] * 32)
    start = operations.index(("LOAD", "indr_mtrx", [seed * program.most + lane for lane in LANES]))
    assert operations[start - 2 : start] == [
        ("STORE", "Ai_mask", [seed * 2000 + seed]),
        ("BARRIER", 0, []),
    ]
    assert operations[start + 1 : start + 15] == [
        ("WAIT", 0, []),
        ("BARRIER", 0, []),
        ("COMPUTE", 1, []),
        ("LOAD", "Ai_mask", [seed * 2000 + p for p in first]),
        ("WAIT", 0, []),
        ("COMPUTE", 2, []),
        ("LOAD", "clustered_pnts_mask", first),
        ("WAIT", 0, []),
        ("COMPUTE", 2, []),
        ("LOAD", "distance_matrix", [p * 2000 + seed for p in first]),
        ("WAIT", 0, []),
        ("COMPUTE", 4, []),
        ("SHARED", 1, []),
        ("SHARED", 1, []),
    ]
    second = warp_operations(kernel, program, block=seed, warp=1)
    assert [op for op in second if op[0] == "LOAD"][5][2] == [p * 2000 + seed for p in near[32:]]
    alone = [op[0] for op in operations].count("SHARED")
    together = [op[0] for op in second].count("SHARED")
    rounds = together // 3
    assert alone == together + 63 * rounds, "one thread goes through the others' results"


def test_one_thread_reduces_and_one_block_trims() -> None:
    program = Qtc(QtcParameters(points=600, blocks=6, seeds=1), 0)
    reduce_ = nth_launch(program, 2)
    assert (reduce_.blocks, reduce_.threads_per_block) == (1, 1)
    loads = [op for op in warp_operations(reduce_, program) if op[0] == "LOAD"]
    assert [op[2] for op in loads if op[2][0] % 2 == 0] == [[2 * b] for b in range(6)]
    launches = program.launches()
    kernels = [next(launches)]
    for _ in range(4):
        for block in range(kernels[-1].blocks):
            list(kernels[-1].run_block(block, 32))
        kernels.append(next(launches))
    trim, update = kernels[3:]
    assert isinstance(trim, TrimUngrouped)
    assert isinstance(update, UpdateClustered)
    assert trim.blocks == update.blocks == 1
    operations = warp_operations(update, program)
    assert operations[1:6] == [
        ("LOAD", "clustered_pnts_mask", LANES),
        ("LOAD", "Ai_mask", LANES),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "clustered_pnts_mask", LANES),
    ]
    assert len(operations) == 1 + 10 * 5 + 1


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Qtc(QtcParameters(points=600, blocks=6), 0)
    most = program.most
    sizes = {buffer.name: buffer.bytes for buffer in program.buffers}
    assert list(sizes.items()) == [
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

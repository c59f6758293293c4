"""streamcluster: its savings, its centres, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.streamcluster import Streamcluster, StreamclusterParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run, run_backwards, run_forwards


def distances(program: Streamcluster) -> np.ndarray:
    """(points, points) squared distances, in double precision."""
    rows = program.coord.data.reshape(program.parameters.dimensions, -1).T.astype(float)
    squared: np.ndarray = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    return squared


@pytest.mark.parametrize("points", [512, 700])
def test_the_savings_of_one_candidate(points: int) -> None:
    program = Streamcluster(StreamclusterParameters(points, 6, 3, 5, 1), 2)
    distance = distances(program)
    nearest = distance[:, program.centers].argmin(axis=1)
    cost = distance[:, program.centers].min(axis=1)
    launch = nth_launch(program, 0)
    (x,) = program.candidates
    run(launch, range(launch.blocks))
    cheaper = distance[:, x] < cost
    assert 0 < cheaper.sum() < points
    assert (program.switch.data == cheaper).all()
    work = np.zeros((points, 4))
    work[np.arange(points), np.where(cheaper, 3, nearest)] = np.where(
        cheaper, distance[:, x] - cost, cost - distance[:, x]
    )
    assert program.work.data[: points * 4].reshape(points, 4) == pytest.approx(work, abs=1e-5)


def test_every_decision_makes_the_clustering_cheaper() -> None:
    program = Streamcluster(StreamclusterParameters(600, 6, 10, 20, 40), 1)
    distance = distances(program)
    counts, totals = [], []
    for launch in program.launches():
        points = program.points
        counts.append(len(program.centers))
        totals.append(points["cost"].sum() + program.price * counts[-1])
        rows = np.arange(600), points["assign"]
        assert points["cost"] == pytest.approx(distance[rows], abs=1e-5)
        assert set(points["assign"].tolist()) <= set(program.centers)
        run(launch, range(launch.blocks))
    assert (np.diff(totals) <= 1e-3).all()
    assert totals[-1] < totals[0]
    assert 10 < max(counts) <= 20


def test_no_more_centers_than_allowed() -> None:
    program = Streamcluster(StreamclusterParameters(600, 6, 10, 10, 20), 1)
    drain(program)
    assert len(program.centers) == 10


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Streamcluster(StreamclusterParameters(1200, 5, 4, 8, 3), 1) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)


def test_streamcluster_in_the_order_of_its_kernel() -> None:
    program = Streamcluster(StreamclusterParameters(1000, 6, 3, 5, 1), 2)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (2, 512, 0)
    (x,) = program.candidates
    operations = warp_operations(kernel, program)

    def row(number: int) -> list[tuple[str, str | int, list[int]]]:
        return [
            ("LOAD", "coord", [number * 1000 + lane for lane in LANES]),
            ("LOAD", "coord", [number * 1000 + x] * 32),
        ]

    assert operations[:18] == [
        ("COMPUTE", 8, []),
        *row(0),
        *row(1),
        *row(2),
        *row(3),
        ("WAIT", 0, []),
        ("COMPUTE", 27, []),
        *row(4),
        *row(5),
        ("WAIT", 0, []),
        ("COMPUTE", 15, []),
        ("LOAD", "p", [8 * lane for lane in LANES]),
    ]
    switching = np.flatnonzero(program.switch.data[:32]).tolist()
    staying = [lane for lane in LANES if lane not in switching]
    assert switching
    assert staying
    table = [program.table.data[program.points["assign"][lane]] for lane in staying]
    assert operations[18:] == [
        ("LOAD", "p", [8 * lane + 6 for lane in LANES]),
        ("WAIT", 0, []),
        ("COMPUTE", 2, []),
        ("STORE", "switch_membership", switching),
        ("LOAD", "p", [4 * lane + 2 for lane in staying]),
        ("WAIT", 0, []),
        ("LOAD", "center_table", [program.points["assign"][lane] for lane in staying]),
        ("WAIT", 0, []),
        ("LOAD", "work_mem", [4 * lane + 3 for lane in switching]),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "work_mem", [4 * lane + 3 for lane in switching]),
        ("LOAD", "work_mem", [4 * lane + c for lane, c in zip(staying, table, strict=True)]),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "work_mem", [4 * lane + c for lane, c in zip(staying, table, strict=True)]),
    ]
    idle = warp_operations(kernel, program, block=1, warp=15)
    assert idle[1][2] == list(range(992, 1000))


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Streamcluster(StreamclusterParameters(1000, 6, 3, 5, 1), 2)
    names = ["center_table", "switch_membership", "p", "coord", "work_mem"]
    assert [buffer.name for buffer in program.buffers] == names
    assert [b.bytes for b in program.buffers] == [4000, 1000, 32000, 24000, 1001 * 6 * 4]


def test_more_centers_than_points_are_refused() -> None:
    with pytest.raises(ValueError, match="'most_centers' must be from fewest_centers = 3 to"):
        StreamclusterParameters(points=10, fewest_centers=3, most_centers=11)

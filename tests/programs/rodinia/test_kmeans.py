"""kmeans: its centres, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.kmeans import Kmeans, KmeansParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run, run_backwards, run_forwards


def lloyd(points: np.ndarray, clusters: int, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres and memberships by Lloyd's algorithm in double precision."""
    points = points.astype(float)
    centers = points[:clusters]
    for _ in range(iterations):
        member = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        centers = np.array([points[member == c].mean(axis=0) for c in range(clusters)])
    return centers, member


@pytest.mark.parametrize("points", [512, 700])
def test_the_centres_are_those_of_lloyd(points: int) -> None:
    program = Kmeans(KmeansParameters(points, 7, 4, 3), 3)
    data = program.flipped.data.reshape(points, 7).copy()
    assert drain(program) == ["invert_mapping"] + ["kmeansPoint"] * 3
    assert (program.feature.data.reshape(7, points) == data.T).all()
    centers, member = lloyd(data, 4, 3)
    assert (program.membership.data == member).mean() > 0.99
    assert program.centers == pytest.approx(centers, abs=1e-2)


def test_it_ends_when_hardly_a_point_changes() -> None:
    program = Kmeans(KmeansParameters(2000, 5, 3), 0)
    names = drain(program)
    assert 3 < len(names) < 100
    data = program.flipped.data.reshape(2000, 5)
    before, _ = lloyd(data, 3, len(names) - 2)
    member = ((data[:, None] - before[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (member != program.membership.data).mean() <= 0.002


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Kmeans(KmeansParameters(1500, 5, 3), 0), Kmeans(KmeansParameters(1500, 5, 3), 0)
    assert run_forwards(one) == run_backwards(other)


def test_the_transposition_strides_over_points() -> None:
    program = Kmeans(KmeansParameters(1300, 34, 3), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (9, 256), "6 blocks, rounded up to a square"
    operations = warp_operations(kernel, program, block=2, warp=1)
    threads = [2 * 256 + 32 + lane for lane in LANES]
    assert operations[0] == ("COMPUTE", 8, [])
    assert operations[1:8] == [
        ("LOAD", "feature_flipped", [34 * t for t in threads]),
        ("WAIT", 0, []),
        ("STORE", "feature", threads),
        ("COMPUTE", 1, []),
        ("LOAD", "feature_flipped", [34 * t + 1 for t in threads]),
        ("WAIT", 0, []),
        ("STORE", "feature", [t + 1300 for t in threads]),
    ]
    assert len(operations) == 1 + 4 * 34
    assert sum(op[1] for op in operations[1:] if op[0] == "COMPUTE") == 34 + 5 * 8
    assert run(kernel, range(6, 9)) == [[], [], []], "blocks beyond the points do nothing"


def test_points_load_four_features_at_a_time() -> None:
    program = Kmeans(KmeansParameters(1300, 6, 3), 0)
    kernel = nth_launch(program, 1)
    assert kernel.blocks == 9
    operations = warp_operations(kernel, program, block=5)
    threads = [5 * 256 + lane for lane in range(20)]
    center = [
        *[("LOAD", "feature", [t + 1300 * j for t in threads]) for j in range(4)],
        ("WAIT", 0, []),
        ("COMPUTE", 21, []),
        *[("LOAD", "feature", [t + 1300 * j for t in threads]) for j in (4, 5)],
        ("WAIT", 0, []),
        ("COMPUTE", 13, []),
        ("COMPUTE", 18, []),
    ]
    assert operations == [("COMPUTE", 8, []), *center * 3, ("STORE", "membership", threads)]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Kmeans(KmeansParameters(1000, 34, 5), 0)
    names = ["feature_flipped", "feature", "membership", "clusters"]
    assert [buffer.name for buffer in program.buffers] == names
    assert [buffer.bytes for buffer in program.buffers] == [136000, 136000, 4000, 680]


@pytest.mark.parametrize(("points", "features", "clusters"), [(4, 3, 5), (10_000, 34, 482)])
def test_too_many_centres_are_refused(points: int, features: int, clusters: int) -> None:
    with pytest.raises(ValueError, match=f"'clusters' must be at most {clusters - 1}"):
        KmeansParameters(points, features, clusters)

"""hetero_mark_pagerank: its ranks, and what its warps do."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.hetero_mark.pagerank import (
    HeteroMarkPagerank,
    HeteroMarkPagerankParameters,
)
from tests.programs.drain import chunks, drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.test_results import small_graphs


def expected_ranks(graph: Graph, iterations: int) -> np.ndarray:
    entries = np.maximum(np.bincount(graph.col, minlength=graph.vertices), 1)
    shape = (graph.vertices, graph.vertices)
    matrix = scipy.sparse.csr_matrix((1 / entries[graph.col], graph.col, graph.row), shape=shape)
    ranks = np.full(graph.vertices, 1 / graph.vertices)
    for _ in range(iterations):
        ranks = matrix @ ranks
    return ranks


@given(small_graphs(), st.integers(1, 3))
def test_ranks_of_any_directed_graph(graph: Graph, iterations: int) -> None:
    program = HeteroMarkPagerank(HeteroMarkPagerankParameters(iterations), graph, 0)
    assert drain(program) == ["PageRankUpdateGpu"] * iterations
    assert program.ranks.data == pytest.approx(expected_ranks(graph, iterations), rel=1e-4)


def test_rows_longer_than_a_wavefront_keep_the_sum_of_ranks() -> None:
    graph = UniformRandom(40, 8000).generate(1)
    assert graph.degrees.max() > 2 * 64
    program = HeteroMarkPagerank(HeteroMarkPagerankParameters(3), graph, 0)
    drain(program)
    assert program.ranks.data == pytest.approx(expected_ranks(graph, 3), rel=1e-4)
    assert program.ranks.data.sum() == pytest.approx(1, rel=1e-4)


def test_the_order_of_blocks_is_no_matter() -> None:
    graph = UniformRandom(40, 2000).generate(1)
    one, other = (HeteroMarkPagerank(HeteroMarkPagerankParameters(2), graph, 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.ranks.data == other.ranks.data).all()


TARGETS = np.arange(100, 200)
GRAPH = graph_from_arcs("row", 300, np.full(100, 7), TARGETS)


def test_both_warps_of_a_row() -> None:
    program = HeteroMarkPagerank(HeteroMarkPagerankParameters(1), GRAPH, 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (300, 64)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 256)

    def entries(first: int, last: int) -> list[tuple]:
        return [
            ("LOAD", "val", list(range(first, last))),
            ("LOAD", "col", list(range(first, last))),
            ("WAIT", 0, []),
            ("COMPUTE", 14, []),
            ("LOAD", "x", TARGETS[first:last].tolist()),
            ("WAIT", 0, []),
            ("SHARED", 1, []),
            ("COMPUTE", 15, []),
            ("SHARED", 1, []),
        ]

    start = [
        ("COMPUTE", 32, []),
        ("STORE", "y", [7] * 32),
        ("LOAD", "row", [7] * 32),
        ("LOAD", "row", [8] * 32),
        ("WAIT", 0, []),
        ("SHARED", 1, []),
    ]
    add = [("SHARED", 1, []), ("SHARED", 1, []), ("COMPUTE", 8, []), ("SHARED", 1, [])]
    barrier = [("BARRIER", 0, [])]
    end = [
        ("LOAD", "y", [7]),
        ("SHARED", 1, []),
        ("WAIT", 0, []),
        ("COMPUTE", 5, []),
        ("STORE", "y", [7]),
    ]
    assert warp_operations(kernel, program, 7, 0) == [
        *start,
        *entries(0, 32),
        *entries(64, 96),
        *barrier,
        *((add + barrier) * 6),
        *end,
    ]
    assert warp_operations(kernel, program, 7, 1) == [
        *start,
        *entries(32, 64),
        *entries(96, 100),
        *barrier,
        *(barrier * 6),
    ]


def test_a_wavefront_of_64_is_one_row() -> None:
    program = HeteroMarkPagerank(HeteroMarkPagerankParameters(1), GRAPH, 0)
    shapes = {chunk.address.shape[1:] for _, chunk in chunks(program, 64)}
    assert shapes == {(1, 64)}


def test_vectors_change_places_after_every_launch() -> None:
    program = HeteroMarkPagerank(HeteroMarkPagerankParameters(2), GRAPH, 0)
    assert warp_operations(nth_launch(program, 0), program)[1][:2] == ("STORE", "y")
    assert warp_operations(nth_launch(program, 1), program)[1][:2] == ("STORE", "x")
    assert [b.name for b in program.buffers] == ["row", "col", "val", "x", "y"]

"""pagerank_spmv: its ranks, and what its warps do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.pannotia.pagerank import Pagerank, PagerankParameters
from gpusim.programs.pannotia.pagerank_spmv import PagerankSpmv
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import (
    LANES,
    STAR,
    nth_launch,
    run_backwards,
    run_forwards,
)
from tests.programs.test_results import reference_ranks, small_graphs


@given(small_graphs(), st.integers(1, 4))
def test_ranks_of_any_directed_graph(graph: Graph, iterations: int) -> None:
    program = PagerankSpmv(PagerankParameters(iterations), graph, 0)
    names = drain(program)
    steps = ["spmv_csr_scalar_kernel", "pagerank2"] * iterations
    assert names == ["inibuffer", "inicsr", *steps]
    assert program.rank.data == pytest.approx(reference_ranks(graph, iterations), rel=1e-4)


def test_pulled_ranks_are_pushed_ranks() -> None:
    graph = CoPapers(300, 16.0, 64, 32).generate(5)
    pull = PagerankSpmv(PagerankParameters(), graph, 0)
    push = Pagerank(PagerankParameters(), graph, 0)
    drain(pull)
    drain(push)
    assert pull.rank.data == pytest.approx(push.rank.data, rel=1e-4)


def test_the_order_of_blocks_is_no_matter() -> None:
    graph = CoPapers(300, 16.0, 64, 32).generate(5)
    one, other = (PagerankSpmv(PagerankParameters(2), graph, 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.rank.data == other.rank.data).all()


def test_weights_are_made_once() -> None:
    program = PagerankSpmv(PagerankParameters(1), STAR, 0)
    kernel = nth_launch(program, 1)
    assert (kernel.name, kernel.blocks, kernel.threads_per_block) == ("inicsr", 10, 64)
    assert warp_operations(kernel, program)[:10] == [
        ("COMPUTE", 8, []),
        ("LOAD", "row", LANES),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("WAIT", 0, []),
        ("LOAD", "col", [0, 3]),
        ("WAIT", 0, []),
        ("COMPUTE", 2, []),
        ("LOAD", "colcnt", [1, 0]),
        ("WAIT", 0, []),
        ("COMPUTE", 10, []),
    ]


def test_a_row_issues_the_loads_of_four_arcs_together() -> None:
    hub = np.zeros(5, dtype=np.int64)
    graph = graph_from_arcs("hub", 100, np.array([10, 20, 30, 40, 50]), hub)
    program = PagerankSpmv(PagerankParameters(1), graph, 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.registers_per_thread, kernel.shared_bytes) == (2, 32, 0)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "row", LANES),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("WAIT", 0, []),
        *[("LOAD", "col", [arc]) for arc in range(4)],
        *[("LOAD", "data", [arc]) for arc in range(4)],
        ("WAIT", 0, []),
        *[("LOAD", "pr1", [origin]) for origin in (10, 20, 30, 40)],
        ("WAIT", 0, []),
        *[("COMPUTE", 3, [])] * 4,
        ("COMPUTE", 5, []),
        ("LOAD", "col", [4]),
        ("LOAD", "data", [4]),
        ("WAIT", 0, []),
        ("LOAD", "pr1", [50]),
        ("WAIT", 0, []),
        ("COMPUTE", 3, []),
        ("COMPUTE", 5, []),
        ("LOAD", "pr2", LANES),
        ("WAIT", 0, []),
        ("STORE", "pr2", LANES),
    ]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    buffers = PagerankSpmv(PagerankParameters(1), STAR, 0).buffers
    assert [b.name for b in buffers] == ["row", "col", "data", "pr1", "pr2", "colcnt"]
    assert [b.bytes for b in buffers] == [2404, 20, 20, 2400, 2400, 2400]

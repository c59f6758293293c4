"""bc: its centralities, and what its warps do."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gpusim.programs.graphs.generators import RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.bc import Bc, BcParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, STAR, nth_launch, run_backwards, run_forwards
from tests.programs.test_results import bfs_levels, small_graphs, to_networkx


def without_double_arcs(graph: Graph) -> Graph:
    tail = np.repeat(np.arange(graph.vertices), graph.degrees)
    keys = np.unique(tail * graph.vertices + graph.col)
    return graph_from_arcs("simple", graph.vertices, *np.divmod(keys, graph.vertices))


@given(small_graphs())
def test_centralities_of_any_directed_graph(graph: Graph) -> None:
    simple = without_double_arcs(graph)
    program = Bc(BcParameters(), simple, 0)
    drain(program)
    expected = nx.betweenness_centrality(to_networkx(simple), normalized=False)
    expected = [expected[v] for v in range(simple.vertices)]
    assert program.bc.data.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_centralities_over_several_blocks() -> None:
    simple = without_double_arcs(RodiniaRandom(140).generate(2))
    program = Bc(BcParameters(), simple, 0)
    drain(program)
    expected = nx.betweenness_centrality(to_networkx(simple), normalized=False)
    assert program.bc.data == pytest.approx([expected[v] for v in range(140)], rel=1e-3, abs=1e-3)


def test_one_source_counts_paths_forwards_and_walks_back() -> None:
    graph = UniformRandom(200, 900).generate(1)
    program = Bc(BcParameters(sources=1), graph, 0)
    names = drain(program)
    levels = bfs_levels(graph, 0)
    assert program.d.data.tolist() == levels
    depth = max(levels) + 1
    passes = ["bfs_kernel"] * depth + ["backtrack_kernel"] * depth
    assert names == ["clean_bc", "clean_1d_array", *passes]


def test_the_order_of_blocks_is_no_matter() -> None:
    graph = UniformRandom(500, 6000).generate(1)
    one, other = Bc(BcParameters(sources=2), graph, 0), Bc(BcParameters(sources=2), graph, 0)
    assert run_forwards(one) == run_backwards(other)
    assert one.bc.data == pytest.approx(other.bc.data, rel=1e-4, abs=1e-4)


def test_forward_in_the_order_of_the_compiled_kernel() -> None:
    program = Bc(BcParameters(), STAR, 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.threads_per_block) == (5, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (22, 0)

    def arc(edge: int, target: int) -> list[tuple]:
        return [
            ("LOAD", "col", [edge]),
            ("WAIT", 0, []),
            ("COMPUTE", 2, []),
            ("LOAD", "d", [target]),
            ("WAIT", 0, []),
            ("COMPUTE", 9, []),
            ("STORE", "stop", [0]),
            ("STORE", "d", [target]),
            ("LOAD", "rho", [0]),
            ("WAIT", 0, []),
            ("COMPUTE", 3, []),
            ("REDUCE", "rho", [target]),
        ]

    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "d", LANES),
        ("WAIT", 0, []),
        ("LOAD", "row", [1]),
        ("LOAD", "row", [0]),
        ("WAIT", 0, []),
        *arc(0, 599),
        *arc(1, 1),
    ]


def test_a_block_sees_its_own_levels() -> None:
    graph = graph_from_arcs("two", 300, np.array([0, 0]), np.array([5, 5]))
    program = Bc(BcParameters(), graph, 0)
    operations = warp_operations(nth_launch(program, 2), program)
    assert sum(op[:2] == ("STORE", "d") for op in operations) == 1
    assert sum(op[:2] == ("REDUCE", "rho") for op in operations) == 2


def test_backward_in_the_order_of_the_compiled_kernel() -> None:
    program = Bc(BcParameters(), STAR, 0)
    kernel = nth_launch(program, 4)
    assert (kernel.name, kernel.registers_per_thread) == ("backtrack_kernel", 29)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "d", LANES),
        ("WAIT", 0, []),
        ("LOAD", "row_t", [2]),
        ("LOAD", "row_t", [1]),
        ("WAIT", 0, []),
        ("LOAD", "col_t", [3]),
        ("WAIT", 0, []),
        ("COMPUTE", 2, []),
        ("LOAD", "d", [0]),
        ("WAIT", 0, []),
        ("LOAD", "rho", [1]),
        ("COMPUTE", 5, []),
        ("LOAD", "rho", [0]),
        ("WAIT", 0, []),
        ("COMPUTE", 10, []),
        ("LOAD", "sigma", [1]),
        ("WAIT", 0, []),
        ("REDUCE", "sigma", [0]),
        ("LOAD", "bc", [1]),
        ("LOAD", "sigma", [1]),
        ("WAIT", 0, []),
        ("STORE", "bc", [1]),
    ]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    buffers = Bc(BcParameters(), STAR, 0).buffers
    names = ["bc", "d", "sigma", "rho", "stop", "row", "col", "row_t", "col_t"]
    assert [buffer.name for buffer in buffers] == names
    assert [buffer.bytes for buffer in buffers[4:]] == [4, 2404, 20, 2404, 20]

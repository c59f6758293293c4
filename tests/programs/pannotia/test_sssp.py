"""sssp and sssp_ell: their distances, and what their warps do."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.rows import transposed
from gpusim.programs.pannotia.sssp import UNREACHED, Sssp, SsspEll, SsspParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run_backwards, run_forwards
from tests.programs.test_results import small_graphs

BOTH = pytest.mark.parametrize("kind", [Sssp, SsspEll])


def dijkstra(graph: Graph, source: int) -> list[int]:
    """Distances by networkx."""
    made = nx.MultiDiGraph()
    made.add_nodes_from(range(graph.vertices))
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    made.add_weighted_edges_from(
        zip(tails.tolist(), graph.col.tolist(), graph.weight.tolist(), strict=True)
    )
    found = nx.single_source_dijkstra_path_length(made, source)
    return [found.get(vertex, UNREACHED) for vertex in range(graph.vertices)]


@BOTH
@pytest.mark.parametrize(
    "graph",
    [RodiniaRandom(200).generate(1), UniformRandom(150, 500).generate(4)],
    ids=lambda graph: graph.name,
)
def test_distances(kind: type[Sssp | SsspEll], graph: Graph) -> None:
    program = kind(SsspParameters(source=3), graph, 0)
    names = drain(program)
    assert program.new.data.tolist() == dijkstra(graph, 3)
    assert names[0] == "vector_init"
    assert set(zip(names[1::3], names[3::3], strict=True)) == {("vector_assign", "vector_diff")}


@given(small_graphs())
def test_both_formats_agree_on_any_directed_graph(graph: Graph) -> None:
    rows = Sssp(SsspParameters(), graph, 5)
    names = drain(rows)
    reverse = transposed(graph)
    weighted = Graph("weighted", reverse.row, reverse.col, rows.data.data[: graph.arcs].astype(int))
    assert rows.new.data.tolist() == dijkstra(transposed(weighted), 0)
    if graph.arcs:
        slots = SsspEll(SsspParameters(), graph, 5)
        assert len(drain(slots)) == len(names)
        assert slots.new.data.tolist() == rows.new.data.tolist()


@BOTH
def test_the_order_of_blocks_is_no_matter(kind: type[Sssp | SsspEll]) -> None:
    one, other = (kind(SsspParameters(), Grid(13, 12).generate(0), 2) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.new.data == other.new.data).all()


@BOTH
def test_rounds_can_be_limited(kind: type[Sssp | SsspEll]) -> None:
    program = kind(SsspParameters(rounds=2), Grid(13, 12).generate(0), 2)
    assert len(drain(program)) == 1 + 2 * 3
    assert (program.new.data < UNREACHED).sum() == 6, "all within two steps of the corner"


@BOTH
def test_a_source_beyond_the_graph_is_refused(kind: type[Sssp | SsspEll]) -> None:
    with pytest.raises(ValueError, match="source = 156: grid-13x12 has 156 vertices"):
        kind(SsspParameters(source=156), Grid(13, 12).generate(0), 0)


def test_a_graph_with_a_hub_is_too_much_for_the_ell_format() -> None:
    spokes = np.arange(1, 20_000)
    graph = graph_from_arcs("hub", 20_000, spokes, np.zeros_like(spokes))
    with pytest.raises(ValueError, match="hub has a vertex of in-degree 19999, too much"):
        SsspEll(SsspParameters(), graph, 0)


def test_rows_issue_the_loads_of_four_arcs_together() -> None:
    hub = np.zeros(5, dtype=np.int64)
    graph = graph_from_arcs("hub", 100, np.array([10, 20, 30, 40, 50]), hub)
    program = Sssp(SsspParameters(), graph, 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (2, 64, 0)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "row", LANES),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("LOAD", "vector1", LANES),
        ("WAIT", 0, []),
        *[("LOAD", "data", [arc]) for arc in range(4)],
        *[("LOAD", "col", [arc]) for arc in range(4)],
        ("WAIT", 0, []),
        *[("LOAD", "vector1", [origin]) for origin in (10, 20, 30, 40)],
        ("WAIT", 0, []),
        *[("COMPUTE", 4, [])] * 4,
        ("COMPUTE", 5, []),
        ("LOAD", "data", [4]),
        ("LOAD", "col", [4]),
        ("WAIT", 0, []),
        ("LOAD", "vector1", [50]),
        ("WAIT", 0, []),
        ("COMPUTE", 4, []),
        ("COMPUTE", 5, []),
        ("STORE", "vector2", LANES),
    ]


def test_slots_are_coalesced() -> None:
    program = SsspEll(SsspParameters(), Grid(20, 5).generate(0), 0)
    kernel = nth_launch(program, 2)
    operations = warp_operations(kernel, program, block=1)
    vertices = [64 + lane for lane in LANES]
    assert operations[:3] == [
        ("COMPUTE", 8, []),
        ("LOAD", "vector1", vertices),
        ("WAIT", 0, []),
    ]
    for array, first in (("data", 3), ("col", 7)):
        assert operations[first : first + 4] == [
            ("LOAD", array, [slot * 100 + vertex for vertex in vertices]) for slot in range(4)
        ]
    assert operations[12][:2] == ("LOAD", "vector1")
    assert operations[-1] == ("STORE", "vector2", vertices)
    tail = warp_operations(kernel, program, block=1, warp=1)
    assert tail[-1] == ("STORE", "vector2", [96, 97, 98, 99])


def test_the_vector_kernels() -> None:
    program = Sssp(SsspParameters(), Grid(20, 5).generate(0), 0)
    start, assign = nth_launch(program, 0), nth_launch(program, 1)
    assert [op[:2] for op in warp_operations(start, program)] == [
        ("COMPUTE", 8),
        ("STORE", "vector1"),
        ("STORE", "vector2"),
    ]
    assert warp_operations(assign, program)[1:] == [
        ("LOAD", "vector2", LANES),
        ("WAIT", 0, []),
        ("STORE", "vector1", LANES),
    ]
    assert warp_operations(nth_launch(program, 3), program)[1:] == [
        ("LOAD", "vector2", LANES),
        ("LOAD", "vector1", LANES),
        ("WAIT", 0, []),
        ("STORE", "stop", [0, 0]),
    ]


def test_arrays_lie_in_order() -> None:
    grid = Grid(20, 5).generate(0)
    names = ["row", "col", "data", "stop", "vector1", "vector2"]
    assert [b.name for b in Sssp(SsspParameters(), grid, 0).buffers] == names
    ell = SsspEll(SsspParameters(), grid, 0).buffers
    assert [b.name for b in ell] == ["col", "data", "stop", "vector1", "vector2"]
    assert [b.bytes for b in ell] == [1600, 1600, 4, 400, 400]

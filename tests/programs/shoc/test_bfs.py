"""shoc_bfs: its levels, and what its warps do."""

import numpy as np
import pytest
from hypothesis import given

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.shoc.bfs import UNSEEN, ShocBfs, ShocBfsParameters
from tests.programs.drain import chunks, drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.test_results import bfs_levels, small_graphs


def found_levels(program: ShocBfs) -> list[int]:
    return [-1 if level == UNSEEN else level for level in program.levels.data.tolist()]


@given(small_graphs())
def test_levels_of_any_directed_graph(graph: Graph) -> None:
    program = ShocBfs(ShocBfsParameters(), graph, 0)
    names = drain(program)
    levels = bfs_levels(graph, 0)
    assert found_levels(program) == levels
    assert names == ["BFS_kernel_warp"] * (max(levels) + 1)


@pytest.mark.parametrize(
    ("graph", "source"),
    [(KWayTree(2500, 2).generate(0), 0), (CoPapers(1100, 16.0, 64, 32).generate(3), 700)],
    ids=lambda value: getattr(value, "name", value),
)
def test_levels_over_several_blocks(graph: Graph, source: int) -> None:
    program = ShocBfs(ShocBfsParameters(source=source), graph, 0)
    drain(program)
    assert found_levels(program) == bfs_levels(graph, source)


def test_the_order_of_blocks_is_no_matter() -> None:
    graph = CoPapers(1100, 16.0, 64, 32).generate(3)
    one, other = (ShocBfs(ShocBfsParameters(), graph, 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)


def test_levels_can_be_limited_and_sources_are_checked() -> None:
    graph = KWayTree(100, 3).generate(0)
    assert len(drain(ShocBfs(ShocBfsParameters(levels=2), graph, 0))) == 2
    with pytest.raises(ValueError, match="source = 100: 3-way-tree-100 has 100 vertices"):
        ShocBfs(ShocBfsParameters(source=100), graph, 0)


def test_a_warp_goes_through_its_vertices_one_by_one() -> None:
    """Vertex 33 is current and has 40 neighbours, two of them seen; 34 is not."""
    targets = np.concatenate(([33, 5], np.arange(200, 238)))
    graph = graph_from_arcs("fan", 1500, np.full(40, 33), targets)
    program = ShocBfs(ShocBfsParameters(source=33), graph, 0)
    program.levels.data[5] = 0
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (2, 1024)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (20, 0)

    def look(vertex: int) -> list[tuple]:
        look = ("LOAD", "levels", [vertex] * 32)
        return [("COMPUTE", 4, []), look, ("WAIT", 0, []), ("COMPUTE", 11, [])]

    def arcs(count: int, first: int, targets: list[int], fresh: list[int]) -> list[tuple]:
        return [
            ("LOAD", "edgeArrayAux", list(range(first, first + count))),
            ("WAIT", 0, []),
            ("COMPUTE", 6, []),
            ("LOAD", "levels", targets),
            ("WAIT", 0, []),
            ("COMPUTE", 4, []),
            ("STORE", "levels", fresh),
            ("STORE", "flag", [0] * len(fresh)),
            ("COMPUTE", 17, []),
        ]

    operations = warp_operations(kernel, program, warp=1)
    assert operations[:35] == [
        ("COMPUTE", 69, []),
        *look(32),
        *look(33),
        ("LOAD", "edgeArray", [34] * 32),
        ("LOAD", "edgeArray", [33] * 32),
        ("WAIT", 0, []),
        ("COMPUTE", 12, []),
        *arcs(32, 0, targets[:32].tolist(), targets[2:32].tolist()),
        *arcs(8, 32, targets[32:].tolist(), targets[32:].tolist()),
        *look(34),
    ]
    assert len(operations) == 35 + 29 * 4
    ragged = warp_operations(kernel, program, block=1, warp=14)
    assert ragged[-4:] == look(1499)
    assert len(ragged) == 1 + 4 * (1500 - 1024 - 14 * 32)


def test_wavefronts_of_64_hold_two_groups_of_lanes() -> None:
    program = ShocBfs(ShocBfsParameters(levels=1), KWayTree(1024, 2).generate(0), 0)
    (_, chunk), *_ = chunks(program, 64)
    vertex = (chunk.address[0, 3] - program.levels.base) // 4
    assert vertex.tolist() == [192] * 32 + [224] * 32


def test_arrays_lie_in_order() -> None:
    buffers = ShocBfs(ShocBfsParameters(), KWayTree(100, 2).generate(0), 0).buffers
    assert [b.name for b in buffers] == ["levels", "edgeArray", "edgeArrayAux", "flag"]
    assert [b.bytes for b in buffers] == [400, 404, 4 * 198, 4]

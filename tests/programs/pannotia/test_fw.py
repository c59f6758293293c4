"""fw and fw_block: their distances, and what their warps do."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from gpusim.programs.graphs.generators import Grid
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.fw import Fw, FwParameters, distances
from gpusim.programs.pannotia.fw_block import FwBlock, FwBlockParameters
from gpusim.programs.pannotia.rows import FAR
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

GRAPH = UniformRandom(64, 400).generate(3)
GRID = Grid(8, 4).generate(0)


def relaxed(matrix: np.ndarray, middles: range) -> np.ndarray:
    found = matrix.copy()
    for m in middles:
        found = np.minimum(found, found[:, m, None] + found[m])
    return found


@pytest.mark.parametrize("graph", [GRAPH, GRID], ids=lambda graph: graph.name)
def test_fw_finds_all_paths_that_avoid_vertex_0(graph: Graph) -> None:
    program = Fw(FwParameters(), graph, 0)
    n = graph.vertices
    assert drain(program) == ["floydwarshall"] * (n - 1)
    found = program.dist.data.reshape(n, n)
    assert (found == relaxed(distances(graph, 0), range(1, n))).all()
    middle = program.next.data.reshape(n, n)
    i, j = np.nonzero(middle)
    assert i.size
    assert (found[i, j] == found[i, middle[i, j]] + found[middle[i, j], j]).all()


@pytest.mark.parametrize("graph", [GRAPH, GRID], ids=lambda graph: graph.name)
def test_fw_block_finds_all_shortest_paths(graph: Graph) -> None:
    program = FwBlock(FwBlockParameters(), graph, 0)
    names = drain(program)
    n = graph.vertices
    assert len(names) == 4 * n // 16
    matrix = distances(graph, 0)
    made = nx.DiGraph()
    made.add_weighted_edges_from(
        (i, j, int(matrix[i, j])) for i in range(n) for j in range(n) if matrix[i, j] < FAR
    )
    expected = nx.floyd_warshall_numpy(made, nodelist=range(n))
    found = program.dist.data.reshape(n, n)
    assert (found == np.where(np.isinf(expected), FAR, expected)).all()


def test_of_double_arcs_the_last_counts_and_loops_are_free() -> None:
    graph = graph_from_arcs(
        "double", 16, np.array([1, 1, 2]), np.array([3, 3, 2]), np.array([9, 4, 7])
    )
    matrix = distances(graph, 0)
    assert (matrix[1, 3], matrix[2, 2], matrix[3, 1]) == (4, 0, FAR)


def test_sizes_and_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="has 30 vertices; must be a multiple of 16"):
        Fw(FwParameters(), Grid(5, 6).generate(0), 0)
    arcs = np.array([0]), np.array([1])
    bad = graph_from_arcs("bad", 16, *arcs, np.array([1.5]))
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 999998: 1\.5"):
        FwBlock(FwBlockParameters(), bad, 0)


@pytest.mark.parametrize(
    "program",
    [
        lambda: Fw(FwParameters(iterations=5), GRAPH, 0),
        lambda: FwBlock(FwBlockParameters(steps=2), GRAPH, 0),
    ],
    ids=["fw", "fw_block"],
)
def test_the_order_of_blocks_is_no_matter(program: Callable[[], Fw | FwBlock]) -> None:
    one, other = program(), program()
    assert run_forwards(one) == run_backwards(other)
    assert (one.dist.data == other.dist.data).all()


def test_lanes_of_fw_run_down_the_columns() -> None:
    graph = UniformRandom(512, 65536).generate(0)
    program = Fw(FwParameters(iterations=3), graph, 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.threads_per_block) == (1024, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (12, 0)
    block, warp = 3 + 32 * 5, 1
    rows = [48 + lane % 16 for lane in range(32)]
    columns = [80 + 2 + lane // 16 for lane in range(32)]
    places = [512 * i + j for i, j in zip(rows, columns, strict=True)]
    operations = warp_operations(kernel, program, block, warp)
    assert operations[:6] == [
        ("COMPUTE", 28, []),
        ("LOAD", "dist", [512 * i + 3 for i in rows]),
        ("LOAD", "dist", [512 * 3 + j for j in columns]),
        ("LOAD", "dist", places),
        ("WAIT", 0, []),
        ("COMPUTE", 3, []),
    ]
    sectors = [len({place // 8 for place in op[2]}) for op in operations[1:4]]
    pages = [len({place // 1024 for place in op[2]}) for op in operations[1:4]]
    assert (sectors, pages) == ([16, 1, 16], [8, 1, 8])
    assert operations[6] == ("COMPUTE", 3, [])
    first, second = operations[7:]
    assert (first[:2], second[:2]) == (("STORE", "dist"), ("STORE", "next"))
    assert first[2] == second[2]
    assert set(first[2]) < set(places)


def test_a_tile_kernel_loads_tiles_and_relaxes_them_in_shared_memory() -> None:
    program = FwBlock(FwBlockParameters(), GRAPH, 0)
    kernel = nth_launch(program, 7)
    assert (kernel.name, kernel.blocks) == ("floydwarshall_remaining_blocks", 16)
    block, warp = 2 + 4 * 3, 5

    def tile(row: int, column: int) -> list[int]:
        return [
            64 * (16 * row + 2 * warp + lane // 16) + 16 * column + lane % 16 for lane in range(32)
        ]

    def fetch(row: int, column: int) -> list[tuple]:
        return [
            ("COMPUTE", 9, []),
            ("LOAD", "dist", tile(row, column)),
            ("WAIT", 0, []),
            ("SHARED", 1, []),
            ("BARRIER", 0, []),
        ]

    operations = warp_operations(kernel, program, block, warp)
    assert operations[0] == ("COMPUTE", 17, [])
    assert operations[1:16] == [*fetch(3, 1), *fetch(1, 2), *fetch(3, 2)]
    assert operations[-2:] == [("SHARED", 1, []), ("STORE", "dist", tile(3, 2))]
    steps = operations[16:-2]
    assert sum(op[0] == "BARRIER" for op in steps) == 16
    start = [("SHARED", 1, [])] * 3 + [("COMPUTE", 3, [])]
    assert steps[:4] == start
    assert 16 * 5 < len(steps) < 16 * 6, "only shorter paths are written"
    aside = warp_operations(kernel, program, 1 + 4 * 3, warp)
    assert aside == [("COMPUTE", 17, [])], "the middle vertices' own tiles are done"


@pytest.mark.parametrize(
    ("number", "name", "blocks", "registers", "shared", "block", "tiles"),
    [
        (0, "floydwarshall_dia_block", 1, 14, 1024, 0, [(0, 0)]),
        (1, "floydwarshall_strip_blocks_x", 4, 16, 2048, 3, [(0, 0), (0, 3)]),
        (2, "floydwarshall_strip_blocks_y", 4, 16, 2048, 3, [(0, 0), (3, 0)]),
        (3, "floydwarshall_remaining_blocks", 16, 18, 3072, 7, [(1, 0), (0, 3), (1, 3)]),
    ],
)
def test_geometry_of_the_tile_kernels(
    number: int,
    name: str,
    blocks: int,
    registers: int,
    shared: int,
    block: int,
    tiles: list[tuple[int, int]],
) -> None:
    program = FwBlock(FwBlockParameters(steps=1), GRAPH, 0)
    kernel = nth_launch(program, number)
    assert (kernel.name, kernel.blocks, kernel.threads_per_block) == (name, blocks, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (registers, shared)
    operations = warp_operations(kernel, program, block)
    loads = [op[2][0] for op in operations if op[0] == "LOAD"]
    assert loads == [64 * 16 * row + 16 * column for row, column in tiles]

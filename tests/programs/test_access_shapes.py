"""What each warp does, in which order, on which addresses."""

from collections.abc import Iterator

import numpy as np

from gpusim.core.warp_program import Launch, Op
from gpusim.programs.graphs.graph import graph_from_arcs
from gpusim.programs.pannotia.pagerank import Pagerank, PagerankParameters
from gpusim.programs.rodinia.bfs import Bfs, BfsParameters
from tests.programs.drain import chunks, warp_operations

LANES = list(range(32))


def launch(application: Bfs | Pagerank, number: int) -> Launch:
    """The n-th launch; the ones before are drained."""
    launches: Iterator[Launch] = application.launches()
    for _ in range(number):
        earlier = next(launches)
        for block in range(earlier.blocks):
            list(earlier.run_block(block, 32))
    return next(launches)


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    def names(application: Bfs | Pagerank) -> list[str]:
        return [buffer.name for buffer in application.buffers]

    graph = graph_from_arcs("g", 2000, np.array([0, 1]), np.array([1, 0]))
    bfs = Bfs(BfsParameters(), graph, 0)
    assert names(bfs) == ["nodes", "edges", "mask", "updating", "visited", "cost", "over"]
    assert [buffer.bytes for buffer in bfs.buffers] == [16000, 8, 2000, 2000, 2000, 8000, 1]
    ranks = Pagerank(PagerankParameters(), graph, 0)
    assert names(ranks) == ["row", "col", "data", "pr1", "pr2"]
    assert [buffer.bytes for buffer in ranks.buffers] == [8000, 8, 8, 8000, 8000]
    base = 0x1_0000_0000
    assert [b.base for b in bfs.buffers] == [base + 4096 * page for page in (0, 4, 5, 6, 7, 8, 10)]


STAR = graph_from_arcs("star", 600, np.array([0, 0, 1, 2, 599]), np.array([599, 1, 0, 0, 0]))
"""0 has the neighbours 599 and 1; they and 2 have the neighbour 0."""


def test_bfs_visits_in_the_order_of_the_compiled_kernel() -> None:
    program = Bfs(BfsParameters(source=0), STAR, 0)
    kernel = launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block, kernel.registers_per_thread) == (2, 512, 22)

    def visit(edge: int, target: int) -> list[tuple[str, str | int, list[int]]]:
        return [
            ("COMPUTE", 1, []),
            ("LOAD", "edges", [edge]),
            ("WAIT", 0, []),
            ("COMPUTE", 3, []),
            ("LOAD", "visited", [target]),
            ("WAIT", 0, []),
            ("LOAD", "cost", [0]),
            ("WAIT", 0, []),
            ("COMPUTE", 7, []),
            ("STORE", "cost", [target]),
            ("STORE", "updating", [target]),
            ("LOAD", "nodes", [1]),
            ("LOAD", "nodes", [0]),
            ("WAIT", 0, []),
            ("COMPUTE", 5, []),
        ]

    assert warp_operations(kernel, program) == [
        ("COMPUTE", 9, []),
        ("LOAD", "mask", LANES),
        ("WAIT", 0, []),
        ("STORE", "mask", [0]),
        ("LOAD", "nodes", [1]),
        ("LOAD", "nodes", [0]),
        ("WAIT", 0, []),
        *visit(0, 599),
        *visit(1, 1),
    ]
    idle = [("COMPUTE", 9, []), ("LOAD", "mask", list(range(32, 64))), ("WAIT", 0, [])]
    assert warp_operations(kernel, program, warp=1) == idle


def test_bfs_second_kernel_and_flags_of_one_byte() -> None:
    program = Bfs(BfsParameters(source=0), STAR, 0)
    kernel = launch(program, 1)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (12, 0)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 9, []),
        ("LOAD", "updating", LANES),
        ("WAIT", 0, []),
        ("STORE", "mask", [1]),
        ("STORE", "visited", [1]),
        ("STORE", "over", [0]),
        ("STORE", "updating", [1]),
    ]
    chunk = next(iter(kernel.run_block(0, 32)))
    assert chunk.size.tolist() == [1]


def test_a_visited_neighbour_is_only_looked_at() -> None:
    program = Bfs(BfsParameters(source=0), STAR, 0)
    operations = warp_operations(launch(program, 2), program)
    assert operations[-7:] == [
        ("COMPUTE", 1, []),
        ("LOAD", "edges", [2]),
        ("WAIT", 0, []),
        ("COMPUTE", 3, []),
        ("LOAD", "visited", [0]),
        ("WAIT", 0, []),
        ("COMPUTE", 5, []),
    ]


def test_a_small_bfs_has_one_small_block() -> None:
    graph = graph_from_arcs("g", 100, np.array([0]), np.array([1]))
    kernel = launch(Bfs(BfsParameters(), graph, 0), 0)
    assert (kernel.blocks, kernel.threads_per_block) == (1, 100)


def test_pagerank_pushes_in_the_order_of_the_compiled_kernel() -> None:
    program = Pagerank(PagerankParameters(1), STAR, 0)
    start = launch(program, 0)
    assert (start.name, start.blocks, start.registers_per_thread) == ("inibuffer", 3, 14)
    assert [op[:2] for op in warp_operations(start, program)] == [
        ("COMPUTE", 8),
        ("STORE", "pr1"),
        ("STORE", "pr2"),
    ]
    push = launch(program, 1)
    assert (push.threads_per_block, push.registers_per_thread) == (256, 24)
    assert warp_operations(push, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "row", LANES),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("WAIT", 0, []),
        ("LOAD", "col", [0, 2, 3]),
        ("LOAD", "pr1", [0, 1, 2]),
        ("WAIT", 0, []),
        ("COMPUTE", 13, []),
        ("REDUCE", "pr2", [599, 0, 0]),
        ("LOAD", "col", [1]),
        ("LOAD", "pr1", [0]),
        ("WAIT", 0, []),
        ("COMPUTE", 13, []),
        ("REDUCE", "pr2", [1]),
    ]
    last = warp_operations(push, program, block=2, warp=2)
    assert last[1] == ("LOAD", "row", list(range(576, 600)))
    assert last[2] == ("LOAD", "row", list(range(577, 600))), "the last vertex ends at M"
    update = launch(program, 2)
    assert update.registers_per_thread == 21
    assert [op[:2] for op in warp_operations(update, program)] == [
        ("COMPUTE", 8),
        ("LOAD", "pr2"),
        ("WAIT", 0),
        ("COMPUTE", 10),
        ("STORE", "pr1"),
        ("STORE", "pr2"),
    ]


def test_memory_operations_have_a_row_of_addresses_each() -> None:
    for _, chunk in chunks(Bfs(BfsParameters(), STAR, 0), warp_size=64):
        memory = np.isin(chunk.kind, (Op.LOAD, Op.STORE, Op.ATOMIC, Op.REDUCE))
        assert chunk.address.shape == (memory.sum(), chunk.active.shape[1], 64)
        assert ((chunk.address >= 0).any(axis=2) == chunk.active[memory]).all()
        assert chunk.active.any(axis=1).all()

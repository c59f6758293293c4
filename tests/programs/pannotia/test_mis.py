"""mis: its set, and what its warps do."""

import numpy as np
from hypothesis import given

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.pannotia.mis import Mis, MisParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import (
    LANES,
    STAR,
    neighbours,
    nth_launch,
    run_backwards,
    run_forwards,
)
from tests.programs.test_results import small_graphs

GRAPH = CoPapers(600, 16.0, 64, 32).generate(3)


def expected_set(graph: Graph, value: list[int]) -> tuple[set[int], int]:
    """The set, vertex by vertex, and rounds."""
    undecided, chosen, rounds = set(range(graph.vertices)), set(), 0
    while undecided:
        joining = {
            v
            for v in undecided
            if value[v]
            <= min((value[u] for u in neighbours(graph, v) if u in undecided), default=10**6)
        }
        chosen |= joining
        undecided -= joining | {u for v in joining for u in neighbours(graph, v)}
        rounds += 1
    return chosen, rounds + 1


@given(small_graphs())
def test_the_set_of_any_directed_graph(graph: Graph) -> None:
    program = Mis(MisParameters(), graph, 7)
    names = drain(program)
    chosen, rounds = expected_set(graph, program.value.data.tolist())
    assert set(np.flatnonzero(program.s.data == 2).tolist()) == chosen
    assert names == ["init"] + ["mis1", "mis2", "mis3"] * rounds


def test_the_set_is_maximal_and_independent_but_for_equal_values() -> None:
    program = Mis(MisParameters(), GRAPH, 1)
    drain(program)
    member = program.s.data == 2
    tail = np.repeat(np.arange(GRAPH.vertices), GRAPH.degrees)
    covered = member | np.isin(np.arange(GRAPH.vertices), GRAPH.col[member[tail]])
    assert covered.all()
    both = member[tail] & member[GRAPH.col]
    value = program.value.data
    assert both.mean() < 0.01
    assert (value[tail][both] == value[GRAPH.col][both]).all()


def test_the_order_of_blocks_is_no_matter_even_with_equal_values() -> None:
    one, other = Mis(MisParameters(), GRAPH, 1), Mis(MisParameters(), GRAPH, 1)
    for program in (one, other):
        program.value.data[:] //= 256
    assert run_forwards(one) == run_backwards(other)
    assert (one.s.data == other.s.data).all()


def test_rounds_can_be_limited() -> None:
    names = drain(Mis(MisParameters(rounds=1), GRAPH, 0))
    assert names == ["init", "mis1", "mis2", "mis3"]


def test_mis1_issues_the_loads_of_four_arcs_together() -> None:
    hub = np.zeros(6, dtype=np.int64)
    graph = graph_from_arcs("hub", 300, hub, np.array([10, 20, 30, 40, 50, 60]))
    program = Mis(MisParameters(), graph, 0)
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block) == (3, 128)
    assert (kernel.name, kernel.registers_per_thread) == ("mis1", 28)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "c", LANES),
        ("WAIT", 0, []),
        ("STORE", "stop", [0] * 32),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("LOAD", "row", LANES),
        ("WAIT", 0, []),
        *[("LOAD", "col", [arc]) for arc in range(4)],
        ("WAIT", 0, []),
        *[("LOAD", "c", [target]) for target in (10, 20, 30, 40)],
        ("WAIT", 0, []),
        *[("LOAD", "value", [target]) for target in (10, 20, 30, 40)],
        ("WAIT", 0, []),
        *[("COMPUTE", 5, []), ("COMPUTE", 3, [])] * 4,
        ("COMPUTE", 5, []),
        *[("LOAD", "col", [arc]) for arc in (4, 5)],
        ("WAIT", 0, []),
        *[("LOAD", "c", [target]) for target in (50, 60)],
        ("WAIT", 0, []),
        *[("LOAD", "value", [target]) for target in (50, 60)],
        ("WAIT", 0, []),
        *[("COMPUTE", 5, []), ("COMPUTE", 3, [])] * 2,
        ("COMPUTE", 5, []),
        ("STORE", "min", LANES),
    ]


def test_mis2_and_mis3_in_the_order_of_the_compiled_kernel() -> None:
    program = Mis(MisParameters(), STAR, 0)
    program.value.data[[0, 1, 2, 599]] = 1, 5, 6, 7
    join = nth_launch(program, 2)
    assert (join.name, join.registers_per_thread) == ("mis2", 22)

    def arc(edge: int, target: int) -> list[tuple]:
        return [
            ("LOAD", "col", [edge]),
            ("WAIT", 0, []),
            ("COMPUTE", 2, []),
            ("LOAD", "c", [target]),
            ("WAIT", 0, []),
            ("COMPUTE", 4, []),
            ("COMPUTE", 3, []),
            ("STORE", "cu", [target]),
        ]

    joining = [lane for lane in LANES if lane not in (1, 2)]
    assert warp_operations(join, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "value", LANES),
        ("LOAD", "min", LANES),
        ("WAIT", 0, []),
        ("LOAD", "c", joining),
        ("WAIT", 0, []),
        ("STORE", "s", joining),
        ("LOAD", "row", [lane + 1 for lane in joining]),
        ("LOAD", "row", joining),
        ("WAIT", 0, []),
        ("STORE", "c", joining),
        *arc(0, 599),
        *arc(1, 1),
    ]
    fresh = Mis(MisParameters(), STAR, 0)
    fresh.value.data[[0, 1, 2, 599]] = 1, 5, 6, 7
    update = nth_launch(fresh, 3)
    assert (update.name, update.registers_per_thread) == ("mis3", 8)
    assert warp_operations(update, fresh) == [
        ("COMPUTE", 8, []),
        ("LOAD", "cu", LANES),
        ("WAIT", 0, []),
        ("STORE", "c", [1]),
    ]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Mis(MisParameters(), STAR, 0)
    names = ["row", "col", "stop", "min", "c", "cu", "s", "value"]
    assert [buffer.name for buffer in program.buffers] == names
    start = nth_launch(program, 0)
    assert start.registers_per_thread == 12
    assert [op[:2] for op in warp_operations(start, program)] == [
        ("COMPUTE", 8),
        ("STORE", "c"),
        ("STORE", "cu"),
        ("STORE", "s"),
    ]

"""color_max and color_maxmin: their colors, and what their warps do."""

import numpy as np
import pytest
from hypothesis import given

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.pannotia.color import ColorMax, ColorMaxMin, ColorParameters
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


def expected_colors(graph: Graph, value: list[int], both: bool) -> tuple[list[int], int]:
    """Colors, vertex by vertex, and rounds."""
    colors = [-1] * graph.vertices
    rounds = 0
    again = True
    while again:
        before = list(colors)
        again = False
        for v in range(graph.vertices):
            around = neighbours(graph, v)
            rivals = [value[u] for u in around if before[u] == -1 and len(around) != 1]
            if before[v] != -1:
                continue
            again = again or bool(rivals)
            if value[v] >= max(rivals, default=-1):
                colors[v] = 1 + rounds * (1 + both)
            if both and value[v] <= min(rivals, default=10**6):
                colors[v] = 2 + rounds * 2
        rounds += 1
    return colors, rounds


@given(small_graphs())
def test_colors_of_any_directed_graph(graph: Graph) -> None:
    one = ColorMax(ColorParameters(), graph, 7)
    names = drain(one)
    colors, rounds = expected_colors(graph, one.value.data.tolist(), both=False)
    assert one.color.data.tolist() == colors
    assert names == ["color1", "color2"] * rounds
    two = ColorMaxMin(ColorParameters(), graph, 7)
    names = drain(two)
    colors, rounds = expected_colors(graph, two.value.data.tolist(), both=True)
    assert two.color.data.tolist() == colors
    assert names == ["ini"] + ["color1", "color2"] * rounds


@pytest.mark.parametrize("kind", [ColorMax, ColorMaxMin])
def test_only_equal_values_and_leaves_spoil_the_coloring(
    kind: type[ColorMax | ColorMaxMin],
) -> None:
    program = kind(ColorParameters(), GRAPH, 1)
    drain(program)
    color, value = program.color.data, program.value.data
    assert (color > 0).all()
    tail = np.repeat(np.arange(GRAPH.vertices), GRAPH.degrees)
    clash = color[tail] == color[GRAPH.col]
    leaf = (GRAPH.degrees == 1)[tail] | (GRAPH.degrees == 1)[GRAPH.col]
    assert clash.mean() < 0.02
    assert (value[tail][clash & ~leaf] == value[GRAPH.col][clash & ~leaf]).all()


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = ColorMax(ColorParameters(), GRAPH, 1), ColorMax(ColorParameters(), GRAPH, 1)
    assert run_forwards(one) == run_backwards(other)
    assert (one.color.data == other.color.data).all()


def test_rounds_can_be_limited() -> None:
    assert drain(ColorMax(ColorParameters(rounds=1), GRAPH, 0)) == ["color1", "color2"]


def test_color1_in_the_order_of_the_compiled_kernel() -> None:
    program = ColorMax(ColorParameters(), STAR, 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (3, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (30, 0)

    def arc(edges: list[int], targets: list[int], rival: list[tuple]) -> list[tuple]:
        return [
            ("LOAD", "col", edges),
            ("WAIT", 0, []),
            ("COMPUTE", 2, []),
            ("LOAD", "color", targets),
            ("WAIT", 0, []),
            *rival,
            ("COMPUTE", 5, []),
        ]

    def rival(edge: int, target: int) -> list[tuple]:
        return [
            ("STORE", "stop", [0]),
            ("LOAD", "col", [edge]),
            ("WAIT", 0, []),
            ("LOAD", "value", [target]),
            ("WAIT", 0, []),
            ("COMPUTE", 5, []),
        ]

    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "color", LANES),
        ("WAIT", 0, []),
        ("LOAD", "row", [lane + 1 for lane in LANES]),
        ("LOAD", "row", LANES),
        ("WAIT", 0, []),
        *arc([0, 2, 3], [599, 0, 0], rival(0, 599)),
        *arc([1], [1], rival(1, 1)),
        ("STORE", "max", LANES),
    ]
    last = warp_operations(kernel, program, block=2, warp=2)
    assert last[1] == ("LOAD", "color", list(range(576, 600)))
    assert last[3] == ("LOAD", "row", list(range(577, 600))), "the last end is known"
    assert last[6] == ("LOAD", "col", [4])


def test_color2_and_colored_vertices() -> None:
    program = ColorMax(ColorParameters(), STAR, 0)
    program.value.data[[0, 1, 599]] = 5, 9, 3
    kernel = nth_launch(program, 1)
    assert (kernel.name, kernel.registers_per_thread) == ("color2", 10)
    assert warp_operations(kernel, program) == [
        ("COMPUTE", 8, []),
        ("LOAD", "color", LANES),
        ("WAIT", 0, []),
        ("COMPUTE", 7, []),
        ("LOAD", "value", LANES),
        ("LOAD", "max", LANES),
        ("WAIT", 0, []),
        ("STORE", "color", LANES[1:]),
    ]
    again = nth_launch(program, 2)
    assert warp_operations(again, program, warp=1)[2:] == [("WAIT", 0, [])], "all have colors"


def test_color_maxmin_looks_for_both_extremes() -> None:
    program = ColorMaxMin(ColorParameters(), STAR, 0)
    start = nth_launch(program, 0)
    assert [op[:2] for op in warp_operations(start, program)] == [
        ("COMPUTE", 8),
        ("STORE", "max"),
        ("STORE", "min"),
    ]
    assert warp_operations(nth_launch(program, 1), program)[-2:] == [
        ("STORE", "max", LANES),
        ("STORE", "min", LANES),
    ]
    fresh = ColorMaxMin(ColorParameters(), STAR, 0)
    fresh.value.data[[0, 1, 599]] = 5, 9, 3
    assert warp_operations(nth_launch(fresh, 2), fresh)[-5:] == [
        ("STORE", "color", LANES[1:]),
        ("LOAD", "value", LANES),
        ("LOAD", "min", LANES),
        ("WAIT", 0, []),
        ("STORE", "color", LANES[1:]),
    ]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    names = [buffer.name for buffer in ColorMaxMin(ColorParameters(), STAR, 0).buffers]
    assert names == ["row", "col", "stop", "color", "value", "max", "min"]
    assert [b.bytes for b in ColorMax(ColorParameters(), STAR, 0).buffers] == [
        2400,
        20,
        4,
        2400,
        2400,
        2400,
    ]

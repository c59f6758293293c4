"""Pannotia's mis and color: what they compute, and what their warps do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    compute,
    load,
    store,
)
from tests.programs.contract.graphs import AFTER, STAR, neighbours, tails

FEW: dict[str, object] = {"graph.vertices": 700}
IN_STEP: dict[str, dict[str, object]] = {"color_max": FEW, "mis": FEW}

PAPERS = CoPapers(600, 16.0, 64, 32).generate(3)

# -- mis -------------------------------------------------------------------------------------------


def chosen_set(graph: Graph, value: list[int]) -> tuple[set[int], int]:
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


def mis(graph: Graph, seed: int = 7, **more: Any) -> Run:
    def launches(before: Arrays) -> list[str]:
        _, rounds = chosen_set(graph, before["value"].tolist())
        return ["init"] + ["mis1", "mis2", "mis3"] * rounds

    def results(before: Arrays) -> dict[str, Any]:
        chosen, _ = chosen_set(graph, before["value"].tolist())
        return {"s": [2 if v in chosen else 0 for v in range(graph.vertices)]}

    arrays = ["row", "col", "stop", "min", "c", "cu", "s", "value"]
    given = {"launches": launches, "arrays": arrays, "results": results, **more}
    return Run("mis", graph=graph, seed=seed, **given)


def maximal_and_independent(before: Arrays) -> dict[str, Any]:
    """Maximal, and independent but for neighbours with equal values."""

    def check(s: NDArray[Any]) -> None:
        member, tail, value = s == 2, tails(PAPERS), before["value"]
        assert (member | np.isin(np.arange(600), PAPERS.col[member[tail]])).all()
        both = member[tail] & member[PAPERS.col]
        assert both.mean() < 0.01
        assert (value[tail][both] == value[PAPERS.col][both]).all()

    return {"s": check}


def few_values(arrays: Arrays) -> None:
    arrays["value"][:] //= 256


SIX = [10, 20, 30, 40, 50, 60]
HUB = graph_from_arcs("hub", 300, np.zeros(6, dtype=np.int64), np.array(SIX))


def star_values(arrays: Arrays) -> None:
    arrays["value"][[0, 1, 2, 599]] = 1, 5, 6, 7


def smallest_of_four() -> list[Operation]:
    def group(first: int, targets: list[int]) -> list[Operation]:
        arcs = [load("col", [first + i]) for i in range(len(targets))]
        marks, values = ([load(name, [t]) for t in targets] for name in ("c", "value"))
        each = [compute(5), compute(3)] * len(targets)
        return [*arcs, WAIT, *marks, WAIT, *values, WAIT, *each, compute(5)]

    begin = [compute(8), load("c", LANES), WAIT, store("stop", [0] * 32)]
    rows = [load("row", AFTER), load("row", LANES), WAIT]
    return [*begin, *rows, *group(0, SIX[:4]), *group(4, SIX[4:]), store("min", LANES)]


def joining() -> list[Operation]:
    def arc(edge: int, target: int) -> list[Operation]:
        seen = [load("col", [edge]), WAIT, compute(2), load("c", [target]), WAIT]
        return [*seen, compute(4), compute(3), store("cu", [target])]

    lanes = [lane for lane in LANES if lane not in (1, 2)]
    return [
        compute(8),
        load("value", LANES),
        load("min", LANES),
        WAIT,
        load("c", lanes),
        WAIT,
        store("s", lanes),
        load("row", [lane + 1 for lane in lanes]),
        load("row", lanes),
        WAIT,
        store("c", lanes),
        *arc(0, 599),
        *arc(1, 1),
    ]


MIS_WARPS = [
    Warp(
        "mis",
        graph=STAR,
        geometry=("init", 5, 128, 12, 0),
        operations=[compute(8), *(store(name, LANES) for name in ("c", "cu", "s"))],
    ),
    Warp(
        "mis", graph=HUB, launch=1, geometry=("mis1", 3, 128, 28, 0), operations=smallest_of_four()
    ),
    Warp(
        "mis",
        graph=STAR,
        edit=star_values,
        launch=2,
        geometry=("mis2", 5, 128, 22, 0),
        operations=joining(),
    ),
    Warp(
        "mis",
        graph=STAR,
        edit=star_values,
        launch=3,
        geometry=("mis3", 5, 128, 8, 0),
        operations=[compute(8), load("cu", LANES), WAIT, store("c", [1])],
    ),
]

# -- color_max, color_maxmin -----------------------------------------------------------------------


def colors_of(graph: Graph, value: list[int], both: bool) -> tuple[list[int], int]:
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


COLORS = {
    "color_max": {"row": 2400, "col": 20, "stop": 4, "color": 2400, "value": 2400, "max": 2400},
    "color_maxmin": ["row", "col", "stop", "color", "value", "max", "min"],
}


def color(program: str, graph: Graph) -> Run:
    both = program == "color_maxmin"

    def launches(before: Arrays) -> list[str]:
        _, rounds = colors_of(graph, before["value"].tolist(), both)
        return ["ini"] * both + ["color1", "color2"] * rounds

    def results(before: Arrays) -> dict[str, Any]:
        return {"color": colors_of(graph, before["value"].tolist(), both)[0]}

    arrays = COLORS[program] if graph is STAR else list(COLORS[program])
    return Run(program, graph=graph, seed=7, launches=launches, arrays=arrays, results=results)


def hardly_a_clash(program: str) -> Run:
    """Only equal values, and leaves, spoil the coloring."""
    of = color(program, PAPERS)

    def results(before: Arrays) -> dict[str, Any]:
        def check(found: NDArray[Any]) -> None:
            assert (found > 0).all()
            tail, value = tails(PAPERS), before["value"]
            clash = found[tail] == found[PAPERS.col]
            leaf = (PAPERS.degrees == 1)[tail] | (PAPERS.degrees == 1)[PAPERS.col]
            assert clash.mean() < 0.02
            assert (value[tail][clash & ~leaf] == value[PAPERS.col][clash & ~leaf]).all()

        return {"color": check}

    return Run(program, graph=PAPERS, seed=1, launches=of.launches, arrays=[], results=results)


def color_values(arrays: Arrays) -> None:
    arrays["value"][[0, 1, 599]] = 5, 9, 3


def comparing() -> list[Operation]:
    def arc(edges: list[int], targets: list[int]) -> list[Operation]:
        seen = [load("col", edges), WAIT, compute(2), load("color", targets), WAIT]
        rival = [store("stop", [0]), load("col", edges[:1]), WAIT, load("value", targets[:1])]
        return [*seen, *rival, WAIT, compute(5), compute(5)]

    rows = [load("row", AFTER), load("row", LANES), WAIT]
    arcs = [*arc([0, 2, 3], [599, 0, 0]), *arc([1], [1])]
    return [compute(8), load("color", LANES), WAIT, *rows, *arcs, store("max", LANES)]


def last_vertices(operations: list[Operation]) -> None:
    assert operations[1] == load("color", list(range(576, 600)))
    assert operations[3] == load("row", list(range(577, 600))), "the last end is known"
    assert operations[6] == load("col", [4])


def all_have_colors(operations: list[Operation]) -> None:
    assert operations[2:] == [WAIT]


def both_extremes(operations: list[Operation]) -> None:
    assert operations[-2:] == [store("max", LANES), store("min", LANES)]


def both_colors(operations: list[Operation]) -> None:
    stores = store("color", LANES[1:])
    assert operations[-5:] == [stores, load("value", LANES), load("min", LANES), WAIT, stores]


COLOR2 = [
    compute(8),
    load("color", LANES),
    WAIT,
    compute(7),
    load("value", LANES),
    load("max", LANES),
    WAIT,
    store("color", LANES[1:]),
]

COLOR_WARPS = [
    Warp("color_max", graph=STAR, geometry=("color1", 3, 256, 30, 0), operations=comparing()),
    Warp("color_max", graph=STAR, block=2, warp=2, operations=last_vertices),
    Warp(
        "color_max",
        graph=STAR,
        edit=color_values,
        launch=1,
        geometry=("color2", 3, 256, 10, 0),
        operations=COLOR2,
    ),
    Warp("color_max", graph=STAR, edit=color_values, launch=2, warp=1, operations=all_have_colors),
    Warp(
        "color_maxmin",
        graph=STAR,
        geometry=("ini", 3, 256, 8, 0),
        operations=[compute(8), store("max", LANES), store("min", LANES)],
    ),
    Warp("color_maxmin", graph=STAR, launch=1, operations=both_extremes),
    Warp("color_maxmin", graph=STAR, edit=color_values, launch=2, operations=both_colors),
]

# --------------------------------------------------------------------------------------------------

ANY_GRAPH = [mis, partial(color, "color_max"), partial(color, "color_maxmin")]
RUNS = [
    mis(PAPERS, 1, results=maximal_and_independent),
    mis(PAPERS, 1, edit=few_values),
    mis(STAR),
    Run("mis", {"rounds": 1}, graph=PAPERS, launches=["init", "mis1", "mis2", "mis3"]),
    color("color_max", STAR),
    color("color_maxmin", STAR),
    hardly_a_clash("color_max"),
    hardly_a_clash("color_maxmin"),
    Run("color_max", {"rounds": 1}, graph=PAPERS, launches=["color1", "color2"]),
]
WARPS = [*MIS_WARPS, *COLOR_WARPS]

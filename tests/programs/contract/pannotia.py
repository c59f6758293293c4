"""Pannotia: what its programs compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.rows import FAR, transposed, whole_weights
from gpusim.programs.pannotia.sssp import UNREACHED
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    reduce,
    shared,
    store,
)
from tests.programs.contract.graphs import (
    STAR,
    levels,
    neighbours,
    ranks,
    tails,
    to_networkx,
    without_double_arcs,
)

FEW: dict[str, object] = {"graph.vertices": 700}
IN_STEP: dict[str, dict[str, object]] = {
    "bc": FEW,
    "color_max": FEW,
    "fw": {},
    "fw_block": {},
    "mis": FEW,
    "pagerank": FEW,
    "pagerank_spmv": FEW,
    "sssp": {},
    "sssp_ell": {},
}

PAPERS = CoPapers(600, 16.0, 64, 32).generate(3)
AFTER = [lane + 1 for lane in LANES]
FIVE_TO_ONE = graph_from_arcs(
    "five to one", 100, np.array([10, 20, 30, 40, 50]), np.zeros(5, dtype=np.int64)
)

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
    return Run(program="mis", graph=graph, seed=seed, **given)


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
        program="mis",
        graph=STAR,
        geometry=("init", 5, 128, 12, 0),
        operations=[compute(8), *(store(name, LANES) for name in ("c", "cu", "s"))],
    ),
    Warp(
        program="mis",
        graph=HUB,
        launch=1,
        geometry=("mis1", 3, 128, 28, 0),
        operations=smallest_of_four(),
    ),
    Warp(
        program="mis",
        graph=STAR,
        edit=star_values,
        launch=2,
        geometry=("mis2", 5, 128, 22, 0),
        operations=joining(),
    ),
    Warp(
        program="mis",
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
    return Run(
        program=program, graph=graph, seed=7, launches=launches, arrays=arrays, results=results
    )


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

    return Run(
        program=program, graph=PAPERS, seed=1, launches=of.launches, arrays=[], results=results
    )


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
    Warp(
        program="color_max",
        graph=STAR,
        geometry=("color1", 3, 256, 30, 0),
        operations=comparing(),
    ),
    Warp(program="color_max", graph=STAR, block=2, warp=2, operations=last_vertices),
    Warp(
        program="color_max",
        graph=STAR,
        edit=color_values,
        launch=1,
        geometry=("color2", 3, 256, 10, 0),
        operations=COLOR2,
    ),
    Warp(
        program="color_max",
        graph=STAR,
        edit=color_values,
        launch=2,
        warp=1,
        operations=all_have_colors,
    ),
    Warp(
        program="color_maxmin",
        graph=STAR,
        geometry=("ini", 3, 256, 8, 0),
        operations=[compute(8), store("max", LANES), store("min", LANES)],
    ),
    Warp(program="color_maxmin", graph=STAR, launch=1, operations=both_extremes),
    Warp(program="color_maxmin", graph=STAR, edit=color_values, launch=2, operations=both_colors),
]

# -- fw, fw_block ----------------------------------------------------------------------------------

UNIFORM = UniformRandom(64, 400).generate(3)
GRID = Grid(8, 4).generate(0)
DOUBLE = graph_from_arcs(
    "double", 16, np.array([1, 1, 2]), np.array([3, 3, 2]), np.array([9, 4, 7])
)


def fw(graph: Graph, iterations: int | None = None) -> Run:
    """All paths that avoid vertex 0."""
    n = graph.vertices
    last = min(iterations or n, n - 1)

    def results(before: Arrays) -> dict[str, Any]:
        expected = before["dist"].reshape(n, n)
        if graph is DOUBLE:  # of double arcs the last counts, and loops are free
            assert (expected[1, 3], expected[2, 2], expected[3, 1]) == (4, 0, FAR)
        for m in range(1, 1 + last):
            expected = np.minimum(expected, expected[:, m, None] + expected[m])

        def check(found: NDArray[Any]) -> None:
            middle = found.reshape(n, n)
            i, j = np.nonzero(middle)
            assert i.size or graph is DOUBLE
            through = expected[i, middle[i, j]] + expected[middle[i, j], j]
            assert iterations or (expected[i, j] == through).all()

        return {"dist": expected.ravel(), "next": check}

    return Run(
        program="fw",
        graph=graph,
        parameters={"iterations": iterations},
        launches=["floydwarshall"] * last,
        arrays=["dist", "next"],
        results=results,
    )


TILES = ("dia_block", "strip_blocks_x", "strip_blocks_y", "remaining_blocks")


def fw_block(graph: Graph) -> Run:
    n = graph.vertices

    def results(before: Arrays) -> dict[str, Any]:
        matrix = before["dist"].reshape(n, n)
        made = nx.DiGraph()
        made.add_nodes_from(range(n))
        known = np.argwhere(matrix < FAR).tolist()
        made.add_weighted_edges_from((i, j, int(matrix[i, j])) for i, j in known)
        expected = nx.floyd_warshall_numpy(made, nodelist=range(n))
        return {"dist": np.where(np.isinf(expected), FAR, expected).ravel()}

    return Run(
        program="fw_block",
        graph=graph,
        launches=[f"floydwarshall_{tile}" for tile in TILES] * (n // 16),
        arrays=["dist"],
        results=results,
    )


def two_steps(before: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        assert (found <= before["dist"]).all()
        assert (found < before["dist"]).any()

    return {"dist": check}


def down_the_columns(operations: list[Operation]) -> None:
    rows = [48 + lane % 16 for lane in LANES]
    columns = [80 + 2 + lane // 16 for lane in LANES]
    places = [512 * i + j for i, j in zip(rows, columns, strict=True)]
    assert operations[:6] == [
        compute(28),
        load("dist", [512 * i + 3 for i in rows]),
        load("dist", [512 * 3 + j for j in columns]),
        load("dist", places),
        WAIT,
        compute(3),
    ]
    loads = operations[1:4]
    assert [len({place // 8 for place in op[2]}) for op in loads] == [16, 1, 16], "sectors"
    assert [len({place // 1024 for place in op[2]}) for op in loads] == [8, 1, 8], "pages"
    assert operations[6] == compute(3)
    first, second = operations[7:]
    assert (first[:2], second[:2]) == (("STORE", "dist"), ("STORE", "next"))
    assert first[2] == second[2]
    assert set(first[2]) < set(places)


def tile_by_tile(operations: list[Operation]) -> None:
    def tile(row: int, column: int) -> list[int]:
        return [64 * (16 * row + 10 + lane // 16) + 16 * column + lane % 16 for lane in LANES]

    def fetch(row: int, column: int) -> list[Operation]:
        return [compute(9), load("dist", tile(row, column)), WAIT, shared(), BARRIER]

    assert operations[0] == compute(17)
    assert operations[1:16] == [*fetch(3, 1), *fetch(1, 2), *fetch(3, 2)]
    assert operations[-2:] == [shared(), store("dist", tile(3, 2))]
    steps = operations[16:-2]
    assert sum(op[0] == "BARRIER" for op in steps) == 16
    assert steps[:4] == [shared()] * 3 + [compute(3)]
    assert 16 * 5 < len(steps) < 16 * 6, "only shorter paths are written"


def tiles_that_are_loaded(*tiles: tuple[int, int]) -> Any:
    def check(operations: list[Operation]) -> None:
        loads = [op[2][0] for op in operations if op[0] == "LOAD"]
        assert loads == [64 * 16 * row + 16 * column for row, column in tiles]

    return check


def tile_warps() -> Iterator[Warp]:
    own = {"program": "fw_block", "graph": UNIFORM, "parameters": {"steps": 1}}
    for number, (blocks, registers, block, tiles) in enumerate(
        (
            (1, 14, 0, [(0, 0)]),
            (4, 16, 3, [(0, 0), (0, 3)]),
            (4, 16, 3, [(0, 0), (3, 0)]),
            (16, 18, 7, [(1, 0), (0, 3), (1, 3)]),
        )
    ):
        memory = (1024, 2048, 2048, 3072)[number]
        yield Warp(
            **own,
            launch=number,
            block=block,
            geometry=(f"floydwarshall_{TILES[number]}", blocks, 256, registers, memory),
            operations=tiles_that_are_loaded(*tiles),
        )


FW_WARPS = [
    Warp(
        program="fw",
        graph=UniformRandom(512, 65536).generate(0),
        parameters={"iterations": 3},
        launch=2,
        block=3 + 32 * 5,
        warp=1,
        geometry=("floydwarshall", 1024, 256, 12, 0),
        operations=down_the_columns,
    ),
    Warp(
        program="fw_block",
        graph=UNIFORM,
        launch=7,
        block=2 + 4 * 3,
        warp=5,
        geometry=("floydwarshall_remaining_blocks", 16, 256, 18, 3072),
        operations=tile_by_tile,
    ),
    Warp(  # the middle vertices' own tiles are done
        program="fw_block",
        graph=UNIFORM,
        launch=7,
        block=1 + 4 * 3,
        warp=5,
        operations=[compute(17)],
    ),
    *tile_warps(),
]

FW_REFUSED = [
    Refused(
        program="fw",
        graph=Grid(5, 6).generate(0),
        message="has 30 vertices; must be a multiple of 16",
    ),
    Refused(
        program="fw_block",
        graph=graph_from_arcs("bad", 16, np.array([0]), np.array([1]), np.array([1.5])),
        message=r"whole numbers from 0 to 999998: 1\.5",
    ),
]

# -- bc --------------------------------------------------------------------------------------------


def bc(graph: Graph, tolerance: float = 1e-4) -> Run:
    simple = without_double_arcs(graph)

    def launches(before: Arrays) -> list[str]:
        found = ["clean_bc"]
        for source in range(simple.vertices):
            depth = max(levels(simple, source)) + 1
            found += ["clean_1d_array"] + ["bfs_kernel"] * depth + ["backtrack_kernel"] * depth
        return found

    def results(before: Arrays) -> dict[str, Any]:
        expected = nx.betweenness_centrality(to_networkx(simple), normalized=False)
        return {"bc": [expected[v] for v in range(simple.vertices)]}

    return Run(
        program="bc",
        graph=simple,
        launches=launches,
        arrays=["bc", "d", "sigma", "rho", "stop", "row", "col", "row_t", "col_t"],
        results=results,
        rel=tolerance,
        abs=tolerance,
    )


ONE_SOURCE = UniformRandom(200, 900).generate(1)
DEPTH = max(levels(ONE_SOURCE, 0)) + 1


def forward() -> list[Operation]:
    def arc(edge: int, target: int) -> list[Operation]:
        seen = [load("col", [edge]), WAIT, compute(2), load("d", [target]), WAIT, compute(9)]
        fresh = [store("stop", [0]), store("d", [target])]
        return [*seen, *fresh, load("rho", [0]), WAIT, compute(3), reduce("rho", [target])]

    begin = [compute(8), load("d", LANES), WAIT, load("row", [1]), load("row", [0]), WAIT]
    return [*begin, *arc(0, 599), *arc(1, 1)]


def own_levels_are_seen(operations: list[Operation]) -> None:
    assert sum(op[:2] == ("STORE", "d") for op in operations) == 1
    assert sum(op[:2] == ("REDUCE", "rho") for op in operations) == 2


BACKWARD = [
    compute(8),
    load("d", LANES),
    WAIT,
    load("row_t", [2]),
    load("row_t", [1]),
    WAIT,
    load("col_t", [3]),
    WAIT,
    compute(2),
    load("d", [0]),
    WAIT,
    load("rho", [1]),
    compute(5),
    load("rho", [0]),
    WAIT,
    compute(10),
    load("sigma", [1]),
    WAIT,
    reduce("sigma", [0]),
    load("bc", [1]),
    load("sigma", [1]),
    WAIT,
    store("bc", [1]),
]

BC_RUNS = [
    bc(RodiniaRandom(140).generate(2), 1e-3),
    Run(
        program="bc",
        graph=ONE_SOURCE,
        parameters={"sources": 1},
        launches=[
            *("clean_bc", "clean_1d_array"),
            *(["bfs_kernel"] * DEPTH + ["backtrack_kernel"] * DEPTH),
        ],
        results=lambda _: {"d": levels(ONE_SOURCE, 0)},
    ),
    Run(
        program="bc",
        graph=STAR,
        parameters={"sources": 1},
        launches=["clean_bc", "clean_1d_array"] + ["bfs_kernel"] * 2 + ["backtrack_kernel"] * 2,
        arrays={
            **dict.fromkeys(("bc", "d", "sigma", "rho"), 2400),
            "stop": 4,
            "row": 2404,
            "col": 20,
            "row_t": 2404,
            "col_t": 20,
        },
        results=lambda _: {"d": levels(STAR, 0)},
    ),
]

BC_WARPS = [
    Warp(
        program="bc",
        graph=STAR,
        launch=2,
        geometry=("bfs_kernel", 5, 128, 22, 0),
        operations=forward(),
    ),
    Warp(
        program="bc",
        graph=graph_from_arcs("two", 300, np.array([0, 0]), np.array([5, 5])),
        launch=2,
        operations=own_levels_are_seen,
    ),
    Warp(
        program="bc",
        graph=STAR,
        launch=4,
        geometry=("backtrack_kernel", 5, 128, 29, 0),
        operations=BACKWARD,
    ),
]

# -- sssp, sssp_ell --------------------------------------------------------------------------------


def bellman_ford(
    graph: Graph, source: int, seed: int, most: int | None
) -> tuple[NDArray[Any], int]:
    """Distances after at most so many rounds, and rounds; whole ones are those of networkx."""
    reverse = transposed(graph)
    weight, head = whole_weights(reverse, seed).astype(int), tails(reverse)
    found = np.full(graph.vertices, UNREACHED)
    found[source] = 0
    rounds, changed = 0, True
    while changed and rounds < min(most or graph.vertices, graph.vertices - 1):
        before = found.copy()
        np.minimum.at(found, head, before[reverse.col] + weight)
        changed = bool((found != before).any())
        rounds += 1
    if most is None:
        made = nx.MultiDiGraph()
        made.add_nodes_from(range(graph.vertices))
        arcs = zip(reverse.col.tolist(), head.tolist(), weight.tolist(), strict=True)
        made.add_weighted_edges_from(arcs)
        paths = nx.single_source_dijkstra_path_length(made, source)
        assert found.tolist() == [paths.get(v, UNREACHED) for v in range(graph.vertices)]
    return found, rounds


def sssp(program: str, graph: Graph, source: int = 0, most: int | None = None) -> Run:
    found, rounds = bellman_ford(graph, source, 2, most)
    names = ["row", "col", "data"] if program == "sssp" else ["col", "data"]
    product = "spmv_min_dot_plus_kernel" if program == "sssp" else "ell_min_dot_plus_kernel"
    return Run(
        program=program,
        graph=graph,
        seed=2,
        parameters={"source": source, "rounds": most},
        launches=["vector_init"] + ["vector_assign", product, "vector_diff"] * rounds,
        arrays=[*names, "stop", "vector1", "vector2"],
        results=lambda _: {"vector2": found},
    )


WIDE, LONG = Grid(13, 12).generate(0), Grid(20, 5).generate(0)


def within_two_steps(before: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        assert (found < UNREACHED).sum() == 6, "all within two steps of the corner"

    return {"vector2": check}


def rows_of_four() -> list[Operation]:
    def group(first: int, origins: list[int]) -> list[Operation]:
        slots = [first + i for i in range(len(origins))]
        arcs = [load(name, [slot]) for name in ("data", "col") for slot in slots]
        paths = [load("vector1", [origin]) for origin in origins]
        return [*arcs, WAIT, *paths, WAIT, *[compute(4)] * len(origins), compute(5)]

    begin = [compute(8), load("row", LANES), load("row", AFTER), load("vector1", LANES), WAIT]
    return [*begin, *group(0, SIX[:4]), *group(4, [50]), store("vector2", LANES)]


def coalesced_slots(operations: list[Operation]) -> None:
    vertices = [64 + lane for lane in LANES]
    assert operations[:3] == [compute(8), load("vector1", vertices), WAIT]
    for array, first in (("data", 3), ("col", 7)):
        assert operations[first : first + 4] == [
            load(array, [slot * 100 + vertex for vertex in vertices]) for slot in range(4)
        ]
    assert operations[12][:2] == ("LOAD", "vector1")
    assert operations[-1] == store("vector2", vertices)


def last_slots(operations: list[Operation]) -> None:
    assert operations[-1] == store("vector2", [96, 97, 98, 99])


VECTOR1, VECTOR2 = load("vector1", LANES), load("vector2", LANES)

SSSP_RUNS = [
    *(
        sssp(program, graph, source)
        for program in ("sssp", "sssp_ell")
        for graph, source in (
            (RodiniaRandom(200).generate(1), 3),
            (UniformRandom(150, 500).generate(4), 3),
            (WIDE, 0),
        )
    ),
    *(
        Run(
            program=program,
            graph=WIDE,
            seed=2,
            parameters={"rounds": 2},
            launches=sssp(program, WIDE, most=2).launches,
            results=within_two_steps,
        )
        for program in ("sssp", "sssp_ell")
    ),
    Run(
        program="sssp_ell",
        graph=LONG,
        launches=sssp("sssp_ell", LONG).launches,
        arrays={"col": 1600, "data": 1600, "stop": 4, "vector1": 400, "vector2": 400},
        results=lambda _: {"vector2": bellman_ford(LONG, 0, 0, None)[0]},
    ),
]

SSSP_WARPS = [
    Warp(
        program="sssp",
        graph=FIVE_TO_ONE,
        launch=2,
        geometry=("spmv_min_dot_plus_kernel", 2, 64, 24, 0),
        operations=rows_of_four(),
    ),
    Warp(program="sssp_ell", graph=LONG, launch=2, block=1, operations=coalesced_slots),
    Warp(program="sssp_ell", graph=LONG, launch=2, block=1, warp=1, operations=last_slots),
    Warp(
        program="sssp",
        graph=LONG,
        geometry=("vector_init", 2, 64, 10, 0),
        operations=[compute(8), store("vector1", LANES), store("vector2", LANES)],
    ),
    Warp(
        program="sssp",
        graph=LONG,
        launch=1,
        operations=[compute(8), VECTOR2, WAIT, store("vector1", LANES)],
    ),
    Warp(
        program="sssp",
        graph=LONG,
        launch=3,
        operations=[compute(8), VECTOR2, VECTOR1, WAIT, store("stop", [0, 0])],
    ),
]

SPOKES = np.arange(1, 20_000)
SSSP_REFUSED = [
    *(
        Refused(
            program=program,
            graph=WIDE,
            parameters={"source": 156},
            message="source = 156: grid-13x12 has 156 vertices",
        )
        for program in ("sssp", "sssp_ell")
    ),
    Refused(
        program="sssp_ell",
        graph=graph_from_arcs("hub", 20_000, SPOKES, np.zeros_like(SPOKES)),
        message="hub has a vertex of in-degree 19999, too much",
    ),
]

# -- pagerank, pagerank_spmv -----------------------------------------------------------------------

DANGLING = CoPapers(300, 16.0, 64, 32).generate(5)
assert (DANGLING.degrees == 0).any(), "dangling vertices must be part of the test"

PRODUCTS = {"pagerank": "pagerank1", "pagerank_spmv": "spmv_csr_scalar_kernel"}
RANK_ARRAYS = {
    "pagerank": {"row": 2400, "col": 20, "data": 20, "pr1": 2400, "pr2": 2400},
    "pagerank_spmv": {
        "row": 2404,
        "col": 20,
        "data": 20,
        **dict.fromkeys(("pr1", "pr2", "colcnt"), 2400),
    },
}


def pagerank(program: str, graph: Graph, iterations: int, results: Any = None) -> Run:
    start = ["inibuffer"] + ["inicsr"] * (program == "pagerank_spmv")

    def expected(_: Arrays) -> dict[str, Any]:
        return {"pr1": ranks(graph, iterations), "pr2": np.zeros(graph.vertices)}

    return Run(
        program=program,
        graph=graph,
        parameters={"iterations": iterations},
        launches=start + [PRODUCTS[program], "pagerank2"] * iterations,
        arrays=RANK_ARRAYS[program] if graph is STAR else list(RANK_ARRAYS[program]),
        results=results or expected,
        rel=1e-4,
    )


def as_networkx(_: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        expected = nx.pagerank(to_networkx(DANGLING), alpha=0.85, tol=1e-10, max_iter=500)
        normal = found / found.sum()
        assert normal == pytest.approx([expected[v] for v in range(300)], rel=1e-3)

    return {"pr1": check}


def close_to_the_fixed_point(_: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        assert np.abs(found - ranks(DANGLING, 300)).sum() < 0.85**20

    return {"pr1": check}


def pushing() -> list[Operation]:
    def arc(edges: list[int], ranks: list[int], targets: list[int]) -> list[Operation]:
        loads = [load("col", edges), load("pr1", ranks)]
        return [*loads, WAIT, compute(13), reduce("pr2", targets)]

    rows = [load("row", LANES), load("row", AFTER), WAIT]
    return [compute(8), *rows, *arc([0, 2, 3], [0, 1, 2], [599, 0, 0]), *arc([1], [0], [1])]


def last_end_is_known(operations: list[Operation]) -> None:
    assert operations[1] == load("row", list(range(576, 600)))
    assert operations[2] == load("row", list(range(577, 600))), "the last vertex ends at M"


def weights_once(operations: list[Operation]) -> None:
    assert operations[:10] == [
        *(compute(8), load("row", LANES), load("row", AFTER), WAIT, load("col", [0, 3]), WAIT),
        *(compute(2), load("colcnt", [1, 0]), WAIT, compute(10)),
    ]


def pulling() -> list[Operation]:
    def group(first: int, origins: list[int]) -> list[Operation]:
        slots = [first + i for i in range(len(origins))]
        arcs = [load(name, [slot]) for name in ("col", "data") for slot in slots]
        paths = [load("pr1", [origin]) for origin in origins]
        return [*arcs, WAIT, *paths, WAIT, *[compute(3)] * len(origins), compute(5)]

    begin = [compute(8), load("row", LANES), load("row", AFTER), WAIT]
    end = [load("pr2", LANES), WAIT, store("pr2", LANES)]
    return [*begin, *group(0, SIX[:4]), *group(4, [50]), *end]


ONCE = {"iterations": 1}
RANK_RUNS = [
    pagerank("pagerank", STAR, 1),
    pagerank("pagerank_spmv", STAR, 1),
    pagerank("pagerank", DANGLING, 80, as_networkx),
    pagerank("pagerank", DANGLING, 20, close_to_the_fixed_point),
    pagerank("pagerank", DANGLING, 2),
    pagerank("pagerank_spmv", DANGLING, 20),
]
RANK_WARPS = [
    Warp(
        program="pagerank",
        graph=STAR,
        parameters=ONCE,
        geometry=("inibuffer", 3, 256, 14, 0),
        operations=[compute(8), store("pr1", LANES), store("pr2", LANES)],
    ),
    Warp(
        program="pagerank",
        graph=STAR,
        parameters=ONCE,
        launch=1,
        geometry=("pagerank1", 3, 256, 24, 0),
        operations=pushing(),
    ),
    Warp(
        program="pagerank",
        graph=STAR,
        parameters=ONCE,
        launch=1,
        block=2,
        warp=2,
        operations=last_end_is_known,
    ),
    Warp(
        program="pagerank",
        graph=STAR,
        parameters=ONCE,
        launch=2,
        geometry=("pagerank2", 3, 256, 21, 0),
        operations=[
            *(compute(8), load("pr2", LANES), WAIT, compute(10)),
            *(store("pr1", LANES), store("pr2", LANES)),
        ],
    ),
    Warp(
        program="pagerank_spmv",
        graph=STAR,
        parameters=ONCE,
        launch=1,
        geometry=("inicsr", 10, 64, 20, 0),
        operations=weights_once,
    ),
    Warp(
        program="pagerank_spmv",
        graph=FIVE_TO_ONE,
        parameters=ONCE,
        launch=2,
        geometry=("spmv_csr_scalar_kernel", 2, 64, 32, 0),
        operations=pulling(),
    ),
]

# --------------------------------------------------------------------------------------------------


def slots_or_rows(graph: Graph) -> Run:
    """The ELL format, but for graphs without arcs, which have no slot."""
    return sssp("sssp_ell" if graph.arcs else "sssp", graph)


ANY_GRAPH = [
    mis,
    partial(color, "color_max"),
    partial(color, "color_maxmin"),
    bc,
    partial(sssp, "sssp"),
    slots_or_rows,
    *(
        partial(pagerank, program, iterations=iterations)
        for program in ("pagerank", "pagerank_spmv")
        for iterations in (1, 4)
    ),
]
"""Runs on every directed graph."""

RUNS = [
    mis(PAPERS, 1, results=maximal_and_independent),
    mis(PAPERS, 1, edit=few_values),
    mis(STAR),
    Run(
        program="mis",
        graph=PAPERS,
        parameters={"rounds": 1},
        launches=["init", "mis1", "mis2", "mis3"],
        results=lambda _: {},
    ),
    hardly_a_clash("color_max"),
    hardly_a_clash("color_maxmin"),
    color("color_max", STAR),
    color("color_maxmin", STAR),
    Run(
        program="color_max",
        graph=PAPERS,
        parameters={"rounds": 1},
        launches=["color1", "color2"],
        results=lambda _: {},
    ),
    fw(UNIFORM),
    fw(GRID),
    fw(DOUBLE),
    fw(UNIFORM, 5),
    fw_block(UNIFORM),
    fw_block(GRID),
    Run(
        program="fw_block",
        graph=UNIFORM,
        parameters={"steps": 2},
        launches=[f"floydwarshall_{tile}" for tile in TILES] * 2,
        results=two_steps,
    ),
    *BC_RUNS,
    *SSSP_RUNS,
    *RANK_RUNS,
]
WARPS = [*MIS_WARPS, *COLOR_WARPS, *FW_WARPS, *BC_WARPS, *SSSP_WARPS, *RANK_WARPS]
REFUSED = [*FW_REFUSED, *SSSP_REFUSED]

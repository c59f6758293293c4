"""Pannotia's pagerank and pagerank_spmv: what they compute, and what their warps do."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    compute,
    load,
    reduce,
    store,
)
from tests.programs.contract.graphs import AFTER, FIVE, FIVE_TO_ONE, STAR, ranks, to_networkx

FEW: dict[str, object] = {"graph.vertices": 700}
IN_STEP: dict[str, dict[str, object]] = {"pagerank": FEW, "pagerank_spmv": FEW}


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
        program,
        {"iterations": iterations},
        graph=graph,
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
    return [*begin, *group(0, FIVE[:4]), *group(4, [50]), *end]


ONCE = {"iterations": 1}
RUNS = [
    pagerank("pagerank", STAR, 1),
    pagerank("pagerank_spmv", STAR, 1),
    pagerank("pagerank", DANGLING, 80, as_networkx),
    pagerank("pagerank", DANGLING, 20, close_to_the_fixed_point),
    pagerank("pagerank", DANGLING, 2),
    pagerank("pagerank_spmv", DANGLING, 20),
]
WARPS = [
    Warp(
        "pagerank",
        ONCE,
        graph=STAR,
        geometry=("inibuffer", 3, 256, 14, 0),
        operations=[compute(8), store("pr1", LANES), store("pr2", LANES)],
    ),
    Warp(
        "pagerank",
        ONCE,
        graph=STAR,
        launch=1,
        geometry=("pagerank1", 3, 256, 24, 0),
        operations=pushing(),
    ),
    Warp("pagerank", ONCE, graph=STAR, launch=1, block=2, warp=2, operations=last_end_is_known),
    Warp(
        "pagerank",
        ONCE,
        graph=STAR,
        launch=2,
        geometry=("pagerank2", 3, 256, 21, 0),
        operations=[
            *(compute(8), load("pr2", LANES), WAIT, compute(10)),
            *(store("pr1", LANES), store("pr2", LANES)),
        ],
    ),
    Warp(
        "pagerank_spmv",
        ONCE,
        graph=STAR,
        launch=1,
        geometry=("inicsr", 10, 64, 20, 0),
        operations=weights_once,
    ),
    Warp(
        "pagerank_spmv",
        ONCE,
        graph=FIVE_TO_ONE,
        launch=2,
        geometry=("spmv_csr_scalar_kernel", 2, 64, 32, 0),
        operations=pulling(),
    ),
]


ANY_GRAPH = [
    partial(pagerank, program, iterations=iterations)
    for program in ("pagerank", "pagerank_spmv")
    for iterations in (1, 4)
]

"""Hetero-Mark: what its programs compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    compute,
    load,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"fir": {}, "hetero_mark_pagerank": {"graph.arcs": 9000}}

# -- fir -------------------------------------------------------------------------------------------


def filtered(samples: int, launches: int = 3) -> Run:
    """The last piece of a signal, which is the generator's first numbers, after the filter."""

    def results(before: Arrays) -> dict[str, Any]:
        rng = np.random.default_rng(7)
        host = rng.random((launches, samples), dtype=np.float32)
        signal = host.ravel().astype(float)
        expected = np.convolve(signal, before["coeff"])[: launches * samples]
        return {"input": host[-1], "output": expected[-samples:], "history": host[-1, -16:]}

    return Run(
        "fir",
        {"samples": samples, "launches": launches},
        seed=7,
        launches=["fir_cuda"] * launches,
        arrays=["input", "output", "coeff", "history"],
        results=results,
    )


def sliding() -> list[Operation]:
    """A warp beyond the history."""
    start = 256 * 3 + 32
    taps: list[Operation] = []
    for tap in range(16):
        samples = load("input", [start - tap + lane for lane in LANES])
        taps += [load("coeff", [tap] * 32), samples, WAIT, compute(21 if tap < 15 else 13)]
    end = [store("output", [start + lane for lane in LANES]), compute(1)]
    return [compute(30), *taps, *end]


def history_is_needed(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    host = np.random.default_rng(0).random((2, 1024), dtype=np.float32)
    assert before["history"].tolist() == host[0, -16:].tolist()
    history = [op[2] for op in operations if op[1] == "history"]
    assert history == [list(range(16 - tap, 16)) for tap in range(1, 16)]
    inputs = [op[2] for op in operations if op[1] == "input"]
    assert inputs == [list(range(32 - tap)) for tap in range(16)]


def eight_samples(operations: list[Operation]) -> None:
    assert operations[-2] == store("output", list(range(256, 264)))


# -- hetero_mark_pagerank --------------------------------------------------------------------------


def ranked(graph: Graph, iterations: int) -> Run:
    entries = np.maximum(np.bincount(graph.col, minlength=graph.vertices), 1)
    shape = (graph.vertices, graph.vertices)
    matrix = scipy.sparse.csr_matrix((1 / entries[graph.col], graph.col, graph.row), shape=shape)
    ranks = np.full(graph.vertices, 1 / graph.vertices)
    for _ in range(iterations):
        ranks = matrix @ ranks
    assert graph is not LONG_ROWS or np.isclose(ranks.sum(), 1), "every column has an entry"
    return Run(
        "hetero_mark_pagerank",
        {"iterations": iterations},
        graph=graph,
        launches=["PageRankUpdateGpu"] * iterations,
        arrays=["row", "col", "val", "x", "y"],
        results=lambda _: {"y" if iterations % 2 else "x": ranks},
        rel=1e-4,
    )


LONG_ROWS = UniformRandom(40, 8000).generate(1)
assert LONG_ROWS.degrees.max() > 2 * 64

TARGETS = list(range(100, 200))
ROW = graph_from_arcs("row", 300, np.full(100, 7), np.array(TARGETS))


def row_of(*pieces: tuple[int, int], adds: bool) -> list[Operation]:
    """What a warp of row 7 does with its entries."""
    bounds = [load("row", [7] * 32), load("row", [8] * 32), WAIT, shared()]
    operations = [compute(32), store("y", [7] * 32), *bounds]
    for first, last in pieces:
        entries = list(range(first, last))
        gathered = [load("val", entries), load("col", entries), WAIT, compute(14)]
        gathered += [load("x", TARGETS[first:last]), WAIT, shared(), compute(15), shared()]
        operations += gathered
    add = [shared(), shared(), compute(8), shared()] * adds
    operations += [BARRIER, *[*add, BARRIER] * 6]
    if adds:
        operations += [load("y", [7]), shared(), WAIT, compute(5), store("y", [7])]
    return operations


def begins_with_a_store_to(array: str) -> Callable[[list[Operation]], None]:
    def check(operations: list[Operation]) -> None:
        assert operations[1][:2] == ("STORE", array)

    return check


GEOMETRY = ("PageRankUpdateGpu", 300, 64, 32, 256)

# --------------------------------------------------------------------------------------------------

ANY_GRAPH = [partial(ranked, iterations=iterations) for iterations in (1, 2, 3)]
RUNS = [
    filtered(16),
    filtered(100),
    filtered(1024),
    filtered(1024, 1),
    filtered(200, 2),
    ranked(LONG_ROWS, 3),
    ranked(LONG_ROWS, 2),
]
WARPS = [
    Warp(
        "fir",
        {"launches": 1},
        block=3,
        warp=1,
        geometry=("fir_cuda", 4, 256, 28, 0),
        operations=sliding(),
    ),
    Warp("fir", {"launches": 2}, launch=1, check=history_is_needed),
    Warp(
        "fir",
        {"samples": 264, "launches": 1},
        block=1,
        warp=1,
        geometry=("fir_cuda", 2, 256, 28, 0),
        operations=[],
    ),
    Warp("fir", {"samples": 264, "launches": 1}, block=1, operations=eight_samples),
    Warp(
        "hetero_mark_pagerank",
        graph=ROW,
        block=7,
        geometry=GEOMETRY,
        operations=row_of((0, 32), (64, 96), adds=True),
    ),
    Warp(
        "hetero_mark_pagerank",
        graph=ROW,
        block=7,
        warp=1,
        operations=row_of((32, 64), (96, 100), adds=False),
    ),
    *(
        Warp(
            "hetero_mark_pagerank",
            graph=ROW,
            launch=launch,
            operations=begins_with_a_store_to(array),
        )
        for launch, array in enumerate("yx")
    ),
]

"""SHOC's sparse matrix-vector product: what it computes, and what its warps do."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse

from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from tests.programs.contract.entries import WAIT, Run, Warp, compute, load, store

IN_STEP: dict[str, dict[str, object]] = {"shoc_spmv": {"graph.arcs": 3000}}


def multiplied(graph: Graph) -> Run:
    shape = (graph.vertices, graph.vertices)
    return Run(
        "shoc_spmv",
        graph=graph,
        launches=["spmv_csr_scalar_kernel"],
        arrays=["val", "vec", "cols", "rowDelimiters", "out"],
        results=lambda before: {
            "out": scipy.sparse.csr_matrix(
                (before["val"][: graph.arcs], graph.col, graph.row), shape=shape
            )
            @ before["vec"]
        },
        rel=1e-4,
    )


LONG = UniformRandom(200, 4000).generate(1)
TWO_ROWS = graph_from_arcs("two", 40, np.array([3, 3, 5]), np.array([7, 9, 30]))

ANY_GRAPH = [partial(multiplied)]
RUNS = [multiplied(LONG)]
WARPS = [
    Warp(
        "shoc_spmv",
        graph=TWO_ROWS,
        geometry=("spmv_csr_scalar_kernel", 1, 128, 12, 0),
        operations=[
            compute(29),
            load("rowDelimiters", range(1, 33)),
            load("rowDelimiters", range(32)),
            WAIT,
            compute(5),
            compute(16),
            load("cols", [0, 2]),
            load("val", [0, 2]),
            ("WAIT", 1, []),
            compute(13),
            load("vec", [7, 30]),
            WAIT,
            compute(4),
            load("cols", [1]),
            load("val", [1]),
            ("WAIT", 1, []),
            compute(13),
            load("vec", [9]),
            WAIT,
            compute(4),
            compute(5),
            store("out", range(32)),
            compute(1),
        ],
    )
]

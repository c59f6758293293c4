"""Rodinia's mummer: what it computes, and what its warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.rodinia.mummer import texel
from gpusim.programs.rodinia.suffix_tree import NOWHERE, ROOT, suffix_tree
from tests.programs.contract.entries import (
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"mummer": {}}


def longest_match(text: bytes, query: bytes) -> int:
    length = 0
    while length < len(query) and query[: length + 1] in text:
        length += 1
    return length


def longest_matches(before: Arrays) -> dict[str, Any]:
    """Every place of every query has its longest match."""
    text, tree = before["reference"].tobytes(), suffix_tree(before["reference"])
    parents = before["nodes"][texel(np.arange(len(tree.start)))]["parent"]
    queries = before["queries"].reshape(300, 22)[:, 1:-1]

    def check(found: NDArray[Any]) -> None:
        reported = 0
        for query, matches in zip(queries, found.reshape(300, 16), strict=True):
            for place, match in enumerate(matches):
                expected = longest_match(text, query[place:].tobytes())
                if expected < 5:
                    assert match["node"] == NOWHERE
                    continue
                reported += 1
                node, edge = int(match["node"]), int(match["edge_match_length"])
                top = int(parents[node]) if edge else node
                assert tree.depth[top] + edge == expected
                end = tree.start[node] + edge if edge else tree.end[node] + 1
                assert text[end - expected : end] == query[place : place + expected].tobytes()
        assert 0.5 < reported / found.size < 1

    return {"match_coords": check}


def walk_of_one_query(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    query, tree = before["queries"][1:-1].tolist(), suffix_tree(before["reference"])
    expected = [compute(8), load("query_lengths", [0]), load("query_addresses", [0]), WAIT]
    expected.append(compute(18))

    def fetch(array: str, index: int, instructions: int = 0) -> None:
        expected.extend([load(array, [index]), WAIT, *[compute(instructions)] * (instructions > 0)])

    def at(node: int) -> int:
        return int(texel(np.array(node)))

    node, parent, matched = ROOT, ROOT, 0
    fetch("queries", 1)
    while matched < 21:
        fetch("children", at(node), 18)
        parent, node = node, int(tree.children[node, query[matched] - 1])
        fetch("nodes", at(node), 36)
        matched += 1
        fetch("queries", 1 + matched)
        for place in range(int(tree.start[node]) + 1, int(tree.end[node]) + 1):
            if matched == 21:
                break
            fetch("reference", place, 12)
            matched += 1
            fetch("queries", 1 + matched)
    expected += [compute(6), store("match_coords", [0])]
    fetch("nodes", at(parent), 12)
    assert operations[: len(expected)] == expected
    second = operations[len(expected) :]
    known = load("queries", [1 + int(tree.depth[parent])])
    assert second[:2] == [compute(18), known], "the rest is known"
    assert store("match_coords", [1]) in second
    assert "reference" not in [op[1] for op in second]


def share_that_matches(before: Arrays) -> dict[str, Any]:
    text = before["reference"].tobytes()
    whole = [row[1:-1].tobytes() in text for row in before["queries"].reshape(2000, 32)]
    assert np.mean(whole) == pytest.approx(0.7, abs=0.04)
    return {}


RUNS = [
    Run(
        "mummer",
        {"reference": 3000, "queries": 300, "query_length": 20, "min_match": 5, "matching": 0.8},
        seed=4,
        launches=["mummergpuKernel"],
        arrays={
            "reference": 3001,
            "nodes": 2 << 20,
            "children": 2 << 20,
            "queries": 300 * 22,
            **dict.fromkeys(("query_addresses", "query_lengths"), 1200),
            "match_coords": 300 * 16 * 8,
        },
        results=longest_matches,
    ),
    Run(
        "mummer",
        {"reference": 20_000, "queries": 2000, "query_length": 30, "matching": 0.7},
        seed=1,
        launches=["mummergpuKernel"],
        results=share_that_matches,
    ),
]
WARPS = [
    Warp(
        "mummer",
        {"reference": 2000, "queries": 1, "query_length": 21, "matching": 1.0},
        geometry=("mummergpuKernel", 1, 256, 32, 0),
        check=walk_of_one_query,
    )
]

REFUSED = [
    Refused("mummer", {"reference": 50}, message="from 1 to reference = 50: 100"),
    Refused(
        "mummer",
        {"query_length": 10},
        message="from 1 to query_length = 10: 20",
    ),
]

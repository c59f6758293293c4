"""Layers beside attention: what they compute, and which tokens and weights are asked for."""

from __future__ import annotations

from itertools import chain

import numpy as np

from gpusim.programs.llm.moe_gather import MoeParameters, routes, sorted_places
from tests.programs.contract.entries import (
    LANES,
    Arrays,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    load,
    nth_launch,
    operations_of,
    store,
)

MOE = {"tokens": 100, "experts": 5, "top_k": 2, "hidden": 64, "width": 128}

IN_STEP: dict[str, dict[str, object]] = {
    "rmsnorm": {"hidden": 70, "tokens": 5},
    "rotary": {"tokens": 5},
    "softmax": {"columns": 70, "rows": 5},
}

# -- moe_gather ------------------------------------------------------------------------------------


def every_place_is_multiplied_with_its_expert() -> None:
    """Over the tiles of the first column: each token twice, each with an expert of its own."""
    of = MoeParameters(**MOE)
    chosen = routes(of, 7)
    start = Start("moe_gather", MOE, seed=7)
    program = start.application()
    launch = nth_launch(program, 0)
    assert launch.blocks == of.most_tiles * 2
    found = {}
    for block in range(launch.blocks):
        warps = [operations_of(launch, program, block, warp) for warp in range(4)]
        accesses = list(chain.from_iterable(warps))
        experts = {one for _, name, lanes in accesses if name == "weights_0" for one in lanes}
        tokens = sorted(one for _, name, lanes in accesses if name == "tokens" for one in lanes)
        stored = sorted(one for _, name, lanes in accesses if name == "out" for one in lanes)
        if not stored:
            assert len(accesses) == 4 * 3  # the count alone
            continue
        (expert,) = {one // (128 * 8) for one in experts}
        (column,) = {one % 16 // 8 for one in stored}
        assert len(experts) == 64 * 8
        assert {one // 8 % 128 // 64 for one in experts} == {column}
        places = stored[::8]
        assert stored == [one + piece for one in places for piece in range(8)]
        own = [one // 16 for one in places]
        assert tokens == sorted(8 * (place // 2) + piece for place in own for piece in range(8))
        for place in own:
            found[place, column] = expert
    assert found == {
        (2 * token + rank, column): chosen[token, rank]
        for token in range(100)
        for rank in range(2)
        for column in range(2)
    }


def experts_are_unevenly_popular() -> None:
    of = MoeParameters(tokens=20_000, experts=16, top_k=4, exponent=1.0)
    chosen = routes(of, 1)
    assert all(len(set(row)) == 4 for row in chosen[:100].tolist())
    counts = np.sort(np.bincount(chosen.ravel(), minlength=16))
    assert counts[-1] > 3 * counts[0] > 0
    places, owners, end = sorted_places(of, chosen)
    kept = places[places < of.places]
    assert np.array_equal(np.sort(kept), np.arange(of.places))
    assert (places[end:] == of.places).all()
    tiles = places[:end].reshape(-1, 64)
    for tile, owner in zip(tiles, owners, strict=False):
        assert set(chosen.ravel()[tile[tile < of.places]]) == {owner}


# -- rotary ----------------------------------------------------------------------------------------


def turned(before: Arrays) -> Arrays:
    """By complex numbers."""
    found = {}
    tokens = before["positions"].size
    angle = before["positions"][:, None] / 10000 ** (np.arange(32) / 32)
    for name in ("query", "key"):
        halves = before[name].astype(float).reshape(tokens, -1, 2, 32)
        values = (halves[:, :, 0] + 1j * halves[:, :, 1]) * np.exp(1j * angle)[:, None]
        found[name] = np.stack((values.real, values.imag), axis=2).ravel()
    return found


def a_pair_of_halves(found: list[Operation]) -> None:
    """Token 3, warp 1: the second head's first 32 pairs of a head of 64 numbers."""
    accesses = [one for one in found if one[0] in ("LOAD", "STORE")]
    program = Start("rotary", ROTARY, seed=0).application()
    position = int(program.memory["positions"].data[3])
    cosines = [64 * position + lane for lane in LANES]
    query = [(3 * 2 + 1) * 64 + lane for lane in LANES]
    assert accesses == [
        load("positions", [3] * 32),
        load("table", cosines),
        load("table", [one + 32 for one in cosines]),
        load("query", query),
        load("query", [one + 32 for one in query]),
        store("query", query),
        store("query", [one + 32 for one in query]),
    ]


ROTARY = {"tokens": 7, "heads": 2, "kv_heads": 1, "head_dim": 64, "context": 40}

# -- rmsnorm and softmax ---------------------------------------------------------------------------


def normalized(before: Arrays) -> Arrays:
    weight = before["weight"].astype(float)
    rows = before["input"].astype(float).reshape(-1, weight.size)
    scale = np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-6)
    return {"out": (rows / scale * weight).ravel()}


def softmax_of(columns: int) -> Run:
    def results(before: Arrays) -> Arrays:
        powers = np.exp(before["input"].astype(float).reshape(-1, columns))
        return {"out": (powers / powers.sum(axis=1, keepdims=True)).ravel()}

    return Run(
        "softmax",
        {"rows": 5, "columns": columns},
        seed=3,
        launches=["softmax_forward"],
        arrays={"input": 20 * columns, "out": 20 * columns},
        results=results,
    )


def three_passes_over_a_row(found: list[Operation]) -> None:
    """Row 2, warp 1, of 40 numbers: 8 of them."""
    row = [2 * 40 + 32 + lane for lane in range(8)]
    accesses = [one for one in found if one[0] in ("LOAD", "STORE")]
    assert accesses == [load("input", row)] * 3 + [store("out", row)]
    assert [one[0] for one in found].count("BARRIER") == 4


RUNS = [
    Run(
        "moe_gather",
        {**MOE, "layers": 3, "launches": 2},
        launches=["fused_moe"] * 2,
        arrays={
            "tokens": 100 * 128,
            "count": 4,
            "places": 9 * 64 * 4,
            "experts": 9 * 4,
            "out": 200 * 256,
            **{f"weights_{layer}": 5 * 128 * 128 for layer in range(3)},
        },
    ),
    Run(
        "rotary",
        ROTARY,
        seed=5,
        launches=["rotary_embedding"],
        arrays=["positions", "table", "query", "key"],
        results=turned,
        rel=5e-3,
        abs=2e-3,
    ),
    Run(
        "rmsnorm",
        {"tokens": 6, "hidden": 1100},
        seed=1,
        launches=["rms_norm"],
        arrays={"input": 6 * 2200, "weight": 2200, "out": 6 * 2200},
        results=normalized,
        rel=2e-3,
        abs=1e-3,
    ),
    softmax_of(1200),
    softmax_of(33),
]

WARPS = [
    Warp(
        "moe_gather",
        MOE,
        geometry=("fused_moe", 18, 128, 96, 16384),
    ),
    Warp(
        "rotary",
        ROTARY,
        block=3,
        warp=1,
        geometry=("rotary_embedding", 7, 64, 32, 0),
        operations=a_pair_of_halves,
    ),
    Warp(
        "softmax",
        {"rows": 3, "columns": 40},
        block=2,
        warp=1,
        geometry=("softmax_forward", 3, 64, 32, 128),
        operations=three_passes_over_a_row,
    ),
]

REFUSED = [
    Refused("moe_gather", {"experts": 4, "top_k": 5}, message="'top_k' must be from 1 to experts"),
    Refused("rotary", {"head_dim": 5}, message="'head_dim' must be a multiple of 2"),
]

CHECKS = [every_place_is_multiplied_with_its_expert, experts_are_unevenly_popular]

"""Attention with a cache of keys and values: which of its elements are asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.llm.conversations import REQUESTS, contexts
from tests.programs.contract.entries import (
    LANES,
    Arrays,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    nth_launch,
    operations_of,
)

DECODE = {"batch": 3, "context": 100, "heads": 4, "kv_heads": 2, "head_dim": 64}

IN_STEP: dict[str, dict[str, object]] = {
    "kv_append": {"tokens": 3},
    "paged_decode": {"lengths": "sharegpt4", "context": 2500, "partition": 2048, "batch": 1},
}

# -- paged_decode ----------------------------------------------------------------------------------

BESIDE = ["query", "lengths", "largest", "sums", "parts", "output"]


def distinct_blocks(pool: int) -> Callable[[Arrays], dict[str, Any]]:
    """No block of the cache belongs to two sequences, and they are in no order."""

    def check(table: NDArray[Any]) -> None:
        assert len(set(table.tolist())) == len(table)
        assert 0 <= table.min() < table.max() < pool
        assert (np.diff(table) < 0).any()

    return lambda _: {"block_table": check}


def elements(found: list[Operation], array: str) -> list[int]:
    return sorted(one for _, name, lanes in found if name == array for one in lanes)


def loads_of(start: Start, launch: int, block: int) -> list[list[Operation]]:
    """Of each warp of a thread block, its accesses to arrays."""
    program = start.application()
    own = nth_launch(program, launch)
    warps = range(own.threads_per_block // 32)
    every = [operations_of(own, program, block, warp) for warp in warps]
    return [[one for one in found if one[0] in ("LOAD", "STORE")] for found in every]


def every_key_and_value_of_a_head_is_loaded_once() -> None:
    """As the layouts have them, for each size of a block, by vLLM's second version."""
    for tokens in (8, 16, 32):
        start = Start("paged_decode", {**DECODE, "block_size": tokens, "partition": 64})
        table = start.application().memory["block_table"].data
        blocks = -(-100 // tokens)
        second = table.reshape(3, blocks)[1]  # of sequence 1
        own = [second[: 64 // tokens], second[64 // tokens :]]
        piece = tokens * 16 // 32  # bytes of a key that a thread loads at once
        pool = 3 * blocks
        keys = np.arange(pool * 2 * tokens * 128 // piece)
        keys = keys.reshape(pool, 2, 64 // 8, tokens, 16 // piece)
        values = np.arange(pool * 2 * tokens * 8).reshape(pool, 2, 64, tokens // 8)
        for part in range(2):
            warps = loads_of(start, 0, 3 + 4 * (1 + 3 * part))  # head 3, with key head 1
            found = list(chain.from_iterable(warps))
            assert elements(found, "k_cache_0") == sorted(keys[own[part], 1].ravel().tolist())
            assert elements(found, "v_cache_0") == sorted(values[own[part], 1].ravel().tolist())
            row = (4 + 3) * 2 + part
            stored = [one for one in found if one[0] == "STORE"]
            assert elements(stored, "parts") == list(range(64 * row, 64 * row + 64))
            for warp in warps:
                asked = [one[2] for one in warp if one[1] == "k_cache_0"]
                assert all(np.diff(lanes).tolist() == [1] * 31 for lanes in asked)


def a_contiguous_sequence_is_read_to_its_end() -> None:
    start = Start("paged_decode", {**DECODE, "layout": "contiguous", "partition": 0})
    rows = np.arange(3 * 112 * 2 * 8).reshape(3, 112, 2, 8)  # 112: seven blocks of 16
    found = list(chain.from_iterable(loads_of(start, 0, 3 + 4)))
    for array in ("k_cache_0", "v_cache_0"):
        assert elements(found, array) == rows[1, :100, 1].ravel().tolist()
    assert elements(found, "output") == list(range(8 * (4 + 3), 8 * (4 + 4)))


def joined(found: list[Operation]) -> None:
    """Sequence 1, head 3: two numbers of each part, then a row of each part."""
    row = (4 + 3) * 2
    asked = [one for one in found if one[0] == "LOAD"]
    assert asked == [
        ("LOAD", "lengths", [1] * 32),
        ("LOAD", "largest", [row, row + 1]),
        ("LOAD", "sums", [row, row + 1]),
        ("LOAD", "parts", [64 * row + lane for lane in LANES]),
        ("LOAD", "parts", [64 * (row + 1) + lane for lane in LANES]),
    ]
    assert [one[1:] for one in found if one[0] == "STORE"] == [
        ("output", [64 * (4 + 3) + lane for lane in LANES])
    ]


def as_long_as_published() -> None:
    for name, (prompts, outputs) in REQUESTS.items():
        tokens = contexts(name, 40_000, 1 << 20, seed=3)
        rng = np.random.default_rng(5)
        drawn = prompts.draw(rng, 40_000)
        assert np.isclose(np.median(drawn), prompts.median, rtol=0.03)
        assert np.isclose(np.percentile(drawn, 90), prompts.p90, rtol=0.03)
        assert prompts.median < np.median(tokens) < prompts.median + outputs.median
        assert (contexts(name, 9, 500, seed=3) <= 500).all()
    assert contexts("fixed", 3, 77, seed=0).tolist() == [77] * 3


# -- kv_append -------------------------------------------------------------------------------------


def every_number_goes_to_its_place_in_the_cache() -> None:
    """Token 97 of sequence 2, the first of its three new ones; 128 numbers of two heads."""
    own = {key: value for key, value in DECODE.items() if key != "heads"}
    for layout in ("paged", "contiguous"):
        start = Start("kv_append", {**own, "tokens": 3, "layout": layout})
        found = list(chain.from_iterable(loads_of(start, 0, 2 * 3)))
        if layout == "paged":
            block = start.application().memory["block_table"].data.reshape(3, 7)[2, 97 // 16]
            keys = np.arange(21 * 16 * 128).reshape(21, 2, 8, 16, 8)[block, :, :, 97 % 16]
            values = np.arange(21 * 16 * 128).reshape(21, 2, 64, 16)[block, :, :, 97 % 16]
        else:
            keys = values = np.arange(3 * 112 * 128).reshape(3, 112, 128)[2, 97]
        warps = range(0, 128, 32)
        for array, places in (("k_cache_0", keys.ravel()), ("v_cache_0", values.ravel())):
            stored = [one for one in found if one[1] == array]
            assert stored == [
                ("STORE", array, places[first : first + 32].tolist()) for first in warps
            ]
        for array in ("key", "value"):
            assert elements(found, array) == list(range(128 * 6, 128 * 7))


# -- flash_prefill ---------------------------------------------------------------------------------

PREFILL = {"batch": 2, "tokens": 200, "heads": 4, "kv_heads": 2, "head_dim": 64}
TILES = {**PREFILL, "tile_rows": 64, "tile_columns": 32}


def tiles_before_a_query_are_loaded_once() -> None:
    """Prompt 1, head 3, the queries from 64 on: keys up to 127, and all without `causal`."""
    for causal, seen in ((True, 128), (False, 200)):
        start = Start("flash_prefill", {**TILES, "causal": causal})
        warps = loads_of(start, 0, 1 + 4 * (1 + 2 * 3))
        found = list(chain.from_iterable(warps))
        keys = np.arange(2 * 200 * 2 * 8).reshape(2, 200, 2, 8)[1, :seen, 1].ravel().tolist()
        assert elements(found, "k") == elements(found, "v") == keys
        rows = np.arange(2 * 200 * 4 * 8).reshape(2, 200, 4, 8)[1, 64:128, 3].ravel().tolist()
        assert elements(found, "q") == elements(found, "out") == rows
        sums = (4 + 3) * 200
        assert elements(found, "lse") == list(range(sums + 64, sums + 128))
        first = [one[2][0] for one in warps[0] if one[1] == "k"]
        assert first[::2] == sorted(first[::2], reverse=True), "the last tile comes first"


def four_rows_of_128_bytes(found: list[Operation]) -> None:
    """The last queries' second warp: tokens 128 + 4 to 7; beyond token 199 nothing."""
    asked = [one for one in found if one[:2] == ("LOAD", "q")]
    assert [len(one[2]) for one in asked] == [32] * 4
    row = 8 * (200 * 4 + 132 * 4)
    assert asked[0][2] == [row + 32 * (lane // 8) + lane % 8 for lane in LANES]


RUNS = [
    Run(
        "paged_decode",
        {**DECODE, "partition": 64, "layers": 2},
        launches=["paged_attention", "paged_attention_reduce"] * 2,
        arrays={
            "query": 3 * 4 * 128,
            "lengths": 12,
            "largest": 3 * 4 * 2 * 4,
            "sums": 3 * 4 * 2 * 4,
            "parts": 3 * 4 * 2 * 128,
            "output": 3 * 4 * 128,
            "block_table": 3 * 7 * 4,
            **{f"{one}_cache_{layer}": 3 * 7 * 2 * 2048 for layer in range(2) for one in "kv"},
        },
        results=distinct_blocks(21),
    ),
    Run(
        "paged_decode",
        {**DECODE, "partition": 0, "lengths": "arxiv", "cache_blocks": 1000},
        launches=["paged_attention"],
        arrays=[*BESIDE, "block_table", "k_cache_0", "v_cache_0"],
        results=distinct_blocks(1000),
    ),
    Run(
        "kv_append",
        {"batch": 2, "context": 40, "kv_heads": 1, "layers": 2},
        launches=["reshape_and_cache"] * 2,
        arrays={
            "block_table": 2 * 3 * 4,
            **{f"{one}_cache_{layer}": 2 * 3 * 4096 for layer in range(2) for one in "kv"},
            "key": 2 * 256,
            "value": 2 * 256,
            "slots": 2 * 8,
        },
        results=distinct_blocks(6),
    ),
    Run(
        "flash_prefill",
        TILES,
        launches=["flash_fwd"],
        arrays={
            "q": 2 * 200 * 4 * 128,
            "k": 2 * 200 * 2 * 128,
            "v": 2 * 200 * 2 * 128,
            "out": 2 * 200 * 4 * 128,
            "lse": 2 * 200 * 4 * 4,
        },
    ),
    Run(
        "paged_decode",
        {**DECODE, "layout": "contiguous", "layers": 3, "launches": 1},
        launches=["paged_attention", "paged_attention_reduce"],
        arrays=[*BESIDE, *(f"{one}_cache_{layer}" for layer in range(3) for one in "kv")],
    ),
]

WARPS = [
    Warp(
        "flash_prefill",
        {"tokens": 200, "heads": 1, "kv_heads": 1},
        geometry=("flash_fwd", 2, 128, 255, 65536),
    ),
    Warp(
        "flash_prefill",
        TILES,
        block=2 + 4,
        warp=1,
        geometry=("flash_fwd", 4 * 2 * 4, 128, 112, 16384),
        operations=four_rows_of_128_bytes,
    ),
    Warp(
        "paged_decode",
        {**DECODE, "partition": 64},
        launch=1,
        block=3 + 4,
        geometry=("paged_attention_reduce", 12, 128, 32, 48),
        operations=joined,
    ),
    Warp(
        "paged_decode",
        {**DECODE, "partition": 0},
        geometry=("paged_attention", 12, 128, 64, 2 * 4 * 64 + 128 + 32),
    ),
]

REFUSED = [
    Refused("kv_append", {"context": 5, "tokens": 6}, message="'tokens' must be from 1 to context"),
    Refused("flash_prefill", {"heads": 3}, message="'heads' must be a multiple of"),
    Refused("paged_decode", {**DECODE, "kv_heads": 3}, message="'heads' must be a multiple of"),
    Refused("paged_decode", {**DECODE, "cache_blocks": 20}, message="'cache_blocks' must be >= 21"),
    Refused(
        "paged_decode",
        {"context": 60_000, "partition": 0},
        message="240288 bytes of shared memory.*'partition' = 512",
    ),
]

CHECKS = [
    every_key_and_value_of_a_head_is_loaded_once,
    a_contiguous_sequence_is_read_to_its_end,
    as_long_as_published,
    every_number_goes_to_its_place_in_the_cache,
    tiles_before_a_query_are_loaded_once,
]

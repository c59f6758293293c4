"""Attention to chosen blocks: which are chosen, and that only those are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.core.warp_program import INACTIVE
from gpusim.programs.llm.sparse_decode import SparseParameters, chosen_blocks
from tests.programs.contract.entries import (
    WARP,
    Arrays,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    load,
    nth_launch,
    store,
)

SPARSE = {
    "batch": 2,
    "context": 300,
    "heads": 4,
    "kv_heads": 1,
    "head_dim": 64,
    "chosen": 8,
    "partition": 0,
}
CHOSEN = chosen_blocks(SparseParameters(**SPARSE), np.array([19, 19]), 0)

IN_STEP: dict[str, dict[str, object]] = {"sparse_decode": {**SPARSE, "lengths": "sharegpt4"}}


def numbers(before: Arrays) -> dict[str, Any]:
    table = before["block_table"].reshape(2, 19)
    return {"selected": np.take_along_axis(table, CHOSEN.astype(np.int64), axis=1).ravel()}


def the_first_and_the_last_blocks_are_chosen() -> None:
    assert CHOSEN.shape == (2, 8)
    assert (np.diff(CHOSEN, axis=1) > 0).all()
    of = SparseParameters(**{**SPARSE, "chosen": 12})
    both = chosen_blocks(of, np.array([19, 5]), 3)
    assert set(range(11, 19)) | {0} <= set(both[0].tolist())
    assert both[1].tolist() == [0, 1, 2, 3, 4, *[4] * 7]


def only_chosen_blocks_are_read() -> None:
    program = Start("sparse_decode", SPARSE).application()
    launch = nth_launch(program, 2)
    arrays = {array.name: array for array in program.memory.arrays}
    table = arrays["block_table"].data.reshape(2, 19)
    wanted = {int(table[row, block]) for row in range(2) for block in CHOSEN[row]}
    for name in ("k_cache_0", "v_cache_0"):
        array, found = arrays[name], set()
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, WARP):
                lanes = chunk.address[chunk.address != INACTIVE]
                own = lanes[(lanes >= array.base) & (lanes < array.base + array.bytes)]
                found |= set(((own - array.base) // (16 * 64 * 2)).tolist())
        assert found == wanted


def bounds_of_a_block(found: list[Operation], before: Arrays, after: Arrays) -> None:
    """The second warp of the second sequence: its sixth block, of which 16 lanes load 16 bytes."""
    number = int(before["block_table"][19 + 5])
    accesses = [one for one in found if one[0] in ("LOAD", "STORE")]
    assert accesses == [
        load("count", [1] * 32),
        load("block_table", [19 + 5] * 32),
        load("query", [4 * 8 + lane % 8 for lane in range(16)]),
        load("bounds_0", [number * 16 + lane for lane in range(16)]),
        store("scores", [19 + 5]),
    ]


RUNS = [
    Run(
        "sparse_decode",
        SPARSE,
        launches=["estimate_blocks", "select_blocks", "paged_attention"],
        results=numbers,
    ),
    Run(
        "sparse_decode",
        {**SPARSE, "layers": 2, "partition": 64},
        launches=[
            *("estimate_blocks", "select_blocks", "paged_attention", "paged_attention_reduce"),
        ]
        * 2,
    ),
]

WARPS = [
    Warp(
        "sparse_decode",
        SPARSE,
        block=5 + 1,
        warp=1,
        geometry=("estimate_blocks", 10, 128, 48, 0),
        check=bounds_of_a_block,
    ),
]

REFUSED = [
    Refused(
        "sparse_decode", {**SPARSE, "layout": "contiguous"}, message="'layout' must be 'paged'"
    ),
    Refused("sparse_decode", {**SPARSE, "chosen": 301}, message="'chosen' must be from 1 to"),
]

CHECKS = [the_first_and_the_last_blocks_are_chosen, only_chosen_blocks_are_read]

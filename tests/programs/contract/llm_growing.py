"""A cache that grows with its sequences: which places of it are stored to and read in each step."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tests.programs.contract.entries import Arrays, Refused, Run, Start, nth_launch, operations_of

SIZES = {"batch": 3, "context": 100, "heads": 4, "kv_heads": 2, "head_dim": 64, "steps": 2}
SIZES |= {"partition": 64, "answer": 6, "prompt": 40}
BESIDE = ["query", "lengths", "parts", "largest", "sums", "output", "key", "value", "slots"]
KERNELS = ["reshape_and_cache", "paged_attention", "paged_attention_reduce"]
TOKENS = [42, 44, 40 + 4 + 2]
"""After two steps: sequences had 0, 2 and 4 tokens of their answers."""


def lengths(_: Arrays) -> dict[str, Any]:
    return {"lengths": TOKENS}


def grown(layout: str, maps: str = "ahead") -> Run:
    """All of a contiguous array is one piece of 2 MiB."""
    contiguous = layout == "contiguous"
    calls = ["map k_cache_0", "map v_cache_0"] if contiguous else []
    table = [] if contiguous else ["block_table"]
    return Run(
        "growing_decode",
        {**SIZES, "layout": layout, "maps": maps},
        launches=[*calls, *KERNELS, *KERNELS],
        arrays=[*BESIDE, *table, "k_cache_0", "v_cache_0"],
        results=lengths,
    )


def a_new_token_goes_behind_those_that_are_read() -> None:
    """Token 45 of sequence 2, in the second step; then its 46 keys of a head are read once."""
    start = Start("growing_decode", {**SIZES, "layout": "contiguous", "maps": "when-needed"})
    program = start.application()
    rows = np.arange(3 * 112 * 2 * 8).reshape(3, 112, 2, 8)
    own = nth_launch(program, 2 + 3)  # the calls, then the first step
    warps = range(own.threads_per_block // 32)
    found = list(chain.from_iterable(operations_of(own, program, 2, warp) for warp in warps))
    stored = sorted(
        one for op, name, lanes in found if op == "STORE" and name == "k_cache_0" for one in lanes
    )
    assert sorted({one // 8 for one in stored}) == rows[2, 45].ravel().tolist()


def blocks_are_taken_and_given_back() -> None:
    """After an answer of a token each: the blocks of a sequence that ends are free again."""
    ends = {**SIZES, "answer": 1, "steps": 5, "cache_blocks": 21, "layout": "paged"}
    program = Start("growing_decode", ends).application()
    names = [launch.name for launch in program.launches()]
    assert names == KERNELS * 5
    taken = program.memory["block_table"].data.reshape(3, 7)[:, :3]
    assert len(set(taken.ravel().tolist())) == 9


IN_STEP: dict[str, dict[str, object]] = {"growing_decode": {"context": 2500, "batch": 1}}
RUNS = [grown("paged"), grown("contiguous"), grown("contiguous", "when-needed")]
REFUSED = [
    Refused(
        "growing_decode", {**SIZES, "answer": 101}, message="'answer' must be from 1 to context"
    ),
    Refused("growing_decode", {**SIZES, "piece": 4096}, message="'piece'"),
]
CHECKS = [a_new_token_goes_behind_those_that_are_read, blocks_are_taken_and_given_back]

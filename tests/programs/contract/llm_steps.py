"""A whole decode step: its kernels in order, and which weights they ask for."""

from __future__ import annotations

from collections import Counter

import numpy as np

from gpusim.core.warp_program import INACTIVE
from tests.programs.contract.entries import (
    WAIT,
    WARP,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    load,
    store,
)

STEP = {
    "batch": 3,
    "context": 100,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 64,
    "hidden": 128,
    "ffn": 128,
    "vocabulary": 100,
    "splits": 2,
}
EXPERTS = {**STEP, "experts": 4, "partition": 0}

IN_STEP: dict[str, dict[str, object]] = {"decode_step": dict(STEP)}

PRODUCT = ["gemm_splitk", "reduce_splitk"]
BEFORE = [
    *("rms_norm", *PRODUCT, *PRODUCT, *PRODUCT, "rotary_embedding", "reshape_and_cache"),
    "paged_attention",
]
DENSE = [*PRODUCT, "act_and_mul", *PRODUCT, "add_residual"]
SPARSE = [*PRODUCT, "fused_moe", "act_and_mul", "fused_moe", "add_residual"]
OUTPUT = [*PRODUCT, "add_residual", "rms_norm"]
LOGITS = ["rms_norm", *PRODUCT]
WEIGHTS = ("w_q", "w_k", "w_v", "w_o", "w_up", "w_down", "lm_head")


def asked_for(parameters: dict[str, object]) -> dict[str, Counter[int]]:
    """By array, how often each 16 bytes are loaded in the whole step."""
    program = Start("decode_step", parameters).application()
    found: dict[str, Counter[int]] = {}
    arrays = program.memory.arrays
    bases = np.array([array.base for array in arrays])
    for launch in program.launches():
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, WARP):
                lanes = chunk.address[chunk.address != INACTIVE]
                of = np.searchsorted(bases, lanes, side="right") - 1
                for number in np.unique(of).tolist():
                    places = (lanes[of == number] - bases[number]) // 16
                    found.setdefault(arrays[number].name, Counter()).update(places.tolist())
    return found


def every_weight_is_loaded_once() -> None:
    found = asked_for({**STEP, "layers": 2})
    names = [f"{name}_{layer}" for name in WEIGHTS[:-1] for layer in range(2)] + ["lm_head"]
    for name in names:
        assert set(found[name].values()) == {1}, name
    assert len(found["w_up_1"]) == 2 * 128 * 128 // 8
    assert len(found["lm_head"]) == 128 * 128 // 8


def an_expert_without_tokens_is_not_asked_for() -> None:
    found = asked_for({**EXPERTS, "batch": 1, "top_k": 1})
    for name, columns in (("w_up_0", 256), ("w_down_0", 128)):
        size = columns * 128 // 8
        experts = {place // size for place in found[name]}
        assert len(experts) == 1
        assert len(found[name]) == size


def gates_and_ups(found: list[Operation]) -> None:
    """The second warp: the third row's gates, ups, and products."""
    place = [2 * 16 + lane for lane in range(16)] + [3 * 16 + lane for lane in range(16)]
    gate = [2 * 2 * 16 + lane for lane in range(16)] + [3 * 2 * 16 + lane for lane in range(16)]
    accesses = [one for one in found if one[0] in ("LOAD", "STORE", "WAIT")]
    assert accesses[:3] == [load("wide", gate), load("wide", [16 + one for one in gate]), WAIT]
    assert accesses[-1] == store("narrow", place)


RUNS = [
    Run(
        "decode_step",
        {**STEP, "layers": 2},
        launches=[*([*BEFORE, "paged_attention_reduce", *OUTPUT, *DENSE]) * 2, *LOGITS],
    ),
    Run(
        "decode_step",
        {**EXPERTS, "layers": 2, "launches": 1},
        launches=[*BEFORE, *OUTPUT, *SPARSE, *LOGITS],
    ),
]

WARPS = [
    Warp(
        "decode_step",
        STEP,
        launch=17,
        warp=1,
        geometry=("act_and_mul", 8, 128, 24, 0),
        operations=gates_and_ups,
    ),
]

REFUSED = [
    Refused("decode_step", {**STEP, "hidden": 96}, message="'hidden' must be a multiple of"),
    Refused("decode_step", {**EXPERTS, "top_k": 5}, message="'top_k' must be at most experts"),
    Refused(
        "decode_step",
        {**STEP, "heads": 2, "kv_heads": 2, "splits": 8, "hidden": 256, "ffn": 256},
        message="'heads' times 'head_dim' must be a multiple",
    ),
]

CHECKS = [every_weight_is_loaded_once, an_expert_without_tokens_is_not_asked_for]

"""CUDA SDK 4.2, vectors: what its programs compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Start,
    Warp,
    compute,
    load,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {
    "black_scholes": {"options": 9000},
    "fast_walsh_transform": {},
    "histogram256": {},
    "scalar_prod": {"vectors": 150, "elements": 2500},
}

# -- black_scholes ---------------------------------------------------------------------------------

OPTIONS = 480 * 128
"""What all blocks go through in a turn."""


def prices(before: Arrays) -> Arrays:
    names = {"StockPrice": (5, 30), "OptionStrike": (1, 100), "OptionYears": (0.25, 10)}
    stock, strike, years = (before[name].astype(float) for name in names)
    if stock.size >= 1000:
        for name, (low, high) in names.items():
            assert low <= before[name].min() < low + 0.01 * (high - low)
            assert high - 0.01 * (high - low) < before[name].max() <= high
    spread = 0.3 * np.sqrt(years)
    d1 = (np.log(stock / strike) + (0.02 + 0.3**2 / 2) * years) / spread
    today = strike * np.exp(-0.02 * years)
    return {
        "CallResult": stock * norm.cdf(d1) - today * norm.cdf(d1 - spread),
        "PutResult": today * norm.cdf(spread - d1) - stock * norm.cdf(-d1),
    }


def options(firsts: Sequence[int], last_lanes: int = 32) -> list[Operation]:
    """An option at a time, from the places of each turn's first lane."""
    found = [compute(8)]
    for first in firsts:
        lanes = last_lanes if first == firsts[-1] else 32
        places = [first + lane for lane in range(lanes)]
        found += [load("OptionYears", places), compute(9)]
        found += [load("OptionStrike", places), load("StockPrice", places), ("WAIT", 2, [])]
        found += [compute(10), WAIT, compute(35)]
        found += [store("CallResult", places), store("PutResult", places)]
    return found


def priced(block: int, warp: int, operations: list[Operation]) -> Warp:
    return Warp(
        "black_scholes",
        {"options": 2 * OPTIONS + 300, "iterations": 1},
        block=block,
        warp=warp,
        geometry=("BlackScholesGPU", 480, 128, 32, 0),
        operations=operations,
    )


# -- fast_walsh_transform --------------------------------------------------------------------------


def convolved(before: Arrays) -> Arrays:
    data, kernel = before["data"].astype(float), before["kernel"][:8].astype(float)
    place = np.arange(len(data))
    return {"data": sum(kernel[j] * data[place ^ j] for j in range(8))}


def walsh(log2_data: int) -> Run:
    steps = ["fwtBatch2Kernel", "fwtBatch1Kernel"] if log2_data > 11 else ["fwtBatch1Kernel"]
    return Run(
        "fast_walsh_transform",
        {"log2_data": log2_data, "log2_kernel": 3},
        seed=2,
        launches=[*steps * 2, "modulateKernel", *steps],
        arrays=["kernel", "data"],
        results=convolved,
        rel=1e-3,
        abs=1e-3,
    )


def launches_of_the_samples_size() -> None:
    start = Start("fast_walsh_transform", {"log2_data": 21})
    launches = list(start.application().launches())
    shapes = [(one.name, one.blocks, one.threads_per_block) for one in launches[:6]]
    assert shapes == [("fwtBatch2Kernel", 2048, 256)] * 5 + [("fwtBatch1Kernel", 1024, 512)]
    assert [one.name for one in launches].count("fwtBatch1Kernel") == 3
    assert (launches[5].shared_bytes, launches[0].registers_per_thread) == (8192, 20)
    assert (launches[12].name, launches[12].blocks) == ("modulateKernel", 128)


def four_accesses_a_stride_apart() -> list[Operation]:
    lanes = [256 + 64 + lane for lane in LANES]
    places = [[lane + step * 2048 for lane in lanes] for step in range(4)]
    loads, stores = ([op("data", place) for place in places] for op in (load, store))
    return [compute(31), *loads, WAIT, compute(13), *stores]


def bank_conflicts(points: int) -> Warp:
    """Of the steps in shared memory."""
    lanes, stride = np.arange(32), points // 4
    expected = [1] * 4  # where the loaded values are put
    while stride > 0:
        banks = (4 * (lanes - lanes % stride) + lanes % stride) % 32
        expected += [int(np.bincount(banks).max())] * 8  # four read, four written
        stride //= 4
    expected += [2] * 8 if points == 2048 else []  # a radix-2 step: neighbours, two words a lane

    def check(operations: list[Operation]) -> None:
        assert [one[1] for one in operations if one[0] == "SHARED"] == [*expected, *[1] * 4]

    return Warp(
        "fast_walsh_transform",
        {"log2_data": 11 if points == 2048 else 12},
        launch=0 if points == 2048 else 1,
        geometry=("fwtBatch1Kernel", 1 if points == 2048 else 4, points // 4, 15, 4 * points),
        operations=check,
    )


def modulated(operations: list[Operation]) -> None:
    places = list(range(256 + 32, 256 + 64))
    accesses = [one for one in operations if one[0] in ("LOAD", "STORE")]
    assert accesses == [load("data", places), load("kernel", places), store("data", places)]


# -- histogram256 ----------------------------------------------------------------------------------


def counted(before: Arrays) -> Arrays:
    expected = np.bincount(before["data"].view(np.uint8), minlength=256)
    assert expected.sum() == 4 * before["data"].size
    return {"histogram": expected}


def strides_through_the_words(operations: list[Operation]) -> None:
    for turn in range(2):
        start = 3 * 192 + 32 + turn * 240 * 192
        found = operations[10 + 7 * turn : 17 + 7 * turn]
        words = load("data", [start + lane for lane in LANES])
        assert found == [words, WAIT, compute(10), *[shared()] * 4]


def a_bin_of_all_blocks(operations: list[Operation]) -> None:
    assert operations[1] == load("partial", [256 * block + 7 for block in range(224, 240)])


# -- scalar_prod -----------------------------------------------------------------------------------


def products(vectors: int, elements: int) -> Run:
    def results(before: Arrays) -> Arrays:
        a, b = (before[name].reshape(vectors, -1).astype(float) for name in "AB")
        return {"C": (a * b).sum(axis=1)}

    return Run(
        "scalar_prod",
        {"vectors": vectors, "elements": elements},
        seed=3,
        launches=["scalarProdGPU"],
        arrays=["A", "B", "C"],
        results=results,
    )


def pairs_of_a_block(block: int, warp: int, vectors: list[int]) -> Warp:
    def check(operations: list[Operation]) -> None:
        assert [op for op in operations if op[0] == "STORE"] == [store("C", [v]) for v in vectors]

    return Warp(
        "scalar_prod",
        {"vectors": 200},
        block=block,
        warp=warp,
        geometry=("scalarProdGPU", 128, 256, 30, 4096),
        operations=check,
    )


def four_accumulators_of_four_products(operations: list[Operation]) -> None:
    expected = [compute(8)]
    for accumulator in range(4):
        for step in range(4):
            start = 2 * 4096 + 256 * accumulator + 1024 * step + 32
            places = [start + lane for lane in LANES]
            expected += [load("A", places), load("B", places)]
        expected += [WAIT, compute(4 + 7), shared()]
    assert operations[: len(expected)] == expected
    tree = [op[0] for op in operations[len(expected) :]]
    add = ["SHARED", "SHARED", "COMPUTE", "SHARED"]
    both = ["BARRIER", *add]
    assert tree == [*both, *add, *both * 3, *["BARRIER"] * 6], "512, 256, 128, 64, then others"


RUNS = [
    *(
        Run(
            "black_scholes",
            {"options": count, "iterations": 2},
            seed=3,
            launches=["BlackScholesGPU"] * 2,
            arrays=dict.fromkeys(
                ("CallResult", "PutResult", "StockPrice", "OptionStrike", "OptionYears"), 4 * count
            ),
            results=prices,
            rel=1e-4,
            abs=1e-4,
        )
        for count in (1, 3000, OPTIONS + 77)
    ),
    *map(walsh, (11, 12, 13)),
    *(
        Run(
            "histogram256",
            {"words": words},
            seed=3,
            launches=["histogram256Kernel", "mergeHistogram256Kernel"],
            arrays=["data", "partial", "histogram"],
            results=counted,
        )
        for words in (1000, 50_001)
    ),
    *(products(*sizes) for sizes in ((3, 4096), (131, 1024), (2, 700), (2, 5200))),
]

WARPS = [
    # block 2, warp 1: two options each, three in its first 12 lanes
    priced(2, 1, options([288, OPTIONS + 288, 2 * OPTIONS + 288], last_lanes=12)),
    priced(479, 3, options([OPTIONS - 32, 2 * OPTIONS - 32])),
    Warp(
        "fast_walsh_transform",
        {"log2_data": 13},
        block=1,
        warp=2,
        geometry=("fwtBatch2Kernel", 8, 256, 20, 0),
        operations=four_accesses_a_stride_apart(),
    ),
    bank_conflicts(2048),
    bank_conflicts(1024),
    Warp(
        "fast_walsh_transform",
        {"log2_data": 11},
        launch=2,
        block=1,
        warp=1,
        geometry=("modulateKernel", 128, 256, 22, 0),
        operations=modulated,
    ),
    Warp(
        "histogram256",
        {"words": 2 * 240 * 192},
        block=3,
        warp=1,
        geometry=("histogram256Kernel", 240, 192, 16, 6144),
        operations=strides_through_the_words,
    ),
    Warp(
        "histogram256",
        {"words": 1000},
        launch=1,
        block=7,
        warp=7,
        geometry=("mergeHistogram256Kernel", 256, 256, 10, 1024),
        operations=a_bin_of_all_blocks,
    ),
    pairs_of_a_block(5, 0, [5, 133]),
    pairs_of_a_block(100, 0, [100]),
    pairs_of_a_block(100, 7, []),
    Warp(
        "scalar_prod",
        {"vectors": 128},
        block=2,
        warp=1,
        operations=four_accumulators_of_four_products,
    ),
]

CHECKS = [launches_of_the_samples_size]

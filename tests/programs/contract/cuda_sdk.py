"""CUDA SDK 4.2: what its programs compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.ndimage
from scipy.stats import norm

from gpusim.hardware.sm.coalescer import coalesce
from gpusim.programs.cuda_sdk.convolution_separable import PASSES
from gpusim.programs.cuda_sdk.fdtd3d import PADDING
from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
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
    "convolution_separable": {"width": 384},
    "fast_walsh_transform": {},
    "fdtd3d": {},
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
        program="black_scholes",
        parameters={"options": 2 * OPTIONS + 300, "iterations": 1},
        block=block,
        warp=warp,
        geometry=("BlackScholesGPU", 480, 128, 32, 0),
        operations=operations,
    )


# -- convolution_separable -------------------------------------------------------------------------

WIDTH = 3072


def filtered(before: Arrays, width: int) -> Arrays:
    image = before["Input"].reshape(-1, width).astype(float)
    assert set(image.ravel()) == set(range(16))
    taps = np.random.default_rng(6).integers(16, size=17)
    assert len(set(taps)) > 4
    rows = scipy.ndimage.convolve1d(image, taps, axis=1, mode="constant")
    both = scipy.ndimage.convolve1d(rows, taps, axis=0, mode="constant")
    return {"Buffer": rows.ravel(), "Output": both.ravel()}


def separable(width: int, height: int) -> Run:
    return Run(
        program="convolution_separable",
        parameters={"width": width, "height": height, "iterations": 2},
        seed=6,
        launches=["convolutionRowsKernel", "convolutionColumnsKernel"] * 2,
        arrays=dict.fromkeys(("Input", "Output", "Buffer"), 4 * width * height),
        results=lambda before: filtered(before, width),
        rel=0,
    )


def two_rows(row: int, column: int) -> list[int]:
    """Elements of 16 threads in a row and 16 in the next."""
    return [WIDTH * (row + y) + column + x for y in (0, 1) for x in range(16)]


def filtering(source: str, result: str, loads: list[list[int]]) -> list[Operation]:
    """What a warp does; the first eight loads tell where it stores."""
    found = [compute(8), *(load(source, lanes) for lanes in loads)]
    found += [WAIT, *[shared(2)] * 10, BARRIER]
    for lanes in loads[:8]:
        found += [*[shared(2)] * 17, compute(17), store(result, lanes)]
    return found


def row_filter(bx: int, halos: list[int]) -> Warp:
    columns = [128 * bx - 16 + 16 * segment for segment in [*range(1, 9), *halos]]
    loads = [two_rows(4 * 3 + 2, column) for column in columns]
    return Warp(
        program="convolution_separable",
        parameters={"width": WIDTH, "height": 64, "iterations": 1},
        block=bx + 24 * 3,
        warp=1,
        geometry=("convolutionRowsKernel", 24 * 16, 64, 31, 2560),
        operations=filtering("Input", "Buffer", loads),
    )


def column_filter(by: int, halos: list[int]) -> Warp:
    rows = [64 * by - 8 + 8 * segment + 2 * 3 for segment in [*range(1, 9), *halos]]
    loads = [two_rows(row, 16 * 7) for row in rows]
    pages = {place * 4 // 4096 for lanes in loads for place in lanes}
    assert len(pages) == 2 * len(rows), "rows of 12 KiB: a page for each row"
    return Warp(
        program="convolution_separable",
        parameters={"width": WIDTH, "height": 192, "iterations": 1},
        launch=1,
        block=7 + 192 * by,
        warp=3,
        geometry=("convolutionColumnsKernel", 192 * 3, 128, 32, 5184),
        operations=filtering("Buffer", "Output", loads),
    )


def either_filter_has_two_transactions_an_access() -> None:
    sizes = {"width": 256, "height": 64, "iterations": 1}
    program = Start(program="convolution_separable", parameters=sizes).application()
    for launch in program.launches():
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, 32):
                for segment in coalesce(chunk, 128):
                    accesses = zip(segment.kinds, segment.args, strict=True)
                    assert {count for kind, count in accesses if kind in (1, 2)} == {2}


def words_of_either_filter_share_banks_in_pairs() -> None:
    x, y = np.tile(np.arange(16), 2), np.repeat([0, 1], 16)
    for words in (160 * y + x, 81 * x + y):  # the shared memory of either filter
        assert np.bincount(words % 32).max() == PASSES


# -- fast_walsh_transform --------------------------------------------------------------------------


def convolved(before: Arrays) -> Arrays:
    data, kernel = before["data"].astype(float), before["kernel"][:8].astype(float)
    place = np.arange(len(data))
    return {"data": sum(kernel[j] * data[place ^ j] for j in range(8))}


def walsh(log2_data: int) -> Run:
    steps = ["fwtBatch2Kernel", "fwtBatch1Kernel"] if log2_data > 11 else ["fwtBatch1Kernel"]
    return Run(
        program="fast_walsh_transform",
        parameters={"log2_data": log2_data, "log2_kernel": 3},
        seed=2,
        launches=[*steps * 2, "modulateKernel", *steps],
        arrays=["kernel", "data"],
        results=convolved,
        rel=1e-3,
        abs=1e-3,
    )


def launches_of_the_samples_size() -> None:
    start = Start(program="fast_walsh_transform", parameters={"log2_data": 21})
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
        program="fast_walsh_transform",
        parameters={"log2_data": 11 if points == 2048 else 12},
        launch=0 if points == 2048 else 1,
        geometry=("fwtBatch1Kernel", 1 if points == 2048 else 4, points // 4, 15, 4 * points),
        operations=check,
    )


def modulated(operations: list[Operation]) -> None:
    places = list(range(256 + 32, 256 + 64))
    accesses = [one for one in operations if one[0] in ("LOAD", "STORE")]
    assert accesses == [load("data", places), load("kernel", places), store("data", places)]


# -- fdtd3d ----------------------------------------------------------------------------------------


def time_step(old: np.ndarray, halo: np.ndarray) -> np.ndarray:
    """One time step of the inner part; the halo of the written volume stays."""
    inner = (slice(4, -4),) * 3
    total = 0.1 * old[inner]
    for axis in range(3):
        for distance in range(1, 5):
            for signed in (-distance, distance):
                total = total + 0.1 * np.roll(old, signed, axis)[inner]
    new = halo.copy()
    new[inner] = total
    return new


def two_time_steps(width: int, height: int, depth: int) -> Run:
    outer = (depth + 8, height + 8, width + 8)

    def results(before: Arrays) -> Arrays:
        assert np.array_equal(before["in"], before["out"])
        start = before["in"][PADDING:].reshape(outer).astype(float)
        end = time_step(time_step(start, start), start)
        return {"in": np.concatenate((before["in"][:PADDING], end.ravel()))}

    return Run(
        program="fdtd3d",
        parameters={"width": width, "height": height, "depth": depth, "steps": 2},
        seed=1,
        launches=["FiniteDifferencesKernel"] * 2,
        arrays=["in", "out"],
        results=results,
        rel=1e-4,
    )


def a_row_marches_over_planes(operations: list[Operation]) -> None:
    pitch, plane = 384, 384 * 384
    first = PADDING + (18 + 4) * pitch + 32 + 4  # x from 32, y = 16 + 2
    lanes = [first + lane for lane in LANES]
    loads = [places for kind, _, places in operations if kind == "LOAD"]
    assert loads[:9] == [[lane + z * plane for lane in lanes] for z in range(9)]
    here = [lane + 4 * plane for lane in lanes]
    assert loads[9] == [lane - 4 * pitch for lane in here], "halo row before"
    assert loads[10] == [lane + 16 * pitch for lane in here], "halo row behind"
    assert loads[11] == [lane - 4 for lane in here[:4]], "halo columns"
    assert loads[12] == [lane + 32 for lane in here[:4]]
    stores = [places for kind, _, places in operations if kind == "STORE"]
    assert stores == [here, [lane + plane for lane in here]]
    assert (4 * first - 4 * 32) % 128 == 0, "rows of the inner part begin at a line"
    assert [kind for kind, _, _ in operations].count("BARRIER") == 4


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
        program="scalar_prod",
        parameters={"vectors": vectors, "elements": elements},
        seed=3,
        launches=["scalarProdGPU"],
        arrays=["A", "B", "C"],
        results=results,
    )


def pairs_of_a_block(block: int, warp: int, vectors: list[int]) -> Warp:
    def check(operations: list[Operation]) -> None:
        assert [op for op in operations if op[0] == "STORE"] == [store("C", [v]) for v in vectors]

    return Warp(
        program="scalar_prod",
        parameters={"vectors": 200},
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
            program="black_scholes",
            parameters={"options": count, "iterations": 2},
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
    *(separable(*sizes) for sizes in ((128, 64), (256, 128), (384, 192))),
    *map(walsh, (11, 12, 13)),
    *(two_time_steps(*sizes) for sizes in ((40, 20, 5), (32, 16, 1), (7, 3, 2))),
    *(
        Run(
            program="histogram256",
            parameters={"words": words},
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
    *(row_filter(bx, halos) for bx, halos in ((0, [9]), (5, [0, 9]), (23, [0]))),
    *(column_filter(by, halos) for by, halos in ((0, [9]), (1, [0, 9]), (2, [0]))),
    Warp(
        program="fast_walsh_transform",
        parameters={"log2_data": 13},
        block=1,
        warp=2,
        geometry=("fwtBatch2Kernel", 8, 256, 20, 0),
        operations=four_accesses_a_stride_apart(),
    ),
    bank_conflicts(2048),
    bank_conflicts(1024),
    Warp(
        program="fast_walsh_transform",
        parameters={"log2_data": 11},
        launch=2,
        block=1,
        warp=1,
        geometry=("modulateKernel", 128, 256, 22, 0),
        operations=modulated,
    ),
    Warp(
        program="fdtd3d",
        parameters={"depth": 2, "steps": 1},
        block=12 + 1,
        warp=2,
        geometry=("FiniteDifferencesKernel", 12 * 24, 512, 40, 4 * 40 * 24),
        operations=a_row_marches_over_planes,
    ),
    Warp(
        program="histogram256",
        parameters={"words": 2 * 240 * 192},
        block=3,
        warp=1,
        geometry=("histogram256Kernel", 240, 192, 16, 6144),
        operations=strides_through_the_words,
    ),
    Warp(
        program="histogram256",
        parameters={"words": 1000},
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
        program="scalar_prod",
        parameters={"vectors": 128},
        block=2,
        warp=1,
        operations=four_accumulators_of_four_products,
    ),
]

REFUSED = [
    Refused(program="convolution_separable", parameters=sizes, message=f"{name} must be a multiple")
    for name, sizes in (
        ("'width'", {"width": 200, "height": 64}),
        ("'height'", {"width": 128, "height": 96}),
    )
]

CHECKS: list[Any] = [
    either_filter_has_two_transactions_an_access,
    words_of_either_filter_share_banks_in_pairs,
    launches_of_the_samples_size,
]

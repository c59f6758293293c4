"""CUDA SDK 4.2, images and volumes: what its programs compute, and what their warps do."""

from __future__ import annotations

import numpy as np
import scipy.ndimage

from gpusim.hardware.sm.coalescer import Coalescing, coalesce
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

IN_STEP: dict[str, dict[str, object]] = {"convolution_separable": {"width": 384}, "fdtd3d": {}}

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
        "convolution_separable",
        {"width": width, "height": height, "iterations": 2},
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
        "convolution_separable",
        {"width": WIDTH, "height": 64, "iterations": 1},
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
        "convolution_separable",
        {"width": WIDTH, "height": 192, "iterations": 1},
        launch=1,
        block=7 + 192 * by,
        warp=3,
        geometry=("convolutionColumnsKernel", 192 * 3, 128, 32, 5184),
        operations=filtering("Buffer", "Output", loads),
    )


def either_filter_has_two_transactions_an_access() -> None:
    sizes = {"width": 256, "height": 64, "iterations": 1}
    program = Start("convolution_separable", sizes).application()
    for launch in program.launches():
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, 32):
                for segment in coalesce(chunk, Coalescing(128)):
                    accesses = zip(segment.kinds, segment.args, strict=True)
                    assert {count for kind, count in accesses if kind in (1, 2)} == {2}


def words_of_either_filter_share_banks_in_pairs() -> None:
    x, y = np.tile(np.arange(16), 2), np.repeat([0, 1], 16)
    for words in (160 * y + x, 81 * x + y):  # the shared memory of either filter
        assert np.bincount(words % 32).max() == PASSES


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
        "fdtd3d",
        {"width": width, "height": height, "depth": depth, "steps": 2},
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


RUNS = [
    *(separable(*sizes) for sizes in ((128, 64), (256, 128), (384, 192))),
    *(two_time_steps(*sizes) for sizes in ((40, 20, 5), (32, 16, 1), (7, 3, 2))),
]

WARPS = [
    *(row_filter(bx, halos) for bx, halos in ((0, [9]), (5, [0, 9]), (23, [0]))),
    *(column_filter(by, halos) for by, halos in ((0, [9]), (1, [0, 9]), (2, [0]))),
    Warp(
        "fdtd3d",
        {"depth": 2, "steps": 1},
        block=12 + 1,
        warp=2,
        geometry=("FiniteDifferencesKernel", 12 * 24, 512, 40, 4 * 40 * 24),
        operations=a_row_marches_over_planes,
    ),
]

REFUSED = [
    Refused("convolution_separable", sizes, message=f"{name} must be a multiple")
    for name, sizes in (
        ("'width'", {"width": 200, "height": 64}),
        ("'height'", {"width": 128, "height": 96}),
    )
]

CHECKS = [either_filter_has_two_transactions_an_access, words_of_either_filter_share_banks_in_pairs]

"""Parboil: what its programs compute, and what their warps do."""

from __future__ import annotations

import numpy as np

from gpusim.programs.parboil.histo import BINS, WORDS
from gpusim.programs.parboil.sad import BEFORE, COUNT, PADDED, WINDOW
from tests.programs.contract.entries import (
    LANES,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {
    "histo": {"width": 800, "height": 200},
    "mm": {},
    "sad": {"width": 32},
}

# -- histo -----------------------------------------------------------------------------------------

HISTO = [f"histo_{name}_kernel" for name in ("prescan", "intermediates", "main", "final")]


def counted(before: Arrays) -> Arrays:
    """A saturated count of each bin, four a word."""
    counts = np.minimum(np.bincount(before["image"], minlength=BINS), 255)
    return {"result": counts.astype(np.uint8).view(np.uint32)}


def histogram(width: int, height: int) -> Run:
    def put_one_aside(arrays: Arrays) -> None:
        arrays["image"][width * height // 64 - 1] = 3  # not in the sample of its part

    def odd_one_overflows(bounds: np.ndarray) -> None:
        low, high = BINS - 1 - int(bounds[1]), int(bounds[0])
        assert 24576 < low < BINS / 2 < high

    return Run(
        "histo",
        {"width": width, "height": height, "repetitions": 1},
        seed=6,
        edit=put_one_aside,
        launches=HISTO,
        arrays=["image", "places", "bounds", "counts", "overflow", "result"],
        results=lambda before: {**counted(before), "bounds": odd_one_overflows},
    )


def one_bin_for_all(arrays: Arrays) -> None:
    arrays["image"][:] = 500_000


def cut_at_255(before: Arrays) -> Arrays:
    expected = np.zeros(BINS, dtype=np.uint8)
    expected[500_000] = 255
    return {"result": expected.view(np.uint32)}


def pairs_of_pixels(operations: list[Operation]) -> None:
    pairs = [32 * 498 + 32 + lane for lane in LANES]
    assert [one for one in operations if one[2]][:3] == [
        load("image", pairs),
        store("places", [32 * 996 + 32 + lane for lane in LANES]),
        store("places", [32 * 996 + 498 + 32 + lane for lane in LANES]),
    ]


def counts_of_14_blocks(operations: list[Operation]) -> None:
    loads = [one[2] for one in operations if one[:2] == ("LOAD", "counts")]
    assert [lanes[0] for lanes in loads[:14]] == [block * WORDS for block in range(14)]


def full_size(launch: int, blocks: int, threads: int, needs: tuple[int, int]) -> Warp:
    """A kernel of the suite's input."""
    return Warp(
        "histo",
        {"repetitions": 1},
        launch=launch,
        block=2 if launch == 1 else 0,
        warp=1 if launch == 1 else 0,
        geometry=(HISTO[launch], blocks, threads, *needs),
        operations={1: pairs_of_pixels, 3: counts_of_14_blocks}.get(launch),
    )


# -- mm --------------------------------------------------------------------------------------------


def product(m: int, n: int, k: int) -> Run:
    def results(before: Arrays) -> Arrays:
        a = before["A"].reshape(k, m).T.astype(float)
        b = before["B"].reshape(k, n).T.astype(float)
        return {"C": (a @ b.T).T.ravel()}

    return Run(
        "mm",
        {"m": m, "n": n, "k": k},
        seed=1,
        launches=["mysgemmNT"],
        arrays=["A", "B", "C"],
        results=results,
    )


def tiles(operations: list[Operation]) -> None:
    """Of block (1, 1), warp 2."""
    memory = [one for one in operations if one[2]]
    rows = [128 + 64 + lane for lane in LANES]
    b_row = [16 + lane for lane in range(16)]
    assert memory[0] == load("B", [x + row * 32 for row in (4, 5) for x in b_row])
    assert memory[1:9] == [load("A", [row + j * 256 for row in rows]) for j in range(8)]
    assert memory[9][:2] == ("LOAD", "B")
    last = [row + (16 + 15) * 256 for row in rows]
    assert memory[-2:] == [load("C", last), store("C", last)]
    assert len(memory) == 2 * 9 + 32
    assert [kind for kind, _, _ in operations].count("BARRIER") == 4


# -- sad -------------------------------------------------------------------------------------------

BLOCKS = [
    ("4x4", 0, 0, 0),
    ("4x4", 6, 4, 8),
    ("4x4", 15, 12, 12),
    ("8x8", 3, 8, 8),
    ("8x4", 2, 0, 8),
    ("8x4", 3, 4, 8),
    ("4x8", 4, 8, 0),
    ("4x8", 5, 8, 4),
    ("16x8", 1, 8, 0),
    ("8x16", 1, 0, 8),
    ("16x16", 0, 0, 0),
]
"""Shape, number among those of its shape, row and column in a macroblock."""


def differences(before: Arrays) -> dict[str, object]:
    """The sums of blocks of the second of two macroblocks, at all positions, borders clamped."""
    frame, other = (before[name].reshape(16, 32).astype(int) for name in ("frame", "reference"))
    padded = np.pad(other, 16, mode="edge")
    shifts = [(dy, dx) for dy in range(WINDOW) for dx in range(WINDOW)]

    def check(sums: np.ndarray) -> None:
        for shape, index, y, x in BLOCKS:
            width, height = map(int, shape.split("x"))
            block = frame[y : y + height, 16 + x : 16 + x + width]
            expected = [
                np.abs(
                    padded[y + dy : y + dy + height, 16 + x + dx : 16 + x + dx + width] - block
                ).sum()
                for dy, dx in shifts
            ]
            first = (BEFORE[shape] * 2 + COUNT[shape] + index) * PADDED
            assert sums[first : first + len(shifts)].tolist() == expected, (shape, index)

    return {"sums": check}


def small_blocks(operations: list[Operation]) -> None:
    stores = [lanes for kind, _, lanes in operations if kind == "STORE"]
    assert len(stores) == 18
    assert set(np.diff(stores[0]).tolist()) == {18}, "36 bytes apart"
    loads = [(name, len(set(lanes))) for kind, name, lanes in operations if kind == "LOAD"]
    assert [name for name, _ in loads[:4]] == ["reference", "frame"] * 2
    assert len(loads) == 18 * 32
    assert loads[1][1] == 1, "the frame's pixel is the same for all lanes"


def joined_blocks(operations: list[Operation]) -> None:
    accesses = [kind for kind, _, lanes in operations if lanes]
    assert accesses == (["LOAD"] * 4 + ["STORE"] * 5) * 18
    assert np.diff(operations[1][2]).tolist() == [1] * 31
    assert len(operations[-1][2]) == 4, "the last position"


RUNS = [
    histogram(64, 40),
    histogram(200, 300),
    Run(
        "histo",
        {"width": 200, "height": 100, "repetitions": 2},
        edit=one_bin_for_all,
        launches=HISTO * 2,
        results=cut_at_255,
    ),
    product(128, 16, 8),
    product(256, 48, 40),
    Run(
        "sad",
        {"width": 32, "height": 16},
        seed=3,
        launches=["mb_sad_calc", "larger_sad_calc_8", "larger_sad_calc_16"],
        arrays=["frame", "reference", "sums"],
        results=differences,
    ),
]

WARPS = [
    full_size(0, 64, 512, (24, 4096)),
    full_size(1, 65, 498, (20, 0)),
    full_size(2, 14 * 7, 1024, (20, 24576)),
    full_size(3, 42, 512, (24, 0)),
    Warp(
        "mm",
        {"m": 256, "n": 32, "k": 16},
        block=3,
        warp=2,
        geometry=("mysgemmNT", 4, 128, 44, 512),
        operations=tiles,
    ),
    Warp("sad", geometry=("mb_sad_calc", 44 * 36, 61, 24, 0), operations=small_blocks),
    Warp(
        "sad",
        {"width": 96, "height": 16},
        launch=1,
        block=5,
        warp=2,
        geometry=("larger_sad_calc_8", 6, 128, 20, 0),
        operations=joined_blocks,
    ),
    Warp(
        "sad",
        {"width": 96, "height": 16},
        launch=2,
        geometry=("larger_sad_calc_16", 6, 32, 20, 0),
        operations=joined_blocks,
    ),
]

REFUSED = [
    Refused("mm", {"n": 20}, message="'n' must be a multiple of 16: 20"),
    Refused("sad", {"height": 100}, message="'height' must be a multiple of 16"),
    Refused("histo", {"width": 65}, message="'width' must be a multiple of 2"),
]

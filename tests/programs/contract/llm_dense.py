"""Products with split sums and an optimizer's step: each number is asked for once."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tests.programs.contract.entries import (
    WAIT,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    nth_launch,
    operations_of,
)

GEMM = {"m": 128, "n": 192, "k": 192, "splits": 3}

IN_STEP: dict[str, dict[str, object]] = {
    "adam_step": {"numbers": 2 * 65536 + 600},
    "splitk_gemm": {},
}


def a_tile_asks_for_its_rows_of_a_part() -> None:
    """Tile (1, 2) of the last third; what all parts store is the whole of C three times."""
    start = Start("splitk_gemm", GEMM)
    program = start.application()
    launch = nth_launch(program, 0)
    block = 2 + 3 * (1 + 2 * 2)
    warps = [operations_of(launch, program, block, warp) for warp in range(4)]
    found = list(chain.from_iterable(warps))
    a = np.arange(128 * 24).reshape(128, 24)[64:, 16:]
    b = np.arange(192 * 24).reshape(192, 24)[128:, 16:]
    partial = np.arange(3 * 128 * 48).reshape(3, 128, 48)[2, 64:, 32:]
    for name, expected in (("A", a), ("B", b), ("partial", partial)):
        lanes = sorted(one for _, array, own in found if array == name for one in own)
        assert lanes == expected.ravel().tolist()


def four_loaded_and_three_stored(found: list[Operation]) -> None:
    """The second thread block's last warp, whose piece ends within its first turn."""
    place = list(range(16384 + 64, 16384 + 90))
    accesses = [one for one in found if one[0] in ("LOAD", "STORE", "WAIT")]
    assert accesses == [
        *(("LOAD", name, place) for name in ("parameters", "gradients", "means", "squares")),
        WAIT,
        *(("STORE", name, place) for name in ("parameters", "means", "squares")),
    ]


def parts_of_four_numbers(found: list[Operation]) -> None:
    place = list(range(128 + 32, 128 + 64))
    assert [one for one in found if one[0] in ("LOAD", "STORE")] == [
        *(("LOAD", "partial", [split * 6144 + one for one in place]) for split in range(3)),
        ("STORE", "C", place),
    ]


RUNS = [
    Run(
        "adam_step",
        {"numbers": 65536 + 360},
        launches=["fused_adam"],
        arrays=dict.fromkeys(("parameters", "gradients", "means", "squares"), 4 * 65896),
    ),
    Run(
        "splitk_gemm",
        GEMM,
        launches=["gemm_splitk", "reduce_splitk"],
        arrays={
            "A": 128 * 192 * 2,
            "B": 192 * 192 * 2,
            "partial": 3 * 128 * 192 * 4,
            "C": 128 * 192 * 2,
        },
    ),
]

WARPS = [
    Warp(
        "adam_step",
        {"numbers": 65536 + 360},
        block=1,
        warp=2,
        geometry=("fused_adam", 2, 512, 32, 0),
        operations=four_loaded_and_three_stored,
    ),
    Warp("splitk_gemm", GEMM, geometry=("gemm_splitk", 18, 128, 96, 16384)),
    Warp(
        "splitk_gemm",
        {**GEMM, "tile": 128, "n": 256},
        geometry=("gemm_splitk", 6, 128, 192, 32768),
    ),
    Warp(
        "splitk_gemm",
        GEMM,
        launch=1,
        block=1,
        warp=1,
        geometry=("reduce_splitk", 48, 128, 32, 0),
        operations=parts_of_four_numbers,
    ),
]

REFUSED = [
    Refused("splitk_gemm", {"k": 100}, message="'k' must be a multiple of 128"),
    Refused("splitk_gemm", {"m": 96}, message="'m' must be a multiple of tile = 64"),
    Refused("adam_step", {"numbers": 7}, message="'numbers' must be a multiple of 4"),
]

CHECKS = [a_tile_asks_for_its_rows_of_a_part]

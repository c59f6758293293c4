"""DNN-Mark: what its programs compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from gpusim.programs.dnn_mark.conv import ConvParameters
from tests.programs.contract.entries import (
    BARRIER,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"conv": {}, "relu": {"length": 1000}}


def layer(**parameters: int) -> Run:
    sizes = ConvParameters(**parameters)

    def results(before: Arrays) -> Arrays:
        images = before["input"].reshape(sizes.batch, sizes.channels, sizes.side, sizes.side)
        images = np.pad(images.astype(float), ((0, 0), (0, 0), *((sizes.padding,) * 2,) * 2))
        kernel = (sizes.kernel, sizes.kernel)
        filters = before["weights"].reshape(sizes.filters, sizes.channels, *kernel)
        bias = before["bias"].reshape(sizes.filters, sizes.outputs)
        assert (bias == bias[:, :1]).all()
        expected: list[NDArray[Any]] = [
            scipy.signal.correlate(image, weights, mode="valid")[0][
                :: sizes.stride, :: sizes.stride
            ]
            + bias[f, 0]
            for f, weights in enumerate(filters)
            for image in images
        ]
        return {"output": np.array(expected).ravel()}

    return Run(
        "conv",
        parameters,
        seed=1,
        launches=["im2col", "gemm"],
        arrays=["input", "weights", "bias", "columns", "output"],
        results=results,
        rel=0,
        abs=1e-4,
    )


def patches_become_columns() -> list[Operation]:
    """Outputs are 32 x 32 an image: block 141 has 8 positions of row 3 of the second image."""
    loads, stores = [], []
    for weight in range(12, 16):
        channel, row, column = weight // 9, weight % 9 // 3, weight % 3
        start = (2 + channel) * 34 * 34 + (3 + row) * 34 + column + 8
        loads += [start + lane for lane in range(8)]
        stores += [weight * 2048 + 1024 + 104 + lane for lane in range(8)]
    end = [compute(11), store("columns", stores), compute(1)]
    return [compute(202), load("input", loads), WAIT, *end]


def padding_is_not_loaded(operations: list[Operation]) -> None:
    (loads,) = (op[2] for op in operations if op[0] == "LOAD")
    assert loads == list(range(7)), "weight 3, but for column -1: the others are in row -1"
    (stores,) = (op[2] for op in operations if op[0] == "STORE")
    assert len(stores) == 32


def last_weight(operations: list[Operation]) -> None:
    (stores,) = (op[2] for op in operations if op[0] == "STORE")
    assert stores == [8 * 1024 + lane for lane in range(8)], "weight 8 is the last"


def tiles_of_the_product(operations: list[Operation]) -> None:
    """20 x 18 times 18 x 64; warp 1 of block 3 has rows 2 and 3."""
    row, column = 2, 48
    places = [(y, x) for y in (0, 1) for x in range(16)]
    mine = [64 * (row + y) + column + x for y, x in places]
    step = [WAIT, shared(), shared(), BARRIER, *[shared(), shared(), compute(1)] * 16, BARRIER]
    assert operations[1] == store("output", mine)
    assert operations[2 : 5 + len(step)] == [
        compute(8),
        load("weights", [18 * (row + y) + x for y, x in places]),
        load("columns", [64 * (2 + y) + column + x for y, x in places]),
        *step,
    ]
    second = operations[5 + len(step) : -4]
    weights = [18 * (row + y) + 16 + x for y in (0, 1) for x in (0, 1)]
    assert second[:2] == [compute(8), load("weights", weights)]
    assert second[2:] == step, "rows 18 and 19 of the columns do not exist"
    assert operations[-4:] == [load("bias", mine), WAIT, compute(1), store("output", mine)]


def rectified(length: int) -> Run:
    return Run(
        "relu",
        {"length": length},
        launches=["ReLUForward"],
        arrays=dict.fromkeys(("input", "output"), 4 * length),
        results=lambda before: {"output": before["input"].clip(min=0)},
    )


TWO_IMAGES = {"batch": 2, "channels": 2, "side": 34}
RUNS = [
    layer(),
    layer(batch=3, channels=2, side=11, filters=18),
    layer(batch=2, channels=3, side=12, filters=5, kernel=5, padding=2, stride=2),
    layer(side=12, filters=17),
    rectified(100),
    rectified(4096),
]
WARPS = [
    Warp(
        "conv",
        TWO_IMAGES,
        block=256 + 141,
        warp=1,
        geometry=("im2col", 256 * 3, 64, 32, 0),
        operations=patches_become_columns(),
    ),
    Warp("conv", TWO_IMAGES, block=2 * 256, warp=1, operations=[]),
    Warp("conv", {"side": 32, "padding": 1}, operations=padding_is_not_loaded),
    Warp("conv", {"side": 32, "padding": 1}, block=128, operations=last_weight),
    Warp(
        "conv",
        {"channels": 2, "side": 10, "filters": 20},
        launch=1,
        block=3,
        warp=1,
        geometry=("gemm", 4 * 2, 256, 28, 2048),
        operations=tiles_of_the_product,
    ),
    Warp(
        "relu",
        {"length": 100},
        block=1,
        warp=1,
        geometry=("ReLUForward", 2, 64, 5, 0),
        operations=[
            compute(18),
            load("input", range(96, 100)),
            WAIT,
            compute(6),
            store("output", range(96, 100)),
            compute(1),
        ],
    ),
]
REFUSED = [Refused("conv", {"side": 4, "kernel": 5}, message="from 1 to side = 4: 5")]

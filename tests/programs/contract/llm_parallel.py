"""Programs of several GPUs, on one and on more: their launches, copies and what these wait for."""

from __future__ import annotations

from tests.programs.contract.entries import Refused, Run, Start

STEP = {"rows": 64, "inputs": 64, "outputs": 128}
MLP = {"hidden": 64, "ffn": 256}

IN_STEP: dict[str, dict[str, object]] = {
    "data_parallel_step": dict(STEP),
    "tensor_parallel_mlp": dict(MLP),
}

PRODUCTS = ["gemm_splitk", "gemm_splitk"]
LAYER = ["gemm_splitk", "reduce_splitk", "gemm_splitk"]
THREE_ADD_UP = ["copy_add"] * 6 + ["copy"] * 6

RUNS = [
    Run(
        "data_parallel_step",
        STEP,
        launches=[*PRODUCTS, "fused_adam"],
        arrays={
            "rows_0": 64 * 64 * 2,
            "errors_0": 64 * 128 * 2,
            "weights_0": 64 * 128 * 2,
            "results_0": 64 * 128 * 4,
            **dict.fromkeys(("parameters_0", "gradients_0", "means_0", "squares_0"), 64 * 128 * 4),
        },
    ),
    Run(
        "data_parallel_step",
        {**STEP, "gpus": 3},
        launches=[*PRODUCTS * 3, *THREE_ADD_UP, *["fused_adam"] * 3],
    ),
    Run(
        "tensor_parallel_mlp",
        {**MLP, "gpus": 2, "layers": 2},
        launches=[*LAYER * 2, "copy_add", "copy_add", "copy", "copy", *["reduce_splitk"] * 2] * 2,
    ),
]

REFUSED = [
    Refused("tensor_parallel_mlp", {**MLP, "gpus": 3}, message="'ffn' must be a multiple of 192"),
    Refused("data_parallel_step", {**STEP, "rows": 32}, message="'rows' must be a multiple of 64"),
]


def gradients_go_round_and_are_waited_for() -> None:
    program = Start("data_parallel_step", {**STEP, "gpus": 3}).application()
    launches = list(program.launches())
    steps = [launch for launch in launches if launch.name == "fused_adam"]
    copies = [launch for launch in launches if launch.copy is not None]
    moved = sum(copy.bytes for launch in copies if (copy := launch.copy) is not None)
    assert moved == 3 * 4 * (64 * 128 * 4) // 3
    for gpu, step in enumerate(steps):
        use = step.stream_use
        assert use.gpu == gpu
        assert use.after == (copies[9 + (gpu - 1) % 3].stream_use,)


CHECKS = [gradients_go_round_and_are_waited_for]

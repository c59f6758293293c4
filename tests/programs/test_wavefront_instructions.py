"""Instructions of a wavefront of 64, as many as MGPUSim's traces have of the same kernels."""

import numpy as np
import pytest

from gpusim.core.warp_program import MEMORY_OPS, NO_INSTRUCTION, Application, Op
from gpusim.workloads.workload import load_workload
from tests.programs.drain import chunks

MATRIX = {"n": 512, "iterations": 512, "compiled_for": "gcn3"}
CONV = {"batch": 8, "channels": 8, "side": 28, "filters": 1}


def totals(application: Application) -> dict[str, tuple[int, int]]:
    """By kernel: instructions of all wavefronts, and those of them that access memory."""
    found: dict[str, tuple[int, int]] = {}
    for launch, chunk in chunks(application, 64):
        count = np.where(chunk.kind == int(Op.COMPUTE), chunk.arg, 1)
        count[np.isin(chunk.kind, [int(op) for op in NO_INSTRUCTION])] = 0
        memory = np.isin(chunk.kind, [int(op) for op in MEMORY_OPS])
        instructions, accesses = found.get(launch.name, (0, 0))
        found[launch.name] = (
            instructions + int((count[:, None] * chunk.active).sum()),
            accesses + int(chunk.active[memory].sum()),
        )
    return found


@pytest.mark.parametrize(
    ("workload", "parameters", "expected"),
    [
        ("atax", MATRIX, {"atax_kernel1": (53504, 8 * 1537), "atax_kernel2": (69848, 8 * 1537)}),
        ("matrix_transpose", {"n": 256}, {"matrixTranspose": (64 * 146, 64 * 8)}),
        pytest.param("conv", CONV, {"im2col": (1314144, 6084 * 2)}, marks=pytest.mark.long),
        ("stencil2d", {"rows": 64, "iterations": 1}, {"StencilKernel": (32 * 965, 32 * 70)}),
        ("nw", {"n": 128, "tile": 64}, {"needle_cuda_shared_1": (3 * 5285, 3 * 131)}),
        (
            "matrix_multiplication",
            {"inner": 256, "columns": 64},
            {"mmmKernel_local": (4 * 8898, 4 * 292)},
        ),
        ("vector_add", {}, {"vectoradd_float": (256 * 30, 256 * 3)}),
        (
            "hetero_mark_kmeans",
            {"points": 128, "features": 32},
            {
                "kmeans_kernel_swap": (2 * 657, 2 * 64),
                "kmeans_kernel_compute": (4 * 3152, 4 * 161),
            },
        ),
        ("fft", {"forward_only": True}, {"FFT512_device": (64 * 2083, 64 * 16)}),
    ],
)
def test_as_many_as_in_the_trace(
    workload: str, parameters: dict[str, object], expected: dict[str, tuple[int, int]]
) -> None:
    (spec,) = load_workload(workload, "smoke", 0, parameters).applications
    found = totals(spec.start())
    assert {name: found[name] for name in expected} == expected


def test_coefficients_of_fir_are_loads_here() -> None:
    (spec,) = load_workload("fir", "smoke", 0, {"launches": 2}).applications
    instructions, accesses = totals(spec.start())["fir_cuda"]
    wavefronts = 2 * 2048 // 64
    history = 2 * 15  # of the first wavefront of each launch: a load more for all taps but one
    assert instructions == 392 * wavefronts + history
    assert accesses == (2 * 16 + 1) * wavefronts + history


@pytest.mark.parametrize(("kernels", "expected"), [("rows", "1"), ("columns", "2")])
def test_one_of_the_kernels(kernels: str, expected: str) -> None:
    parameters = {"n": 64, "iterations": 2, "kernels": kernels, "compiled_for": "gcn3"}
    for workload in ("atax", "bicg"):
        (spec,) = load_workload(workload, "smoke", 0, parameters).applications
        assert [launch.name for launch in spec.start().launches()] == [
            f"{workload}_kernel{expected}"
        ]

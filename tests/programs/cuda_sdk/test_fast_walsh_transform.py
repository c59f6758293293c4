"""fast_walsh_transform: a dyadic convolution, and butterflies with strides."""

import numpy as np
import pytest

from gpusim.programs.cuda_sdk.fast_walsh_transform import FastWalshTransform, WalshParameters
from tests.programs.drain import drain, warp_operations


@pytest.mark.parametrize("log2_data", [11, 12, 13])
def test_dyadic_convolution(log2_data: int) -> None:
    program = FastWalshTransform(WalshParameters(log2_data=log2_data, log2_kernel=3), 2)
    data, kernel = program.data.data.astype(float), program.kernel.data[:8].astype(float)
    drain(program)
    place = np.arange(len(data))
    expected = sum(kernel[j] * data[place ^ j] for j in range(8))
    assert program.data.data == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_launches_of_the_samples_size() -> None:
    program = FastWalshTransform(WalshParameters(log2_data=21), 0)
    launches = list(program.launches())
    shapes = [(one.name, one.blocks, one.threads_per_block) for one in launches[:6]]
    assert shapes == [("fwtBatch2Kernel", 2048, 256)] * 5 + [("fwtBatch1Kernel", 1024, 512)]
    assert [one.name for one in launches].count("fwtBatch1Kernel") == 3
    assert (launches[5].shared_bytes, launches[0].registers_per_thread) == (8192, 20)
    assert (launches[12].name, launches[12].blocks) == ("modulateKernel", 128)


def test_four_coalesced_accesses_a_stride_apart() -> None:
    program = FastWalshTransform(WalshParameters(log2_data=13), 0)
    kernel = next(program.launches())
    found = warp_operations(kernel, program, block=1, warp=2)
    lanes = [256 + 64 + lane for lane in range(32)]
    strided = [[lane + step * 2048 for lane in lanes] for step in range(4)]
    assert [(kind, name) for kind, name, _ in found if kind == "COMPUTE"] == [
        ("COMPUTE", 31),
        ("COMPUTE", 13),
    ]
    assert [o[2] for o in found if o[0] == "LOAD"] == strided
    assert [o[2] for o in found if o[0] == "STORE"] == strided


@pytest.mark.parametrize(("log2_data", "points"), [(11, 2048), (12, 1024)])
def test_bank_conflicts_of_the_steps_in_shared_memory(log2_data: int, points: int) -> None:
    program = FastWalshTransform(WalshParameters(log2_data=log2_data), 0)
    kernel = next(one for one in program.launches() if one.name == "fwtBatch1Kernel")
    passes = [
        one[1] for one in warp_operations(kernel, program, block=0, warp=0) if one[0] == "SHARED"
    ]
    lanes = np.arange(32)
    expected = [1] * 4  # where the loaded values are put
    stride = points // 4
    while stride > 0:
        banks = (4 * (lanes - lanes % stride) + lanes % stride) % 32
        expected += [int(np.bincount(banks).max())] * 8  # four read, four written
        stride //= 4
    expected += [2] * 8 if points == 2048 else []  # a radix-2 step: neighbours, two words a lane
    assert passes == [*expected, *[1] * 4]


def test_modulation_reads_both_spectra_at_the_same_place() -> None:
    program = FastWalshTransform(WalshParameters(log2_data=11), 0)
    kernel = list(program.launches())[2]
    found = warp_operations(kernel, program, block=1, warp=1)
    places = list(range(256 + 32, 256 + 64))
    accesses = [one for one in found if one[0] in ("LOAD", "STORE")]
    assert accesses == [
        ("LOAD", "data", places),
        ("LOAD", "kernel", places),
        ("STORE", "data", places),
    ]

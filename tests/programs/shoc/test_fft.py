"""fft: its transforms, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.shoc.fft import Fft, FftParameters, grid_of
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run, run_backwards, run_forwards


def test_forward_and_backward() -> None:
    program = Fft(FftParameters(6, 1), 3)
    before = program.work.data.reshape(6, 512).copy()
    assert (before[:3] == before[3:]).all()
    assert np.abs(before.imag).max() > 0.9
    launches = program.launches()
    forward = next(launches)
    run(forward, range(6))
    expected = np.fft.fft(before.astype(complex))
    assert np.abs(program.work.data.reshape(6, 512) - expected).max() < 1e-4
    run(next(launches), range(6))
    assert np.abs(program.work.data.reshape(6, 512) - before).max() < 1e-6


def test_passes_and_the_comparison() -> None:
    program = Fft(FftParameters(4, 2), 0)
    assert drain(program) == ["FFT512_device", "IFFT512_device", "chk512_device"] * 2
    assert program.fail.data.tolist() == [0]
    check = nth_launch(program, 2)
    program.work.data[512 + 64 * 3 + 40] += 1
    assert not any(op[0] == "STORE" for op in warp_operations(check, program, block=0))
    assert warp_operations(check, program, block=1)[-1] == ("COMPUTE", 16, [])
    assert warp_operations(check, program, block=1, warp=1)[-1] == ("STORE", "chk", [0])
    assert program.fail.data.tolist() == [1]


@pytest.mark.parametrize(("number", "last"), [(0, 72), (1, 88)])
def test_a_transform_loads_a_page_and_stores_it_back(number: int, last: int) -> None:
    program = Fft(FftParameters(8, 1), 0)
    kernel = nth_launch(program, number)
    assert (kernel.blocks, kernel.threads_per_block) == (8, 64)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 2304)
    operations = warp_operations(kernel, program, block=3, warp=1)
    places = [[512 * 3 + 64 * m + 32 + lane for lane in range(32)] for m in range(8)]
    assert operations[:11] == [
        ("COMPUTE", 32, []),
        *[("LOAD", "work", place) for place in places],
        ("COMPUTE", 3, []),
        ("WAIT", 0, []),
    ]
    writes, reads = [("SHARED", 1, [])] * 8, [("SHARED", 2, [])] * 8
    bar = [("BARRIER", 0, [])]
    work = [("COMPUTE", 72 + 849, [])]
    assert operations[11:-10] == [
        *work,
        *writes,
        *bar,
        *reads,
        *bar,
        *writes,
        *bar,
        *reads,
        *bar,
        *work,
        *writes,
        *bar,
        *writes,
        *bar,
        *writes,
        *bar,
        *writes,
    ]
    assert operations[-10:] == [
        ("COMPUTE", last, []),
        *[("STORE", "work", place) for place in places],
        ("COMPUTE", 47, []),
    ]
    (chunk,) = kernel.run_block(3, 32)
    assert set(chunk.size.tolist()) == {8}
    assert len(np.unique(chunk.address // 4096)) == 1


def test_the_comparison_reads_both_halves() -> None:
    program = Fft(FftParameters(8, 1), 0)
    kernel = nth_launch(program, 2)
    assert kernel.blocks == 4
    loads = [op[2][0] for op in warp_operations(kernel, program, block=2) if op[0] == "LOAD"]
    first = [512 * 2 + 64 * m for m in range(8)]
    assert loads == first + [2048 + place for place in first]


def test_many_transforms_need_rows_of_blocks() -> None:
    assert grid_of(65535).grid == (65535, 1, 1)
    assert grid_of(262144).grid == (32768, 8, 1)
    with pytest.raises(ValueError, match="even, and beyond 65535"):
        FftParameters(65538 * 2 + 2)
    with pytest.raises(ValueError, match="even"):
        FftParameters(7)


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Fft(FftParameters(6, 2), 0), Fft(FftParameters(6, 2), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.work.data == other.work.data).all()

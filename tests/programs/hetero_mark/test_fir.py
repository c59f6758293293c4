"""fir: its result, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.hetero_mark.fir import Fir, FirParameters
from tests.programs.drain import warp_operations
from tests.programs.graph_inputs import nth_launch, run, run_backwards, run_forwards


@pytest.mark.parametrize("samples", [16, 100, 1024])
def test_filtered_signal(samples: int) -> None:
    program = Fir(FirParameters(samples, 3), 7)
    found = []
    for launch in program.launches():
        run(launch, range(launch.blocks)[::-1])
        found.append(program.result.data.copy())
    signal = program.host.ravel().astype(float)
    expected = np.convolve(signal, program.coefficients.data)[: 3 * samples]
    assert np.concatenate(found) == pytest.approx(expected, rel=1e-5)


def taps(first: int, start: int) -> list[tuple]:
    """Four taps of a warp that begins at sample `start`, beyond the history."""
    loads = []
    for tap in range(first, first + 4):
        loads.append(("LOAD", "coeff", [tap] * 32))
        loads.append(("LOAD", "input", [start - tap + lane for lane in range(32)]))
    return [("COMPUTE", 17, []), *loads, ("WAIT", 0, []), ("COMPUTE", 4, [])]


def test_a_warp_slides_over_the_signal() -> None:
    program = Fir(FirParameters(1024, 1), 0)
    names = ["input", "output", "coeff", "history"]
    assert [buffer.name for buffer in program.buffers] == names
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (16, 64)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (28, 0)
    start = 64 * 3 + 32
    assert warp_operations(kernel, program, block=3, warp=1) == [
        ("COMPUTE", 8, []),
        *taps(0, start), *taps(4, start), *taps(8, start), *taps(12, start),
        ("STORE", "output", [start + lane for lane in range(32)]),
    ]  # fmt: skip


def test_the_first_samples_need_the_history() -> None:
    program = Fir(FirParameters(1024, 2), 0)
    operations = warp_operations(nth_launch(program, 1), program)
    assert program.history.data.tolist() == program.host[0, -16:].tolist()
    history = [op[2] for op in operations if op[1] == "history"]
    assert history == [list(range(16 - tap, 16)) for tap in range(1, 16)]
    inputs = [op[2] for op in operations if op[1] == "input"]
    assert inputs == [list(range(32 - tap)) for tap in range(16)]


def test_threads_beyond_the_signal_do_nothing() -> None:
    program = Fir(FirParameters(72, 1), 0)
    kernel = nth_launch(program, 0)
    assert kernel.blocks == 2
    assert warp_operations(kernel, program, block=1, warp=1) == []
    stores = warp_operations(kernel, program, block=1)[-1]
    assert stores == ("STORE", "output", list(range(64, 72)))


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Fir(FirParameters(200, 2), 0), Fir(FirParameters(200, 2), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.result.data == other.result.data).all()

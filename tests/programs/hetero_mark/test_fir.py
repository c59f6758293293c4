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


def taps(start: int) -> list[tuple]:
    """The taps of a warp that begins at sample `start`, beyond the history."""
    found: list[tuple] = []
    for tap in range(16):
        found.append(("LOAD", "coeff", [tap] * 32))
        found.append(("LOAD", "input", [start - tap + lane for lane in range(32)]))
        found += [("WAIT", 0, []), ("COMPUTE", 21 if tap < 15 else 13, [])]
    return found


def test_a_warp_slides_over_the_signal() -> None:
    program = Fir(FirParameters(1024, 1), 0)
    names = ["input", "output", "coeff", "history"]
    assert [buffer.name for buffer in program.buffers] == names
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (4, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (28, 0)
    start = 256 * 3 + 32
    assert warp_operations(kernel, program, block=3, warp=1) == [
        ("COMPUTE", 30, []),
        *taps(start),
        ("STORE", "output", [start + lane for lane in range(32)]),
        ("COMPUTE", 1, []),
    ]


def test_the_first_samples_need_the_history() -> None:
    program = Fir(FirParameters(1024, 2), 0)
    operations = warp_operations(nth_launch(program, 1), program)
    assert program.history.data.tolist() == program.host[0, -16:].tolist()
    history = [op[2] for op in operations if op[1] == "history"]
    assert history == [list(range(16 - tap, 16)) for tap in range(1, 16)]
    inputs = [op[2] for op in operations if op[1] == "input"]
    assert inputs == [list(range(32 - tap)) for tap in range(16)]


def test_threads_beyond_the_signal_do_nothing() -> None:
    program = Fir(FirParameters(264, 1), 0)
    kernel = nth_launch(program, 0)
    assert kernel.blocks == 2
    assert warp_operations(kernel, program, block=1, warp=1) == []
    store = warp_operations(kernel, program, block=1)[-2]
    assert store == ("STORE", "output", list(range(256, 264)))


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Fir(FirParameters(200, 2), 0), Fir(FirParameters(200, 2), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.result.data == other.result.data).all()

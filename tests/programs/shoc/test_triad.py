"""triad: its result, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.shoc.triad import Triad, TriadParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run


def test_every_chunk_is_computed_in_its_set_of_arrays() -> None:
    program = Triad(TriadParameters(elements=1536, chunk=256), 2)
    host = program.host.copy()
    for number, launch in enumerate(program.launches()):
        run(launch, range(launch.blocks)[::-1])
        a, b, c = program.sets[number % 2]
        chunk = host[256 * number : 256 * (number + 1)]
        assert (a.data[:256] == chunk).all()
        assert (b.data[:256] == chunk).all()
        assert c.data[:256] == pytest.approx(2.75 * chunk)
        assert not c.data[256:].any()
    assert number == 5


def test_three_streams() -> None:
    program = Triad(TriadParameters(elements=4096, chunk=2048), 0)
    assert [buffer.name for buffer in program.buffers] == ["A0", "B0", "C0", "A1", "B1", "C1"]
    assert {buffer.bytes for buffer in program.buffers} == {16384}
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block) == (16, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (12, 0)
    mine = list(range(128 * 5 + 64, 128 * 5 + 96))
    assert warp_operations(kernel, program, block=5, warp=2) == [
        ("COMPUTE", 13, []),
        ("LOAD", "A1", mine),
        ("LOAD", "B1", mine),
        ("WAIT", 0, []),
        ("COMPUTE", 4, []),
        ("STORE", "C1", mine),
    ]


def test_a_second_run_is_the_same() -> None:
    program = Triad(TriadParameters(elements=512, chunk=128), 0)
    drain(program)
    first = program.sets[1][2].data.copy()
    assert len(drain(program)) == 4
    assert np.array_equal(program.sets[1][2].data, first)


@pytest.mark.parametrize("chunk", [384, 200, 2048])
def test_chunks_that_do_not_fit_are_refused(chunk: int) -> None:
    with pytest.raises(ValueError, match=f"divides elements = 1024: {chunk}"):
        TriadParameters(elements=1024, chunk=chunk)

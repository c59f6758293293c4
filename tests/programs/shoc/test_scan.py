"""scan: its running sum, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.shoc.scan import Scan, ScanParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


def floats(vectors: np.ndarray) -> np.ndarray:
    return vectors.view(np.float32)


@pytest.mark.parametrize("elements", [256, 300, 64 * 1024, 64 * 1024 + 4 * 77])
def test_running_sum(elements: int) -> None:
    program = Scan(ScanParameters(elements, 2), 0)
    assert (floats(program.source.data) == np.arange(elements) % 3).all()
    values = np.random.default_rng(1).integers(0, 9, elements).astype(np.float32)
    program.source.data = values.view(program.source.data.dtype)
    assert drain(program) == ["reduce", "scan_single_block", "bottom_scan"] * 2
    assert (floats(program.result.data) == np.cumsum(values)).all()


def test_geometry() -> None:
    program = Scan(ScanParameters(64 * 4096, 1), 0)
    assert [buffer.name for buffer in program.buffers] == ["idata", "odata", "block_sums"]
    kernels = list(program.launches())
    assert [kernel.blocks for kernel in kernels] == [64, 1, 64]
    assert [kernel.threads_per_block for kernel in kernels] == [256] * 3
    assert [kernel.registers_per_thread for kernel in kernels] == [31, 12, 26]
    assert [kernel.shared_bytes for kernel in kernels] == [1024, 2048, 2052]


def test_the_first_kernel_sums_up_regions_four_loads_at_a_time() -> None:
    program = Scan(ScanParameters(64 * 1280, 1), 0)
    operations = warp_operations(nth_launch(program, 0), program, block=3, warp=2)
    starts = [3 * 1280 + 64 + 256 * step for step in range(5)]
    # 16 bytes are an element of the buffer for the last kernel; here they are 4
    loads = [("LOAD", "idata", [start + lane for lane in range(32)]) for start in starts]
    adds = [("COMPUTE", 1, [])]
    assert operations[1:12] == [
        *loads[:4],
        ("WAIT", 0, []),
        ("COMPUTE", 5, []),
        *adds * 4,
        loads[4],
    ]


def test_the_last_kernel_moves_vectors_of_16_bytes() -> None:
    program = Scan(ScanParameters(64 * 2048, 1), 0)
    kernel = nth_launch(program, 2)
    (chunk,) = kernel.run_block(5, 32)
    assert chunk.size.tolist() == [4, 16, 16, 16, 16]
    vectors = chunk.address[1:, 2]
    assert (np.diff(vectors, axis=1) == 16).all(), "a warp reads 512 bytes in a row"
    first = program.source.base + 16 * (5 * 512 + 64)
    assert vectors[[0, 2], 0].tolist() == [first, first + 4096]
    out = program.result.base + 16 * (5 * 512 + 64)
    assert vectors[[1, 3], 0].tolist() == [out, out + 4096]
    operations = warp_operations(kernel, program, block=5, warp=2)
    step = ["LOAD", "WAIT", "COMPUTE", "SHARED", "SHARED", "BARRIER"]
    step += ["SHARED", "BARRIER", "SHARED", "COMPUTE", "SHARED", "BARRIER"] * 8
    step += ["SHARED", "SHARED", "COMPUTE", "STORE"]
    assert [op[0] for op in operations] == ["COMPUTE", *step * 2]
    leader = warp_operations(kernel, program, block=5)
    assert leader[1] == ("LOAD", "block_sums", [5])


def test_the_middle_kernel_has_64_sums() -> None:
    program = Scan(ScanParameters(64 * 1024, 1), 0)
    kernel = nth_launch(program, 1)
    operations = warp_operations(kernel, program, warp=1)
    assert operations[0] == ("COMPUTE", 8, [])
    assert operations[1] == ("LOAD", "block_sums", list(range(32, 64)))
    assert operations[-1] == ("STORE", "block_sums", list(range(32, 64)))
    assert all(op[0] not in {"LOAD", "STORE"} for op in warp_operations(kernel, program, warp=2))


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Scan(ScanParameters(64 * 600, 1), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (floats(one.result.data) == floats(other.result.data)).all()


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 4: 1026"):
        ScanParameters(1026)

"""histogram256: its counts, and what its warps do."""

import numpy as np

from gpusim.programs.cuda_sdk.histogram import Histogram256, HistogramParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


def test_every_byte_is_counted() -> None:
    program = Histogram256(HistogramParameters(50_001), 3)
    assert drain(program) == ["histogram256Kernel", "mergeHistogram256Kernel"]
    expected = np.bincount(program.data.data.view(np.uint8), minlength=256)
    assert program.total.data.tolist() == expected.tolist()
    assert program.total.data.sum() == 4 * 50_001


def test_blocks_stride_through_the_words() -> None:
    program = Histogram256(HistogramParameters(2 * 240 * 192), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (240, 192, 6144)
    operations = warp_operations(kernel, program, block=3, warp=1)
    first = 3 * 192 + 32
    turns = [operations[10 + 7 * turn : 17 + 7 * turn] for turn in range(2)]
    for turn, found in enumerate(turns):
        start = first + turn * 240 * 192
        assert found == [
            ("LOAD", "data", [start + lane for lane in range(32)]),
            ("WAIT", 0, []),
            ("COMPUTE", 10, []),
            *[("SHARED", 1, [])] * 4,
        ]


def test_merging_reads_a_bin_of_all_blocks() -> None:
    program = Histogram256(HistogramParameters(1000), 0)
    operations = warp_operations(nth_launch(program, 1), program, block=7, warp=7)
    assert operations[1] == ("LOAD", "partial", [256 * block + 7 for block in range(224, 240)])


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Histogram256(HistogramParameters(60_000), 1) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)

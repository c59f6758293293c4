"""histo: saturated counts, and four kernels' shapes."""

import numpy as np
import pytest

from gpusim.programs.parboil.histo import BINS, WORDS, Histo, HistoParameters
from tests.programs.drain import drain, warp_operations


@pytest.mark.parametrize("size", [(64, 40), (200, 300)])
def test_counts(size: tuple[int, int]) -> None:
    program = Histo(HistoParameters(width=size[0], height=size[1], repetitions=1), 6)
    share = size[0] * size[1] // 64
    program.pixels.data[share - 1] = 3  # not in the sample of its part
    names = drain(program)
    assert [name.split("_")[1] for name in names] == ["prescan", "intermediates", "main", "final"]
    expected = np.minimum(np.bincount(program.pixels.data, minlength=BINS), 255)
    assert np.array_equal(program.result.data.view(np.uint8), expected)
    low, high = BINS - 1 - int(program.bounds.data[1]), int(program.bounds.data[0])
    assert 24576 < low < BINS / 2 < high, "the odd one is counted in the overflow"


def test_counts_are_cut_at_255() -> None:
    program = Histo(HistoParameters(width=200, height=100, repetitions=2), 0)
    program.pixels.data[:] = 500_000
    drain(program)
    assert program.result.data.view(np.uint8)[500_000] == 255
    assert np.count_nonzero(program.result.data) == 1


def test_shapes_and_addresses() -> None:
    program = Histo(HistoParameters(repetitions=1), 0)
    launches = program.launches()
    prescan = next(launches)
    assert (prescan.blocks, prescan.threads_per_block) == (64, 512)
    for block in range(64):
        list(prescan.run_block(block, 32))
    middle = next(launches)
    assert (middle.blocks, middle.threads_per_block) == (65, 498)
    found = [o for o in warp_operations(middle, program, block=2, warp=1) if o[2]]
    pairs = [32 * 498 + 32 + lane for lane in range(32)]
    assert found[0] == ("LOAD", "image", pairs)
    assert found[1] == ("STORE", "places", [32 * 996 + 32 + lane for lane in range(32)])
    assert found[2] == ("STORE", "places", [32 * 996 + 498 + 32 + lane for lane in range(32)])
    main = next(launches)
    assert main.blocks % 14 == 0
    assert main.shared_bytes == 24576
    final = next(launches)
    assert (final.blocks, final.threads_per_block) == (42, 512)
    loads = [o[2] for o in warp_operations(final, program) if o[:2] == ("LOAD", "counts")]
    assert [lanes[0] for lanes in loads[:14]] == [block * WORDS for block in range(14)]

"""sad: sums over a search window, 36 bytes a thread, and joined blocks."""

import numpy as np
import pytest

from gpusim.programs.parboil.sad import BEFORE, COUNT, PADDED, WINDOW, Sad, SadParameters
from tests.programs.drain import drain, warp_operations


def differences(program: Sad, y: int, x: int, height: int, width: int) -> np.ndarray:
    """The sums of a block at all positions, with clamped borders."""
    frame = program.frame.data.reshape(16 * program.down, 16 * program.across).astype(int)
    other = program.reference.data.reshape(frame.shape).astype(int)
    padded = np.pad(other, 16, mode="edge")
    block = frame[y : y + height, x : x + width]
    found = [
        np.abs(padded[y + dy : y + dy + height, x + dx : x + dx + width] - block).sum()
        for dy in range(WINDOW)
        for dx in range(WINDOW)
    ]
    return np.array(found)


def sums(program: Sad, shape: str, macroblock: int, index: int) -> np.ndarray:
    mbs = program.across * program.down
    row = BEFORE[shape] * mbs + macroblock * COUNT[shape] + index
    return program.sums.data[row * PADDED : row * PADDED + WINDOW * WINDOW]


def test_sums_of_all_shapes() -> None:
    program = Sad(SadParameters(width=32, height=16), 3)
    assert drain(program) == ["mb_sad_calc", "larger_sad_calc_8", "larger_sad_calc_16"]
    for shape, index, y, x in [
        ("4x4", 0, 0, 0),
        ("4x4", 6, 4, 8),
        ("4x4", 15, 12, 12),
        ("8x8", 3, 8, 8),
        ("8x4", 2, 0, 8),
        ("8x4", 3, 4, 8),
        ("4x8", 4, 8, 0),
        ("4x8", 5, 8, 4),
        ("16x8", 1, 8, 0),
        ("8x16", 1, 0, 8),
        ("16x16", 0, 0, 0),
    ]:
        width, height = map(int, shape.split("x"))
        expected = differences(program, y, 16 + x, height, width)
        assert sums(program, shape, 1, index).tolist() == expected.tolist(), (shape, index)


def test_order_and_addresses() -> None:
    program = Sad(SadParameters(width=176, height=144), 0)
    small, eight, sixteen = program.launches()
    assert (small.blocks, small.threads_per_block) == (44 * 36, 61)
    assert [(one.blocks, one.threads_per_block) for one in (eight, sixteen)] == [
        (99, 128),
        (99, 32),
    ]
    found = warp_operations(small, program, block=0, warp=0)
    stores = [lanes for kind, _, lanes in found if kind == "STORE"]
    assert len(stores) == 18
    assert set(np.diff(stores[0]).tolist()) == {18}, "36 bytes apart"
    loads = [(name, len(set(lanes))) for kind, name, lanes in found if kind == "LOAD"]
    assert [name for name, _ in loads[:4]] == ["reference", "frame"] * 2
    assert len(loads) == 18 * 32
    assert loads[1][1] == 1, "the frame's pixel is the same for all lanes"
    joined = warp_operations(eight, program, block=5, warp=2)
    assert [kind for kind, _, lanes in joined if lanes] == (["LOAD"] * 4 + ["STORE"] * 5) * 18
    first = joined[1][2]
    assert np.diff(first).tolist() == [1] * 31
    assert len(joined[-1][2]) == 4, "the last position"


def test_frames_have_whole_macroblocks() -> None:
    with pytest.raises(ValueError, match="'height' must be a multiple of 16: 100"):
        SadParameters(height=100)

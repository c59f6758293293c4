"""Passes through 32 banks: known accesses, and any accesses against a slow count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.bank_conflicts import bank_passes, least_passes
from gpusim.core.warp_program import INACTIVE

LANE = np.arange(32)


@pytest.mark.parametrize(
    ("address", "size", "passes"),
    [
        pytest.param(4 * LANE, 4, 1, id="neighbours"),
        pytest.param(4 * LANE + 100, 4, 1, id="neighbours on two lines"),
        pytest.param(8 * LANE, 4, 2, id="every other word"),
        pytest.param(12 * LANE, 4, 1, id="every third word"),
        pytest.param(128 * LANE, 4, 32, id="one bank"),
        pytest.param(0 * LANE, 4, 1, id="one word"),
        pytest.param(LANE, 1, 1, id="bytes"),
        pytest.param(8 * LANE, 8, 2, id="8 bytes, by half-warps"),
        pytest.param(8 * (LANE % 16), 8, 2, id="8 bytes, the halves alike"),
        pytest.param(0 * LANE, 8, 1, id="8 bytes, all alike: halves go together"),
        pytest.param(16 * LANE, 16, 4, id="16 bytes, by quarter-warps"),
        pytest.param(16 * (LANE % 8), 16, 4, id="16 bytes, the quarters alike"),
        pytest.param(0 * LANE, 16, 2, id="16 bytes, all alike: quarters go together"),
        pytest.param(128 * (LANE % 8) + 16 * (LANE // 8), 16, 32, id="quarters in four banks"),
        pytest.param(np.where(LANE < 8, 16 * LANE, INACTIVE), 16, 1, id="a quarter alone"),
        pytest.param(np.full(32, INACTIVE), 4, 0, id="no lane"),
    ],
)
def test_passes_of_known_accesses(address: np.ndarray, size: int, passes: int) -> None:
    assert bank_passes(address[None], size).tolist() == [passes]


def test_lanes_of_an_atomic_take_turns_at_a_word() -> None:
    assert bank_passes(0 * LANE[None], 4, same_word_shared=False).tolist() == [32]
    assert bank_passes(4 * (LANE[None] // 2), 4, same_word_shared=False).tolist() == [2]


def test_the_least_passes_are_those_of_the_bytes() -> None:
    assert [least_passes(32, size) for size in (1, 4, 8, 16)] == [1, 1, 2, 4]
    assert least_passes(3, 16) == 1


def slow_passes(lanes: Sequence[int], size: int) -> int:
    """As `bank_passes`, a word at a time; lanes of 4 bytes alone, of which no parts merge."""
    passes = 0
    for first in range(0, len(lanes), 32):
        banks: dict[int, set[int]] = {}
        for address in lanes[first : first + 32]:
            if address != INACTIVE:
                banks.setdefault(address // 4 % 32, set()).add(address // 4)
        passes += max(map(len, banks.values()), default=0)
    return passes


@given(
    st.lists(
        st.lists(
            st.integers(-1, 300).map(lambda word: 4 * word if word >= 0 else INACTIVE),
            min_size=64,
            max_size=64,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_words_of_any_lanes(rows: list[list[int]]) -> None:
    """Of a wavefront of 64 lanes each half passes on its own."""
    found = bank_passes(np.array(rows), 4).tolist()
    assert found == [slow_passes(row, 4) for row in rows]

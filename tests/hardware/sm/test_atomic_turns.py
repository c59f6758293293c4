"""Turns of atomics, found for a whole piece at once, are those that each atomic takes by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.warp_program import BYTES_SHIFT, INACTIVE, WHOLE_TURNS, LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from tests.examples import examples

LINE, SECTOR, WORD = 128, 32, 4
LANES = 4

lanes = st.lists(st.one_of(st.just(INACTIVE), st.integers(0, 99)), min_size=LANES, max_size=LANES)
"""Words that the lanes of an atomic change."""
piece = st.lists(st.lists(lanes, min_size=2, max_size=2), min_size=1, max_size=5)
"""Atomics of two warps."""


def naive(words: list[int], line: int, grain: int) -> int:
    """A part of the line after the other, as many turns as its word that most lanes change."""
    turns = whole = 0
    for part in range(line * LINE // grain, (line + 1) * LINE // grain):
        each = [
            words.count(word) for word in range(part * grain // WORD, (part + 1) * grain // WORD)
        ]
        turns += max(each) - min(each)
        whole += min(each)
    return turns + (whole << WHOLE_TURNS)


@settings(max_examples=examples(100), deadline=None)
@given(piece, st.sampled_from([WORD, 2 * WORD, SECTOR, LINE]))
def test_turns_are_those_of_each_atomic(atomics: list[list[list[int]]], grain: int) -> None:
    words = np.array(atomics, dtype=np.int64)
    count = len(atomics)
    chunk = LaneChunk(
        np.full(count, Op.ATOMIC, dtype=np.uint8),
        np.zeros(count, dtype=np.int64),
        np.ones((count, 2), dtype=bool),
        np.where(words == INACTIVE, INACTIVE, words * WORD),
        np.full(count, WORD),
    )
    for warp, segment in enumerate(coalesce(chunk, Coalescing(LINE, atomic_grain=grain))):
        found = Counter[tuple[int, int, int]]()
        first = 0
        for place, number in enumerate(segment.args):
            for one in range(first, first + number):
                found[place, segment.lines[one], segment.sectors[one] >> BYTES_SHIFT] += 1
            first += number
        assert found == Counter(
            (place, line, naive(atomic[warp], line, grain))
            for place, atomic in enumerate(atomics)
            for line in {word * WORD // LINE for word in atomic[warp] if word != INACTIVE}
        )

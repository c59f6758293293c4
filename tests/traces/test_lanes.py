"""Lanes against plain Python: splitting, local memory, banks, distinct sectors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.warp_program import INACTIVE
from gpusim.traces.lanes import (
    LOCAL_REGION,
    interleave_local,
    shared_passes,
    split_at_sectors,
)
from gpusim.traces.survey import DistinctSectors

sizes = st.sampled_from([1, 2, 4, 8, 12, 16])
lanes = st.lists(st.one_of(st.just(INACTIVE), st.integers(0, 300)), min_size=1, max_size=32).filter(
    lambda addresses: max(addresses) >= 0
)


def touched(addresses, size):
    return {
        byte for one in addresses if one != INACTIVE for byte in range(int(one), int(one) + size)
    }


@given(lanes, sizes)
def test_split_lanes_touch_the_same_bytes_and_cross_no_sector(addresses, size):
    split, piece = split_at_sectors(addresses, size)
    pieces = np.array(split)
    assert touched(pieces, piece) == touched(addresses, size)
    real = pieces[pieces != INACTIVE]
    assert (real // 32 == (real + piece - 1) // 32).all()
    if (real % 32 + size <= 32).all():
        assert len(pieces) <= len(addresses) * size


@given(lanes, sizes, st.integers(1, 5))
def test_local_words_of_different_threads_never_meet(addresses, size, blocks):
    aligned = [one if one == INACTIVE else one // size * size for one in addresses]
    total = blocks * len(aligned)
    seen = {}
    for number in range(blocks):
        threads = number * len(aligned) + np.arange(len(aligned))
        found, piece = interleave_local(np.array(aligned), size, threads, total)
        assert ((found == INACTIVE) | (found >= LOCAL_REGION)).all()
        for thread, own in zip(threads, found.reshape(len(aligned), -1), strict=True):
            for byte in touched(own, piece):
                assert seen.setdefault(byte, thread) == thread
    assert len(seen) == blocks * sum(len(touched([one], size)) for one in aligned)


@given(lanes, st.sampled_from([1, 2, 4]), st.booleans())
def test_passes_of_words_are_the_fullest_bank(addresses, size, atomic):
    words = [one // 4 for one in addresses if one != INACTIVE]
    banks = [word % 32 for word in (words if atomic else set(words))]
    assert shared_passes(addresses, size, atomic) == max(map(banks.count, banks))


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=50), max_size=5))
def test_distinct_sectors(groups):
    sectors, known = DistinctSectors(), set()
    for group in groups:
        for shift in (0, 10**7):
            # Far more than are gathered between two merges.
            sectors.add(np.array(group) + shift + np.arange(3000)[:, None])
            known.update(one + shift + more for one in group for more in range(3000))
    assert sectors.count() == len(known)
    assert sectors.count(4096) == len({one // 128 for one in known})

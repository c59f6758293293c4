"""Hashes of banks and channels, against arithmetic by hand."""

from __future__ import annotations

from collections import Counter
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.interleaving import (
    HASHES,
    POLYNOMIALS,
    XOR,
    HashedInterleaving,
    RandomInterleaving,
    folded,
    hash_refusal,
)

blocks = st.integers(0, (1 << 57) - 1)


def remainder(block: int, degree: int) -> int:
    """Long division of polynomials over GF(2), as on paper."""
    while block.bit_length() > degree:
        block ^= POLYNOMIALS[degree] << block.bit_length() - 1 - degree
    return block


@given(st.integers(0, 10), blocks)
def test_ipoly_is_the_remainder_of_a_polynomial_division(degree: int, block: int) -> None:
    expected = remainder(block, degree) if degree else 0
    assert HashedInterleaving("ipoly", 1 << degree).part(block) == expected


def test_the_polynomials_are_those_of_gpgpu_sim() -> None:
    """Which upper address bits each bit of the part number is the sum of, as tabulated there."""
    of_16 = [
        {0, 3, 4, 6, 8, 9, 10, 11},
        {0, 1, 3, 5, 6, 7, 8, 12},
        {1, 2, 4, 6, 7, 8, 9},
        {2, 3, 5, 7, 8, 9, 10},
    ]
    part = HashedInterleaving("ipoly", 16).part
    for place in range(13):
        expected = sum(1 << bit for bit, places in enumerate(of_16) if place in places)
        assert part(1 << place + 4) == expected, place
    assert [POLYNOMIALS[degree] for degree in (4, 5, 6)] == [0b10011, 0b100101, 0b1000011]


@pytest.mark.parametrize("degree", POLYNOMIALS)
def test_the_polynomials_are_primitive(degree: int) -> None:
    """The powers of x are all remainders but 0 before they repeat."""
    powers = {remainder(1 << power, degree) for power in range((1 << degree) - 1)}
    assert powers == set(range(1, 1 << degree))


@given(st.integers(1, 80), blocks)
def test_xor_folds_all_groups_of_bits(parts: int, block: int) -> None:
    turn, part = divmod(block, parts)
    width = (parts - 1).bit_length()
    folded = 0
    while turn and width:
        folded ^= turn % (1 << width)
        turn >>= width
    expected = part ^ folded if parts == 1 << width else (part + folded) % parts
    assert HashedInterleaving("xor", parts).part(block) == expected


@given(st.sampled_from(HASHES), st.integers(1, 80), st.integers(0, 1 << 40))
def test_each_turn_goes_round_all_parts(name: str, parts: int, turn: int) -> None:
    if hash_refusal(name, parts):
        parts = 1 << parts.bit_length() - 1
    part = HashedInterleaving(name, parts).part
    assert {part(turn * parts + step) for step in range(parts)} == set(range(parts))


@given(st.sampled_from(HASHES), st.integers(1, 6), st.integers(0, 40))
def test_no_stride_of_a_power_of_two_finds_few_parts(name: str, bits: int, stride: int) -> None:
    parts = 1 << bits
    part = HashedInterleaving(name, parts).part
    found = Counter(part(step << stride) for step in range(parts))
    assert found == dict.fromkeys(range(parts), 1)


@given(st.sampled_from(HASHES), st.integers(0, 5), blocks)
def test_it_repeats_where_it_wraps(name: str, wraps: int, block: int) -> None:
    parts = 8
    part = HashedInterleaving(name, parts, 1 << wraps).part
    assert part(block) == part(block % (parts << wraps)) == part(block + (parts << wraps))


def test_what_cannot_be_hashed() -> None:
    assert "needs a power of two up to 1024, not 12" in hash_refusal("ipoly", 12)
    assert hash_refusal("ipoly", 2048)
    assert not hash_refusal("ipoly", 64)
    assert not hash_refusal("xor", 12)


def test_random_parts_are_even_in_the_mean_and_no_permutation() -> None:
    """A part has 0, 1, 2 … blocks of a turn as often as a Poisson distribution says."""
    part, turns = RandomInterleaving(32).part, 4096
    counts = [0] * 32
    alone = 0
    for turn in range(turns):
        parts = [part(block) for block in range(32 * turn, 32 * turn + 32)]
        alone += parts.count(7) == 1
        for each in parts:
            counts[each] += 1
    assert all(abs(count / turns - 1) < 0.1 for count in counts)
    assert alone / turns == pytest.approx(exp(-1), abs=0.05)
    assert [RandomInterleaving(32).part(n) for n in range(64)] == [part(n) for n in range(64)]


@given(st.integers(0, 10), st.lists(st.integers(0, (1 << 62) - 1), min_size=1, max_size=20))
def test_many_blocks_at_once_are_where_each_is_alone(bits: int, blocks: list[int]) -> None:
    parts = 1 << bits
    alone = HashedInterleaving(XOR, parts)
    found = folded(np.array(blocks, dtype=np.int64), parts)
    assert found.tolist() == [alone.part(block) for block in blocks]

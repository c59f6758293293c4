"""Address mapping: what lies where, and that nothing lies twice."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import astuple, evolve
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.core.errors import UserError
from gpusim.files.units import Bytes
from gpusim.hardware.dram.hashed_mapping import mapping_of
from gpusim.hardware.dram.mapping import AddressMapping, Place

TINY = evolve(
    HBM2, row=Bytes(128), burst=Bytes(32), pseudo_channels=2, bank_groups=2, banks=4, rows=8
)


def test_gddr5_fields_to_the_bit() -> None:
    mapping = AddressMapping(evolve(GDDR5, channels=8))
    address = 5 << 18 | 1 << 17 | 2 << 15 | 33 << 9 | 6 << 6 | 17
    place = Place(channel=6, pseudo_channel=0, bank_group=2, bank=1, row=5, column=33)
    assert mapping.place(address) == place
    assert mapping.contiguous_bytes == 64


def test_hbm2_fields_to_the_bit() -> None:
    address = 700 << 15 | 3 << 13 | 1 << 11 | 1 << 10 | 30 << 5
    assert AddressMapping(HBM2).place(address) == Place(0, 1, 1, 3, 700, 30)
    assert AddressMapping(HBM2).contiguous_bytes == 1024


def test_rows_wrap() -> None:
    mapping = AddressMapping(GDDR5)
    assert mapping.place((1 << 30) + 4096) == mapping.place(4096)


def test_a_line_stays_in_one_channel() -> None:
    mapping = AddressMapping(
        evolve(GDDR5, channels=6, mapping="row bank bank-group column channel column:1")
    )
    assert mapping.contiguous_bytes == 128
    assert [mapping.channel(line * 128) for line in range(7)] == [0, 1, 2, 3, 4, 5, 0]
    assert mapping.channel(128 + 64) == 1
    assert mapping.place(64).column == 1
    assert mapping.place(6 * 128).column == 2


@st.composite
def tables(draw: st.DrawFn) -> DramConfig:
    """Tiny DRAMs with any number of channels and any order of fields."""
    fields = ["row", "bank", "bank-group", "pseudo-channel", "channel", "column"]
    order = draw(st.permutations(fields))
    low = draw(st.integers(0, 2))
    after = draw(st.integers(order.index("column") + 1, len(order)))
    order.insert(after, f"column:{low}")
    channels = draw(st.integers(1, 8))
    power = channels & (channels - 1) == 0
    hashes = (None,) if order[0] == "channel" else (None, "xor", *(["ipoly"] * power))
    hashing = draw(st.sampled_from(hashes))
    return evolve(TINY, channels=channels, mapping=" ".join(order), hash=hashing)


@given(tables())
def test_every_burst_lies_in_exactly_one_place(config: DramConfig) -> None:
    mapping = mapping_of(config)
    bursts = config.channels * 2 * 2 * 4 * 8 * 4
    places = [mapping.place(32 * burst + burst % 32) for burst in range(bursts)]
    assert len({astuple(place) for place in places}) == bursts
    assert {place.channel for place in places} == set(range(config.channels))
    assert max(place.row for place in places) == 7
    assert max(place.column for place in places) == 3
    for burst in range(0, bursts, 97):
        bank, row = mapping.bank_and_row(32 * burst)
        place = places[burst]
        assert mapping.bank_place(bank) == (place.pseudo_channel, place.bank_group, place.bank)
        assert row == place.row


@given(tables(), st.integers(0, 1 << 20))
def test_as_many_bytes_as_the_channels_hold_fill_them_wherever_they_begin(
    config: DramConfig, first: int
) -> None:
    mapping = mapping_of(config)
    bursts = config.channels * 2 * 2 * 4 * 8 * 4
    places = {astuple(mapping.place(32 * (first + burst))) for burst in range(bursts)}
    assert len(places) == bursts


@given(tables(), st.integers(0, 1 << 20))
def test_contiguous_bytes_lie_in_one_row(config: DramConfig, number: int) -> None:
    mapping = mapping_of(config)
    first = number * mapping.contiguous_bytes
    last = first + mapping.contiguous_bytes - 1
    assert mapping.channel(first) == mapping.channel(last)
    assert mapping.bank_and_row(first) == mapping.bank_and_row(last)


def test_a_bank_group_may_be_in_two_places() -> None:
    """Accel-Sim's RTX 3070: from bit 5 up CC, B, four of the channel, CCCC, BBB, R…R.

    Its bank groups are the low two of four Bs: bits 7 and 16.
    """
    config = evolve(
        GDDR5,
        channels=16,
        burst=32,
        row=2048,
        rows=1 << 14,
        banks=4,
        bank_groups=4,
        mapping="row bank bank-group column channel bank-group:1 column:2",
    )
    mapping = AddressMapping(config)
    address = 3 << 19 | 2 << 17 | 1 << 16 | 9 << 12 | 5 << 8 | 1 << 7 | 3 << 5
    assert mapping.place(address) == Place(5, 0, 3, 2, 3, 9 << 2 | 3)
    assert mapping.place(1 << 16).bank_group == 2
    assert mapping.place(1 << 7).bank_group == 1
    assert mapping.contiguous_bytes == 128


@pytest.mark.parametrize("hashing", ["xor", "ipoly"])
def test_a_hash_moves_channels_only(hashing: str) -> None:
    """GDDR5 of 8 channels: 3 channel bits above 6 bits of a burst, 23 bits above them."""
    config = evolve(GDDR5, channels=8)
    plain, hashed = AddressMapping(config), mapping_of(evolve(config, hash=hashing))
    for address in range(0, 1 << 32, 123_456_789):
        block = address >> 6
        channel = block % 8
        for place in range(3, 26):  # x^3 = x + 1, so x^n = x^(n-2) + x^(n-3)
            bit = block >> place & 1
            terms = {0: 1, 1: 2, 2: 4, 3: 3, 4: 6, 5: 7, 6: 5}[place % 7]
            channel ^= bit * (terms if hashing == "ipoly" else 1 << place % 3)
        assert hashed.place(address) == evolve(plain.place(address), channel=channel)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mapping": "row bnak bank-group column channel"}, "did you mean 'bank'"),
        ({"mapping": "row bank bank-group column"}, "names 'channel' 0 times"),
        ({"mapping": "row row bank bank-group column channel"}, "names 'row' 2 times"),
        ({"mapping": "row bank bank-group channel:1 column"}, "channel cannot be cut"),
        ({"mapping": "row bank bank-group column channel bank:1 bank:1"}, "comes once, below"),
        ({"mapping": "row bank bank bank-group column channel"}, "names 'bank' 2 times"),
        ({"mapping": "row bank bank-group column channel column:9"}, "'column:6'"),
        ({"mapping": "row bank bank-group column:1 channel column"}, "comes once, below"),
        ({"banks": 3}, "dram.banks: 3 is not a power of two"),
        ({"row": 4000}, "dram.row: 4000 bytes"),
        ({"channels": 0}, "dram.channels: 0"),
        ({"burst": 0}, "burst of 0 bytes"),
        ({"hash": "xnor"}, "dram.hash: 'xnor'; did you mean 'xor'.*allowed: none, xor, ipoly"),
        ({"hash": "ipoly", "channels": 6}, "dram.hash: .* power of two up to 1024, not 6"),
        (
            {"hash": "xor", "mapping": "channel row bank bank-group column"},
            "dram.hash: .* nothing stands above 'channel'",
        ),
    ],
)
def test_impossible_mappings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        mapping_of(evolve(GDDR5, **change))

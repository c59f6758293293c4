import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.files.units import (
    Hertz,
    cycles,
    format_bytes,
    format_hertz,
    parse_bytes,
    parse_duration,
    parse_hertz,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [("0B", 0), ("16KiB", 16384), ("1.5 KiB", 1536), (" 2MiB ", 2 << 20), ("4GiB", 4 << 30)],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["16", "16KB", "KiB", "-1KiB", "0.3B", "1,5KiB", "", "16 KiB B"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="is not a"):
        parse_bytes(text)


@given(st.integers(0, 1 << 50))
def test_sizes_round_trip(size):
    assert parse_bytes(format_bytes(size)) == size


@given(st.integers(1, 10**10))
def test_frequencies_round_trip(frequency):
    assert parse_hertz(format_hertz(frequency)) == frequency


@pytest.mark.parametrize("text", ["1400", "0MHz", "1.5Hz", "MHz", "1400 mhz"])
def test_what_is_no_frequency(text):
    with pytest.raises(ValueError, match="is not a"):
        parse_hertz(text)


@pytest.mark.parametrize(
    ("text", "clock", "expected"),
    [
        ("500 cycles", 1, 500),
        ("1 cycle", 1, 1),
        ("12ns", 1_000_000_000, 12),
        ("12ns", 1_400_000_000, 17),  # 16.8
        ("615ps", 1_625_000_000, 1),  # 0.999...
        ("1.2us", 700_000_000, 840),
    ],
)
def test_times_are_rounded_up_to_whole_cycles(text, clock, expected):
    assert parse_duration(text).cycles(Hertz(clock)) == expected


@pytest.mark.parametrize("text", ["500", "1.5 cycles", "12 n", "-1 cycles", "ns"])
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="is not a"):
        parse_duration(text)


def test_times_that_mean_the_same_are_equal():
    assert parse_duration("4cycles") == cycles(4)
    assert parse_duration("12ns") == parse_duration("12.0 ns") != parse_duration("12 cycles")

"""Cuckoo filters, and which way far faults take, against sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import Dimensions
from gpusim.hardware.node.cuckoo_filter import CuckooFilter
from gpusim.hardware.node.forwarding import Forwarding

NUMBERS = st.integers(0, 1 << 55)


@given(st.lists(NUMBERS, max_size=40, unique=True), st.lists(NUMBERS, max_size=40), st.data())
def test_a_filter_forgets_nothing_and_has_no_more_than_was_added(
    numbers: list[int], others: list[int], data: st.DataObject
) -> None:
    small = CuckooFilter(16, 4, 8)
    for number in numbers:
        small.add(number)
    if small.lost:
        return
    assert all(map(small.has, numbers))
    gone = data.draw(st.lists(st.sampled_from(numbers), unique=True)) if numbers else []
    for number in gone:
        small.remove(number)
    assert all(small.has(number) for number in numbers if number not in gone)
    for number in numbers:
        if number not in gone:
            small.remove(number)
    assert not any(map(small.has, [*numbers, *others]))


def test_a_filter_that_is_full_loses_some() -> None:
    small = CuckooFilter(2, 4, 12)
    for number in range(12):
        small.add(number)
    assert small.lost == 4  # by hand: 8 places for 12 fingerprints
    assert sum(map(small.has, range(12))) == 8


def _made(**options: int) -> Forwarding:
    made: Forwarding = make_policy(Slot.FORWARDING, PolicyConfig("filtered", options), 4)
    return made


STEPS = st.lists(
    st.tuples(st.sampled_from("ela?"), st.integers(0, 20), st.integers(0, 3), st.integers(0, 3)),
    max_size=60,
)


@given(STEPS)
def test_with_large_filters_it_is_a_set_of_pages_and_gpus(
    steps: list[tuple[str, int, int, int]],
) -> None:
    made, having = _made(bits=40, queued=2), set[tuple[int, int]]()
    for what, page, gpu, queued in steps:
        if what == "e" and (page, gpu) not in having:
            having.add((page, gpu))
            made.entered(page, gpu)
        elif what == "l" and (page, gpu) in having:
            having.discard((page, gpu))
            made.left(page, gpu)
        elif what == "a":
            assert made.absent(page, gpu) == ((page, gpu) not in having)
        elif what == "?":
            others = [(gpu + n) % 4 for n in (1, 2, 3) if (page, (gpu + n) % 4) in having]
            right = others[0] if others and queued >= 2 else -1
            assert made.holder(page, gpu, queued) == right


def test_without_a_filter_there_is_no_short_way() -> None:
    none = _made(entries=0, host_entries=0)
    none.entered(1, 1)
    assert not none.absent(7, 1)
    assert none.holder(1, 0, 99) == -1
    assert none.storage(Dimensions(36, 20, 1, 1, 4)) == ((), ())


def test_what_it_takes_in_bits() -> None:
    stated = _made(entries=16, host_entries=64, bits=13).storage(Dimensions(36, 20, 1, 1, 4))
    assert stated is not None
    assert [[one.bits for one in part] for part in stated] == [[16 * 13], [64 * 13]]


@pytest.mark.parametrize("options", [{"entries": 12}, {"host_entries": 3}, {"bits": 1}])
def test_options_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        _made(**options)

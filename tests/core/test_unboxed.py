"""What keeps integers without boxes is used as Python's own lists and dicts are."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.unboxed import (
    Fifo,
    IntDict,
    IntFifo,
    IntHeap,
    IntList,
    as_int_dict,
    between,
    first_key,
    four,
    heappop,
    heappush,
    pair,
    place_in,
    position,
    take_out,
    zeros,
)
from tests.examples import examples

KEYS = st.one_of(
    st.integers(0, 12),
    st.integers(0, 12).map(lambda key: key << 10),
    st.integers(0, 12).map(lambda key: 3 << 52 | key << 40),
    st.integers(-12, -1),
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "take", "get", "clear"]), KEYS), max_size=120))
def test_a_dict(steps: list[tuple[str, int]]) -> None:
    made: IntDict[str] = IntDict()
    right: dict[int, str] = {}
    for number, (step, key) in enumerate(steps):
        if step == "put":
            made[key] = right[key] = f"value {number}"
        elif step == "get":
            assert made.get(key) == right.get(key)
            assert made.get(key, "nothing") == right.get(key, "nothing")
        elif step == "clear" and key == 0:
            made.clear()
            right.clear()
        elif key in right:
            assert made.pop(key) == right.pop(key)
        assert (key in made) == (key in right)
        assert (len(made), bool(made)) == (len(right), bool(right))
        assert list(made) == list(made.keys()) == list(right)
        assert list(reversed(made)) == list(reversed(right))
        assert list(made.items()) == list(right.items())
        assert list(made.values()) == list(right.values())
        if right:
            assert first_key(made) == next(iter(right))
    assert as_int_dict(made) is made


@pytest.mark.parametrize("kept", [0, 3])
def test_a_key_that_is_not_there(kept: int) -> None:
    made: IntDict[str] = IntDict()
    for key in range(kept):
        made[key] = "value"
    with pytest.raises(KeyError):
        made[7]
    with pytest.raises(KeyError):
        made.pop(7)
    with pytest.raises(KeyError):
        del made[7]
    with pytest.raises(KeyError):
        first_key(IntDict())
    assert len(made) == kept


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=40))
def test_a_list(values: list[int]) -> None:
    made = IntList()
    for value in values:
        made.append(value)
    assert made == values
    assert list(made) == values
    assert len(made) == len(values)
    assert made == IntList(values)
    for place in range(-len(values), len(values)):
        assert made[place] == values[place]
        values[place] = made[place] = place
    assert made == values
    assert list(between(made, 1, len(made))) == list(made)[1:]
    made += (1, 2)
    assert made.pop() == 2
    for place in (0, len(values) // 2, len(values)):
        made.insert(place, place)
        values.insert(place, place)
    assert made == [*values, 1]
    assert made.pop(1) == values[1]
    assert made.pop(0) == values[0]
    assert made == [*values[2:], 1]
    with pytest.raises(IndexError):
        made[len(made)]


def test_lists_of_one_size() -> None:
    assert pair(7, -1) == [7, -1]
    assert four(3, 0, -1, 1 << 40) == [3, 0, -1, 1 << 40]
    assert zeros(40) == [0] * 40


def test_what_is_taken_out_of_a_list_is_that_object() -> None:
    one, two, three = object(), object(), object()
    items = [one, two, three]
    take_out(items, two)
    assert items == [one, three]


@given(st.lists(st.integers(0, 30)), st.integers(-1, 31), st.integers(0, 5))
def test_the_position_in_a_sorted_list(values: list[int], value: int, low: int) -> None:
    values.sort()
    low = min(low, len(values))
    assert position(IntList(values), value, low) == bisect_left(values, value, low)


@given(st.lists(st.integers(0, 200)))
def test_a_heap(values: list[int]) -> None:
    heap = IntHeap()
    for value in values:
        heappush(heap, value)
        assert heap[0] <= value
    assert sorted(heap) == sorted(values)
    assert [heappop(heap) for _ in values] == sorted(values)
    assert not heap


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["append", "insert", "pop", "pop"]), st.integers(0, 40))))
def test_queues(steps: list[tuple[str, int]]) -> None:
    objects: Fifo[str] = Fifo()
    numbers = IntFifo()
    right: list[int] = []
    for step, number in steps:
        if step == "append":
            objects.append(str(number))
            numbers.append(number)
            right.append(number)
        elif step == "insert":
            place = number % (len(right) + 1)
            objects.insert(place, str(number))
            numbers.insert(place, number)
            right.insert(place, number)
        elif right:
            place = number % len(right) if number % 2 else 0
            gone = right.pop(place)
            assert (objects.pop(place), numbers.pop(place)) == (str(gone), gone)
        assert (len(objects), bool(objects), len(numbers)) == (len(right), bool(right), len(right))
        assert list(map(int, objects)) == list(numbers) == right
        if right:
            assert (objects[0], numbers[0], numbers[-1]) == (str(right[0]), right[0], right[-1])
    if right:
        objects[0] = "another"
        assert objects[0] == "another"
    objects.clear()
    assert not objects


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 9), st.integers(0, 5))
def test_the_place_in_a_sorted_queue(values: list[int], value: int, taken: int) -> None:
    queue = IntFifo()
    for _ in range(taken):  # so that it does not begin where its memory does
        queue.append(0)
        queue.pop(0)
    for one in sorted(values):
        queue.append(one)
    assert place_in(queue, value) == bisect_left(sorted(values), value)

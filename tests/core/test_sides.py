"""Two sides with loops of their own: what they tell each other, and when they hear it."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Generator

import pytest

from gpusim.core.engine import Environment, Hearer, LeadingEnvironment, Side, Together
from gpusim.core.engine.line import LINE_BYTES, RING_BYTES, Line
from gpusim.core.unboxed import Words


def words_of(*values: int) -> Words:
    words = Words()
    for value in values:
        words.append(value)
    return words


def taken(words: Words) -> list[int]:
    return [words.take() for _ in range(len(words))]


def test_words_are_a_queue() -> None:
    words = words_of(3, -4, 1 << 60)
    assert (len(words), words.first(), words.take()) == (3, 3, 3)
    words.tidy()
    words.append(5)
    assert taken(words) == [-4, 1 << 60, 5]
    words.tidy()
    assert not words


@pytest.mark.parametrize("count", [10, 40_000])
def test_words_are_the_same_as_bytes(count: int) -> None:
    words = words_of(*range(-5, count))
    for _ in range(count // 2):
        words.take()
    words.tidy()
    data = words.take_bytes()
    assert not words
    words.append(7)
    words.append_bytes(data, 1, len(data) // 8)
    assert taken(words) == [7, *range(count // 2 - 4, count)]


def never(looks: int) -> None:
    raise AssertionError("one end waits for the other")


def line() -> tuple[Line, Line]:
    memory = mmap.mmap(-1, LINE_BYTES)
    return Line(memory, 0, never), Line(memory, 1, never)


def test_a_line_keeps_the_order_past_the_end_of_its_rings() -> None:
    here, there = line()
    came, back = Words(), Words()
    size = 5000
    batches = 3 * RING_BYTES // (8 * size)
    for number in range(batches):
        here.post(words_of(*range(number, number + size)), number, asks=False)
        assert there.fetch(came)
        there.post(words_of(number), number, asks=False)
        assert here.fetch(back)
        assert taken(came) == list(range(number, number + size))
        came.tidy()
    assert taken(back) == list(range(batches))
    assert not there.fetch(came)


def test_a_full_ring_is_waited_for() -> None:
    here, there = line()
    size = RING_BYTES // 8 // 2
    here.post(words_of(*range(size)), 0, asks=False)
    with pytest.raises(AssertionError, match="waits"):
        here.post(words_of(*range(size)), 1, asks=False)
    with pytest.raises(RuntimeError, match="does not fit"):
        here.post(words_of(*range(2 * size)), 1, asks=False)
    assert there.fetch(Words())


def test_a_promise_ends_where_something_was_told_that_was_not_known() -> None:
    leading, following = line()
    heard = Words()
    leading.post(Words(), 1000, asks=False)
    assert following.fetch(Words())
    assert following.bound() == 1000
    following.post(words_of(40, 1), 60, asks=False)
    following.post(words_of(50, 2), 70, asks=False)
    assert following.bound() == 39, "the other side may act in cycle 40"
    assert leading.fetch(heard)
    leading.post(Words(), 45, asks=False)
    assert following.fetch(Words())
    assert (following.bound(), leading.until) == (45, 70), "it knew both"


def test_a_question_is_asked_once() -> None:
    leading, following = line()
    leading.post(Words(), 7, asks=True)
    assert following.fetch(Words())
    assert following.asked
    leading.post(Words(), 8, asks=False)
    assert following.fetch(Words())
    assert not following.asked


class Heard(Hearer):
    """Writes down what comes, and when."""

    def __init__(self, diary: list[str], name: str) -> None:
        self.diary = diary
        self.name = name
        self.now: Callable[[], int] = lambda: 0

    def hear(self, words: Words) -> None:
        self.diary.append(f"{self.now()} {self.name} hears {words.take()}")


def test_the_following_side_is_first_in_each_cycle_and_as_far_ahead_as_it_may() -> None:
    diary: list[str] = []
    leading, following = LeadingEnvironment(), Environment()
    to_following, to_leading = Words(), Words()
    one, other = Heard(diary, "leading"), Heard(diary, "following")
    one.now, other.now = (lambda: leading.now), (lambda: following.now)
    sides = Side(leading, to_leading, 0, one), Side(following, to_following, 10, other)
    leading.sides = Together(*sides)

    def lead() -> Generator[int, None, None]:
        for number in range(2):
            yield 4
            diary.append(f"{leading.now} leading")
            to_following.append(leading.now)
            to_following.append(number)

    def follow() -> Generator[int, None, None]:
        for number in range(4):
            yield 4
            diary.append(f"{following.now} following")
            if number == 1:
                to_leading.append(following.now)
                to_leading.append(7)

    leading.start(lead())
    following.start(follow())
    leading.run()
    assert diary == [
        *("4 following", "8 following", "12 following"),
        *("4 leading", "14 following hears 0", "16 following"),
        *("8 leading hears 7", "8 leading", "18 following hears 1"),
    ]

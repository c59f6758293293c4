"""Which GPUs forget a page, and the buffer of merged invalidations, against naive models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import Dimensions
from gpusim.hardware.node.invalidation import Invalidation, sharing_bits
from gpusim.hardware.node.invalidation_buffer import InvalidationBuffer


class Naive:
    """Void pages in the order of their coming, and when each table of entries took one in last."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.latest: dict[int, int] = {}
        self.now = 0

    def of(self, table: int) -> list[int]:
        return [page for page in self.pages if page // 8 == table]

    def leave(self, table: int) -> list[int]:
        left = self.of(table)
        self.pages = [page for page in self.pages if page // 8 != table]
        return left

    def oldest(self) -> list[int]:
        tables = {page // 8 for page in self.pages}
        return self.leave(min(tables, key=self.latest.__getitem__)) if tables else []

    def merge(self, page: int) -> list[int]:
        own, tables = self.of(page // 8), {one // 8 for one in self.pages}
        left: list[int] = []
        if own and page not in own and len(own) == 3:
            left = self.leave(page // 8)
        elif not own and len(tables) == 2:
            left = self.oldest()
        if page not in self.pages:
            self.pages.append(page)
        self.now += 1
        self.latest[page // 8] = self.now
        return left


@given(st.lists(st.tuples(st.sampled_from("mmmmrt"), st.integers(0, 31)), max_size=60))
def test_the_buffer_is_a_naive_one(steps: list[tuple[str, int]]) -> None:
    buffer, naive = InvalidationBuffer(2, 3, 8), Naive()
    for what, page in steps:
        if what == "m":
            assert buffer.merge(page) == naive.merge(page)
        elif what == "t":
            assert buffer.take_oldest() == naive.oldest()
        else:
            buffer.remove(page)
            naive.pages = [one for one in naive.pages if one != page]
        assert [one for one in range(32) if buffer.holds(one)] == sorted(naive.pages)
        assert len(buffer) == len(naive.pages)


@given(st.integers(0, 255), st.integers(0, 9))
def test_a_directory_names_all_that_share_a_bit(holders: int, bits: int) -> None:
    having = {gpu for gpu in range(8) if holders >> gpu & 1}
    named = {gpu for gpu in range(8) if not bits or any(gpu % bits == one % bits for one in having)}
    assert sharing_bits(holders, 8, bits) == sum(1 << gpu for gpu in named)
    if bits >= 8:
        assert named == having


def _made(name: str, **options: int) -> Invalidation:
    made: Invalidation = make_policy(Slot.INVALIDATION, PolicyConfig(name, options), 4, 512)
    return made


def test_pages_without_room_go_first_and_others_when_walkers_are_idle() -> None:
    lazy = _made("lazy", bases=1, offsets=2)
    for page in (3, 4, 5):  # by hand: the third one finds both offsets taken
        assert lazy.keeps(page, 1)
    assert list(lazy.due(1, idle=False)) == [3, 4]
    assert list(lazy.due(1, idle=False)) == []
    assert lazy.kept(5, 1)
    assert not lazy.kept(5, 0)
    assert list(lazy.due(1, idle=True)) == [5]
    lazy.keeps(6, 1)
    lazy.written(6, 1)
    assert list(lazy.due(1, idle=True)) == []


def test_what_it_takes_in_bits() -> None:
    # By hand: pages of 4 KiB have numbers of 36 bits, of which 9 choose the entry of a table; so
    # 32 entries of 27 bits and 16 times 9.
    sizes = Dimensions(36, 20, 1, 1, 4)
    storage = _made("lazy").storage(sizes)
    assert storage is not None
    assert sum(one.bits for one in storage) == 32 * (27 + 16 * 9)
    assert _made("walked").storage(sizes) == ()


def test_options_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="bases"):
        _made("lazy", bases=0)

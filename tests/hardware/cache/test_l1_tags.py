"""Tags and MSHRs of the L1 cache, sectored or not, against sets of sectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import L1Config
from gpusim.core.engine import Environment
from gpusim.core.mshr import FULL, MERGED, NEW
from gpusim.core.request import Access, Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.files.units import Bytes, Hertz
from gpusim.hardware.cache import L1_PATH, CacheSite, L1Cache
from tests.examples import examples


class Answers(Access):
    """Who was answered, in order."""

    def __init__(self) -> None:
        self.slot = self.warp_slot = 0
        self.requests: list[MemoryRequest] = []

    def answered(self, request: MemoryRequest) -> None:
        self.requests.append(request)


def make(sector: int, line: int = 128, mshrs: int = 32, merge: int = 64) -> L1Cache:
    config = L1Config(
        Bytes(1 << 16),
        ways=4,
        line=Bytes(line),
        sector=Bytes(sector),
        mshrs=mshrs,
        mshr_merge=merge,
    )
    return L1Cache(CacheSite(Environment(), L1_PATH, 0, Hertz(10**9), apps=1), config)


def load(line: int, sectors: int, answers: Answers, line_bytes: int = 128) -> MemoryRequest:
    return MemoryRequest(
        Kind.LOAD, 0, 0, 0, 0, line * line_bytes, line, sectors, 0, answers, IntList([0, 0])
    )


def members(mask: int) -> set[int]:
    return {sector for sector in range(8) if mask >> sector & 1}


@settings(max_examples=examples(150), deadline=None)
@given(
    st.sampled_from([(32, 32), (64, 32), (128, 32), (128, 64), (128, 128), (256, 32), (256, 128)]),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 255)), max_size=20),
)
def test_what_is_fetched(shape: tuple[int, int], loads: list[tuple[int, int]]) -> None:
    line_bytes, sector = shape
    l1 = make(sector, line_bytes)
    per_line, group = line_bytes // 32, sector // 32
    there: dict[int, set[int]] = {line: set() for line in range(3)}
    for line, bits in loads:
        wanted = members(bits) & set(range(per_line)) or {0}
        answers = Answers()
        request = load(line, sum(1 << s for s in wanted), answers, line_bytes)
        missing = wanted - there[line]
        assert l1.lookup(l1.naming.name(request), request.sectors, 0) == (not missing)
        if not missing:
            continue
        assert l1.admit(request, l1.naming.name(request)) == NEW
        groups = {s // group for s in missing}
        fetched = {s for s in range(per_line) if s // group in groups}
        assert members(request.sectors) == fetched
        l1.fill(request)
        assert answers.requests == [request]
        there[line] |= fetched
    counters = l1.counters[0]
    assert counters.lookups == counters.hits + counters.misses == len(loads)
    assert l1.in_flight() == 0


def test_misses_merge_if_they_fetch_the_same_sectors() -> None:
    l1 = make(sector=32)
    answers = Answers()
    first, same, other = (load(5, sectors, answers) for sectors in (0b0001, 0b0001, 0b0010))
    assert [l1.admit(request, 5) for request in (first, same, other)] == [NEW, MERGED, NEW]
    assert l1.in_flight() == 2
    l1.fill(first)
    assert answers.requests == [first, same]
    l1.fill(other)
    assert answers.requests == [first, same, other]


@pytest.mark.parametrize("sector", [32, 128])
def test_a_load_that_found_no_mshr_still_wants_the_same(sector: int) -> None:
    l1 = make(sector, mshrs=1)
    answers = Answers()
    first, second = load(1, 0b1111, answers), load(2, 0b0011, answers)
    l1.admit(first, 1)
    assert l1.admit(second, 2) == FULL
    assert second.sectors == 0b0011
    assert (l1.counters[0].stalls, l1.counters[0].lookups) == (1, 1)
    l1.fill(first)
    assert l1.admit(second, 2) == NEW


def test_a_virtual_cache_names_lines_by_address_space() -> None:
    config = L1Config(Bytes(1 << 14), ways=4, translation="after")
    l1 = L1Cache(CacheSite(Environment(), L1_PATH, 0, Hertz(10**9), apps=2), config)

    def request(asid: int) -> MemoryRequest:
        return MemoryRequest(Kind.LOAD, asid, asid, 0, 0, -1, 7, 1, 0, Answers(), IntList([0, 0]))

    mine: Any = request(0)
    l1.admit(mine, l1.naming.name(mine))
    l1.fill(mine)
    assert l1.lookup(l1.naming.name(mine), 0b1111, 0)
    assert not l1.lookup(l1.naming.name(request(1)), 1, 1)

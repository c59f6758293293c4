"""A virtual L1 cache whose pages are invalidated while lines are outstanding."""

from __future__ import annotations

from gpusim.config.schema import L1Config
from gpusim.core.engine import Environment
from gpusim.core.mshr import FULL, MERGED, NEW
from gpusim.core.request import Access, Kind, VirtualRequest
from gpusim.core.unboxed import IntList
from gpusim.files.units import Bytes, Hertz, cycles
from gpusim.hardware.cache import L1_PATH, CacheSite, L1Cache, LeadingNames

SHIFT = 5
PAGE, OTHER = 7, 9
CONFIG = L1Config(size=Bytes(1024), ways=2, latency=cycles(4), translation="after-l2")


class Counted(Access):
    """A warp instruction that counts its answers."""

    def __init__(self) -> None:
        self.slot = self.warp_slot = self.answers = 0

    def answered(self, request: object) -> None:
        self.answers += 1


def cache() -> tuple[L1Cache, LeadingNames]:
    leading = LeadingNames(SHIFT, apps=1)
    return L1Cache(CacheSite(Environment(), L1_PATH, 0, Hertz(1), 1), CONFIG, leading), leading


def load(page: int, access: Counted, leading: int | None = None) -> VirtualRequest:
    line = page << SHIFT | 3
    request = VirtualRequest(Kind.LOAD, 0, 0, 0, page, -1, line, 1, 0, access, IntList([8, 0]))
    request.leading = line if leading is None else leading << SHIFT | 3
    return request


def test_a_line_outstanding_at_an_invalidation_answers_but_stays_not() -> None:
    (l1, leading), access = cache(), Counted()
    first, second = load(PAGE, access), load(PAGE, access)
    assert l1.admit(first, first.line) == NEW
    assert l1.admit(second, second.line) == MERGED
    l1.invalidate(frozenset((PAGE,)))
    assert l1.admit(load(PAGE, access), first.line) == FULL  # no new load gets old data
    l1.fill(first)
    assert access.answers == 2
    assert not l1.array.state(first.line)
    assert leading.filter.count(PAGE) == 0
    assert l1.admit(load(PAGE, access), first.line) == NEW


def test_a_synonym_outstanding_does_not_bring_back_an_invalid_leading_page() -> None:
    (l1, _), access = cache(), Counted()
    synonym, more = load(OTHER, access, leading=PAGE), load(OTHER, access)
    l1.admit(synonym, synonym.line)
    l1.invalidate(frozenset((PAGE,)))
    assert l1.admit(more, more.line) == MERGED  # its own page is as it was
    l1.fill(synonym)
    assert access.answers == 2
    assert not list(l1.array.lines())


def test_an_invalidation_of_all_leaves_nothing() -> None:
    (l1, leading), access = cache(), Counted()
    kept, outstanding = load(PAGE, access), load(OTHER, access)
    l1.admit(kept, kept.line)
    l1.fill(kept)
    l1.admit(outstanding, outstanding.line)
    l1.invalidate(None)
    assert l1.admit(load(OTHER, access), outstanding.line) == FULL
    l1.fill(outstanding)
    assert not list(l1.array.lines())
    assert len(leading.filter) == 0
    assert (leading.invalidations.flushes, leading.invalidations.lines_flushed) == (1, 1)


def test_the_filter_spares_caches_without_lines_of_the_page() -> None:
    (l1, leading), access = cache(), Counted()
    kept = load(PAGE, access)
    l1.admit(kept, kept.line)
    l1.fill(kept)
    l1.invalidate(frozenset((OTHER,)))
    assert leading.filter.count(PAGE) == 1
    assert l1.lookup(kept.line, 1, 0)
    l1.invalidate(frozenset((PAGE,)))
    assert not l1.lookup(kept.line, 1, 0)
    assert (leading.invalidations.invalidations, leading.invalidations.flushes) == (2, 1)

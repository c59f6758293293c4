"""A victim buffer behind a TLB array: as more ways of one set; against a list; refusals."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings

import gpusim
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.structures import Dimensions
from gpusim.hardware.tlb import make_array
from tests.examples import examples
from tests.hardware.tlb.numbered import Numbered
from tests.hardware.tlb.test_hashed_tlb import DENSE, NaiveHashed, calls, tables
from tests.hardware.tlb.test_tlb_arrays import NaiveTlb, play

VICTIMS = 3


class NaiveVictims:
    """Around a naive TLB: what leaves a full set goes to the end of a list, and comes back."""

    def __init__(self, tlb: NaiveTlb) -> None:
        self.tlb = tlb
        self.buffer: list[tuple[int, dict[int, int]]] = []

    def lookup(self, tag: int, _slot: int = 0) -> int:
        found = self.tlb.lookup(tag)
        for base, pages in self.buffer:
            if found < 0 and base == tag // self.tlb.pages and tag in pages:
                found = pages[tag]
                self.insert(tag, found)
                break
        return found

    def insert(self, tag: int, pfn: int, _slot: int = 0) -> int:
        base = tag // self.tlb.pages
        back = [pages for other, pages in self.buffer if other == base]
        self.buffer = [one for one in self.buffer if one[0] != base]
        entries = self.tlb.sets[self.tlb.index(base)]
        before = list(entries)
        self.tlb.insert(tag, pfn)
        for pages in back:
            entries[-1][1].update({page: number for page, number in pages.items() if page != tag})
        self.buffer += [one for one in before if one not in entries and one[0] != base]
        lost = len(self.buffer) - VICTIMS
        self.buffer = self.buffer[max(lost, 0) :]
        return max(lost, 0)

    def invalidate(self, tag: int) -> bool:
        found = self.tlb.invalidate(tag)
        for _, pages in self.buffer:
            found |= pages.pop(tag, None) is not None
        self.buffer = [one for one in self.buffer if one[1]]
        return found

    def flush(self) -> None:
        self.tlb.flush()
        self.buffer = []


@settings(max_examples=examples(80), deadline=None)
@given(tables((1,), PolicyConfig("set-associative")), calls())
def test_behind_sets(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    array = Numbered(make_array(attrs.evolve(config, victims=VICTIMS)))
    assert _outcomes(array, calls) == _outcomes(NaiveVictims(NaiveHashed(config)), calls)


@settings(max_examples=examples(80), deadline=None)
@given(tables((2, 16), DENSE), calls())
def test_behind_sub_entries(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    array = Numbered(make_array(attrs.evolve(config, victims=VICTIMS)))
    assert _outcomes(array, calls) == _outcomes(NaiveVictims(NaiveHashed(config)), calls)


@settings(max_examples=examples(60), deadline=None)
@given(calls())
def test_behind_one_set_it_is_more_ways(calls: list[tuple[str, int]]) -> None:
    small = TlbConfig("sm", 2, 2, victims=VICTIMS)
    large = TlbConfig("sm", 2 + VICTIMS, 2 + VICTIMS)
    found = [_outcomes(Numbered(make_array(one)), calls) for one in (small, large)]
    assert found[0] == found[1]


def _outcomes(array: Any, calls: list[tuple[str, int]]) -> list[Any]:
    return play(array, calls)


def test_an_entry_comes_back_with_all_its_pages() -> None:
    config = TlbConfig("sm", 1, 1, sub_entries=4, array=DENSE, victims=1)
    array = make_array(config)
    pages = [Mapping(tag, tag) for tag in range(8)]
    evicted = [array.insert(page.tag, page, 0) for page in pages]
    assert evicted == [0] * 8
    assert all(array.lookup(page.tag, 0) is page for page in pages)
    (buffer,) = array.counters()
    assert (buffer.victims, buffer.victim_hits) == (1 + 2, 2)  # type: ignore[attr-defined]
    assert array.insert(8, Mapping(8, 8), 0) == 1  # pages 0 to 3 are lost now
    assert [array.lookup(tag, 0) is not None for tag in (3, 4, 8)] == [False, True, True]


def test_it_is_counted_as_hardware() -> None:
    config = TlbConfig("gpu", 64, 8, sub_entries=16, array=DENSE, hash="xor", victims=8)
    told = make_array(config).storage(Dimensions(27, 20, 1, 1, 4))
    assert told is not None
    assert [(one.name, one.count) for one in told] == [("entries", 64), ("victim buffer", 8)]
    assert told[1].entry_bits == (27 - 4) + 16 * 20


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"victims": 0}, "tlb.L2.victims = 0.*1 or more"),
        ({"array": "star", "sub_entries": 4}, "tlb.L2.victims.*'star' does not hand on"),
        ({"array": "cluster"}, "tlb.L2.victims.*'cluster' does not hand on"),
        ({"sets": "base-delta"}, "tlb.L2.victims.*does not hand on"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(keys: dict[str, Any], message: str) -> None:
    table = {"victims": 4, **keys}
    with pytest.raises(UserError, match=message):
        gpusim.load_model("tiny", overrides={f"tlb.L2.{key}": it for key, it in table.items()})


def test_a_run_finds_evicted_pages_in_it() -> None:
    workload = gpusim.load_workload("gups", "smoke", overrides={"updates": 8})
    runs = []
    for victims in ("none", 8):
        model = gpusim.load_model("tiny", overrides={"tlb.L2.victims": victims})
        with gpusim.simulate(model, workload) as result:
            counters = result.counters
            mine = counters[(counters.component == "tlb/L2") & (counters.counter == "victim_hits")]
            runs.append((int(mine.value.sum()), result.summary["tlb_L2_hit_rate"]))
    assert runs[0][0] == 0 < runs[1][0]
    assert runs[0][1] < runs[1][1]

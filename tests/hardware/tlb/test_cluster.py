"""The cluster TLB against a list of entries."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.hardware.tlb import ClusterArray, SetAssociativeArray
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered
from tests.hardware.tlb.test_base_delta import call


class Naive:
    """Entries of all sets in one list, least recently used first: cluster, frames, pages."""

    def __init__(self, sets: int, ways: int, pages: int) -> None:
        self.sets, self.ways, self.pages = sets, ways, pages
        self.flush()

    def flush(self) -> None:
        self.entries: list[tuple[int, int, dict[int, int]]] = []

    def lookup(self, tag: int) -> int:
        for entry in self.entries:
            if tag in entry[2]:
                self.entries.remove(entry)
                self.entries.append(entry)
                return entry[2][tag]
        return NO_PAGE

    def invalidate(self, tag: int) -> bool:
        found = [entry for entry in self.entries if entry[2].pop(tag, None) is not None]
        self.entries = [entry for entry in self.entries if entry[2]]
        return bool(found)

    def insert(self, tag: int, pfn: int) -> int:
        self.invalidate(tag)
        cluster, frames = tag // self.pages, pfn // self.pages
        for entry in self.entries:
            if entry[:2] == (cluster, frames):
                entry[2][tag] = pfn
                self.entries.remove(entry)
                self.entries.append(entry)
                return 0
        same = [entry for entry in self.entries if (entry[0] - cluster) % self.sets == 0]
        if len(same) == self.ways:
            self.entries.remove(same[0])
        self.entries.append((cluster, frames, {tag: pfn}))
        return int(len(same) == self.ways)


calls = st.lists(
    st.tuples(
        st.sampled_from(["lookup"] * 4 + ["insert"] * 6 + ["invalidate", "flush"]),
        st.integers(0, 40),
        st.integers(0, 24),
    ),
    min_size=20,
    max_size=120,
)


@settings(max_examples=examples(300))
@given(st.sampled_from([1, 2, 4]), st.integers(1, 3), st.sampled_from([1, 2, 8]), calls)
def test_against_a_list(sets: int, ways: int, pages: int, calls: Any) -> None:
    array = Numbered(ClusterArray(TlbConfig("gpu", sets * ways, ways, sub_entries=pages)))
    naive = Naive(sets, ways, pages)
    for what, tag, pfn in calls:
        assert call(array, what, tag, pfn, 0) == call(naive, what, tag, pfn)


@given(calls)
def test_clusters_of_one_page_are_a_plain_tlb(calls: Any) -> None:
    config = TlbConfig("gpu", 4, 2)
    cluster, plain = Numbered(ClusterArray(config)), Numbered(SetAssociativeArray(config))
    for what, tag, pfn in calls:
        assert call(cluster, what, tag, pfn, 0) == call(plain, what, tag, pfn, 0)


def test_only_frames_of_one_cluster_share_an_entry() -> None:
    array = Numbered(ClusterArray(TlbConfig("gpu", 2, 2, sub_entries=8)))
    assert [array.insert(page, 80 + (5 * page) % 8, 0) for page in range(8)] == [0] * 8
    assert array.insert(8, 200, 0) == 0  # a second entry
    assert array.insert(9, 300, 0) == 1  # the same cluster, elsewhere in memory: a third one
    assert array.lookup(0, 0) == NO_PAGE
    assert [array.lookup(page, 0) for page in (8, 9)] == [200, 300]

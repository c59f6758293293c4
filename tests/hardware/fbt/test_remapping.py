"""Dynamic synonym remapping: its latencies worked out by hand, and what makes it forget."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import RemappingConfig
from gpusim.files.units import cycles
from gpusim.hardware.cache import SynonymTable
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from tests.hardware.fbt.test_latency import (
    ASK,
    BACK,
    OTHER,
    PAGE,
    TABLE,
    THERE,
    TLB,
    TRIP,
    loads,
    synonyms,
    with_tlb,
)
from tests.hardware.fbt.virtual_machines import IOMMU, VIRTUAL, followed
from tests.machine.bench import change
from tests.machine.test_latency import CROSSBAR, DRAM, ISSUE, L1, L2, WALK
from tests.whole.running import run


def remapping(config: GpuConfig, latency: int = 0, entries: int = 4) -> GpuConfig:
    assert config.fbt is not None
    table = RemappingConfig(entries, cycles(latency))
    return attrs.evolve(config, fbt=attrs.evolve(config.fbt, remapping=table))


ONE_LINE = change(remapping(VIRTUAL), l1={"size": 128, "ways": 1})


def test_a_known_synonym_hits_the_l1_cache() -> None:
    for latency in (0, 2):
        found = synonyms(remapping(VIRTUAL, latency), loads(PAGE, OTHER, OTHER))
        assert found.latencies[2] == ISSUE + latency + L1
        assert found.count("fbt", "lookups") == found.count("tlb/L2", "lookups") == 2
        assert found.count("l1", "renamed_hits") == 1


def test_a_known_synonym_hits_the_l2_cache_without_a_replay() -> None:
    script = loads(PAGE, PAGE + 128, OTHER, OTHER + 128)
    found = synonyms(ONE_LINE, script)
    replay = THERE + TRIP + TLB + WALK + TABLE + TRIP + L2 + BACK
    assert found.latencies[2:] == [replay, THERE + BACK]
    assert found.latencies[3] == 34
    assert found.count("fbt", "replays") == 1
    assert (found.count("l1", "renamed"), found.count("l1", "renamed_l2_hits")) == (1, 1)
    without = synonyms(change(VIRTUAL, l1={"size": 128, "ways": 1}), script)
    assert without.latencies[3] == THERE + ASK + TRIP + L2 + BACK == 74


def test_what_misses_under_both_names_is_translated_as_ever() -> None:
    found = synonyms(remapping(VIRTUAL), loads(PAGE, OTHER, OTHER + 128, OTHER + 128))
    assert found.latencies[2] == THERE + ASK + DRAM + BACK == 154
    assert found.latencies[3] == ISSUE + L1
    assert (found.count("l1", "renamed"), found.count("l1", "renamed_l2_hits")) == (2, 0)


def test_an_eviction_of_the_leading_page_is_an_end_of_its_synonyms() -> None:
    one = remapping(with_tlb(IOMMU, entries=1, ways=1))
    found = synonyms(one, loads(PAGE, OTHER, PAGE + 8192, OTHER))
    purge = TRIP + 1 + TRIP + 2 * (TRIP + CROSSBAR)
    assert found.latencies[3] == THERE + TRIP + TLB + purge + TABLE + DRAM + BACK
    assert found.count("l1", "renamed") == 0
    assert found.count("fbt", "synonyms") == 1  # OTHER leads in the end


def test_stores_keep_their_names_and_are_reported() -> None:
    script = [*loads(PAGE, OTHER), ("store", OTHER), ("compute", 999), *loads(OTHER)]
    found = synonyms(remapping(VIRTUAL), script)
    assert found.count("fbt", "synonym_faults") == 1
    assert found.latencies[-1] == ISSUE + L1  # the load has the store's name: it is no hazard


def test_a_shootdown_that_overtakes_renamed_loads() -> None:
    """Whatever it shoots down, and whenever: data that are no longer a page's are not used."""
    lines = [("load", OTHER), ("wait", 0), ("load", OTHER + 128), ("wait", 0)]
    warp: list[tuple[Any, ...]] = [*loads(PAGE, PAGE + 128), *(lines * 10)]
    used = again = 0
    for what, page in (("remap", 1), ("remap", 0), ("synonym", 1), ("all", 0)):
        for when in range(1900, 1960, 7):
            script = [(1, "synonym", 1, 0, 0), (when, what, page, 2, 0)]
            follower = followed(ONE_LINE, [[[[warp]]]], script)
            used += follower.renamed
            (l1,) = follower.machine.l1s
            assert l1.leading is not None
            assert l1.leading.synonyms is not None
            again += l1.leading.synonyms.counters[0].sent_again
            assert not len(l1.leading._loads)
    assert used > 100
    assert again > 10


steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.integers(0, 5), st.integers(6, 9)),
        st.tuples(st.just("ask"), st.integers(0, 9)),
        st.tuples(st.just("forget"), st.sets(st.integers(0, 9), max_size=2)),
        st.just(("forget", None)),
    )
)


@given(st.integers(1, 4), steps)
def test_the_table_against_a_list(entries: int, history: list[tuple[Any, ...]]) -> None:
    table, known = SynonymTable(entries), list[tuple[int, int]]()
    for what, *about in history:
        if what == "learn":
            known = [one for one in known if one[0] != about[0]]
            known = [*known, (about[0], about[1])][-entries:]
            table.learn(*about)
        elif what == "ask":
            at = [number for number, (page, _) in enumerate(known) if page == about[0]]
            assert table.leading(about[0]) == (known[at[0]][1] if at else about[0])
            known += [known.pop(number) for number in at]
        else:
            gone = set(range(10)) if about[0] is None else about[0]
            known = [one for one in known if gone.isdisjoint(one)]
            table.forget(about[0])
        assert len(table) == len(known)


@pytest.mark.long
def test_what_it_keeps_and_that_without_synonyms_nothing_changes() -> None:
    models = [load_model("apu-hsa", [name]) for name in ("vc-opt-remapping", "vc-opt")]
    assert added_bytes(*models) == {"l1: synonym table": 16 * 32 * 2 * 36 / 8}
    with_it, without = (run("apu-hsa", "kmeans", one) for one in ("vc-opt-remapping", "vc-opt"))
    assert with_it.summary["cycles"] == without.summary["cycles"]
    assert with_it.stalls.equals(without.stalls)

"""TLBs without a clock: against LRU by hand, the machine's own arrays, and the simulator."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import gpusim
from experiments.untimed_agreement import PROGRAMS, agreements, in_simulator
from gpusim.studies.characterize import (
    Design,
    access_stream,
    characterize_tlbs,
    designs_of,
    lru_stacks,
    tlb_run,
    tlb_tree,
)
from gpusim.studies.characterize.access_stream import EVENTS, StreamSite, stream
from gpusim.studies.characterize.lru_stacks import LruStacks
from gpusim.studies.characterize.tlb_levels import PolicyLevel, is_plain, untimed
from tests.quick import quick
from tests.studies.characterize.listed import ListedLaunch, pages, workload_of
from tests.whole.running import SMALLER


def one_by_one(number, page, ways):
    """Which accesses miss in LRU sets."""
    sets: dict[int, OrderedDict[int, None]] = {}
    missed = []
    for which, one in zip(number.tolist(), page.tolist(), strict=True):
        held = sets.setdefault(which, OrderedDict())
        missed.append(one not in held)
        held[one] = None
        held.move_to_end(one)
        if len(held) > ways:
            held.popitem(last=False)
    return missed


@pytest.mark.parametrize("window", [7, 100, 2000])
def test_stack_distances_are_lru_sets_of_all_ways(window):
    rng = np.random.default_rng(3)
    page = (rng.zipf(1.3, 2000) % 97).astype(np.int64)
    number = page % 4
    stacks = LruStacks(16, 2)
    found = [
        stacks.distances(number[at : at + window], page[at : at + window])
        for at in range(0, len(page), window)
    ]
    distance = np.concatenate(found)
    for ways in (2, 3, 8, 16):
        assert (distance >= ways).tolist() == one_by_one(number, page, ways)
    assert distance.max() == lru_stacks.NEVER_BEFORE


def counts(result):
    return {
        design.name: [(one.total.lookups, one.total.misses) for one in design.levels]
        for design in result.designs
    }


SMALL = "L1.entries=8,16 L1.ways=4,8 L2.entries=32,64"


def test_stack_distances_agree_with_the_arrays_of_the_machine(monkeypatch):
    designs = designs_of("kepler-uvm", SMALL)
    workload = gpusim.load_workload("srad", "smoke")
    plain = characterize_tlbs(workload, designs)
    monkeypatch.setattr(tlb_tree, "is_plain", lambda site: False)
    monkeypatch.setattr(
        tlb_tree._Node,
        "of",
        classmethod(
            lambda cls, site, asked, apps: cls(
                asked, PolicyLevel(site), [site], [np.zeros(apps, dtype=np.int64)], [[]]
            )
        ),
    )
    assert counts(characterize_tlbs(workload, designs)) == counts(plain)
    misses = [one.walks for one in plain.designs]
    assert len(set(misses)) > 2


def test_windows_make_no_difference(monkeypatch):
    designs = designs_of("kepler-uvm", f"base star partitioning {SMALL}")
    workload = gpusim.load_workload("nw", "smoke")
    whole = characterize_tlbs(workload, designs)
    monkeypatch.setattr(access_stream, "WINDOW", 50)
    assert characterize_tlbs(workload, designs) == whole


def near(count: int):
    """Within 2 %, or 5 of a program that misses seldom."""
    return pytest.approx(count, rel=0.02, abs=5)


@pytest.mark.parametrize("name", quick(PROGRAMS, "bfs"))
def test_agrees_with_the_simulator(name: str) -> None:
    """All lookups are the same, misses of either level nearly as many, in four designs."""
    _, found = agreements(gpusim.load_workload(name, "smoke", overrides=SMALLER.get(name, {})))
    assert [one.design for one in found] == ["base", "small", "star", "compression"]
    for one in found:
        (lookups, misses), (asked, walks) = one.untimed
        assert lookups == one.timed[0][0]
        assert asked == misses == near(one.timed[0][1])
        assert walks == near(one.timed[1][1])


@pytest.mark.long
def test_lookups_behind_an_l1_cache_agree():
    model = gpusim.load_model("v100", (), {"sm.count": "2", "sm.max_blocks": "1"})
    workload = gpusim.load_workload("srad", "smoke")
    found = counts(characterize_tlbs(workload, [Design("v100", model)]))
    transactions = counts(characterize_tlbs(workload, designs_of("kepler-uvm", "base")))
    assert found["v100"][0][0] == near(in_simulator(model, workload)[0][0])
    assert found["v100"][0][0] < transactions["base"][0][0]


def test_order_of_warps():
    """Two warps, two loads each: a step is a wait; schedulers say who is first in it."""
    warps = [[pages(0), pages(1)], [pages(2), pages(3)]]
    model = gpusim.load_model("kepler-uvm", (), {"sm.count": "1"})
    (tenant,) = tlb_run.assign_sms(model, workload_of(ListedLaunch([warps])))
    site = StreamSite(model.config, 0, tenant.sms, tlb_run.RoundRobinPlacement())
    (accesses,) = stream(tenant, site)
    real = accesses.take(accesses.kind < EVENTS)
    first = (1 << 20) // 4096
    assert (real.line * 128 // 4096 - first).tolist() == [0, 2, 1, 3]
    assert real.warp.tolist() == [0, 1, 0, 1]
    assert (np.diff(real.cycle) > 0).all()


def test_two_applications_keep_their_own_counts(tmp_path):
    text = "".join(
        f'[[applications]]\nname = "{name}"\nworkload = "{name}"\n' for name in ("atax", "bicg")
    )
    file = tmp_path / "two.toml"
    file.write_text(text)
    designs = designs_of("maxwell-mask", "base mask-tokens")
    found = characterize_tlbs(gpusim.load_workload(str(file), "smoke"), designs)
    assert found.applications == ("atax", "bicg")
    first, second = found["base"].levels
    assert all(one.lookups > one.misses > 0 for one in first.counts)
    assert [one.misses for one in first.counts] == [one.lookups for one in second.counts]


@pytest.mark.long
def test_timing_alone_is_no_design():
    slow = gpusim.load_model("kepler-uvm", (), {"tlb.L2.ports": "1", "tlb.L2.mshrs": "9"})
    fast = gpusim.load_model("kepler-uvm")
    assert untimed(slow.config.tlb["L2"]) == untimed(fast.config.tlb["L2"])
    names = [one.name for one in designs_of("kepler-uvm", "recipes")]
    assert "star" in names
    assert "compression" in names
    assert "ideal-l1-tlb" not in names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entires=4", "no key 'tlb.L2.entires'; did you mean 'tlb.L2.entries'"),
        ("L1.entries=", "no KEY=VALUE"),
        ("ways=4 ways=8", "tlb.L2.ways is given twice"),
        ("strar", "did you mean 'star'"),
        ("entries=100", "tlb.L2"),
        ("demand-paging", "demand paging moves pages"),
        ("tlb-prefetch-next", "asks for pages when it has time"),
    ],
)
def test_designs_that_cannot_be(text, message):
    with pytest.raises(gpusim.UserError, match=message):
        designs_of("kepler-uvm", text)


def test_no_design_is_refused():
    with pytest.raises(gpusim.UserError, match="no design"):
        characterize_tlbs(gpusim.load_workload("atax", "smoke"), [])


def test_plain_levels_are_told_from_others():
    passes = tlb_run._Pass(
        gpusim.load_workload("atax", "smoke"), designs_of("kepler-uvm", "base star")
    )
    (tree,) = passes._trees
    plain = [[is_plain(node.sites[place]) for node, place in chain] for chain in tree._chains]
    assert plain == [[True, True], [True, False]]


@pytest.mark.long
def test_page_sizes_share_an_execution():
    designs = designs_of("v100", "base memory.page=64KiB")
    workload = gpusim.load_workload("srad", "smoke")
    together = characterize_tlbs(workload, designs)
    apart = [characterize_tlbs(workload, [design]).designs[0] for design in designs]
    assert list(together.designs) == apart
    assert len(tlb_run._Pass(workload, designs)._trees) == 2

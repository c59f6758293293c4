"""Stages of translation of one's own between TLBs and walkers; latencies worked out by hand.

The machine is that of `test_latency`.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import DeadlockError, WrongMappingError
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Purpose
from gpusim.core.warp_program import Buffer
from gpusim.files.units import cycles
from gpusim.hardware.walk import FirstComeFirstServed
from gpusim.hardware.walk.walk import Walk
from gpusim.machine import Tenant
from tests.hardware.sm.observed import observe
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change
from tests.machine.own_stages import EACH_WAY, NextPage, with_stage
from tests.machine.test_latency import BASE, ISSUE, L1, L1_TLB, L2_TLB

MISS_EVERYWHERE = 645  # see test_latency
PAGE = 4096
VPN = BASE // PAGE
PLACES = {
    "before the L2 TLB": ("L1", "own", "L2", "walk"),
    "before the walkers": ("L1", "L2", "own", "walk"),
}

each_place = pytest.mark.parametrize("place", PLACES)


def machine(kind: str, place: str, config: GpuConfig = SMALL, **options: int) -> GpuConfig:
    return with_stage(config, kind, *PLACES[place], **options)


def pages(*numbers: int) -> Script:
    """Loads from pages, one after the other, each from another line of the L1 cache."""
    return [step for page in numbers for step in (("load", BASE + (PAGE + 128) * page), ("wait",))]


def with_pages(count: int, *scripts: Script, config: GpuConfig) -> Run:
    """A run of an application whose only array has `count` pages."""
    application = ScriptedApplication(
        [ScriptedLaunch([list(scripts)])], buffers=(Buffer("a", BASE, PAGE * count),)
    )
    return Run.of(config, [Tenant("scripted", application, range(config.sm.count))])


# -- a stage that passes on ----------------------------------------------------------------------


@each_place
def test_a_stage_costs_what_it_takes_each_way(place: str) -> None:
    run = Run(machine("PassOn", place), pages(0, 0))
    assert run.latencies == [MISS_EVERYWHERE + 2 * EACH_WAY, ISSUE + L1]
    found = {
        name: run.count("stage/own", name)
        for name in ("received", "answered", "returned", "sent", "prefetches")
    }
    assert found == {"received": 1, "answered": 0, "returned": 1, "sent": 1, "prefetches": 0}


def test_only_what_misses_before_a_stage_pays_for_it() -> None:
    # 17 pages in an L1 TLB of 16: page 0 is in the L2 TLB only.
    there = [BASE + PAGE * page + 128 * (page % 32) for page in range(17)]
    script = [step for page in (*there, there[0]) for step in (("load", page), ("wait",))]
    hit = ISSUE + L1_TLB + L2_TLB + L1
    behind = Run(machine("PassOn", "before the walkers"), script)
    before = Run(machine("PassOn", "before the L2 TLB"), script)
    assert [behind.latencies[-1], before.latencies[-1]] == [hit, hit + 2 * EACH_WAY]
    assert [run.count("stage/own", "received") for run in (behind, before)] == [17, 18]


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
@each_place
def test_the_states_of_a_warp_show_the_stage(place: str, translation: str) -> None:
    config = change(machine("PassOn", place), l1={"translation": translation})
    run = Run(config, pages(0))
    plain = Run(change(SMALL, l1={"translation": translation}), pages(0))
    assert run.machine.states[-1] == "stage_own"
    states, without = run.states(), plain.states()
    assert states.pop("stage_own") == 2 * EACH_WAY
    assert states == without


def test_the_stage_stands_where_it_is_in_a_life() -> None:
    seen = observe(machine("PassOn", "before the L2 TLB"), [("load", BASE), ("wait",)])
    assert seen.of(0)[:7] == [
        ("issuing", 1, 2),
        ("tlb_L1", 2, 3),
        ("stage_own", 3, 6),
        ("tlb_L2", 6, 16),
        ("walk", 16, 516),
        ("stage_own", 516, 519),
        ("cache", 519, 523),
    ]


def test_a_narrow_stage_holds_translations_up() -> None:
    """One at a time below, a queue of one in front: all are answered in the end."""
    config = attrs.evolve(SMALL, walk=WalkConfig(1, "fixed", cycles(500), queue=1))
    config = with_stage(config, "PassOn", *PLACES["before the walkers"], queue=1)
    addresses = [BASE + (PAGE + 128) * page for page in range(6)]
    run = Run(config, [("load", *addresses), ("wait",)])
    assert run.count("walk", "walks") == run.count("stage/own", "returned") == 6
    assert run.latencies[0] == MISS_EVERYWHERE + 2 * EACH_WAY
    assert run.latencies == [run.latencies[0] + 500 * number for number in range(6)]


def test_each_sm_may_have_its_own() -> None:
    config = change(
        with_stage(SMALL, "PassOn", *PLACES["before the L2 TLB"], scope="sm"), sm={"count": 2}
    )
    run = Run(config, pages(0, 1), blocks=2)
    rows = [
        (row.instance, row.value)
        for row in run.machine.counter_rows()
        if (row.component, row.name) == ("stage/own", "received")
    ]
    assert rows == [(0, 2), (1, 2)]


def test_two_stages_of_ones_own() -> None:
    config = machine("PassOn", "before the L2 TLB")
    both = {**config.stage, "other": config.stage["own"]}
    config = attrs.evolve(config, stage=both, stages=("L1", "own", "other", "L2", "walk"))
    run = Run(config, pages(0))
    assert run.latencies == [MISS_EVERYWHERE + 4 * EACH_WAY]
    assert run.machine.states[-2:] == ("stage_own", "stage_other")
    assert run.count("stage/other", "received") == 1


# -- a prefetcher --------------------------------------------------------------------------------


@each_place
def test_prefetches_are_counted_apart(place: str) -> None:
    run = with_pages(6, pages(0, 1, 2, 3, 4, 5), config=machine("NextPage", place))
    asked = run.count("stage/own", "prefetches")
    assert asked == run.count("walk/prefetch", "requests") == run.count("walk/prefetch", "walks")
    assert asked == 5, "every page but the first, once"
    for level in ("tlb/L1", "tlb/L2"):
        assert run.count(level, "hits") + run.count(level, "misses") == run.count(level, "lookups")
    lookups, came = run.count("tlb/L2", "lookups"), 6 - run.count("stage/own", "answered")
    if place == "before the L2 TLB":
        assert run.count("tlb/L2/prefetch", "lookups") == asked
        assert run.count("tlb/L2/prefetch", "misses") == asked
        assert lookups == came
        assert run.count("walk", "requests") == came - run.count("tlb/L2", "merged")
    else:
        assert run.count("tlb/L2/prefetch", "lookups") == 0
        assert lookups == 6
        assert run.count("walk", "requests") == came


@each_place
def test_a_page_from_the_buffer_is_there_at_once(place: str) -> None:
    run = with_pages(2, pages(0, 1), config=machine("NextPage", place))
    there = MISS_EVERYWHERE - 500 + 1
    if place == "before the L2 TLB":
        there -= L2_TLB
    assert run.latencies == [MISS_EVERYWHERE, there]
    assert run.count("stage/own", "answered") == 1
    assert run.count("walk", "walks") == 1


@each_place
def test_what_is_in_no_array_is_not_prefetched(place: str) -> None:
    run = with_pages(1, pages(0), config=machine("NextPage", place))
    assert run.count("stage/own", "prefetches") == 0
    assert run.count("walk/prefetch", "requests") == 0
    assert run.machine.page_table.mapped_pages == 1


def test_a_demand_that_meets_a_prefetch_merges_with_it() -> None:
    """Page 1 is asked for while its prefetch is under way: one walk, begun with the first page."""
    config = machine("NextPage", "before the L2 TLB")
    run = with_pages(2, [("load", BASE), ("load", BASE + PAGE + 128), ("wait",)], config=config)
    assert run.count("walk", "walks") == run.count("walk/prefetch", "walks") == 1
    assert run.count("tlb/L2", "merged") == 1
    assert run.count("tlb/L2/prefetch", "fills") == 1
    assert run.latencies[1] < MISS_EVERYWHERE + 5


class Listening(FirstComeFirstServed):
    """Keeps page and kind of the walks that came."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def arrived(self, walk: Walk, cycle: int) -> None:
        self.heard.append((walk.tag - VPN, walk.kind))


def test_walkers_and_tlbs_know_a_prefetch() -> None:
    order = PolicyConfig(f"{__name__}:Listening")
    config = change(machine("NextPage", "before the L2 TLB"), walk={"order": order})
    application = ScriptedApplication(
        [ScriptedLaunch([[pages(0)]])], buffers=(Buffer("a", BASE, 2 * PAGE),)
    )
    run = Run.of(config, [Tenant("scripted", application, range(1))])
    listening = run.machine.systems[0].walkers.order
    assert isinstance(listening, Listening)
    assert listening.heard == [(0, Purpose.DEMAND), (1, Purpose.PREFETCH)]
    (stage,) = run.machine.stages[1]
    assert isinstance(stage, NextPage)
    assert stage.kinds == [Purpose.DEMAND], "its own prefetches do not come to it"


# -- stages that are wrong -----------------------------------------------------------------------


@each_place
def test_an_answer_that_is_not_the_page_tables(place: str) -> None:
    with pytest.raises(WrongMappingError) as caught:
        Run(machine("Invents", place), pages(0))
    for words in ("own[0] (Invents)", f"{VPN:#x}", "in frame 7", "it is not mapped"):
        assert words in str(caught.value)


@each_place
def test_an_answer_that_was_changed_on_the_way(place: str) -> None:
    with pytest.raises(WrongMappingError, match=rf"own\[0\].* answered page {VPN:#x}.*frame 7"):
        Run(machine("Swaps", place), pages(0))


@each_place
def test_no_answer_for_a_page_that_is_not_mapped(place: str) -> None:
    with pytest.raises(WrongMappingError) as caught:
        Run(machine("Nothing", place), pages(0))
    for words in ("own[0] (Nothing)", f"{VPN:#x} with None", "it is not mapped", "send_on"):
        assert words in str(caught.value)


@each_place
def test_no_answer_though_one_came(place: str) -> None:
    with pytest.raises(WrongMappingError, match=rf"own\[0\].* answered page {VPN:#x} with None"):
        Run(machine("Forgets", place), pages(0))


@each_place
def test_a_translation_that_is_lost(place: str) -> None:
    config = attrs.evolve(machine("Loses", place), watchdog=cycles(5000))
    with pytest.raises(DeadlockError, match=r"tlb.L1\[0\].*wait for"):
        Run(config, pages(0))

"""Shootdowns throw away what has read the old entry, and nothing else, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

import gpusim
from gpusim.config.schema import GpuConfig, ShootdownConfig
from gpusim.config.translation import WalkConfig
from gpusim.files.units import cycles
from gpusim.machine import Machine
from gpusim.runs.page_events import PageEvent, play
from tests.machine.bench import SMALL, Run, change
from tests.machine.test_latency import BASE, L1_TLB, L2_TLB, WALK
from tests.machine.test_wrong_mappings import PAGE, at
from tests.whole.test_relaunch import pair

PAGES = 20
STARTS = 1 + 1 + L1_TLB + L2_TLB
"""Cycle in which the first walk gets a walker."""
ONE_WALKER = attrs.evolve(SMALL, walk=WalkConfig(1, "fixed", cycles(WALK)))
ALL = [("load", *(BASE + PAGE * page for page in range(PAGES))), ("wait",)]
"""A load of many pages, of which one is walked and the others wait for the walker."""


def shot_at(*when: int, config: GpuConfig = ONE_WALKER) -> Run:
    def attach(machine: Machine) -> None:
        for cycle in when:
            at(cycle, lambda m: m.pages.shoot_down(None))(machine)

    return Run.meanwhile(config, attach, ALL)


def test_walks_that_wait_for_a_walker_are_not_thrown_away() -> None:
    calm, shot = shot_at(), shot_at(100)
    assert shot.count("walk", "walks") == calm.count("walk", "walks") == PAGES
    assert shot.count("walk", "again") == 1, "the one that had begun"
    assert shot.cycles - calm.cycles == WALK


def test_pages_that_a_tlb_held_are_not_asked_for_again_unless_they_are_used() -> None:
    calm, shot = shot_at(), shot_at(STARTS + 10 * WALK + 100)
    assert shot.count("walk", "walks") == PAGES
    assert shot.cycles - calm.cycles == WALK


def test_each_shootdown_costs_a_walk() -> None:
    calm, shot = shot_at(), shot_at(100, 200, 700)
    assert shot.count("walk", "again") == 2, "the first two fall into one walk"
    assert shot.cycles - calm.cycles == 2 * WALK


def leaf_read() -> tuple[int, int]:
    """Cycles in which the read of the last level begins and ends in a walk through memory."""
    seen: list[tuple[int, int]] = []

    def listen(machine: Machine) -> None:
        for walkers in (system.walkers for system in machine.systems):
            walkers.on_level_read.listen(
                lambda asid, vpn, depth, begin, end: seen.append((begin, end))
            )

    Run.meanwhile(IN_MEMORY, listen, ONE)
    return seen[-1]


IN_MEMORY = change(SMALL, walk={"cost": "memory"})
ONE = [("load", BASE), ("wait",)]


@pytest.mark.parametrize(("begun", "again"), [(0, False), (2, True)])
def test_a_walk_through_memory_has_read_its_entry_at_the_last_level(
    begun: int, again: bool
) -> None:
    """A page moves just before, or while, its entry is read; the levels above stay as they are."""
    begin, _ = leaf_read()
    moves = at(begin + begun - 1, lambda m: m.pages.remap(BASE // PAGE))
    run = Run.meanwhile(IN_MEMORY, moves, ONE)
    mapping = run.machine.pages.find(BASE // PAGE)
    assert [request.mapping for request in run.requests] == [mapping]
    assert run.count("walk", "again") == again
    assert run.count("walk", "level_accesses") == 4 + 4 * again


SLOW = attrs.evolve(ONE_WALKER, shootdown=ShootdownConfig(cycles(30), cycles(20), cycles(50)))


def events(config: GpuConfig, *when: int) -> Run:
    def attach(machine: Machine) -> None:
        machine.env.start(play(machine, [PageEvent(one, "shootdown") for one in when]))

    return Run.meanwhile(config, attach, ALL)


def test_the_message_takes_its_time() -> None:
    """Sent just before the first walk begins, it arrives when that has read its entry."""
    assert events(ONE_WALKER, STARTS - 10).count("walk", "again") == 0
    assert events(SLOW, STARTS - 10).count("walk", "again") == 1


def test_the_next_event_waits_for_the_acknowledgement() -> None:
    """The second message leaves 100 cycles after the first, and arrives in the second walk."""
    sent = STARTS + WALK - 100
    assert events(ONE_WALKER, sent, sent + 1).count("walk", "again") == 1
    assert events(SLOW, sent, sent + 1).count("walk", "again") == 2


@pytest.mark.long
def test_a_shootdown_of_a_real_program_costs_the_walks_under_way(tmp_path: Path) -> None:
    """Eight walkers, and a thousand walks wait for them when everything is shot down.

    Early, eight walks are under way; later, the TLBs have pages, too, that are used again.
    """
    atax = gpusim.load_workload("atax", scale="smoke")
    seen = {}
    for cycle in (None, 300, 1000):
        events = tmp_path / "events.jsonl"
        events.write_text("" if cycle is None else f'{{"at": {cycle}, "event": "shootdown"}}\n')
        with gpusim.simulate("kepler-uvm", atax, events=events, record=["walks"]) as result:
            seen[cycle] = result.summary["cycles"], len(result.table("walks"))
    (calm, walks), (early, again), (late, once_more) = seen.values()
    assert again - walks == 8
    assert 500 <= early - calm <= 2 * 500
    rounds = -(-(once_more - walks) // 8)
    assert rounds < 20, "130 if walks that wait were thrown away"
    assert late - calm <= rounds * 500


def test_what_still_runs_when_all_have_run_once_sees_no_event(tmp_path: Path) -> None:
    model, workload = gpusim.load_model("tiny"), pair(tmp_path, "until-all-have-run", 3, 1)
    with gpusim.simulate(model, workload) as calm:
        event = {"at": int(calm.summary["cycles"]) + 10, "event": "shootdown", "app": "long"}
        (tmp_path / "late.jsonl").write_text(json.dumps(event))
        with gpusim.simulate(model, workload, events=tmp_path / "late.jsonl") as late:
            assert late.digest == calm.digest

"""Pages that change while a machine runs; what is on its way is asked for again.

The machine is that of `test_latency`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from gpusim.machine import Machine, Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.own_stages import with_stage
from tests.machine.test_latency import BASE, L1, L1_TLB, L2_TLB, WALK
from tests.machine.test_wrong_mappings import PAGE, VPN, at

MISS_EVERYWHERE = 645  # see test_latency
AGAIN = L1_TLB + L2_TLB + WALK
LATER = 1000
"""A cycle in which the first load has long been answered."""
TRANSLATIONS = ("before", "parallel", "after")

each_place = pytest.mark.parametrize("translation", TRANSLATIONS)


def placed(translation: str, config: GpuConfig = SMALL) -> GpuConfig:
    return change(config, l1={"translation": translation})


def then(*loads: int) -> list[tuple[Any, ...]]:
    """A load, and others 2000 cycles later, one after the other."""
    rest = [step for address in loads for step in (("load", address), ("wait",))]
    return [("load", BASE), ("wait",), ("compute", 2000), *rest]


# -- pages that lie still ------------------------------------------------------------------------


@each_place
def test_a_page_that_moved_is_walked_again(translation: str) -> None:
    config = placed(translation)
    run = Run.meanwhile(config, at(LATER, lambda m: m.pages.remap(VPN)), then(BASE + 128))
    same = Run(config, then(BASE + 128))
    hidden = L1_TLB if translation == "parallel" else 0  # behind the L1 cache, if it hits
    assert run.latencies[1] - same.latencies[1] == L2_TLB + WALK + hidden
    assert run.count("walk", "walks") == 2
    mapping = run.machine.page_table.find(VPN)
    assert mapping is not None
    assert [request.mapping for request in run.requests][1] is mapping
    assert [request.address for request in run.requests] == [0, PAGE + 128]


@each_place
def test_a_page_that_was_taken_away_is_mapped_anew(translation: str) -> None:
    def take(machine: Machine) -> None:
        machine.pages.unmap(VPN)
        assert machine.pages.find(VPN) is None
        assert not machine.pages.knows(VPN)

    run = Run.meanwhile(placed(translation), at(LATER, take), then(BASE + 128))
    assert run.count("walk", "walks") == 2
    assert run.machine.pages.find(VPN) is not None
    assert run.machine.page_table.mapped_pages == 2


@each_place
def test_a_shootdown_of_all_pages_empties_all_tlbs(translation: str) -> None:
    def shoot(machine: Machine) -> None:
        machine.pages.shoot_down(None)

    config = placed(translation)
    script = then(BASE + 128)
    run = Run.meanwhile(config, at(LATER, shoot), script)
    one = Run.meanwhile(config, at(LATER, lambda m: m.pages.shoot_down(VPN)), script)
    other = Run.meanwhile(config, at(LATER, lambda m: m.pages.shoot_down(VPN + 1)), script)
    assert [each.count("walk", "walks") for each in (run, one, other)] == [2, 2, 1]
    assert run.requests[0].mapping is run.requests[1].mapping, "the page has not changed"


def test_a_promoted_page_is_one_walk_of_all() -> None:
    """Frames of first touch lie side by side: 16 pages become one of 64 KiB."""
    base = 1 << 33
    pages = [base + (PAGE + 128) * page for page in range(16)]
    script = [step for page in pages for step in (("load", page), ("wait",))]
    script += [("compute", 2000), ("load", pages[3] + 2048), ("wait",)]
    script += [("load", pages[9] + 2048), ("wait",)]
    promoted: list[Any] = []

    def promote(machine: Machine) -> None:
        promoted.append(machine.pages.promote(base // PAGE + 5, 16))

    run = Run.meanwhile(SMALL, at(16 * MISS_EVERYWHERE + 100, promote), script)
    (mapping,) = promoted
    assert (mapping.vpn, mapping.pages, mapping.pfn) == (base // PAGE, 16, 0)
    assert run.count("walk", "walks") == 17
    assert run.requests[-1].mapping is run.requests[-2].mapping is mapping
    assert run.latencies[-1] == MISS_EVERYWHERE - AGAIN
    addresses = {request.vline * 128 - base: request.address for request in run.requests}
    assert addresses == {offset: offset for offset in addresses}, "the frames are the same"


# -- translations on their way -------------------------------------------------------------------


STARTS = 1 + 1 + L1_TLB + L2_TLB
"""Cycle in which the first walk gets a walker; it ends `WALK` later."""


@pytest.mark.parametrize("cycle", [4, STARTS - 1, STARTS, STARTS + 1, 100, STARTS + WALK])
@pytest.mark.parametrize("change_of", ["remap", "unmap", "shoot_down"])
@each_place
def test_a_walk_that_has_read_its_entry_is_begun_again(
    translation: str, change_of: str, cycle: int
) -> None:
    """What was read is not used; before the walk has begun nothing was, and nothing is lost."""
    later = cycle + (L1 if translation == "after" else 0)  # it looks up the L1 cache first
    script = [("load", BASE), ("wait",)]
    run = Run.meanwhile(
        placed(translation), at(later, lambda m: getattr(m.pages, change_of)(VPN)), script
    )
    mapping = run.machine.pages.find(VPN)
    assert mapping is not None
    (request,) = run.requests
    assert request.mapping is mapping
    assert request.address == mapping.frame(VPN) * PAGE
    levels = [run.count(f"tlb/{level}", "lookups") for level in ("L1", "L2")]
    assert levels == [1, 1]
    again = cycle > STARTS
    assert (run.count("walk", "walks"), run.count("walk", "again")) == (1, again)
    plain = Run(placed(translation), script)
    assert run.latencies[0] - plain.latencies[0] == WALK * again


@each_place
def test_all_that_wait_for_a_page_wait_for_the_second_walk(translation: str) -> None:
    """Two SMs, two warps each; what the first walk has read is void."""
    config = placed(translation, change(SMALL, sm={"count": 2}))
    scripts = [[("load", BASE + 128 * warp), ("wait",)] for warp in range(2)]
    tenant = Tenant("app", ScriptedApplication([ScriptedLaunch([scripts] * 2)]), range(2))
    run = Run.of(config, [tenant], at(100, lambda machine: machine.pages.remap(VPN)))
    assert (run.count("walk", "walks"), run.count("walk", "again")) == (1, 1)
    assert run.count("tlb/L1", "lookups") == 4
    assert run.count("tlb/L1", "fills") == 2
    mapping = run.machine.pages.find(VPN)
    assert all(request.mapping is mapping for request in run.requests)


@pytest.mark.parametrize("kind", ["PassOn", "NextPage"])
@pytest.mark.parametrize("place", [("L1", "own", "L2", "walk"), ("L1", "L2", "own", "walk")])
def test_stages_of_ones_own_lose_nothing(kind: str, place: tuple[str, ...]) -> None:
    back = (514, 516, 518) if kind == "PassOn" else ()
    for cycle in (4, 8, 100, *back):
        run = Run.meanwhile(
            with_stage(SMALL, kind, *place),
            at(cycle, lambda m: m.pages.remap(VPN)),
            then(BASE + 128),
        )
        mapping = run.machine.pages.find(VPN)
        assert [request.mapping for request in run.requests] == [mapping, mapping]


@pytest.mark.parametrize("fill", ["mask-tokens"])
def test_what_a_fill_policy_keeps_is_forgotten_too(fill: str) -> None:
    policy = PolicyConfig(fill, {"initial": 0.0, "epoch": 50, "bypass_entries": 4})
    level = attrs.evolve(SMALL.tlb["L2"], fill=policy)
    config = attrs.evolve(SMALL, tlb={**SMALL.tlb, "L2": level})
    scripts = [then(BASE + 128 * warp) for warp in range(4)]
    run = Run.meanwhile(config, at(LATER, lambda m: m.pages.remap(VPN)), *scripts)
    assert run.count("walk", "walks") == 2


# -- random changes of random programs -----------------------------------------------------------


pages = st.integers(0, 20)
loads = st.lists(
    st.tuples(
        st.sampled_from(["load", "load", "load", "store", "atomic"]),
        st.lists(st.tuples(pages, st.integers(0, 4)), min_size=1, max_size=3),
        st.sampled_from([0, 0, 3, 200]),
    ),
    min_size=1,
    max_size=5,
)
events = st.lists(
    st.tuples(
        st.integers(1, 400),
        st.sampled_from(["remap", "remap", "unmap", "promote", "promote", "shoot_down", "all"]),
        pages,
    ),
    max_size=12,
)
TINY = attrs.evolve(
    change(SMALL, sm={"count": 2}, l1={"mshrs": 2}),
    tlb={
        name: attrs.evolve(level, entries=4, ways=4, mshrs=2, queue=2)
        for name, level in SMALL.tlb.items()
    },
)
WALKS = (
    WalkConfig(1, "fixed", cycles(100), queue=2),
    WalkConfig(2, "memory", queue=2),
    WalkConfig(3, "per-level", cycles(20), order=PolicyConfig("fcfs")),
)


ARRAYS = ("set-associative", "sub-entry", "star", "cluster")


def script_of(program: Any) -> list[tuple[Any, ...]]:
    steps: list[tuple[Any, ...]] = []
    for what, where, later in program:
        steps += [(what, *(BASE + PAGE * page + 128 * line for page, line in where)), ("wait",)]
        steps += [("compute", later)] if later else []
    return steps


def changes_of(events: Any) -> Any:
    def play(machine: Machine) -> Generator[int, None, None]:
        for number, (later, what, page) in enumerate(events):
            yield later
            happen(machine, what, VPN + page, 16 * (1000 + number))

    return lambda machine: machine.env.start(play(machine)) and None


def happen(machine: Machine, what: str, tag: int, frames: int) -> None:
    """A change of a page; `frames` are free, for a page that becomes large, or is."""
    pages = machine.pages
    mapping = pages.find(tag)
    if what == "all":
        pages.shoot_down(None)
    elif what == "promote":
        for page in range(tag // 16 * 16, tag // 16 * 16 + 16):
            machine.page_table.walk(0, page)
        promoted = pages.promote(tag, 16, frames)
        assert (promoted is None) == (mapping is not None and mapping.pages == 16)
    elif what == "remap" and mapping is not None and mapping.pages == 16:
        pages.remap(tag, frames)
    else:
        getattr(pages, what)(tag)


@given(
    st.sampled_from(TRANSLATIONS),
    st.sampled_from(WALKS),
    st.sampled_from(ARRAYS),
    st.lists(st.lists(loads, min_size=2, max_size=2), min_size=1, max_size=3),
    events,
    st.sampled_from([None, "PassOn", "NextPage"]),
)
def test_whatever_happens_to_pages_nothing_is_lost(
    translation: str, walk: WalkConfig, array: str, blocks: Any, events: Any, kind: str | None
) -> None:
    pages = 1 if array == "set-associative" else 4
    shape = attrs.evolve(TINY.tlb["L2"], array=PolicyConfig(array), sub_entries=pages)
    config = attrs.evolve(TINY, walk=walk, tlb={**TINY.tlb, "L2": shape})
    config = placed(translation, config)
    if kind is not None:
        config = with_stage(config, kind, "L1", "own", "L2", "walk", scope="sm", queue=2)
    launch = ScriptedLaunch([[script_of(one) for one in block] for block in blocks])
    tenant = Tenant("app", ScriptedApplication([launch]), range(2))
    run = Run.of(config, [tenant], changes_of(events))  # drained, and conservation checked
    machine = run.machine
    asked = [where for block in blocks for warp in block for _, where, _ in warp]
    assert len(run.requests) == sum(len(set(where)) for where in asked)
    for request in run.requests:
        if request.mapping is not None:
            assert request.mapping.covers(request.tag)
    for tlb in (tlb for level in machine.tlbs.values() for tlb in level):
        for page in range(22):
            found = tlb.array.lookup(VPN + page, 0)
            assert found is None or found is machine.pages.find(VPN + page)
    again = Run.of(config, [tenant], changes_of(events))
    assert again.loads == run.loads
    assert [*again.machine.counter_rows()] == [*machine.counter_rows()]

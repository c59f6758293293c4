"""In-place coalescing: what becomes a large page, when, and that nothing is lost by it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.mapping import Mapping, became_part
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bytes, cycles
from gpusim.machine import Machine, Tenant
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change

PAGE, LARGE, RANGE = 64 << 10, 2 << 20, 32
BASE = 1 << 33
FIRST = BASE // PAGE
RANGES = 2


def machine(frames: str = "mosaic", walk: WalkConfig | None = None, **options: Any) -> GpuConfig:
    memory = {"page": Bytes(PAGE), "frames": PolicyConfig(frames, options)}
    coalescer = {"coalescer": StageConfig(PolicyConfig("coalescer"))}
    stages = ("L1", "L2", "coalescer", "walk")
    config = attrs.evolve(SMALL, stage=coalescer, stages=stages, walk=walk or SMALL.walk)
    return change(config, memory=memory)


def run(
    config: GpuConfig,
    *pages: int,
    of: int = RANGE * RANGES * PAGE,
    base: int = BASE,
    attach: Any = None,
) -> Run:
    """One warp loads from pages of an array of `of` bytes, one after the other."""
    script = []
    for number, page in enumerate(pages):
        script += [("load", base + PAGE * page + 128 * number), ("wait",)]
    launch = ScriptedLaunch([[script]])
    application = ScriptedApplication([launch], buffers=(Buffer("a", base, of),))
    return Run.of(config, [Tenant("scripted", application, range(1))], attach)


def coalesced(of: Run) -> int:
    return of.count("stage/coalescer", "coalesced")


def test_a_range_that_is_mapped_ahead_becomes_a_page_when_it_is_first_walked() -> None:
    found = run(machine(), 0, 1, 31, 32)
    assert coalesced(found) == 2
    assert found.count("walk", "walks") == 3, "0 as a small page, 1 as a large one, which has 31"
    assert [request.mapping.pages for request in found.requests if request.mapping] == [
        1,
        RANGE,
        RANGE,
        1,
    ]
    pages = [request.address // PAGE for request in found.requests]
    assert pages == [0, 1, 31, 32], "nothing moves"


def test_a_range_that_fills_bit_by_bit_becomes_a_page_with_its_last_one() -> None:
    touched = [*range(1, RANGE), 0]
    found = run(machine(ahead=False), *touched, 40)
    assert coalesced(found) == 1
    assert found.count("walk", "walks") == RANGE + 1
    pages = found.machine.pages
    assert {pages.find(FIRST + page) for page in range(RANGE)} == {pages.find(FIRST)}
    assert coalesced(run(machine(ahead=False), *touched[:-1], *touched[:-1])) == 0


def test_translations_of_small_pages_stay_right() -> None:
    """The L1 TLB has 16 entries: page 31 is in it, as a small page, when the range is full."""
    found = run(machine(ahead=False), *range(RANGE), 31)
    last = found.requests[-1].mapping
    assert last is not None
    assert last.pages == 1
    assert found.count("tlb/L1", "hits") == 1
    assert became_part(last, found.machine.pages.find(FIRST + 31), FIRST + 31)


@pytest.mark.parametrize(
    ("frames", "of", "base"),
    [
        ("mosaic", LARGE - 2 * PAGE, BASE),
        ("mosaic", LARGE, BASE + PAGE),
        ("first-touch", LARGE, BASE),
        ("scattered", LARGE, BASE),
    ],
)
def test_what_is_not_full_or_lies_elsewhere_stays_as_it_is(frames: str, of: int, base: int) -> None:
    order = [5, *range(5), *range(6, of // PAGE - 1)]
    found = run(machine(frames), *order, of=of, base=base)
    assert coalesced(found) == 0
    (warning,) = found.machine.stages[2][0].warnings()
    assert f"none of the {len(order)} translations that it saw was in a full" in warning


def test_a_range_fills_across_arrays_but_not_across_applications() -> None:
    arrays = (Buffer("a", BASE, LARGE // 2), Buffer("b", BASE + LARGE // 2, LARGE // 2))
    launch = ScriptedLaunch([[[("load", BASE), ("wait",)]]])
    tenants = [
        Tenant(name, ScriptedApplication([launch], buffers=arrays[:count]), range(sm, sm + 1))
        for sm, (name, count) in enumerate({"whole": 2, "half": 1}.items())
    ]
    found = Run.of(change(machine(), sm={"count": 2}), tenants)
    counted = [found.count("stage/coalescer", "coalesced", name) for name in ("whole", "half")]
    assert counted == [1, 0]
    table = found.machine.page_table
    frames = [table.translate(asid, FIRST) // RANGE for asid in (0, 1)]
    assert frames[0] != frames[1], "a region belongs to one application"


def test_a_page_that_changed_is_looked_at_again() -> None:
    """Page 3 moves away and back while the range fills; then the range becomes a page."""
    home: list[int] = []

    def play(machine: Machine) -> Generator[int, None, None]:
        yield 20 * 645
        home.append(machine.page_table.translate(0, FIRST + 3))
        machine.pages.remap(FIRST + 3, 5000)
        yield 1
        machine.pages.remap(FIRST + 3, home[0])

    found = run(machine(ahead=False), *range(RANGE), attach=lambda m: m.env.start(play(m)) and None)
    assert coalesced(found) == 1


def test_a_page_that_moved_away_keeps_its_range_from_becoming_one() -> None:
    def play(machine: Machine) -> Generator[int, None, None]:
        yield 20 * 645
        machine.pages.remap(FIRST + 3, 5000)

    found = run(machine(ahead=False), *range(RANGE), attach=lambda m: m.env.start(play(m)) and None)
    assert coalesced(found) == 0


def test_a_translation_is_right_as_a_part_of_a_larger_page_only() -> None:
    small, large = Mapping(5, 105), Mapping(0, 100, 8)
    assert became_part(small, large, 5)
    for other in (
        None,
        Mapping(5, 105),
        Mapping(0, 108, 8),
        Mapping(0, 100, 8, writable=False),
    ):
        assert not became_part(small, other, 5)
    assert not became_part(small, large, 6)


@given(
    st.lists(st.sets(st.integers(0, RANGE - 1), max_size=1), min_size=RANGES, max_size=RANGES),
    st.randoms(use_true_random=False),
)
def test_ranges_that_are_touched_all_over_are_large_in_the_end(
    untouched: list[set[int]], rng: Any
) -> None:
    touched = [
        RANGE * number + page
        for number, missing in enumerate(untouched)
        for page in range(RANGE)
        if page not in missing
    ]
    rng.shuffle(touched)
    found = run(machine(ahead=False), *touched)
    mappings = [found.machine.pages.find(FIRST + page) for page in touched]
    sizes = {
        page: mapping.pages for page, mapping in zip(touched, mappings, strict=True) if mapping
    }
    assert sizes == {page: 1 if untouched[page // RANGE] else RANGE for page in touched}
    assert coalesced(found) == sum(not missing for missing in untouched)


# -- whatever happens ----------------------------------------------------------------------------

pages = st.integers(0, RANGE * RANGES - 1)
programs = st.lists(st.lists(pages, min_size=1, max_size=30), min_size=1, max_size=3)
events = st.lists(
    st.tuples(
        st.integers(1, 2000), st.sampled_from(["remap", "unmap", "shoot_down", "protect"]), pages
    ),
    max_size=10,
)
WALKS = (WalkConfig(2, "per-level", cycles(20)), WalkConfig(2, "memory"))


@given(
    programs,
    events,
    st.booleans(),
    st.sampled_from(WALKS),
    st.sampled_from(["set-associative", "sub-entry", "colt"]),
)
def test_whatever_happens_nothing_is_lost(
    programs: Any, events: Any, ahead: bool, walk: WalkConfig, array: str
) -> None:
    """The run drains and conserves; each load finds the frame that its page has, or had."""
    config = machine(walk=walk, ahead=ahead)
    size = 1 if array == "set-associative" else 4
    level = attrs.evolve(config.tlb["L2"], array=PolicyConfig(array), sub_entries=size)
    config = attrs.evolve(config, tlb={**config.tlb, "L2": level})

    def play(machine: Machine) -> Generator[int, None, None]:
        for number, (later, what, page) in enumerate(events):
            yield later
            tag, at = FIRST + page, machine.pages
            if what == "remap":
                mapped = at.find(tag)
                within = 0 if mapped is not None and mapped.pages > 1 else page % RANGE
                at.remap(tag, RANGE * (100 + number) + within)
            elif what == "protect":
                at.protect(tag, writable=bool(number % 2))
            else:
                getattr(at, what)(tag)

    scripts = [
        [step for page in one for step in (("load", BASE + (PAGE + 128) * page), ("wait",))]
        for one in programs
    ]
    launch = ScriptedLaunch([scripts])
    array_ = Buffer("a", BASE, RANGE * RANGES * PAGE)
    tenant = Tenant("app", ScriptedApplication([launch], buffers=(array_,)), range(1))
    found = Run.of(config, [tenant], lambda machine: machine.env.start(play(machine)) and None)
    assert len(found.requests) == sum(map(len, programs))
    for tlb in (tlb for level in found.machine.tlbs.values() for tlb in level):
        for page in range(RANGE * RANGES):
            held, tag = tlb.array.lookup(FIRST + page, 0), FIRST + page
            right = found.machine.pages.find(tag)
            assert held is None or held is right or became_part(held, right, tag)


def test_it_costs_no_bits() -> None:
    for model in ("kepler-uvm", "maxwell-mask"):
        assert added_bytes(load_model(model, ["tlb-mosaic"]), load_model(model)) == {}

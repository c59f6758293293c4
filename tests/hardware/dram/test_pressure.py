"""Walks at once and warps that wait for one: by hand, and against a list of all that happened."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.hardware.dram.pressure import TranslationPressure
from tests.examples import examples


def test_a_walk_and_its_warps() -> None:
    pressure = TranslationPressure(2, 100)
    assert (pressure.walks(0, 0), pressure.warps(0, 0)) == (0, 0)
    pressure.missed(0, 7, 0, 5)
    pressure.missed(0, 7, 0, 6)
    pressure.missed(0, 7, 0, 6)  # another line of the same page: the same warp
    pressure.walk_begun(1, 7, 10)
    pressure.missed(3, 7, 3, 5)  # another SM
    assert (pressure.walks(1, 20), pressure.warps(1, 20)) == (1, 3)
    assert (pressure.walks(0, 20), pressure.warps(0, 20)) == (0, 0)
    pressure.walk_ended(1, 7, 30)
    pressure.filled(0, 7)
    pressure.filled(3, 7)
    assert (pressure.walks(1, 99), pressure.warps(1, 99)) == (1, 3)
    assert (pressure.walks(1, 100), pressure.warps(1, 100)) == (0, 0)


def test_walks_are_the_most_at_once_and_warps_a_mean() -> None:
    pressure = TranslationPressure(1, 100)
    for tag, warps in ((1, 4), (2, 1)):
        for warp in range(warps):
            pressure.missed(0, tag, 0, warp)
        pressure.walk_begun(0, tag, tag)
    pressure.walk_ended(0, 1, 50)
    pressure.filled(0, 1)
    assert (pressure.walks(0, 60), pressure.warps(0, 60)) == (2, 2.5)
    # page 2 is still being walked in the next epoch
    assert (pressure.walks(0, 250), pressure.warps(0, 250)) == (1, 1)


def test_the_present_is_what_is_under_way() -> None:
    pressure = TranslationPressure(1, 100)
    assert (pressure.walks_now(0), pressure.warps_now(0)) == (0, 0)
    for tag, warps in ((1, 4), (2, 1)):
        for warp in range(warps):
            pressure.missed(0, tag, 0, warp)
        pressure.walk_begun(0, tag, tag)
    assert (pressure.walks_now(0), pressure.warps_now(0)) == (2, 2.5)
    pressure.walk_ended(0, 1, 50)
    pressure.filled(0, 1)
    assert (pressure.walks_now(0), pressure.warps_now(0)) == (1, 1)


def test_counters_have_six_bits() -> None:
    pressure = TranslationPressure(1, 1000)
    for tag in range(70):
        pressure.walk_begun(0, tag, 0)
        for warp in range(80):
            pressure.missed(tag, tag, 0, warp)
    assert (pressure.walks(0, 1), pressure.warps(0, 1)) == (63, 63)
    assert (pressure.walks_now(0), pressure.warps_now(0)) == (63, 63)


def test_pages_that_a_deeper_tlb_had_count_for_nothing() -> None:
    pressure = TranslationPressure(1, 1000)
    pressure.missed(0, 1, 0, 0)
    pressure.filled(0, 1)
    pressure.missed(0, 1, 0, 1)
    pressure.walk_begun(0, 1, 5)
    assert pressure.warps(0, 6) == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "wait", "end"]),
        st.integers(0, 1),
        st.integers(0, 4),
        st.integers(0, 6),
        st.integers(0, 40),
    ),
    max_size=80,
)


@settings(max_examples=examples(150), deadline=None)
@given(STEPS)
def test_it_counts_as_a_naive_one(steps: list[tuple[str, int, int, int, int]]) -> None:
    """All walks and all numbers of walks at once are kept; an epoch has those that touch it."""
    pressure = TranslationPressure(2, 100)
    under_way: dict[int, set[int]] = {}
    ended: list[tuple[int, int, int]] = []  # application, cycle, warps
    at_once: list[list[tuple[int, int]]] = [[(0, 0)], [(0, 0)]]
    cycle = 0
    for action, app, page, warp, later in steps:
        cycle += later
        tag = 2 * page + app
        if action == "begin" and tag not in under_way:
            pressure.missed(0, tag, 0, warp)
            pressure.walk_begun(app, tag, cycle)
            under_way[tag] = {warp}
        elif action == "wait" and tag in under_way:
            pressure.missed(0, tag, 0, warp)
            under_way[tag].add(warp)
        elif action == "end" and tag in under_way:
            pressure.walk_ended(app, tag, cycle)
            pressure.filled(0, tag)
            ended.append((app, cycle, len(under_way.pop(tag))))
        at_once[app].append((cycle, sum(tag % 2 == app for tag in under_way)))
        epoch = cycle - cycle % 100
        for one in (0, 1):
            at_begin = [number for when, number in at_once[one] if when < epoch][-1:]
            since = [number for when, number in at_once[one] if when >= epoch]
            assert pressure.walks(one, cycle) == max(at_begin + since)
            warps = [len(all_) for tag, all_ in under_way.items() if tag % 2 == one]
            warps += [number for owner, when, number in ended if owner == one and when >= epoch]
            assert pressure.warps(one, cycle) == (sum(warps) / len(warps) if warps else 0)

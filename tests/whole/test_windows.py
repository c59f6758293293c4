"""Windows of programs: where they are, what they tell of the whole, and that nothing is lost."""

from collections.abc import Generator, Iterable

import numpy as np
import pytest
from attrs import define, evolve
from hypothesis import given
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.hardware.sm.untimed.scheduler import Pace, SkippingScheduler
from gpusim.machine import Machine
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from gpusim.runs.windows.extrapolation import LEAST_WINDOWS, Shares, _largest_by_chance, whole_of
from gpusim.runs.windows.plan import parse_sample
from gpusim.workloads.library import find_workload, workload_names
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_skipping import arrays

CYCLES = "windows=10,length=800cycles,warm=200cycles"
PLAN = "windows=12,length=60instructions,warm=60instructions"
LONGER = "windows=12,length=1200instructions,warm=200instructions"


# -- where they are --------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=20),
    st.integers(2, 40),
    st.integers(0, 5),
)
def test_a_window_begins_in_each_equal_part_of_a_program(
    launches: list[int], windows: int, seed: int
) -> None:
    plan = parse_sample(f"windows={windows},length=1cycles,warm=1cycles,seed={seed}")
    total = sum(launches)
    places = plan.places(launches, [("", 0, 0, 0)] * len(launches), 0)
    assert [place * windows // total for place in places] == pytest.approx(range(windows), abs=1)
    second = plan.places(launches, [("", 0, 0, 0)] * len(launches), 1)
    assert second == sorted(second)
    assert second[0] >= 0
    assert second[-1] < min(2 * total, second[0] + total)


@given(st.lists(st.integers(100, 1_000), min_size=4, max_size=20), st.integers(0, 5))
def test_launches_of_one_kind_have_their_share_of_windows(launches: list[int], seed: int) -> None:
    plan = parse_sample(f"windows=40,length=1cycles,warm=1cycles,by=launch,seed={seed}")
    signatures = [("odd" if number % 2 else "even", 0, 0, 0) for number in range(len(launches))]
    ends = np.cumsum(launches)
    places = plan.places(launches, signatures, 0)
    odd = sum(int(np.searchsorted(ends, place, side="right")) % 2 for place in places)
    assert odd == pytest.approx(40 * sum(launches[1::2]) / sum(launches), abs=1.001)


of_launches = given(
    st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 3)), min_size=1, max_size=30).filter(
        lambda each: any(instructions for instructions, _ in each)
    ),
    st.integers(2, 40),
    st.integers(0, 5),
)
"""Instructions and kind of each launch, windows, a seed."""


def surveyed(each: list[tuple[int, int]]) -> tuple[list[int], list[tuple[str, int, int, int]]]:
    """Instructions and signature of each launch."""
    return [instructions for instructions, _ in each], [("k", kind, 0, 0) for _, kind in each]


@of_launches
def test_windows_in_strata_stand_for_all(
    each: list[tuple[int, int]], windows: int, seed: int
) -> None:
    plan = parse_sample(f"windows={windows},length=9cycles,warm=9cycles,by=launch,seed={seed}")
    work, signatures = surveyed(each)
    found = plan.strata(work, signatures)
    assert len(found) == windows
    assert [place for place, _, _ in found] == sorted(place for place, _, _ in found)
    assert sum(weight for _, weight, _ in found) == pytest.approx(1)
    ends = np.cumsum(work)
    kinds = {kind for instructions, kind in each if instructions}
    if 2 * len(kinds) > windows:
        assert {stratum for _, _, stratum in found} == {0}
        return
    for kind in kinds:  # each has two windows or more, which stand for what its launches execute
        mine = [
            weight
            for place, weight, _ in found
            if each[int(np.searchsorted(ends, place, side="right"))][1] == kind
        ]
        share = sum(instructions for instructions, other in each if other == kind) / sum(work)
        assert len(mine) >= 2
        assert sum(mine) == pytest.approx(share)


@of_launches
def test_whole_launches_stand_for_all(each: list[tuple[int, int]], windows: int, seed: int) -> None:
    plan = parse_sample(f"windows={windows},length=launch,seed={seed}")
    work, signatures = surveyed(each)
    chosen = plan.launches(work, signatures)
    assert [launch for launch, _, _ in chosen] == sorted({launch for launch, _, _ in chosen})
    assert len(chosen) <= windows
    assert sum(weight for _, weight, _ in chosen) == pytest.approx(1)
    running = [launch for launch, instructions in enumerate(work) if instructions]
    kinds = {signatures[launch] for launch in running}
    if sum(min(sum(signatures[one] == kind for one in running), 2) for kind in kinds) <= windows:
        for kind in kinds:  # each stands for what its launches execute
            told = sum(weight for launch, weight, _ in chosen if signatures[launch] == kind)
            of_kind = [launch for launch in running if signatures[launch] == kind]
            assert told == pytest.approx(sum(work[one] for one in of_kind) / sum(work))
    if windows >= len(running):
        assert [launch for launch, _, _ in chosen] == running


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("windows=3", "length is missing"),
        ("windows=1,length=1cycles,warm=1cycles", "at least 2"),
        ("windows=3,length=1,warm=1cycles", "with its unit"),
        ("windows=3,length=1cycles,warm=1instructions", "both of cycles, or both"),
        ("windows=3,length=1cycles,warm=1cycles,by=lunch", "did you mean 'launch'"),
        ("windows=3,lenght=1cycles", "did you mean 'length'"),
        ("windows=3,windows=4", "once"),
        ("windows=100001,length=launch", "at most 100,000"),
        ("windows=3", "windows=10,length=launch"),
        ("windows=3,length=launch,warm=1kcycles", "need no warm"),
        ("windows=3,length=launch,by=program", "are chosen by launch"),
        ("windows=3,length=launch,warm=launch", "need no warm"),
        ("windows=3,length=launch,warm=", "need no warm"),
        ("windows=3,length=1launch,warm=1cycles", "with its unit"),
        ("windows=3,length=1kcycles,warm=launch", "both of cycles, or both"),
    ],
)
def test_what_is_no_plan(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        parse_sample(text)


def test_programs_that_are_too_long_at_scale_paper_have_windows() -> None:
    samples = {name: find_workload(name).table.timed.paper.sample for name in workload_names()}
    told = {name: parse_sample(sample) for name, sample in samples.items() if sample}
    assert told.keys() >= {"fw", "gemm", "pagerank"}
    assert all(plan.windows > LEAST_WINDOWS for plan in told.values())


# -- what they tell --------------------------------------------------------------------------------


def shares(cycles: Iterable[int], issued: list[list[int]], values: list[list[int]]) -> Shares:
    count, apps = np.shape(issued)
    sums = np.zeros((count, 1, apps, 1))
    each = np.repeat(np.array(cycles, dtype=float)[:, None], apps, axis=1)
    return Shares(
        each,
        np.array(issued, float),
        np.array(values, float),
        sums,
        np.ones(count),
        np.zeros(count, dtype=int),
    )


def test_half_of_the_instructions_slow_half_fast() -> None:
    # 1 and 10 cycles an instruction, of 1000: 5.5 in the mean; misses 0.5 and 1 an instruction
    found = whole_of(
        shares([100, 100], [[100], [10]], [[50, 7], [10, 7]]), [1000], np.array([0, -1])
    )
    assert found.cycles.tolist() == [5500]
    assert found.values.tolist() == [750, 385]  # 1000 (0.5 + 1) / 2; 1000 (0.07 + 0.7) / 2


def test_a_window_weighs_as_much_as_the_others_stay_at_theirs() -> None:
    # the second application needs 1 and 3 cycles an instruction: it stays 3 times as long at the
    # second place, so the first one's 2 and 4 cycles an instruction count 1 : 3
    found = whole_of(shares([12, 12], [[6, 12], [3, 4]], [[12], [12]]), [100, 100], np.array([1]))
    assert found.cycles.tolist() == [350, round(100 * (2 * 1 + 4 * 3) / (2 + 4))]
    assert found.values.tolist() == [233]  # one a cycle, and so over all of its cycles


def test_others_of_its_stratum_stand_for_a_window_that_is_left_out() -> None:
    told = evolve(
        shares([10, 20, 90], [[1], [1], [1]], [[0], [0], [0]]),
        weights=np.array([0.5, 0.25, 0.25]),
        strata=np.array([1, 1, 0]),
    )
    # 1000 instructions: 10, 20 and 90 cycles each of a half, a quarter and a quarter of them
    cycles = [
        whole_of(told.without(gone), [1000], np.array([-1])).cycles[0] for gone in range(len(told))
    ]
    assert whole_of(told, [1000], np.array([-1])).cycles.tolist() == [32500]
    assert cycles == [37500, 30000, 32500], "no other window stands for the last one"
    assert not told.complete
    assert evolve(told, strata=np.array([2, 1, 0])).complete


def test_of_few_windows_one_may_make_up_more_of_the_spread() -> None:
    # Grubbs' critical values at 5 %, two sides: 2.126 standard deviations of 8, 2.908 of 30
    assert _largest_by_chance(8) == pytest.approx(2.126**2 / 7, rel=1e-3)
    assert _largest_by_chance(30) == pytest.approx(2.908**2 / 29, rel=1e-3)
    assert _largest_by_chance(2) == 1


# -- that nothing is lost --------------------------------------------------------------------------


@define(slots=False, eq=False)
class Interrupting(Pace):
    """Times everything, with a pause every some cycles."""

    every: int

    def skips(self, scheduler: SkippingScheduler) -> bool:
        return False

    def pauses(self, machine: Machine) -> Generator[int, None, None]:
        while any(scheduler.in_flight() for scheduler in machine.schedulers):
            yield self.every
            for scheduler in machine.schedulers:
                assert isinstance(scheduler, SkippingScheduler)
                scheduler.pause()


@pytest.mark.parametrize("program", quick(["bfs", "scan"], "bfs"))
@pytest.mark.parametrize("every", quick([37, 500], 37))
def test_a_run_that_is_paused_again_and_again_issues_what_one_does_that_is_not(
    program: str, every: int
) -> None:
    pace = Interrupting(every)
    loaded = gpusim.load_model("tiny")
    tenants = assign_sms(loaded, gpusim.load_workload(program, "smoke"))
    machine = Machine(loaded.config, tenants, 0, pace)
    prepare_warming(machine)
    machine.env.start(pace.pauses(machine))
    run_machine(machine)
    plain = Machine(loaded.config, assign_sms(loaded, gpusim.load_workload(program, "smoke")), 0)
    run_machine(plain)
    for name in ("instructions", "transactions", "loads", "stores"):
        issued, expected = (
            sum(getattr(sm.counters[0], name) for sm in one.sms) for one in (machine, plain)
        )
        assert issued == expected, name
    for one, other in zip(arrays(machine), arrays(plain), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_sampled_run() -> None:
    few: dict[str, object] = {"elements": 32768, "chunk": 16384}
    plan = "windows=10,length=700cycles,warm=150cycles"
    whole = run("tiny", "triad", parameters=few)
    part, again = (run("tiny", "triad", parameters=few, sample=plan) for _ in range(2))
    assert part.digest == again.digest
    other = run("tiny", "triad", parameters=few, sample=f"{plan},seed=1")
    assert part.digest != other.digest
    assert part.summary["instructions"] == pytest.approx(whole.summary["instructions"], abs=2)
    facts = part.estimates.set_index("name")
    assert facts.loc["cycles"].value == part.summary["cycles"]
    assert facts.loc["cycles"].low < whole.summary["cycles"] < facts.loc["cycles"].high
    assert facts.refused.str.startswith("a largest value").any()
    assert facts.loc["share_barrier"].refused == "no window tells of any"
    assert len(part.windows) == 10
    assert (part.windows.cycles == 700).all()
    assert part.applications.end[0] == part.summary["cycles"]
    assert "sampled: numbers are estimates" in part.warnings[0]
    assert "sample=windows=10" in part.provenance.title


@pytest.mark.parametrize(
    ("parameters", "plan", "why"),
    [
        pytest.param(
            {"n": 1024, "iterations": 24},
            PLAN.replace("60", "80"),
            "what is skipped does not let them",
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"n": 2048, "iterations": 48},
            LONGER,
            "live through several windows",
            marks=pytest.mark.long,
        ),
    ],
)
def test_warps_or_blocks_that_come_apart_leave_no_interval(
    parameters: dict[str, object], plan: str, why: str
) -> None:
    part = run("tiny", "mvt", parameters=parameters, sample=plan)
    assert (part.windows.instructions >= 60).all()
    assert part.estimates.refused.str.contains(why).any()
    assert part.estimates.low.isna().all()
    assert any("estimates may be far off" in told for told in part.warnings)


def test_short_windows_leave_no_interval() -> None:
    part = run("tiny", "triad", sample=CYCLES.replace("800", "300"))
    told = "take 660 and more"  # five loads of 132 cycles
    assert part.estimates.refused.str.contains(f"{told}|a largest value").all()
    assert any(told in warning for warning in part.warnings)


def test_few_windows_have_no_interval() -> None:
    part = run("tiny", "triad", sample=CYCLES.replace("10", "3"))
    facts = part.estimates.set_index("name")
    assert facts.loc["cycles"].refused == "3 windows measure it; an interval needs 8"
    assert np.isnan(facts.loc["cycles"].low)


PAIR = """
relaunch = "until-all-have-run"

[[applications]]
workload = "triad"
[applications.smoke]

[[applications]]
workload = "2dconv"
[applications.smoke]
"""


@pytest.mark.long
@pytest.mark.parametrize("plan", [CYCLES, PLAN])
def test_pairs(plan: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    whole = run("tiny", str(path), overrides={"sm.count": 4})
    part = run("tiny", str(path), overrides={"sm.count": 4}, sample=plan)
    assert len(part.windows) == 2 * parse_sample(plan).windows
    for app in ("triad", "2dconv"):
        numbers = part.summary[f"{app}/instructions"], whole.summary[f"{app}/instructions"]
        assert numbers[0] == pytest.approx(numbers[1], abs=2)
        assert part.summary[f"{app}/cycles"] == pytest.approx(whole.summary[f"{app}/cycles"], rel=1)
    if plan == PLAN:
        assert part.windows.instructions.between(60, 120).all()
    path.write_text(PAIR.replace("until-all-have-run", "never"))
    with pytest.raises(UserError, match=r"set .*relaunch"):
        run("tiny", str(path), overrides={"sm.count": 4}, sample=plan)


def test_the_second_program_may_have_its_first_window_in_its_second_run(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    plan = "windows=5,length=60instructions,warm=60instructions,seed=12"
    part = run("tiny", str(path), overrides={"sm.count": 4}, sample=plan)
    of_second = part.windows[part.windows.app == "2dconv"]
    assert len(of_second) == 5
    total = part.summary["2dconv/instructions"]
    assert total < of_second.place.iloc[0] < 2 * total


LAUNCHES: dict[str, object] = {"graph.vertices": 400, "iterations": 6}


@pytest.mark.long
def test_all_launches_are_the_whole_run_and_some_of_them_nearly() -> None:
    whole = run("tiny", "pagerank", parameters=LAUNCHES)
    count = len(whole.launches)
    every = run("tiny", "pagerank", parameters=LAUNCHES, sample=f"windows={count},length=launch")
    assert len(every.windows) == count
    for name in ("cycles", "instructions", "transactions", "walks", "dram_reads"):
        assert every.summary[name] == pytest.approx(whole.summary[name], rel=1e-3), name
    known = every.estimates.set_index("name").loc["cycles"]
    assert known.low == known.high == known.value, "nothing is left out"
    assert every.windows.cycles.sum() == pytest.approx(whole.summary["cycles"], rel=1e-3)
    some = run("tiny", "pagerank", parameters=LAUNCHES, sample="windows=9,length=launch")
    assert some.summary["cycles"] == pytest.approx(whole.summary["cycles"], rel=0.02)
    facts = some.estimates.set_index("name").loc["cycles"]
    assert facts.low <= whole.summary["cycles"] <= facts.high
    assert not any("warm" in one for one in some.warnings)


def test_launches_of_pairs_are_no_windows(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    with pytest.raises(UserError, match="do not begin together"):
        run("tiny", str(path), overrides={"sm.count": 4}, sample="windows=9,length=launch")


def test_on_the_command_line_and_in_a_workload() -> None:
    small = ("--scale", "smoke", "--set", "workload.n=256")
    shown = command("run", "tiny", "mvt", *small, "--sample", PLAN).output
    assert "95 % intervals" in shown
    same = command("run", "tiny", "mvt", *small, "--set", f"workload.timed.sample={PLAN}").output
    assert "sampled: numbers are estimates" in same
    wrong = command("run", "tiny", "mvt", "--set", "workload.timed.sampel=1", code=2)
    assert "did you mean 'sample'" in wrong.output

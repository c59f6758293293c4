"""A few launches of each kind, from which whole programs are estimated."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

import gpusim
import gpusim.runs.run as run_module
from gpusim.config.load import LoadedModel
from gpusim.core.errors import DeadlockError, UserError
from gpusim.machine import Machine
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    DeviceArray,
    Floats,
    Launch,
    kernel,
    number,
    program,
    threads_below,
)
from gpusim.results.result import Result
from gpusim.runs.amounts import LaunchSample
from gpusim.runs.windows import launch_survey
from gpusim.runs.windows.launch_kinds import kind_of
from gpusim.runs.windows.launch_plan import LaunchPlan, parse_launch_plan
from gpusim.traces.recorder import record_trace
from gpusim.workloads.workload import Workload
from tests.whole.running import command, run

PLAN = "launches=3,warm=1"


# -- programs --------------------------------------------------------------------------------------


@frozen
class Sizes:
    layers: int = number(12, 1, 100)
    n: int = 512


@kernel("project", registers=8, block=64)
def project(k: BlockTracer, weights: Floats, stream: Floats, rounds: int) -> None:
    for one in range(rounds):
        k.load(weights, rounds * k.t + one)
        k.wait(0)
    k.store(stream, k.t, 0)


@kernel("norm", registers=8, block=64)
def norm(k: BlockTracer, stream: Floats, n: int) -> None:
    where = threads_below(k, n)
    k.load(stream, k.t, where)
    k.wait(0, where)
    k.store(stream, k.t, 0, where)


@program("layered", Sizes)
def layered(memory: AddressSpace, sizes: Sizes, _seed: int) -> Iterator[Launch]:
    """Layers with weights of their own and a stream of all, none of which has contents."""
    weights = [memory.blank(f"w{one}", 8 * sizes.n, np.float32) for one in range(sizes.layers)]
    stream = memory.blank("stream", sizes.n, np.float32)
    for own in weights:
        yield norm[sizes.n](stream, sizes.n)
        yield project[sizes.n](own, stream, 8)
    yield project[sizes.n](weights[0], stream, 4)


def simulated(what: Any = layered, sample: str | None = None, **sizes: object) -> Result:
    workload = gpusim.load_workload(what, overrides=sizes)
    options = {} if sample is None else {"sample": sample}
    return gpusim.simulate(gpusim.load_model("tiny"), workload, **options)


def estimates(result: Result) -> pd.DataFrame:
    return result.estimates.set_index("name")


def test_parts_run_side_by_side_with_the_same_result() -> None:
    """In processes of their own, and more parts than cores."""
    one, *others = (
        gpusim.simulate("tiny", gpusim.load_workload(layered), sample=PLAN, cores=cores)
        for cores in (1, 2, 3)
    )
    for other in others:
        assert other.digest == one.digest
        assert other.launches.equals(one.launches)
        assert other.kernels.equals(one.kernels)
        assert other.warnings == one.warnings
    assert one.launches.begin.is_monotonic_increasing
    assert (one.launches.end > one.launches.begin).all()
    kernels = one.launches.kernel.value_counts()
    assert one.kernels.set_index("kernel").launches.to_dict() == kernels.to_dict()


def in_other_processes(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """What processes of parts do instead of running their machine."""
    own, here = run_module.run_machine, os.getpid()

    def run_machine(machine: Machine) -> None:
        own(machine) if os.getpid() == here else act()

    monkeypatch.setattr(run_module, "run_machine", run_machine)


def test_a_part_that_fails_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def side_by_side() -> Result:
        workload, output = gpusim.load_workload(layered), tmp_path / "run.h5"
        return gpusim.simulate("tiny", workload, sample=PLAN, cores=2, output=output)

    def stand_still() -> None:
        raise DeadlockError("all wait")

    in_other_processes(monkeypatch, stand_still)
    with pytest.raises(DeadlockError, match="all wait"):
        side_by_side()
    in_other_processes(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(UserError, match=r"part 2 of 3: its process has died \(signal 9\)"):
        side_by_side()
    assert not list(tmp_path.iterdir())


def test_where_there_are_no_parts() -> None:
    for options in ({}, {"sample": "windows=3,length=launch"}, {"skip": "1launches"}):
        with pytest.raises(UserError, match="cores 2: a run uses one core, but for"):
            gpusim.simulate("tiny", "triad", cores=2, **options)
    with pytest.raises(UserError, match="cores 0: must be a whole number from 1"):
        gpusim.simulate("tiny", "triad", cores=0)
    with pytest.raises(UserError, match="attached"):
        gpusim.simulate("tiny", "triad", cores=2, sample=PLAN, attach=lambda _: None)
    with pytest.raises(UserError, match="events: few launches run"):
        gpusim.simulate("tiny", "triad", sample=PLAN, events="pages.toml")


def inside(part: Result, whole: Result) -> list[bool]:
    """Of each number that has an interval, whether the truth lies in it."""
    facts = estimates(part)
    known = facts[facts.refused == ""]
    return [
        bool(one.low <= whole.summary[str(name)] <= one.high)
        for name, one in known.iterrows()
        if name in whole.summary
    ]


# -- which launches --------------------------------------------------------------------------------


def test_kinds_are_sizes_and_not_addresses() -> None:
    memory = AddressSpace()
    one, other = (memory.blank(name, 512, np.float32) for name in "ab")
    longer = memory.blank("c", 1024, np.float32)
    kept: DeviceArray[Any] = memory.zeros("d", 512, np.float32)
    kinds = [
        kind_of(project[threads](array, one, rounds))
        for threads, array, rounds in (
            (512, one, 4),
            (512, other, 4),
            (512, longer, 4),
            (512, kept, 4),
            (512, one, 5),
            (256, one, 4),
        )
    ]
    assert kinds[0] == kinds[1]
    assert len(set(kinds)) == 5


def test_whole_layers_are_chosen_and_what_is_launched_once() -> None:
    kinds = ["first", *["norm", "project", "attend"] * 20, "last"]
    chosen = LaunchPlan(3).choose(kinds)
    certain = [one.launch for one in chosen if one.part < 0]
    assert certain == [0, 1, 61], "the first norm is after another kind than its others"
    for part in range(3):
        mine = [one.launch for one in chosen if one.part == part]
        assert mine == list(range(mine[0], mine[0] + 3)), "neighbours"
        assert part * 20 <= mine[0] <= (part + 1) * 20 + 3
    stands_for = {one.launch: one.stands_for for one in chosen}
    assert {stands_for[one.launch] for one in chosen if one.part >= 0} == {19, 20}
    assert chosen == LaunchPlan(3).choose(kinds)
    assert chosen != LaunchPlan(3, seed=1).choose(kinds)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.integers(2, 5))
def test_chosen_launches_stand_for_all(kinds: list[str], launches: int) -> None:
    chosen = LaunchPlan(launches).choose(kinds)
    weights = [one.stands_for / (1 if one.part < 0 else launches) for one in chosen]
    assert sum(weights) == pytest.approx(len(kinds))
    strata = {(before, kind) for before, kind in zip([None, *kinds], kinds, strict=False)}
    assert {
        (kinds[one.launch - 1] if one.launch else None, kinds[one.launch]) for one in chosen
    } == strata


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("launches=1", "launches=1: must be a whole number from 2 to"),
        ("launches=x", "must be a whole number"),
        ("launches=3,waves=3", "waves=3: must be a whole number from 4 to"),
        ("launches=3,wave=4", "no 'wave'; did you mean 'waves'"),
        ("launches=3,length=launch", "no 'length' beside launches; allowed: launches, waves, warm"),
        ("launches=3,launches=4", "once"),
        ("lunches=3", "no 'lunches'"),
    ],
)
def test_what_is_no_plan(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        simulated(sample=text)


def test_a_plan_in_python_and_as_text() -> None:
    text = "launches=3,waves=4,warm=2,seed=5"
    assert str(LaunchSample(3, 4, 2, 5)) == str(parse_launch_plan(text)) == text
    assert parse_launch_plan("windows=9,length=launch") is None
    with pytest.raises(ValueError, match="waves"):
        LaunchSample(3, 3)


# -- what they tell --------------------------------------------------------------------------------


def test_an_estimate_holds_the_whole_run() -> None:
    whole, part = simulated(), simulated(sample=PLAN)
    again, other = simulated(sample=PLAN), simulated(sample=f"{PLAN},seed=1")
    assert part.digest == again.digest != other.digest
    assert part.summary["instructions"] == whole.summary["instructions"]
    facts = estimates(part)
    assert facts.loc["cycles"].low <= whole.summary["cycles"] <= facts.loc["cycles"].high
    assert facts.loc["cycles"].high < 1.2 * whole.summary["cycles"]
    assert np.mean(inside(part, whole)) > 0.9
    assert facts.refused.str.startswith("a largest value").any()
    assert part.applications.end[0] == part.summary["cycles"]
    counted = [
        one.counters[one.counters.counter == "instructions"].value.sum() for one in (part, whole)
    ]
    assert counted[0] == pytest.approx(counted[1])
    assert (part.windows.place == -1).all()
    assert set(part.windows.launch) < set(part.launches.launch), "some warm up alone"
    assert "from 8 of its 25 launches, kinds: 3 (launches=3,warm=1,seed=0)" in part.warnings[0]
    assert "sample=launches=3" in part.provenance.title


def test_launches_that_are_all_measured_are_the_whole_run() -> None:
    whole, part = simulated(layers=2), simulated(layers=2, sample="launches=2")
    assert part.summary == whole.summary
    known = estimates(part).loc["cycles"]
    assert known.low == known.high == known.value
    assert any("run it whole" in one for one in part.warnings)


def test_thread_blocks_in_the_middle_stand_for_those_that_do_not_run() -> None:
    sizes: dict[str, object] = {"layers": 5, "n": 4096}  # 64 blocks a launch, of which SMs hold 8
    whole, part = simulated(**sizes), simulated(**sizes, sample="launches=3,waves=4")
    assert part.summary["instructions"] == pytest.approx(whole.summary["instructions"], rel=1e-6)
    assert part.launches.blocks.max() == 32
    facts = estimates(part).loc["cycles"]
    assert facts.value == pytest.approx(whole.summary["cycles"], rel=0.1)
    assert facts.low <= whole.summary["cycles"] <= facts.high
    assert "of them without all thread blocks" in part.warnings[0]
    single = simulated(layers=1, n=4096, sample="launches=2,waves=4")
    assert estimates(single).refused.str.contains("nothing tells a spread|a largest").all()


def test_a_trace_may_write_what_it_likes(tmp_path: Path) -> None:
    path = tmp_path / "trace.h5"
    workload = gpusim.load_workload(marking, overrides={"n": 4096, "layers": 5}, seed=1)
    record_trace(workload, path)
    tiny, trace = gpusim.load_model("tiny"), gpusim.load_workload(str(path))
    whole = gpusim.simulate(tiny, trace)
    part = gpusim.simulate(tiny, trace, sample="launches=2,waves=4")
    assert part.launches.blocks.tolist() == [32] * len(part.launches)
    assert part.summary["instructions"] == pytest.approx(whole.summary["instructions"], rel=0.02)
    facts = estimates(part).loc["cycles"]
    assert facts.low <= whole.summary["cycles"] <= facts.high


@pytest.mark.long
def test_a_decode_step() -> None:
    sizes: dict[str, object] = {"layers": 6}
    whole = run("tiny", "decode_step_70b", parameters=sizes)
    part = run("tiny", "decode_step_70b", parameters=sizes, sample="launches=3")
    facts = estimates(part).loc["cycles"]
    assert facts.low <= whole.summary["cycles"] <= facts.high
    assert facts.high - facts.low < 0.15 * whole.summary["cycles"]
    assert np.mean(inside(part, whole)) > 0.9


def test_on_the_command_line() -> None:
    sampled = ("--set", "workload.layers=8", "--sample", "launches=2")
    shown = command("run", "tiny", "kv_append", "--scale", "smoke", *sampled).output
    assert "95 % intervals" in shown
    assert "sampled: numbers are estimates for the whole program from" in shown
    told = command("run", "tiny", "kv_append", "--scale", "smoke", *sampled, "--json").output
    assert "from 3 of its 8 launches" in json.loads(told)["warnings"][0]


# -- where launches cannot be left out -------------------------------------------------------------


def refusal(what: Any, sample: str = PLAN, model: LoadedModel | None = None) -> str:
    workload = what if isinstance(what, Workload) else gpusim.load_workload(what)
    with pytest.raises(UserError) as told:
        gpusim.simulate(model or gpusim.load_model("tiny"), workload, sample=sample)
    return str(told.value)


@kernel("mark", registers=8, block=64)
def mark(k: BlockTracer, flags: Floats, first: int) -> None:
    if k.bx >= first:
        k.store(flags, k.t, 1.0)
    k.compute(4)


@program("marking", Sizes)
def marking(memory: AddressSpace, sizes: Sizes, seed: int) -> Iterator[Launch]:
    flags = memory.zeros("flags", sizes.n, np.float32)
    for _ in range(sizes.layers):
        yield mark[sizes.n](flags, seed)


@pytest.mark.parametrize("first", [0, 1])
def test_a_kernel_that_changes_contents(first: int) -> None:
    """Of the first block it is seen at once, of others when a launch is timed."""
    workload = gpusim.load_workload(marking, seed=first)
    told = refusal(workload)
    assert "kernel 'mark' changes what array 'flags' holds" in told
    assert "windows=N,length=launch" in told


@program("waiting", Sizes)
def waiting(memory: AddressSpace, sizes: Sizes, _seed: int) -> Iterator[Launch]:
    flags = memory.zeros("flags", sizes.n, np.float32)
    while not flags.data[-1]:
        yield mark[sizes.n](flags, 1)


def test_a_host_that_waits_for_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_survey, "MOST_LAUNCHES", 100)
    assert "more than 100 launches if none is executed" in refusal(waiting)


_starts = count(1)


@program("another", Sizes)
def another(memory: AddressSpace, sizes: Sizes, _seed: int) -> Iterator[Launch]:
    stream = memory.blank("stream", 8 * sizes.n, np.float32)
    for rounds in range(3 + next(_starts) % 2):
        yield project[sizes.n](stream, stream, rounds + 1)


def test_a_host_that_goes_on_otherwise() -> None:
    assert "its host goes on by what they compute" in refusal(another)


@program("streamed", Sizes)
def streamed(memory: AddressSpace, sizes: Sizes, _seed: int) -> Iterator[Launch]:
    stream = memory.blank("stream", sizes.n, np.float32)
    for _ in range(4):
        yield norm[sizes.n](stream, sizes.n).on(1)


def test_streams_calls_pairs_nodes_and_paging(tmp_path: Path) -> None:
    assert "launch 0, of kernel 'norm', is in a stream" in refusal(streamed)
    assert "maps arrays piece by piece" in refusal(gpusim.load_workload("growing_decode", "smoke"))
    pair = tmp_path / "pair.toml"
    pair.write_text(
        "".join(f'[[applications]]\nworkload = "{one}"\n' for one in ("triad", "2dconv"))
    )
    assert "several applications" in refusal(gpusim.load_workload(str(pair), "smoke"))
    link = {"node.link.bandwidth": "16GB/s", "node.link.latency": "50 cycles"}
    node = gpusim.load_model("tiny", overrides={"node.gpus": 2, **link})
    assert "on a node" in refusal(layered, model=node)
    paging = gpusim.load_model("tiny", ["demand-paging"])
    assert "pages are moved on demand" in refusal(layered, model=paging)

"""Runs that are parts of a program on several GPUs: skipped, in windows, from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.request import Kind
from gpusim.machine import Machine
from gpusim.results import Result
from gpusim.runs.skipping import SkipFirst
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from gpusim.workloads.workload import Workload
from tests.quick import quick
from tests.whole.running import SMALLER

NODE: dict[str, object] = {
    "node.gpus": 2, "node.link.bandwidth": "16GB/s", "node.link.latency": "50 cycles",
}  # fmt: skip
HOST: dict[str, object] = NODE | {
    "node.host_mmu.trip": "200 cycles", "node.host_mmu.entries": 16, "node.host_mmu.walkers": 2,
    "node.host_mmu.latency": "100 cycles",
}  # fmt: skip
ON_TOUCH = HOST | {"node.remote": "migrate-on-touch"}
SHARED = NODE | {"node.page_tables": "shared"}
READER = NODE | {"node.caching": "reader"}
ENGINES = NODE | {"node.copy_engines.count": 1, "node.copy_engines.bandwidth": "32GB/s"}
IN_TURN = NODE | {"node.blocks": "round-robin", "node.placement": "interleave"}


def workload(name: str = "atax", **parameters: object) -> Workload:
    sizes = {**SMALLER.get(name, {}), **parameters}
    return gpusim.load_workload(name, "smoke", overrides=sizes)


def run(overrides: dict[str, object] | None, what: Workload, **options: Any) -> Result:
    return gpusim.simulate(gpusim.load_model("tiny", overrides=overrides), what, **options)


@pytest.mark.parametrize("skip", quick(["1launches", "3blocks", "500instructions"], "3blocks"))
def test_one_gpu_of_a_node_skips_as_it_does_alone(skip: str) -> None:
    with (
        run(NODE | {"node.gpus": 1}, workload(), skip=skip) as node,
        run(None, workload(), skip=skip) as alone,
    ):
        assert node.summary["cycles"] == alone.summary["cycles"]
        assert node.summary["l2_hit_rate"] == alone.summary["l2_hit_rate"]


@pytest.mark.parametrize("settings", [NODE, IN_TURN], ids=["first-touch", "interleave"])
def test_what_is_skipped_leaves_pages_with_the_gpu_that_they_would_lie_with(
    settings: dict[str, object],
) -> None:
    """The second launch of atax asks other GPUs for as many lines, whether the first was timed."""
    with run(settings, workload()) as whole, run(settings, workload(), skip="1launches") as second:
        requests = whole.launches.remote_requests.tolist()
        assert second.launches.remote_requests.tolist() == [0, requests[1]]
        assert requests[1] > 0


@pytest.mark.parametrize("skip", ["8blocks", "500instructions"])
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(SHARED, marks=pytest.mark.long),
        pytest.param(READER, marks=pytest.mark.long),
        ON_TOUCH,
        pytest.param(IN_TURN, marks=pytest.mark.long),
    ],
)
def test_parts_of_blocks_are_skipped_on_all_kinds_of_nodes(
    settings: dict[str, object], skip: str
) -> None:
    with (
        run(settings, workload("bfs"), skip=skip) as part,
        run(settings, workload("bfs"), skip=skip) as again,
    ):
        assert part.digest == again.digest
        (warning,) = (one for one in part.warnings if "were skipped" in one)
        assert "a part of the program" in warning


def _has(machine: Machine, line: int) -> list[bool]:
    """Whether the L2 cache of each GPU has a line."""
    return [one.bank_of(line).arrays[0].state(line) != 0 for one in machine.systems]


def test_accesses_without_a_clock_look_in_the_l2_caches_that_they_would_pass() -> None:
    """A load of GPU 1 from GPU 0's memory is in both caches; a store of GPU 1 leaves it at home."""
    for settings, readers in ((READER, True), (NODE, False)):
        model = gpusim.load_model("tiny", overrides=settings | {"walk.cost": "memory"})
        machine = Machine(model.config, assign_sms(model, workload()), 0, SkipFirst(1, "launches"))
        prepare_warming(machine)
        behind, shift = machine.systems[0].walkers.warm_behind, 7
        assert behind is not None

        behind.warm_lines([40, 41], [15, 15], [Kind.LOAD] * 2, [1, 0], shift, 0)
        assert _has(machine, 40) == [True, readers]
        assert _has(machine, 41) == [True, False]
        behind.warm_lines([40], [15], [Kind.STORE], [1], shift, 0)
        assert _has(machine, 40) == [True, False]
        own = model.config.memory.size >> shift
        behind.warm_lines([own], [15], [Kind.LOAD], [1], shift, 0)
        assert _has(machine, own) == [False, True]


@pytest.mark.parametrize(
    ("name", "length"),
    quick([("bfs", "launch"), ("black_scholes", "2kcycles,warm=1kcycles")], ("bfs", "launch")),
)
def test_windows_of_a_node_estimate_the_whole(name: str, length: str) -> None:
    plan = f"windows=5,length={length}"
    program = gpusim.load_workload(name, "smoke")
    with run(IN_TURN, program, sample=plan) as sampled, run(IN_TURN, program) as whole:
        for number in ("cycles", "remote_requests"):
            assert sampled.summary[number] == pytest.approx(whole.summary[number], rel=0.1)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (IN_TURN, "bfs"),
        pytest.param(ON_TOUCH, "bfs", marks=pytest.mark.long),
        pytest.param(NODE, "atax", marks=pytest.mark.long),
    ],
)
def test_a_checkpoint_of_a_node_is_what_is_skipped(
    tmp_path: Path, settings: dict[str, object], name: str
) -> None:
    path = tmp_path / "state.h5"
    model = gpusim.load_model("tiny", overrides=settings)
    gpusim.checkpoint(model, workload(name), path, skip="1launches", keep="all")
    with (
        run(settings, workload(name), start=path) as replayed,
        run(settings, workload(name), skip="1launches") as skipped,
    ):
        assert replayed.digest == skipped.digest


def test_a_checkpoint_knows_how_many_gpus_there_were_and_what_they_ran(tmp_path: Path) -> None:
    path = tmp_path / "state.h5"
    model = gpusim.load_model("tiny", overrides=NODE)
    gpusim.checkpoint(model, workload(), path, skip="1launches")
    with pytest.raises(UserError, match=r"node\.blocks is round-robin, and was contiguous"):
        run(IN_TURN, workload(), start=path)
    with pytest.raises(UserError, match="list of applications is atax on 8 SMs"):
        run(NODE | {"node.gpus": 4}, workload(), start=path)


def test_copies_are_skipped_as_by_sms_and_timed_by_engines(tmp_path: Path) -> None:
    step = workload("data_parallel_step", gpus=2, inputs=64, outputs=64)
    with run(ENGINES, step) as whole, run(ENGINES, step, skip="5launches") as rest:
        assert 0 < rest.summary["copied_bytes"] < whole.summary["copied_bytes"]
        assert any("launches of streams or GPUs ran one" in w for w in rest.warnings)
    path = tmp_path / "state.h5"
    model = gpusim.load_model("tiny", overrides=ENGINES)
    gpusim.checkpoint(model, step, path, skip="5launches", keep="all")
    with run(ENGINES, step, start=path) as replayed:
        assert replayed.digest == rest.digest
    with pytest.raises(UserError, match=r"sample: .*copy_engines"):
        run(ENGINES, step, sample="windows=3,length=launch")

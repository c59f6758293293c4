"""Headline numbers of launches and kernels: of what was counted while they ran."""

from __future__ import annotations

import math
from pathlib import Path

import attr
import pytest

import gpusim
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Total, declare_metrics
from gpusim.machine import Machine
from gpusim.results import Result
from tests.traces.writing import EXIT, block, header, write

LOADS = 8
OVERHEAD = 100
COUNTS = ("instructions", "transactions", "tlb_L1_lookups", "walks", "dram_reads", "warp_cycles")
PAIR = """
relaunch = "until-all-have-run"

[[applications]]
workload = "mvt"
name = "short"
smoke = { n = 64, iterations = 4 }

[[applications]]
workload = "mvt"
name = "long"
smoke = { n = 256, iterations = 4 }
"""


def kernel(path: Path, name: str, stride: int) -> None:
    """A warp loads from places that lie `stride` bytes apart, and uses each value at once."""
    lines = []
    for number in range(LOADS):
        address = 0x7F1000000000 + stride * number
        lines += [
            f"{32 * number:04x} ffffffff 1 R4 LDG.E 1 R2 4 1 {address:#x} 4 0",
            f"{32 * number + 16:04x} ffffffff 1 R5 IADD3 1 R4 0 0",
        ]
    write(path, header(kernel__name=name) + block([[*lines, EXIT]]))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A launch whose loads hit, one whose loads miss, and the first one again."""
    folder = tmp_path_factory.mktemp("kernels")
    kernel(folder / "kernel-1.traceg", "hits", 0)
    kernel(folder / "kernel-2.traceg", "misses", 4096)
    order = "kernel-1.traceg\nkernel-2.traceg\nkernel-1.traceg\n"
    return str(write(folder / "kernelslist.g", order))


@pytest.fixture(scope="module")
def result(program: str) -> Result:
    model = gpusim.load_model("tiny", overrides={"launch_overhead": f"{OVERHEAD} cycles"})
    return gpusim.simulate(model, gpusim.load_workload(program))


def test_rates_are_of_the_launch_alone(result: Result) -> None:
    launches = result.launches
    assert launches.kernel.tolist() == ["hits", "misses", "hits"]
    assert launches.instructions.tolist() == [2 * LOADS + 1] * 3
    assert launches.tlb_L1_lookups.tolist() == [LOADS] * 3
    assert launches.l1_hit_rate.tolist() == [7 / 8, 0, 7 / 8], "L1 caches are emptied at launches"
    assert launches.tlb_L1_hit_rate.tolist()[:2] == [7 / 8, 0]
    assert launches.walks.tolist() == [1, LOADS - 1, 0], "the first page has been walked already"
    assert (launches.share_walk > 0).tolist() == [True, True, False]


def test_what_a_launch_takes_is_no_part_of_it(result: Result) -> None:
    launches = result.launches
    assert (launches.work_begin - launches.begin).tolist() == [OVERHEAD] * 3
    assert (launches.cycles == launches.end - launches.work_begin).all()
    assert launches.begin.tolist()[1:] == launches.end.tolist()[:-1]
    assert launches.ipc.tolist() == (launches.instructions / launches.cycles).tolist()
    assert launches.time.tolist() == (launches.cycles / 1e9).tolist()
    assert launches.cycles.sum() + 3 * OVERHEAD == result.summary["cycles"]


def test_counts_add_up_to_those_of_the_run(result: Result) -> None:
    for name in COUNTS:
        assert result.launches[name].sum() == result.summary[name]
        assert result.kernels[name].sum() == result.summary[name]
        assert result.launches[name].dtype == "int64"


def test_kernels_are_all_their_launches_together(result: Result) -> None:
    launches, kernels = result.launches, result.kernels.set_index("kernel")
    assert kernels.index.tolist() == ["hits", "misses"]
    assert kernels.launches.tolist() == [2, 1]
    assert kernels.blocks.tolist() == [2, 1]
    assert kernels.walks.tolist() == [1, LOADS - 1]
    assert kernels.cycles["hits"] == launches.cycles[0] + launches.cycles[2]
    assert kernels.ipc["hits"] == (2 * (2 * LOADS + 1)) / kernels.cycles["hits"]
    hits = launches.tlb_L1_hit_rate * launches.tlb_L1_lookups
    assert kernels.tlb_L1_hit_rate["hits"] == (hits[0] + hits[2]) / (2 * LOADS)


def test_every_headline_number_is_there(result: Result) -> None:
    """But for largest values of the run, and what is the same for all launches."""
    no_launch_has = {"core_clock", "concurrent_walks_max", "tlb_L1_stalled_warps_max"}
    no_launch_has |= {"tlb_L1_stalled_by_miss_max"}
    assert set(result.summary) - no_launch_has == set(result.launch_numbers)
    assert no_launch_has < set(result.summary)
    for name, (unit, _) in result.launch_numbers.items():
        assert unit == result.summary_units[name]


def test_digests_are_those_without_them(result: Result, program: str) -> None:
    """Nothing of a run changes because counters are read during it."""
    model = gpusim.load_model("tiny", overrides={"launch_overhead": f"{OVERHEAD} cycles"})
    watched = gpusim.simulate(model, gpusim.load_workload(program), record=["requests", "walks"])
    assert watched.digest == result.digest
    assert watched.launches.equals(result.launches)


@attr.s(auto_attribs=True)
class EchoCounters:
    """What a part of a user's own counts."""

    instructions: int = count("instructions that it has seen")


declare_metrics(EchoCounters, Metric("echoed", "1", "instructions seen", Total("instructions")))


class Echo(Component):
    """Sees what all SMs have issued."""

    path = name = "echo"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def app_counters(self, app: int) -> list[object]:
        issued = sum(sm.counters[app].instructions for sm in self._machine.sms)
        return [EchoCounters(issued)]


def test_a_part_that_a_user_adds_has_numbers_too(program: str) -> None:
    result = gpusim.simulate("tiny", program, attach=lambda machine: machine.add(Echo(machine)))
    assert result.launches.echoed.tolist() == [2 * LOADS + 1] * 3
    assert result.kernels.echoed.tolist() == [2 * (2 * LOADS + 1), 2 * LOADS + 1]


def test_applications_beside_each_other_have_their_own(tmp_path: Path) -> None:
    write(tmp_path / "pair.toml", PAIR)
    result = gpusim.simulate("tiny", gpusim.load_workload(str(tmp_path / "pair.toml"), "smoke"))
    launches = result.launches.groupby("app")
    for app in ("short", "long"):
        own = launches.get_group(app)
        for name in ("instructions", "transactions", "tlb_L1_lookups", "warp_cycles"):
            assert own[name].sum() == result.summary[f"{app}/{name}"], "of its first run"
        assert own.cycles.sum() == result.summary[f"{app}/cycles"]
    assert set(result.kernels.app) == {"short", "long"}


def test_nothing_is_counted_of_launches_that_are_skipped(program: str) -> None:
    result = gpusim.simulate("tiny", gpusim.load_workload(program), skip="1launches")
    first, second, _ = result.launches.to_dict("records")
    assert (first["cycles"], first["instructions"]) == (0, 0)
    assert math.isnan(first["ipc"])
    assert second["instructions"] == 2 * LOADS + 1
    assert second["l1_hit_rate"] == 0


def test_a_launch_that_is_stopped_has_what_it_did(program: str) -> None:
    model = gpusim.load_model("tiny", overrides={"launch_overhead": f"{OVERHEAD} cycles"})
    work = gpusim.load_workload(program)
    (early,) = gpusim.simulate(model, work, until="50cycles").launches.to_dict("records")
    assert (early["begin"], early["work_begin"], early["end"], early["cycles"]) == (0, 50, 50, 0)
    assert early["instructions"] == 0
    (later,) = gpusim.simulate(model, work, until="150cycles").launches.to_dict("records")
    assert (later["work_begin"], later["end"], later["cycles"]) == (OVERHEAD, 150, 50)
    assert 0 < later["instructions"] < 2 * LOADS + 1

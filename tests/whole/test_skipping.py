"""Blocks without a clock: what they compute is right, caches are warm, and nothing is counted."""

from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.machine import Machine
from gpusim.runs.run import run_machine
from gpusim.runs.skipping import SkipFirst, parse_skip
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from tests.whole.running import command, run

SMALL: dict[str, object] = {"n": 128, "iterations": 4}


def machine_of(
    skipped: SkipFirst | None, model: str = "tiny", overrides: dict[str, object] | None = None
) -> Machine:
    loaded = gpusim.load_model(model, (), overrides)
    tenants = assign_sms(loaded, gpusim.load_workload("mvt", "smoke", overrides=SMALL))
    machine = Machine(loaded.config, tenants, 0, skipped)
    if skipped is not None:
        prepare_warming(machine)
    run_machine(machine)
    return machine


def arrays(machine: Machine) -> list[np.ndarray]:
    program: Any = machine.tenants[0].application
    found = [placed.data for placed in program.memory.arrays]
    assert found
    return found


def scheduler(machine: Machine) -> SkippingScheduler:
    (one,) = machine.schedulers
    assert isinstance(one, SkippingScheduler)
    return one


def lines_of_l2(machine: Machine) -> int:
    """How many: frames lie where pages were first touched, so lines have other names."""
    arrays = (array for bank in machine.systems[0].banks for array in bank.arrays.values())
    return sum(1 for array in set(arrays) for _ in array.lines())


def test_where_nothing_is_skipped_everything_is_as_without() -> None:
    assert list(machine_of(SkipFirst(0, "launches")).counter_rows()) == list(
        machine_of(None).counter_rows()
    )


@pytest.mark.parametrize("l1", ["before", "after"])
def test_a_skipped_program_computes_and_leaves_behind_what_a_timed_one_does(l1: str) -> None:
    overrides = {"l1.translation": l1}
    timed = machine_of(None, overrides=overrides)
    skipped = machine_of(SkipFirst(9, "launches"), overrides=overrides)
    for one, other in zip(arrays(timed), arrays(skipped), strict=True):
        np.testing.assert_array_equal(one, other)
    assert lines_of_l2(skipped) == lines_of_l2(timed) > 0
    assert skipped.page_table.mapped_pages == timed.page_table.mapped_pages
    issued = sum(counters.instructions for sm in timed.sms for counters in sm.counters)
    assert scheduler(skipped).passed == issued
    assert not any(row.value for row in skipped.counter_rows() if row.name != "most_walks")


@pytest.mark.long
def test_the_second_launch_finds_the_pages_of_the_first() -> None:
    part = run("tiny", "mvt", parameters=SMALL, skip="1launches")
    assert len(part.launches) == 2
    assert part.launches.begin[1] == part.launches.end[0] == 0
    assert "a part of the program: 144 of 280 warp instructions were skipped" in part.warnings[0]
    assert "skip=1launches" in part.provenance.title
    cold = run("tiny", "mvt", parameters=SMALL)
    second = cold.launches.end[1] - cold.launches.begin[1]
    assert part.summary["cycles"] == pytest.approx(second, rel=0.2)
    assert part.digest == run("tiny", "mvt", parameters=SMALL, skip="1launches").digest


def test_blocks_and_instructions() -> None:
    parameters = {"n": 512, "iterations": 1}
    blocks = run("tiny", "mvt", parameters=parameters, skip="2blocks")
    whole = run("tiny", "mvt", parameters=parameters)
    assert blocks.applications.warps[0] < whole.applications.warps[0]
    some = run("tiny", "mvt", parameters=parameters, skip="200instructions")
    assert 0 < some.summary["instructions"] < whole.summary["instructions"]


@pytest.mark.parametrize("text", ["3", "launches", "0blocks", "1.5launches", "2cycles"])
def test_what_cannot_be_skipped(text: str) -> None:
    with pytest.raises(UserError, match=r"skip .*: write a whole number above 0"):
        parse_skip(text)


def test_machines_that_cannot_be_kept_warm_are_named() -> None:
    with pytest.raises(UserError, match=r"demand paging \(\[paging\]\)"):
        gpusim.simulate(
            gpusim.load_model("tiny", ["demand-paging"]),
            gpusim.load_workload("mvt", "smoke", overrides=SMALL),
            skip="1launches",
        )


def test_on_the_command_line() -> None:
    small = ("--scale", "smoke", "--set", "workload.n=64", "--skip", "1launches")
    assert "were skipped (1launches)" in " ".join(
        command("run", "tiny", "mvt", *small).output.split()
    )


@pytest.mark.parametrize(
    ("skip", "overhead"), [("1launches", "300 cycles"), ("2launches", "0 cycles")]
)
def test_an_application_alone_has_all_time_slices(skip: str, overhead: str) -> None:
    """Nothing is left to run before a launch begins: the slicer sleeps until one does."""
    work = gpusim.load_workload("launches", "smoke", overrides={"count": 4, "blocks": 2})
    cycles = [
        gpusim.simulate(
            gpusim.load_model("tiny", overrides={"sharing": name, "launch_overhead": overhead}),
            work,
            skip=skip,
        ).summary["cycles"]
        for name in ("time-slices", "by-sm")
    ]
    assert cycles[0] == cycles[1] > 0


def test_no_slice_goes_on_after_the_end() -> None:
    work = gpusim.load_workload("launches", "smoke", overrides={"count": 2, "blocks": 2})
    model = gpusim.load_model("tiny", overrides={"sharing": "time-slices"})
    result = gpusim.simulate(model, work, skip="1launches")
    rows = result.counters[result.counters["counter"] == "held_cycles"]
    assert 0 < rows["value"].sum() <= result.summary["cycles"]

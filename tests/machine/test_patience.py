"""Machines that wait for long are not stopped; those in which nothing will happen any more are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from gpusim import load_model, simulate
from gpusim.core.errors import DeadlockError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload
from tests.hardware.paging import bench as paging
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change

LONG = 5_000_000
IMPATIENT = attrs.evolve(SMALL, watchdog=cycles(1000))
LOAD: Script = [("load", 0), ("wait",)]


@pytest.mark.parametrize("scheduler", ["gto", "lrr"])
def test_arithmetic_may_take_long(scheduler: str) -> None:
    config = change(IMPATIENT, sm={"scheduler": PolicyConfig(scheduler)})
    run = Run(config, [("compute", LONG)], [("compute", 7)])
    assert run.cycles > LONG
    alone = Run(attrs.evolve(config, watchdog=cycles(2 * LONG)), [("compute", LONG)])
    assert run.cycles - alone.cycles in range(10)


@pytest.mark.parametrize(
    ("tables", "least"),
    [
        ({"sm": {"shared_latency": cycles(LONG)}}, LONG),
        ({"walk": {"cost": "fixed", "latency": cycles(LONG)}}, LONG),
        ({"walk": {"cost": "per-level", "latency": cycles(LONG)}}, 4 * LONG),
        ({"walk": {"cost": "memory"}, "dram": {"ideal_latency": cycles(LONG)}}, 5 * LONG),
        ({"l2": {"latency": cycles(LONG)}, "crossbar": {"latency": cycles(LONG)}}, 3 * LONG),
    ],
    ids=["shared", "walk", "levels", "memory", "crossbar"],
)
def test_so_may_latencies(tables: dict[str, dict[str, Any]], least: int) -> None:
    impatient = Run(change(IMPATIENT, **tables), [("shared", 1), *LOAD])
    patient = Run(
        attrs.evolve(change(SMALL, **tables), watchdog=cycles(10 * LONG)), [("shared", 1), *LOAD]
    )
    assert impatient.cycles == patient.cycles >= least
    assert impatient.latencies == patient.latencies


def test_pages_of_one_batch_may_take_long() -> None:
    """Each page crosses the link by itself; no warp gets on before all have come."""
    pages = 128
    tlbs = {name: attrs.evolve(tlb, mshrs=pages) for name, tlb in SMALL.tlb.items()}
    wide = attrs.evolve(change(SMALL, walk={"walkers": pages}), tlb=tlbs)
    impatient = attrs.evolve(paging.paged(wide, interrupt=cycles(1000)), watchdog=cycles(1000))
    lanes = [paging.load(2 * number)[1] for number in range(pages)]
    loads: Script = [("load", *lanes[first : first + 32]) for first in range(0, pages, 32)]
    run = paging.run(impatient, [*loads, ("wait",)], pages=2 * pages)
    assert run.count("paging", "batches") == 1
    assert run.cycles > pages * paging.MOVE


NEVER_PICKS = "tests.whole.own_policies:NeverPicks"
STUCK = {"ideal": False, "scheduler": PolicyConfig(NEVER_PICKS)}


@pytest.mark.parametrize("length", [100, LONG])
def test_a_deadlock_is_found_also_beside_arithmetic(length: int) -> None:
    with pytest.raises(DeadlockError, match=r"reads .* wait for DRAM commands"):
        Run(change(IMPATIENT, dram=STUCK), [("compute", length)], LOAD)


def test_onlookers_hide_neither(tmp_path: Path) -> None:
    def workload(*scripts: Script) -> Workload:
        launch = ScriptedLaunch([list(scripts)])
        spec = ApplicationSpec("scripted", lambda: ScriptedApplication([launch]))
        return Workload("scripted", "smoke", 0, (spec,))

    def seen(overrides: dict[str, object], *scripts: Script, **onlookers: Any) -> str:
        model = load_model("tiny", (), {"watchdog": "1000 cycles", **overrides})
        return simulate(model, workload(*scripts), **onlookers).digest

    onlookers = {"log": tmp_path / "log", "log_every": 100, "progress": lambda _: None}
    arithmetic = [("compute", 200_000)]
    assert seen({}, arithmetic, LOAD, **onlookers) == seen({}, arithmetic, LOAD)
    with pytest.raises(DeadlockError, match="wait for DRAM commands"):
        seen({"dram.scheduler": NEVER_PICKS}, arithmetic, LOAD, **onlookers)

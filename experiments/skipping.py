"""How much faster a program is skipped than timed, in processor time, whole programs.

Run with ``gpusim study skipping [CASE ...] [--json]``; each form of gpusim (pure, compiled)
measures itself.  Beside the whole, it tells what executing the program takes, without any machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

from gpusim.core.version import form
from gpusim.core.warp_program import Application
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.runs.run import run_machine
from gpusim.runs.skipping import SkipFirst
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from gpusim.workloads.survey import executed
from gpusim.workloads.workload import load_workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""


@frozen
class Case:
    """A whole program on a model.

    Attributes:
        model: its name.
        workload, overrides: which program, from scale smoke.
    """

    model: str
    workload: str
    overrides: dict[str, object]


CASES = {
    "pagerank": Case("kepler-uvm", "pagerank", {"graph.vertices": 50000, "iterations": 2}),
    "bfs": Case("kepler-uvm", "bfs", {"graph.vertices": 100000}),
    "gups": Case("kepler-uvm", "gups", {"threads": 8192, "updates": 16}),
    "mvt": Case("kepler-uvm", "mvt", {"n": 2048, "iterations": 128}),
    "gemm": Case("maxwell-mask", "gemm", {"n": 256, "iterations": 256}),
    "2dconv": Case("a100-mig", "2dconv", {"n": 1024}),
    "hotspot": Case("a100-mig", "hotspot", {"n": 1024}),
}
"""In the last one the threads of a block share values."""

WARP = 32


@frozen
class Cost:
    """What a case takes, in seconds of processor time.

    Attributes:
        case, form: of what.
        instructions: warp instructions of the program.
        timed, skipped: the whole program, on a machine.
        executed: the whole program, without one.
        factor: `timed` / `skipped`.
    """

    case: str
    form: str
    instructions: int
    timed: float
    skipped: float
    executed: float
    factor: float


def measure(name: str) -> Cost:
    """Time, skip and execute a case, once each."""
    timed, _ = _run(CASES[name], None)
    skipped, instructions = _run(CASES[name], SkipFirst(1 << 40, "launches"))
    application = _machine(CASES[name], None).tenants[0].application
    executed = _seconds(lambda: _execute(application))
    return Cost(name, form(), instructions, timed, skipped, executed, timed / skipped)


def _machine(case: Case, pace: SkipFirst | None) -> Machine:
    model = load_model(case.model)
    workload = load_workload(case.workload, "smoke", overrides=case.overrides)
    machine = Machine(model.config, assign_sms(model, workload), workload.seed, pace)
    if pace is not None:
        prepare_warming(machine)
    return machine


def _run(case: Case, pace: SkipFirst | None) -> tuple[float, int]:
    """Seconds, and the warp instructions that were skipped."""
    machine = _machine(case, pace)
    seconds = _seconds(lambda: run_machine(machine))
    return seconds, sum(getattr(one, "passed", 0) for one in machine.schedulers)


def _execute(application: Application) -> None:
    """All blocks, in step where they can."""
    for launch in application.launches():
        for _ in executed(launch, WARP):
            pass


def _seconds(what: Callable[[], object]) -> float:
    begin = time.process_time()
    what()
    return time.process_time() - begin


def main() -> None:
    """Measure all cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of these: {', '.join(CASES)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if unknown := [case for case in arguments.cases if case not in CASES]:
        parser.error(f"there is no case {unknown[0]!r}; allowed: {', '.join(CASES)}")
    costs = [measure(case) for case in arguments.cases or CASES]
    if arguments.json:
        print(json.dumps({"costs": [asdict(cost) for cost in costs]}))
    else:
        Console().print(_table(costs))


def _table(costs: list[Cost]) -> Table:
    table = Table(title=f"skipped and timed, {form()}, seconds of processor time")
    for heading in ("program", "model"):
        table.add_column(heading, no_wrap=True)
    for heading in ("instructions", "timed", "skipped", "factor", "executed"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cost in costs:
        table.add_row(
            cost.case,
            CASES[cost.case].model,
            f"{cost.instructions:,}",
            f"{cost.timed:.2f}",
            f"{cost.skipped:.2f}",
            f"{cost.factor:.1f} ×",
            f"{cost.executed:.3f}",
        )
    return table


if __name__ == "__main__":
    main()

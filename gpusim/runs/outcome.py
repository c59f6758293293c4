"""The outcome of a run: what the machine hands over at its end, as facts of its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.load import LoadedModel
from gpusim.core.stop import Stop
from gpusim.core.version import __version__
from gpusim.hardware.sm.block_scheduler import BlockScheduler
from gpusim.hardware.sm.running import LaunchRecord
from gpusim.machine import Machine
from gpusim.programs.kernel import Program
from gpusim.results.run_data import (
    ApplicationFacts,
    ArrayFacts,
    CodeFacts,
    LaunchFacts,
    Provenance,
    RunData,
    WallClock,
)
from gpusim.runs.acts import acts_of
from gpusim.runs.headline import StateSums, broken_formulas, headline
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.options import RunOptions
from gpusim.runs.stream_warnings import stream_warnings
from gpusim.runs.timing import Timing
from gpusim.runs.warnings import warnings_of
from gpusim.traces.application import TraceApplication
from gpusim.traces.warp_width import width_notice
from gpusim.workloads.workload import Workload


@frozen(eq=False, repr=False)
class Ended:
    """What was run, and how.

    Attributes:
        model, workload, options: of the run.
        command_line: what the result names as its origin.
        started: when it began, in seconds of `time.perf_counter`.
    """

    model: LoadedModel
    workload: Workload
    options: RunOptions
    command_line: Sequence[str]
    started: float


def run_data(
    machine: Machine,
    ended: Ended,
    stops: Sequence[Stop],
    timing: Timing,
    numbers: LaunchNumbers,
) -> RunData:
    """The facts of a run whose machine has drained.

    Args:
        machine: that ran.
        ended: what was run.
        stops: what became of the rules by which applications are stopped.
        timing: what of the programs was timed.
        numbers: what was counted while launches ran.
    """
    counters = list(machine.first_runs.rows())
    apps = range(len(machine.tenants))
    sums = np.array([machine.first_runs.state_sums(app) for app in apps], dtype=np.int64)
    sums = sums.swapaxes(0, 1)
    applications = applications_of(machine)
    cycles = max(application.end for application in applications)
    model, workload = ended.model, ended.workload
    records = records_of(machine)
    acts, silent = acts_of(machine)
    return RunData(
        provenance=_provenance(ended, stops, timing),
        config_toml=model.to_toml(),
        workload_toml=workload.to_toml(),
        origins=model.origins,
        summary=headline(
            machine.metrics,
            counters,
            StateSums(dict(zip(machine.states, machine.families, strict=True)), sums),
            applications,
            cycles,
            machine.config.clock,
        ),
        counters=[*counters, *acts],
        states=machine.states,
        state_sums=sums,
        applications=applications,
        launches=[facts_of(machine, record) for record in records],
        wall=WallClock.since(ended.started),
        warnings=[
            *map(str, stops),
            *timing.warnings(machine),
            *warnings_of(machine, cycles),
            *silent,
            *broken_formulas(machine.metrics, counters, cycles, machine.config.clock),
            *_of_other_width(model, workload),
            *_of_traces(machine),
            *stream_warnings(machine),
        ],
        families=machine.families,
        stops=stops,
        by_launch=numbers.by_launch([(record.app, record.index) for record in records]),
        arrays=_arrays(machine),
        code=_code(machine),
    )


def _arrays(machine: Machine) -> list[ArrayFacts]:
    """The arrays of all applications, in the order of their allocation."""
    return [
        ArrayFacts(tenant.name, one.name, one.base, one.bytes)
        for tenant in machine.tenants
        for one in tenant.application.buffers
    ]


def _code(machine: Machine) -> list[CodeFacts]:
    """The places in the code that traces name."""
    return [
        CodeFacts(tenant.name, one.kernel, one.file, one.line, one.pc, one.text)
        for tenant in machine.tenants
        if isinstance(tenant.application, TraceApplication)
        for one in tenant.application.places
    ]


def _provenance(
    ended: Ended,
    stops: Sequence[Stop],
    timing: Timing,
) -> Provenance:
    model, workload, events = ended.model, ended.workload, ended.options.events
    return Provenance(
        gpusim=__version__,
        model=model.name,
        workload=workload.name,
        scale=workload.scale,
        seed=workload.seed,
        variants=tuple(model.variants),
        overrides=(
            *(f"{key}={value}" for key, value in model.overrides.items()),
            *(f"workload.{key}={value}" for key, value in workload.overrides.items()),
            *([] if events is None else [f"events={events}"]),
            *(f"until={stop.app}={stop.rule}" for stop in stops),
            *([timing.setting] if timing.setting else []),
        ),
        command_line=tuple(ended.command_line),
    )


def _of_other_width(model: LoadedModel, workload: Workload) -> Iterator[str]:
    """Applications whose warps were traced with another number of threads."""
    sides = [name for name in SIDE_CACHES if getattr(model.config, name) is not None]
    for spec in workload.applications:
        traced = spec.warp_size or model.config.sm.warp_size
        if notice := width_notice(traced, model.config.sm.warp_size, sides):
            yield f"{spec.name}: {notice}"


def _of_traces(machine: Machine) -> Iterator[str]:
    """What of the traces and programs is not modelled, and how they were read."""
    for tenant in machine.tenants:
        if isinstance(tenant.application, TraceApplication | Program):
            yield from (f"{tenant.name}: {text}" for text in tenant.application.warnings())


def applications_of(machine: Machine) -> list[ApplicationFacts]:
    """The applications of a machine that has drained."""
    return [
        ApplicationFacts(
            name=tenant.name,
            asid=scheduler.asid,
            sms=tuple(tenant.sms),
            launches=len(scheduler.records),
            blocks=sum(record.blocks for record in scheduler.records),
            warps=_first_warps(machine, scheduler),
            end=scheduler.finished_at,
        )
        for tenant, scheduler in zip(machine.tenants, machine.schedulers, strict=True)
    ]


def _first_warps(machine: Machine, scheduler: BlockScheduler) -> int:
    first_run = machine.first_runs.of.get(scheduler.app)
    return first_run.warps if first_run else scheduler.warps_launched


def records_of(machine: Machine) -> list[LaunchRecord]:
    """All launches, in the order in which they began."""
    records = [record for scheduler in machine.schedulers for record in scheduler.records]
    return sorted(records, key=lambda one: (one.begin, machine.names[one.app], one.index))


def facts_of(machine: Machine, record: LaunchRecord) -> LaunchFacts:
    """The facts of a launch that has ended."""
    return LaunchFacts(
        app=machine.names[record.app],
        launch=record.index,
        kernel=record.kernel,
        begin=record.begin,
        end=record.end,
        blocks=record.blocks,
        work_begin=record.work_begin,
        stream=record.stream,
        gpu=record.gpu,
    )

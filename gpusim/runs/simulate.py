"""`simulate`: one model, one workload, one result."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, own_code_errors, own_modules
from gpusim.core.registry import find_policy
from gpusim.core.stop import Stop
from gpusim.core.version import __version__
from gpusim.core.warp_program import Application
from gpusim.hardware.sm.block_scheduler import BlockScheduler
from gpusim.machine import Machine, Tenant
from gpusim.machine.check_policies import policies_of
from gpusim.machine.load import load_model
from gpusim.machine.paging import Paging
from gpusim.programs.catalog import ProgramMaker
from gpusim.programs.program_function import FunctionProgram
from gpusim.results.result import Result
from gpusim.results.run_data import (
    ApplicationFacts,
    LaunchFacts,
    Provenance,
    RunData,
    WallClock,
)
from gpusim.runs.checkpoint import Replay
from gpusim.runs.checkpoint.matching import replay_of
from gpusim.runs.conservation import check_conservation
from gpusim.runs.headline import broken_formulas, headline
from gpusim.runs.monitor import Progress, every, now_and_then
from gpusim.runs.monitor import sample as progress_of
from gpusim.runs.page_events import play, read_events
from gpusim.runs.recorder import Recorder, check_records
from gpusim.runs.run_log import LOG_EVERY, RunLog
from gpusim.runs.skipping import SkipFirst, parse_skip, skip_warnings
from gpusim.runs.stopping import Stopping, parse_rules
from gpusim.runs.warming import prepare_warming
from gpusim.runs.warnings import warnings_of
from gpusim.runs.watching import watch_lifetimes, watch_sharing, watch_tlb_misses
from gpusim.runs.windows.measured import MeasuringPace
from gpusim.runs.windows.sampled_run import plan_windows, sampled
from gpusim.runs.writer import ResultWriter
from gpusim.traces.warp_width import told_of_width
from gpusim.workloads.addresses import workload_of
from gpusim.workloads.sampling import SampledProgram
from gpusim.workloads.tables import Timed
from gpusim.workloads.workload import Workload, load_workload

GARBAGE_OBJECTS = 500_000
"""Objects allocated, and not freed, between two collections of reference cycles."""

LARGE_ARRAYS = 32 << 20
"""Bytes of a workload's arrays from which on earlier machines are looked for."""


def simulate(
    model: LoadedModel | str,
    workload: Workload | NDArray[np.integer[Any]] | str | ProgramMaker,
    *,
    record: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: str | os.PathLike[str] | None = None,
    log_every: int = LOG_EVERY,
    events: str | os.PathLike[str] | None = None,
    attach: Callable[[Machine], None] | None = None,
    until: Sequence[str] = (),
    skip: str | None = None,
    sample: str | None = None,
    start: str | os.PathLike[str] | None = None,
    command_line: Sequence[str] | None = None,
) -> Result:
    """Run a workload on a GPU.

    Args:
        model: from `gpusim.load_model`, or a name or file that it would load.
        workload: from `gpusim.load_workload`; or a name or program that it would load at its
            defaults; or addresses, (warps, steps, lanes), as for `gpusim.workload_of`.
        record: event tables to keep, any of ``gpusim list records``.
        output: HDF5 file of the result; None keeps it in memory.
        progress: called a few times a second of real time, and at the end.
        log: file of JSON lines, see `gpusim.runs.run_log.RunLog`.
        log_every: simulated cycles between two lines of it.
        events: file of what happens to pages meanwhile, see `gpusim.runs.page_events`.
        attach: is given the machine before its first cycle, to listen to its probes, or to start
            processes of its own on ``machine.env``.  What it changes is no part of the result's
            configuration.
        until: rules by which applications are stopped before they end, as in
            `gpusim.runs.stopping.parse_rules`; the result then says that it is a part.
        skip: what of each application is executed first, without a clock and with warm caches, as
            in `gpusim.runs.skipping.parse_skip`; the result then says that it is a part.
        sample: windows that are timed, to estimate the whole, as in
            `gpusim.runs.windows.plan.parse_sample`; what is between them is skipped.
        start: file of `gpusim.checkpoint`, from which the run starts instead of skipping.  Where
            neither `until`, `skip`, `sample` nor `start` is given, the workload tells them.
        command_line: what the result names as its origin; default: that of this process.

    Returns:
        the result, opened for reading.

    Raises:
        UserError: impossible input, `output` or `log` cannot be written, or a policy or program of
            the user's own failed; nothing but the log is left behind.
        DeadlockError: the simulated machine stands still.
        ConservationError: the simulator is wrong.
    """
    check_records(record)
    started = time.perf_counter()
    if isinstance(model, str):
        model = load_model(model)
    if isinstance(workload, np.ndarray):
        workload = workload_of(workload)
    elif not isinstance(workload, Workload):
        workload = load_workload(workload)
    timed = Timed(tuple(until), skip or "", sample or "", os.fspath(start or ""))
    if timed == Timed():
        timed = workload.timed
    tenants = assign_sms(model, workload)
    _forget_earlier_machines(tenants)
    with (
        ResultWriter(output) as writer,
        nullcontext() if log is None else RunLog(log, log_every) as run_log,
        own_code_errors(own_modules_of(model, tenants, attach)),
    ):
        pace = _pace(model, workload, timed, tenants)
        machine = _machine(model, workload, tenants, pace)
        finish = _listen(machine, Recorder(writer, record))
        if events is not None:
            machine.env.start(play(machine, read_events(events, tenants)))
        if progress is not None:
            machine.env.start(now_and_then(machine, progress), onlooker=True)
        if run_log is not None:
            machine.env.start(every(run_log.every, machine, run_log.write), onlooker=True)
        if attach is not None:
            attach(machine)
        stopping = Stopping(machine, parse_rules(timed.until, machine.names))
        run(machine)
        finish()
        end = progress_of(machine, done=True)
        if progress is not None:
            progress(end)
        if run_log is not None:
            run_log.write(end)
        command = sys.argv if command_line is None else command_line
        data = _run_data(model, workload, machine, started, command, events, stopping.stops(), pace)
        return writer.finish(
            sampled(data, machine, pace) if isinstance(pace, MeasuringPace) else data
        )


def _machine(
    model: LoadedModel,
    workload: Workload,
    tenants: Sequence[Tenant],
    pace: SkipFirst | MeasuringPace | Replay | None,
) -> Machine:
    """The machine, ready to skip what its pace says."""
    machine = Machine(model.config, tenants, workload.seed, pace)
    if pace is not None:
        prepare_warming(machine)
    if isinstance(pace, MeasuringPace):
        pace.machine = machine
    if isinstance(pace, Replay):
        pace.prepare(machine)
    return machine


def _pace(
    model: LoadedModel, workload: Workload, timed: Timed, tenants: Sequence[Tenant]
) -> SkipFirst | MeasuringPace | Replay | None:
    """What is skipped, if anything.

    Raises:
        UserError: an option is wrong, or contradicts another one.
    """
    if timed.start:
        if timed.skip or timed.sample:
            raise UserError("--from: the file says what is skipped: not with --skip or --sample")
        return replay_of(timed.start, model, workload, tenants)
    if not timed.sample:
        return parse_skip(timed.skip) if timed.skip else None
    if timed.skip or timed.until:
        raise UserError("--sample is of whole programs: not with --skip or --until")
    return plan_windows(model, workload, timed.sample)


def run(machine: Machine) -> None:
    """Run a machine until everything has drained, and check that nothing was lost."""
    with _rare_garbage_collection():
        machine.env.run()
    machine.watchdog.check_drained()
    check_conservation(machine)


def _forget_earlier_machines(tenants: Sequence[Tenant]) -> None:
    """Make room where arrays are large: a machine refers to itself, so that nobody else frees it.

    Python looks for such objects when there are many of them; that these hold gigabytes it does
    not see, and a process that runs one large program after the other would fill all memory.
    """
    if sum(one.bytes for tenant in tenants for one in tenant.application.buffers) > LARGE_ARRAYS:
        gc.collect()


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Look for reference cycles seldom: transactions make none, and every look costs."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def assign_sms(model: LoadedModel, workload: Workload) -> list[Tenant]:
    """The applications of a workload on disjoint SMs.

    Raises:
        UserError: there are too few SMs.
    """
    tenants = []
    first = 0
    for spec, count in zip(workload.applications, sm_counts(model, workload), strict=True):
        if not count:
            raise UserError(
                f"workload {workload.name!r}: application {spec.name!r} gets no SM: {model.name} "
                f"has sm.count = {model.config.sm.count} for {len(workload.applications)} "
                "applications"
            )
        restart = spec.start if workload.relaunch and len(workload.applications) > 1 else None
        sms = range(first, first + count)
        tenants.append(Tenant(spec.name, spec.start(), sms, restart, spec.instance))
        first += count
    return tenants


def sm_counts(model: LoadedModel, workload: Workload) -> list[int]:
    """SMs of each application: by their instances, or by their shares (equal if not given)."""
    specs, config = workload.applications, model.config
    slices = [spec.instance for spec in specs if spec.instance is not None]
    if slices:
        _check_instances(model, workload, slices)
        return [config.instance(number).sm.count for number in slices]
    given = [spec.share for spec in specs if spec.share is not None]
    equal = (1 - sum(given)) / max(len(specs) - len(given), 1)
    shares = [equal if spec.share is None else spec.share for spec in specs]
    bounds = [round(config.sm.count * share) for share in accumulate(shares, initial=0.0)]
    return [last - first for first, last in pairwise(bounds)]


def _check_instances(model: LoadedModel, workload: Workload, slices: Sequence[int]) -> None:
    mig = model.config.mig
    why = mig.refusal(slices) if mig else "the model has no table [mig]"
    if why:
        instances = "+".join(f"{number}g" for number in slices)
        raise UserError(
            f"workload {workload.name!r} has MIG instances of {instances}, which {model.name} "
            f"cannot have: {why}"
        )


def own_modules_of(
    model: LoadedModel,
    tenants: Sequence[Tenant],
    attach: Callable[[Machine], None] | None = None,
) -> frozenset[str]:
    """Modules of the policies, programs and functions that are not gpusim's."""
    classes = [find_policy(slot, one.policy) for _, slot, one in policies_of(model.config)]
    makers = [_maker(tenant.application) for tenant in tenants]
    return own_modules([*classes, *makers, *([] if attach is None else [attach])])


def _maker(application: Application) -> object:
    """The class, or the generator function, that an application is made by."""
    whole = application.program if isinstance(application, SampledProgram) else application
    return whole.function if isinstance(whole, FunctionProgram) else type(whole)


def _listen(machine: Machine, recorder: Recorder) -> Callable[[], None]:
    """Connect the probes that somebody asked for; returns what to call at the end of the run."""
    if "intervals" in recorder.records:
        machine.on_interval.listen(recorder.interval)
    for walkers in (system.walkers for system in machine.systems):
        if "walks" in recorder.records:
            walkers.on_walk.listen(recorder.walk)
        if "walk_reads" in recorder.records:
            walkers.on_level_read.listen(recorder.walk_read)
    if "dram" in recorder.records:
        for channel in (channel for system in machine.systems for channel in system.channels):
            channel.on_request.listen(recorder.dram)
    if "requests" in recorder.records:
        for sm in machine.sms:
            sm.lsu.on_request.listen(recorder.request)
    for tlb in chain.from_iterable(machine.tlbs.values()):
        if "tlb" in recorder.records:
            tlb.on_lookup.listen(recorder.tlb)
        if "epochs" in recorder.records:
            tlb.on_epoch.listen(recorder.epoch)
    _listen_to_paging(machine.paging, recorder)
    return _watch(machine, recorder)


def _listen_to_paging(paging: Paging | None, recorder: Recorder) -> None:
    if paging is None:
        return
    if "fault_batches" in recorder.records:
        paging.driver.on_batch.listen(recorder.fault_batch)
    if "transfers" in recorder.records:
        paging.link.on_transfer.listen(recorder.transfer)


def _watch(machine: Machine, recorder: Recorder) -> Callable[[], None]:
    """Look into TLBs and caches as far as somebody asked for it; returns as `_listen`."""
    if "tlb_misses" in recorder.records:
        watch_tlb_misses(machine, recorder.tlb_miss)
    if "sharing" in recorder.records:
        watch_sharing(machine, recorder.sharing)
    if "synonym_faults" in recorder.records and machine.fbt is not None:
        machine.fbt.on_fault.listen(recorder.synonym_fault)
    if "lifetimes" in recorder.records:
        return watch_lifetimes(machine, recorder.lifetime)
    return lambda: None


def _run_data(
    model: LoadedModel,
    workload: Workload,
    machine: Machine,
    started: float,
    command_line: Sequence[str],
    events: str | os.PathLike[str] | None,
    stops: Sequence[Stop],
    pace: SkipFirst | MeasuringPace | Replay | None,
) -> RunData:
    counters = list(machine.first_run_rows())
    apps = range(len(machine.tenants))
    sums = np.array([machine.first_run_state_sums(app) for app in apps], dtype=np.int64)
    sums = sums.swapaxes(0, 1)
    applications = _applications(machine)
    cycles = max(application.end for application in applications)
    provenance = Provenance(
        gpusim=__version__,
        model=model.name,
        workload=workload.name,
        scale=workload.scale,
        seed=workload.seed,
        variants=tuple(model.variants),
        overrides=(
            *(f"{key}={value}" for key, value in model.overrides.items()),
            *(f"workload.{key}={value}" for key, value in workload.overrides.items()),
            *([] if events is None else [f"events={os.fspath(events)}"]),
            *(f"until={stop.app}={stop.rule}" for stop in stops),
            *([pace.setting] if isinstance(pace, SkipFirst | Replay) else []),
            *([f"sample={pace.plan}"] if isinstance(pace, MeasuringPace) else []),
        ),
        command_line=tuple(command_line),
    )
    return RunData(
        provenance=provenance,
        config_toml=model.to_toml(),
        workload_toml=workload.to_toml(),
        origins=model.origins,
        summary=headline(
            machine.metrics,
            counters,
            sums,
            dict(zip(machine.states, machine.families, strict=True)),
            applications,
            cycles,
            machine.config.clock,
        ),
        counters=counters,
        states=machine.states,
        state_sums=sums,
        applications=applications,
        launches=_launches(machine),
        wall=WallClock.since(started),
        warnings=[
            *map(str, stops),
            *(skip_warnings(machine, pace) if isinstance(pace, SkipFirst | Replay) else ()),
            *warnings_of(machine, cycles),
            *broken_formulas(machine.metrics, counters, cycles, machine.config.clock),
            *_of_other_width(model, workload),
        ],
        families=machine.families,
        stops=stops,
    )


def _of_other_width(model: LoadedModel, workload: Workload) -> Iterator[str]:
    """Applications whose warps were traced with another number of threads."""
    sides = [name for name in SIDE_CACHES if getattr(model.config, name) is not None]
    for spec in workload.applications:
        traced = spec.warp_size or model.config.sm.warp_size
        if told := told_of_width(traced, model.config.sm.warp_size, sides):
            yield f"{spec.name}: {told}"


def _applications(machine: Machine) -> list[ApplicationFacts]:
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
    first_run = machine.first_runs.get(scheduler.app)
    return first_run.warps if first_run else scheduler.warps_launched


def _launches(machine: Machine) -> list[LaunchFacts]:
    """All launches, in the order in which they began."""
    launches = [
        LaunchFacts(
            app=machine.names[record.app],
            launch=record.index,
            kernel=record.kernel,
            begin=record.begin,
            end=record.end,
            blocks=record.blocks,
        )
        for scheduler in machine.schedulers
        for record in scheduler.records
    ]
    return sorted(launches, key=lambda launch: (launch.begin, launch.app))

"""`simulate`: one model, one workload, one result."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from attrs import frozen

from gpusim.config.load import LoadedModel
from gpusim.conservation import check_conservation
from gpusim.errors import UserError
from gpusim.machine import Machine, Tenant
from gpusim.programs.workload import Workload
from gpusim.results.recorder import Recorder, check_records
from gpusim.results.result import Result
from gpusim.results.run_data import (
    ApplicationFacts,
    LaunchFacts,
    Provenance,
    RunData,
    WallClock,
)
from gpusim.results.summary import headline
from gpusim.results.writer import ResultWriter
from gpusim.version import __version__

HEARTBEAT_CYCLES = 1000
"""How often `simulate` tells its progress."""

GARBAGE_OBJECTS = 500_000
"""Objects allocated, and not freed, between two collections of reference cycles."""


@frozen
class Progress:
    """How far a run is.

    Attributes:
        cycle: simulated time.
        warps_done, warps_total: of the launches so far.
        transactions: coalesced memory transactions issued.
        done: whether this is the last report.
    """

    cycle: int
    warps_done: int
    warps_total: int
    transactions: int
    done: bool = False


def simulate(
    model: LoadedModel,
    workload: Workload,
    *,
    record: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Run a workload on a GPU.

    Args:
        model: from `gpusim.load_model`.
        workload: from `gpusim.load_workload`.
        record: event tables to keep, any of ``gpusim list records``.
        output: HDF5 file of the result; None keeps it in memory.
        progress: called every `HEARTBEAT_CYCLES` simulated cycles and at the end.

    Returns:
        the result, opened for reading.

    Raises:
        UserError: impossible input, or `output` cannot be written; nothing is left behind.
        DeadlockError: the simulated machine stands still.
        ConservationError: the simulator is wrong.
    """
    check_records(record)
    started = time.perf_counter()
    with ResultWriter(output) as writer:
        machine = Machine(model.config, _tenants(model, workload), workload.seed)
        _listen(machine, Recorder(writer, record))
        if progress is not None:
            machine.env.start(_heartbeat(machine, progress))
        run(machine)
        if progress is not None:
            progress(_progress(machine, done=True))
        return writer.finish(_run_data(model, workload, machine, started))


def run(machine: Machine) -> None:
    """Run a machine until everything has drained, and check that nothing was lost."""
    with _rare_garbage_collection():
        machine.env.run()
    machine.watchdog.check_drained()
    check_conservation(machine)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Look for reference cycles seldom: transactions make none, and every look costs."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _tenants(model: LoadedModel, workload: Workload) -> list[Tenant]:
    """The applications of a workload, with the GPU's SMs split among them as evenly as can be."""
    specs = workload.applications
    count = model.config.sm.count
    if len(specs) > count:
        raise UserError(
            f"workload {workload.name!r} has {len(specs)} applications, "
            f"but {model.name} has only sm.count = {count} SMs"
        )
    bounds = [count * i // len(specs) for i in range(len(specs) + 1)]
    return [
        Tenant(spec.name, spec.start(), range(first, last))
        for spec, first, last in zip(specs, bounds, bounds[1:], strict=False)
    ]


def _listen(machine: Machine, recorder: Recorder) -> None:
    """Connect the probes that somebody asked for."""
    if "intervals" in recorder.records:
        machine.on_interval.listen(recorder.interval)
    if "walks" in recorder.records:
        machine.walkers.on_walk.listen(recorder.walk)
    if "dram" in recorder.records:
        for channel in machine.channels:
            channel.on_request.listen(recorder.dram)
    if "requests" in recorder.records:
        for sm in machine.sms:
            sm.lsu.on_request.listen(recorder.request)
    if "tlb" in recorder.records:
        for tlbs in machine.tlbs.values():
            for tlb in tlbs:
                tlb.on_lookup.listen(recorder.tlb)


def _heartbeat(
    machine: Machine, progress: Callable[[Progress], None]
) -> Generator[int, None, None]:
    while any(scheduler.in_flight() for scheduler in machine.schedulers):
        progress(_progress(machine))
        yield HEARTBEAT_CYCLES


def _progress(machine: Machine, done: bool = False) -> Progress:
    return Progress(
        machine.env.now,
        machine.warps_ended,
        sum(scheduler.warps_known for scheduler in machine.schedulers),
        machine.transactions,
        done,
    )


def _run_data(
    model: LoadedModel, workload: Workload, machine: Machine, started: float
) -> RunData:
    counters = list(machine.counter_rows())
    sums = np.array([sm.ledger.sums for sm in machine.sms], dtype=np.int64)
    applications = [
        ApplicationFacts(
            tenant.name, scheduler.asid, tuple(tenant.sms), len(scheduler.records),
            sum(record.blocks for record in scheduler.records), scheduler.warps_launched,
            scheduler.finished_at,
        )
        for tenant, scheduler in zip(machine.tenants, machine.schedulers, strict=True)
    ]  # fmt: skip
    launches = [
        LaunchFacts(
            machine.names[record.app], record.index, record.kernel, record.begin, record.end,
            record.blocks,
        )
        for scheduler in machine.schedulers
        for record in scheduler.records
    ]  # fmt: skip
    return RunData(
        provenance=Provenance(
            gpusim=__version__,
            model=model.name,
            workload=workload.name,
            scale=workload.scale,
            seed=workload.seed,
            variants=tuple(model.variants),
            overrides=tuple(f"{key}={value}" for key, value in model.overrides.items()),
        ),
        config_toml=model.to_toml(),
        origins=model.origins,
        summary=headline(
            counters, sums, machine.states, applications,
            max(application.end for application in applications), machine.config.clock,
        ),  # fmt: skip
        counters=counters,
        states=machine.states,
        state_sums=sums,
        applications=applications,
        launches=sorted(launches, key=lambda launch: (launch.begin, launch.app)),
        wall=WallClock.since(started),
    )

"""The launches of a program, listed without executing them, and which of them are timed."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import Launch
from gpusim.machine import Tenant
from gpusim.runs.tenants import assign_sms
from gpusim.runs.windows.contents import Contents
from gpusim.runs.windows.launch_kinds import Kind, kind_of
from gpusim.runs.windows.launch_plan import LaunchPlan
from gpusim.runs.windows.timed_launches import TimedLaunches, writes_contents
from gpusim.workloads.workload import Workload

MOST_LAUNCHES = 1_000_000
"""Launches after which a program is taken to go on for ever: it may wait for a result."""


def choose_launches(
    model: LoadedModel, workload: Workload, tenants: Sequence[Tenant], plan: LaunchPlan
) -> list[TimedLaunches]:
    """List the launches of a workload's program, and choose those that are timed.

    Returns:
        those of each machine: that of the run, on which `tenants` run, and others.

    Raises:
        UserError: launches cannot be left out on this machine, or of this workload.
    """
    if why := _refusal(model, workload):
        raise UserError(f"--sample {plan}: {why}")
    (spec,), (tenant,) = workload.applications, tenants
    application = spec.start()
    contents = Contents.of(application)
    kinds: list[Kind] = []
    known: set[Kind] = set()
    for number, launch in enumerate(application.launches()):
        if number == MOST_LAUNCHES:
            raise UserError(
                f"--sample {plan}: {spec.name} has more than {MOST_LAUNCHES:,} launches if none is "
                "executed: its host may wait for a result; use windows=N,length=launch"
            )
        _check_order(plan, number, launch)
        kind = kind_of(launch)
        kinds.append(kind)
        if contents.may_change and kind not in known and launch.blocks:
            known.add(kind)
            contents.look()
            for _ in launch.run_block(0, model.config.sm.warp_size):
                pass
            if array := contents.look():
                raise UserError(writes_contents(plan, launch.name, array))
    if not kinds:
        raise UserError(f"--sample {plan}: {spec.name} launches nothing")
    chosen = plan.choose(kinds)
    machines: list[TimedLaunches] = []
    for number in sorted({one.machine for one in chosen}):
        own = tenant if not number else assign_sms(model, workload)[0]
        mine = [one for one in chosen if one.machine == number]
        machines.append(TimedLaunches(plan, kinds, mine, own))
    return machines


def _refusal(model: LoadedModel, workload: Workload) -> str:
    """Why launches cannot be left out; "": they can."""
    if len(workload.applications) > 1:
        return (
            f"{workload.name} has several applications, whose launches do not begin together; use "
            "windows of instructions"
        )
    if model.config.paging is not None:
        return "pages are moved on demand ([paging]), and launches that are left out touch none"
    if model.config.gpus > 1:
        return "where pages lie on a node follows from all launches; use windows of instructions"
    return ""


def _check_order(plan: LaunchPlan, number: int, launch: Launch) -> None:
    """Launches run one after the other."""
    if isinstance(launch, MappingCall):
        raise UserError(f"--sample {plan}: call {number} maps or unmaps arrays: run it whole")
    if not launch.stream_use.is_whole():
        raise UserError(
            f"--sample {plan}: launch {number}, of kernel {launch.name!r}, is in a stream, and may "
            "overlap with others; use windows of instructions"
        )

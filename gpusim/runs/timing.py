"""What of its programs a run times: all, or a part, from which the whole may be estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.hardware.sm.untimed.scheduler import Pace
from gpusim.machine import Machine, Tenant
from gpusim.results.run_data import RunData
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.options import RunOptions
from gpusim.workloads.workload import Workload


class Timing:
    """All is timed.

    Attributes:
        setting: the option as results state it, such as ``"skip=2blocks"``; empty: there is none.
    """

    setting = ""

    def machine(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> Machine:
        """The machine, ready for its first cycle.

        Raises:
            UserError: it cannot run a part of its programs.
        """
        return Machine(config, tenants, seed)

    def warnings(self, machine: Machine) -> Iterable[str]:
        """What a reader of the result has to know of it, once the machine has drained."""
        return ()

    def others(self, run: Callable[[Machine, str], None]) -> AbstractContextManager[None]:
        """Around the run: other machines run beside it or after it, of which it takes numbers.

        Args:
            run: runs such a machine to its end; its second argument says which it is.
        """
        return nullcontext()

    def of_whole(self, run: RunData, machine: Machine, numbers: LaunchNumbers) -> RunData:
        """The facts of a run, as they hold for the whole programs.

        Args:
            run: as the machine has counted them.
            machine: that has drained.
            numbers: what it has counted while launches ran.
        """
        return run


class PacedTiming(Timing):
    """A pace says what is executed without a clock, and keeps TLBs and caches warm meanwhile."""

    def __init__(self, pace: Pace, setting: str) -> None:
        self.pace = pace
        self.setting = setting

    def machine(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> Machine:
        from gpusim.runs.warming import prepare_warming

        machine = Machine(config, tenants, seed, self.pace)
        if len(tenants) > 1 and machine.sharing.shares_sms():
            raise UserError(
                "--skip, --sample and --from are of applications with SMs of their own: not with "
                f"sharing = {config.sharing.policy!r}"
            )
        prepare_warming(machine)
        return machine


def timing_of(
    options: RunOptions, model: LoadedModel, workload: Workload, tenants: Sequence[Tenant]
) -> Timing:
    """What the options of a run say.

    Raises:
        UserError: an option is wrong, contradicts another one, or does not fit what runs.
    """
    if options.start:
        if options.skip or options.sample:
            raise UserError("--from: the file says what is skipped: not with --skip or --sample")
        from gpusim.runs.checkpoint.matching import replay_of

        return replay_of(options.start, model, workload, tenants)
    one_loop = model.config.crossbar.order is None
    if options.cores > 1 and "launches" not in options.sample and one_loop:
        raise UserError(
            f"--cores {options.cores}: a run uses one core, but for --sample launches=N, whose "
            "parts run side by side, and a machine whose sides of the crossbar have event loops of "
            "their own, in another order of events (--set crossbar.order=memory-first, which "
            "changes the digest); runs of a sweep do by --jobs"
        )
    if not options.sample:
        if not options.skip:
            return Timing()
        from gpusim.runs.skipping import Skipped, parse_skip

        pace = parse_skip(options.skip)
        return Skipped(pace, f"skip={pace}")
    if options.skip or options.until:
        raise UserError("--sample is of whole programs: not with --skip or --until")
    for tenant in tenants:
        if any(one.piece for one in tenant.application.buffers):
            raise UserError(
                f"--sample: {tenant.name} maps arrays piece by piece, beside its launches, and "
                "windows run one after the other: run it whole, or with --skip"
            )
    from gpusim.runs.windows.launch_plan import parse_launch_plan

    if plan := parse_launch_plan(options.sample):
        if options.events is not None:
            raise UserError(
                "--events: few launches run, at other cycles: not with --sample launches=N"
            )
        from gpusim.runs.windows.launch_estimate import LaunchSampling

        return LaunchSampling.of(model, workload, tenants, plan, options.cores)
    from gpusim.runs.windows.sampled_run import WindowSampling

    return WindowSampling.of(model, workload, options.sample)

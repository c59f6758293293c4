"""A sampled run: where its windows are, and the estimate of the whole programs from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.metrics import INSTRUCTIONS
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.machine import Machine, Tenant
from gpusim.results.run_data import RunData, SummaryValue, WindowFacts
from gpusim.runs.conservation import check_windows
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.timing import PacedTiming
from gpusim.runs.windows.cold_load import cold_load
from gpusim.runs.windows.extrapolation import LEAST_WINDOWS, Shares, estimates_of, whole_of
from gpusim.runs.windows.instruction_windows import WindowPace
from gpusim.runs.windows.launch_windows import LaunchPace
from gpusim.runs.windows.measured import MeasuringPace, Snapshot, Window
from gpusim.runs.windows.plan import parse_sample
from gpusim.runs.windows.whole_numbers import WholeNumbers
from gpusim.runs.windows.words import LAUNCH
from gpusim.workloads.survey import SurveyedLaunch, survey
from gpusim.workloads.workload import Workload

MOST_TIMED = 0.5
"""Share of a program that is timed, above which it should be run whole."""

NOT_WARM = 0.05
"""Difference between halves of windows above which there is a warning, if it is significant."""

DRIFT = 0.25
"""How far warps of a block may come apart in a window, in parts of what they do [our choice]."""

LONG_LIVED = 1 / 3
"""Part of the blocks that windows end in, which may have been in a window before [our choice]."""

SHORT = 5
"""Loads that find nothing anywhere, one after the other, which an average window has time for at
least: what waits in queues before it does not come back sooner [our choice, by measurements that
``docs/sampling.md`` shows]."""

_SURVEYS = 16
"""Surveys that are kept: many designs run the same program."""


class WindowSampling(PacedTiming):
    """Windows of the programs are timed, and the whole programs estimated from them.

    Args:
        pace: which windows, and what was measured in them.
    """

    pace: MeasuringPace

    def __init__(self, pace: MeasuringPace) -> None:
        super().__init__(pace, f"sample={pace.plan}")

    @classmethod
    def of(cls, model: LoadedModel, workload: Workload, sample: str) -> WindowSampling:
        """Survey a workload, and choose where its windows begin.

        Raises:
            UserError: `sample` is none, or the workload cannot be sampled.
        """
        return cls(_windows(model, workload, sample))

    def machine(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> Machine:
        self.pace.machine = machine = super().machine(config, tenants, seed)
        return machine

    def of_whole(self, run: RunData, machine: Machine, numbers: LaunchNumbers) -> RunData:
        """A run whose numbers are estimates for the whole programs.

        Raises:
            UserError: no window has measured anything.
        """
        check_windows(machine, self.pace.measured())
        return _estimated(run, machine, self.pace)


def _windows(model: LoadedModel, workload: Workload, sample: str) -> MeasuringPace:
    plan = parse_sample(sample)
    node = model.config.node
    if node is not None and node.copy_engines is not None:
        raise UserError(
            "--sample: windows are measured in warp instructions, and copies of copy engines have "
            "none: not with node.copy_engines, so that SMs execute copies"
        )
    count = len(workload.applications)
    if count > 1 and not workload.relaunch:
        raise UserError(
            f"--sample: {workload.name} has {count} applications, and when the shorter one has "
            "ended the other has the GPU alone: windows cannot tell when; set workload.relaunch"
        )
    if count > 1 and plan.length.unit == LAUNCH:
        raise UserError(
            f"--sample {sample}: launches of several applications do not begin together; use "
            "windows of instructions"
        )
    surveys, totals = [], []
    for app, spec in enumerate(workload.applications):
        launches = _survey(workload, app, model.config.sm.warp_size)
        each = [launch.instructions for launch in launches]
        if not sum(each):
            raise UserError(f"--sample: {spec.name} executes no instruction")
        totals.append(sum(each))
        surveys.append((each, [launch.signature for launch in launches]))
    if plan.length.unit == LAUNCH:
        return LaunchPace(plan, totals, chosen=plan.launches(*surveys[0]))
    if plan.by == LAUNCH and count == 1:
        found = plan.strata(*surveys[0])
        return WindowPace(
            plan,
            totals,
            places=[[place for place, _, _ in found]],
            strata=[(weight, stratum) for _, weight, stratum in found],
        )
    places = [plan.places(*surveyed, app) for app, surveyed in enumerate(surveys)]
    return WindowPace(plan, totals, places=places, strata=[(1.0, 0)] * plan.windows)


_surveys: dict[tuple[str, int, int, str], Sequence[SurveyedLaunch]] = {}


def _survey(workload: Workload, app: int, warp_size: int) -> Sequence[SurveyedLaunch]:
    """What an application's launches do; kept by its content, as many designs may run it."""
    spec = workload.applications[app]
    content = spec.content()
    if content is None:
        return survey(spec.start(), warp_size)
    key = workload.to_toml(), app, warp_size, content
    if key not in _surveys:
        if len(_surveys) == _SURVEYS:
            _surveys.pop(next(iter(_surveys)))
        _surveys[key] = survey(spec.start(), warp_size)
    return _surveys[key]


def _estimated(run: RunData, machine: Machine, pace: MeasuringPace) -> RunData:
    windows = _measured(pace)
    names = list(machine.names)
    whole = WholeNumbers(run, machine)
    owners = np.array([names.index(row.app) if row.app else -1 for row in whole.rows])
    shares = _shares(windows, [[span.whole for span in window.spans] for window in windows], owners)

    def numbers(shares: Shares) -> Sequence[SummaryValue]:
        return whole.numbers(whole_of(shares, pace.totals, owners))

    drift = _short_windows(pace, machine.config) or _drift(machine)
    return evolve(
        whole.run_of(whole_of(shares, pace.totals, owners)),
        estimates=estimates_of(
            shares,
            _halves(windows, owners),
            pace.totals,
            numbers,
            lambda name: whole.refusal(name) or drift,
        ),
        windows=list(_facts(windows, machine.names)),
        warnings=[*_warnings(pace, shares, run, drift), *run.warnings],
    )


def _shares(
    windows: Sequence[Window], measured: Sequence[Sequence[Snapshot]], owners: NDArray[np.int64]
) -> Shares:
    """The shares of applications in what was measured in each window."""
    every = range(len(measured[0]))
    values = np.array([[part.values for part in parts] for parts in measured], dtype=float)
    own = np.where(owners < 0, values.sum(axis=1), values[:, owners, range(len(owners))])
    sums = [[parts[app].sums[:, app] for app in every] for parts in measured]
    return Shares(
        np.array([[part.cycle for part in parts] for parts in measured], dtype=float),
        np.array([[parts[app].issued[app] for app in every] for parts in measured], dtype=float),
        own,
        np.array(sums, dtype=float).swapaxes(1, 2),
        np.array([window.weight for window in windows]),
        np.array([window.stratum for window in windows]),
    )


def _measured(pace: MeasuringPace) -> Sequence[Window]:
    """The windows that were measured.

    Raises:
        UserError: there is none.
    """
    windows = pace.measured()
    if not windows:
        raise UserError(
            f"--sample {pace.plan}: no window measured anything: the program ends before one is "
            "warm; run it whole"
        )
    return windows


def _halves(windows: Sequence[Window], owners: NDArray[np.int64]) -> tuple[Shares, Shares] | None:
    """Shares in first and in second halves of the windows in which each application issues.

    None: there are no such windows.
    """
    found = [
        (window, halves)
        for window in windows
        if (halves := _halves_of(window)) is not None
        and all(half[app].issued[app] for half in halves for app in range(len(half)))
    ]
    if not found:
        return None
    of, both = zip(*found, strict=True)
    early, late = zip(*both, strict=True)
    return _shares(of, early, owners), _shares(of, late, owners)


def _halves_of(window: Window) -> tuple[list[Snapshot], list[Snapshot]] | None:
    """What was measured in the first half of each application's part, and in the second one."""
    halves = [span.halves for span in window.spans if span.halves is not None]
    return ([early for early, _ in halves], [late for _, late in halves]) if halves else None


def _facts(windows: Sequence[Window], names: Sequence[str]) -> Iterator[WindowFacts]:
    """The facts of each window, application by application."""
    for number, window in enumerate(windows):
        for app, (name, span) in enumerate(zip(names, window.spans, strict=True)):
            whole = span.whole
            issued = int(whole.issued[app])
            yield WindowFacts(number, name, span.place, span.launch, whole.cycle, issued)


def _warnings(pace: MeasuringPace, shares: Shares, run: RunData, drift: str) -> Iterator[str]:
    timed = sum(row.value for row in run.counters if row.name == INSTRUCTIONS) / sum(pace.totals)
    yield (
        f"sampled: numbers are estimates for the whole programs from {len(shares)} of "
        f"{pace.planned} windows ({pace.plan}); {timed:.1%} of the warp instructions were "
        "timed; recorded events and launches tell of these alone"
    )
    if timed > MOST_TIMED:
        yield "sampled: more than half of the program was timed: run it whole"
    if drift:
        yield f"sampled: {drift}; there are no intervals, and estimates may be far off"
    if notice := _uneven_halves(pace.windows):
        yield notice


def _short_windows(pace: MeasuringPace, config: GpuConfig) -> str:
    """Whether windows are too short to tell anything; "": they are not, or are whole launches."""
    if pace.plan.length.unit == LAUNCH:
        return ""
    spans = [span.whole.cycle for window in pace.windows for span in window.spans]
    mean, least = sum(spans) / len(spans), SHORT * cold_load(config)
    if mean >= least:
        return ""
    return (
        f"windows take {mean:,.0f} cycles on average, and what waited in queues before them is not "
        f"there again so soon: let windows and warm-up (length, warm) take {least:,} and more"
    )


def _drift(machine: Machine) -> str:
    """Whether warps come apart further than windows are long, or blocks may; "": they do not."""
    for scheduler in machine.schedulers:
        assert isinstance(scheduler, SkippingScheduler)
        if scheduler.waiting_pieces > DRIFT * scheduler.executed_pieces:
            apart = scheduler.waiting_pieces / max(scheduler.executed_pieces, 1)
            return (
                f"warps of a block of {scheduler.application.name} come apart by {apart:.0%} of "
                "what they do in a window, and what is skipped does not let them"
            )
        if scheduler.paused_again > LONG_LIVED * scheduler.paused:
            return (
                f"thread blocks of {scheduler.application.name} live through several windows: "
                "how far they come apart between them is not known"
            )
    return ""


def _uneven_halves(windows: Sequence[Window]) -> str:
    """Whether the first halves of windows differ from the second ones: then they are not warm."""
    found = []
    for window in windows:
        if (halves := _halves_of(window)) is None:
            continue
        first, second = (
            sum(half.issued[app] / max(half.cycle, 1) for app, half in enumerate(each))
            for each in halves
        )
        if first and second:
            found.append(np.log(first / second))
    if len(found) < LEAST_WINDOWS:
        return ""
    mean, error = float(np.mean(found)), float(np.std(found, ddof=1)) / len(found) ** 0.5
    if abs(mean) < max(NOT_WARM, 2 * error):
        return ""
    return (
        f"sampled: windows are not warm: their first halves have {np.expm1(mean):+.0%} of the IPC "
        "of the second ones; intervals hold no more than the difference: time longer before them "
        "(warm)"
    )

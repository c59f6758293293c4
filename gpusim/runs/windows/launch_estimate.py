"""A run of a few launches of each kind: the estimate of the whole program from them.

What a launch adds is taken apart into numbers: cycles, counters, warps' cycles by state.  Where
some of its thread blocks ran, the others add for each warp instruction what was added in the
middle of it.  The whole program is the sum over its strata of the mean of what was measured there,
times the launches of the stratum.

How much it would differ with other launches, the jackknife tells: the whole without each of the
equal parts of all strata in turn, as launches of one part are neighbours and not independent.  What
halves of the middle of launches differ by is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.machine import Machine, Tenant
from gpusim.results.run_data import EstimateFacts, RunData, SummaryValue, WindowFacts
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.timing import Timing
from gpusim.runs.windows.extrapolation import Floats, Rule, Whole, intervals, quantile
from gpusim.runs.windows.launch_kinds import Kind
from gpusim.runs.windows.launch_parts import LaunchPart, LaunchParts, RunMachine, joined
from gpusim.runs.windows.launch_plan import Chosen, LaunchPlan
from gpusim.runs.windows.launch_survey import choose_launches
from gpusim.runs.windows.measured import Snapshot
from gpusim.runs.windows.timed_launches import TimedLaunch, TimedLaunches
from gpusim.runs.windows.whole_numbers import WholeNumbers
from gpusim.workloads.workload import Workload

MOST_TIMED = 0.5
"""Share of a program that is timed, above which it should be run whole."""

BOTH_HALVES = (True, True)


@frozen(eq=False)
class Measured:
    """What of a program was measured.

    Attributes:
        plan: how launches were chosen.
        kinds: of all launches of the program.
        found: those that were chosen, and how they ran.
        timed: all that ran, those that only warm up included.
    """

    plan: LaunchPlan
    kinds: Sequence[Kind]
    found: Mapping[Chosen, TimedLaunch]
    timed: Sequence[TimedLaunch]

    @classmethod
    def of(cls, launches: Sequence[TimedLaunches], parts: Sequence[LaunchPart]) -> Measured:
        """What all machines have measured."""
        return cls(
            launches[0].plan,
            launches[0].kinds,
            {
                one: part.timed[one.launch]
                for own, part in zip(launches, parts, strict=True)
                for one in own.chosen
            },
            [one for part in parts for one in part.timed.values()],
        )


class LaunchSampling(Timing):
    """A few launches of each kind are timed, and the whole program estimated from them.

    Args:
        parts: the machines on which they are.
    """

    def __init__(self, parts: LaunchParts) -> None:
        self.setting = f"sample={parts.launches[0].plan}"
        self._parts = parts

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        workload: Workload,
        tenants: Sequence[Tenant],
        plan: LaunchPlan,
        cores: int,
    ) -> LaunchSampling:
        """List the launches of a workload's program, and choose those that are timed.

        Raises:
            UserError: launches cannot be left out on this machine, or of this workload.
        """
        launches = choose_launches(model, workload, tenants, plan)
        return cls(LaunchParts(launches, model.config, workload.seed, cores))

    def machine(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> Machine:
        return self._parts.machine()

    def others(self, run: RunMachine) -> AbstractContextManager[None]:
        return self._parts.beside(run)

    def of_whole(self, run: RunData, machine: Machine, numbers: LaunchNumbers) -> RunData:
        """A run whose numbers are estimates for the whole program."""
        parts = self._parts.measured(numbers)
        launches = Measured.of(self._parts.launches, parts)
        largest = np.max([part.counted for part in parts], axis=0)
        whole = WholeNumbers(joined(run, parts, numbers), machine, largest)
        timed = sum(int(one.span.whole.issued[0]) for one in launches.timed)
        share = timed / max(_instructions(launches), 1.0)
        return evolve(
            whole.run_of(_whole(launches, range(launches.plan.launches), BOTH_HALVES)),
            estimates=_estimates(launches, whole, share),
            windows=list(_facts(launches, run.applications[0].name)),
            warnings=[*_warnings(launches, share, len(parts)), *run.warnings],
        )


def _estimates(launches: Measured, whole: WholeNumbers, share: float) -> list[EstimateFacts]:
    """What is known of each headline number; `share`: of the instructions that were timed."""
    parts = range(launches.plan.launches)

    def values(gone: int = -1, halves: tuple[bool, bool] = BOTH_HALVES) -> Sequence[SummaryValue]:
        left = [part for part in parts if part != gone]
        return whole.numbers(_whole(launches, left, halves))

    def numbers(gone: int = -1, halves: tuple[bool, bool] = BOTH_HALVES) -> dict[str, int | float]:
        return {one.name: one.value for one in values(gone, halves)}

    sampled = any(one.part >= 0 for one in launches.found)
    cut = any(one.steady is not None for one in launches.timed)
    early, late = (numbers(halves=of) for of in ((True, False), (False, True))) if cut else ({}, {})
    unknown = ""
    if cut and not sampled:
        unknown = "each launch is timed, of some not all thread blocks: nothing tells a spread"
    scale = quantile(len(parts) - 1) * (1 + share) ** 0.5 if sampled else 0.0
    return intervals(
        values(),
        [numbers(part if sampled else -1) for part in parts],
        {name: late[name] - early[name] for name in early.keys() & late.keys()},
        lambda name: whole.refusal(name) or unknown,
        Rule(len(parts), len(parts), scale, 1.0),
    )


def _whole(launches: Measured, parts: Sequence[int], halves: tuple[bool, bool]) -> Whole:
    """What the program is estimated to do from some parts of the strata."""
    total = _sum(launches, parts, lambda one: _amount(one, halves))
    some = launches.timed[0].span.whole
    values, sums = len(some.values), some.sums.shape
    whole = np.rint(total).astype(np.int64)
    return Whole(whole[:1], whole[1 : 1 + values], whole[1 + values :].reshape(sums))


def _instructions(launches: Measured) -> float:
    """Warp instructions of the program."""
    parts = range(launches.plan.launches)

    def issued(one: TimedLaunch) -> Floats:
        return _with_left_out(one, BOTH_HALVES, lambda some: some.issued.astype(float))

    return float(_sum(launches, parts, issued)[0])


def _sum(
    launches: Measured, parts: Sequence[int], amount: Callable[[TimedLaunch], Floats]
) -> Floats:
    """An amount, over all launches of the program."""
    found = [
        amount(timed) * (1.0 if one.part < 0 else one.stands_for / len(parts))
        for one, timed in launches.found.items()
        if one.part < 0 or one.part in parts
    ]
    total: Floats = np.sum(found, axis=0)
    return total


def _amount(one: TimedLaunch, halves: tuple[bool, bool]) -> Floats:
    """Cycles, counters and warps' cycles of a launch, one after the other."""
    return _with_left_out(
        one,
        halves,
        lambda some: np.concatenate(([some.cycle], some.values, some.sums.reshape(-1))),
    )


def _with_left_out(
    one: TimedLaunch, halves: tuple[bool, bool], amount: Callable[[Snapshot], NDArray[np.float64]]
) -> Floats:
    """What a launch adds, with the thread blocks that did not run.

    Args:
        one: the launch.
        halves: which halves of its middle stand for them.
        amount: what of a snapshot is asked for.
    """
    found = amount(one.span.whole).astype(float)
    if one.steady is not None:
        used = [half for half, taken in zip(one.steady.halves, halves, strict=True) if taken]
        middle = np.sum([amount(half) for half in used], axis=0)
        issued = sum(int(half.issued[0]) for half in used)
        left_out = one.steady.left_out * int(one.span.whole.issued[0])
        found = found + middle * (left_out / max(issued, 1))
    return found


def _facts(launches: Measured, app: str) -> Iterator[WindowFacts]:
    """The facts of each launch that was measured."""
    measured = sorted(launches.found.items(), key=lambda one: one[0].launch)
    for window, (chosen, timed) in enumerate(measured):
        span = timed.span
        issued = int(span.whole.issued[0])
        yield WindowFacts(window, app, span.place, chosen.launch, span.whole.cycle, issued)


def _warnings(launches: Measured, share: float, machines: int) -> Iterator[str]:
    measured = len({one.launch for one in launches.found})
    cut = sum(one.steady is not None for one in launches.timed)
    in_part = f", {cut} of them without all thread blocks" if cut else ""
    kinds, timed = len(set(launches.kinds)), len(launches.timed)
    of_first = f" of the first of {machines} parts" if machines > 1 else ", too"
    yield (
        f"sampled: numbers are estimates for the whole program from {measured} of its "
        f"{len(launches.kinds):,} launches, kinds: {kinds} ({launches.plan}); {timed} were timed"
        f"{in_part}, {share:.1%} of the warp instructions; no other was executed, and launches "
        f"tell of these alone, recorded events{of_first}"
    )
    if share > MOST_TIMED:
        yield "sampled: more than half of the program was timed: run it whole"

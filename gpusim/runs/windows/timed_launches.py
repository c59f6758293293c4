"""The launches of a program that are timed where a few of each kind are, and what they measure."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from attrs import define, field, frozen

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Application, Buffer, Launch
from gpusim.hardware.sm.occupancy import blocks_per_sm
from gpusim.machine import Machine, Tenant
from gpusim.runs.windows.contents import Contents
from gpusim.runs.windows.launch_kinds import Kind, kind_of
from gpusim.runs.windows.launch_plan import Chosen, LaunchPlan
from gpusim.runs.windows.measured import Snapshot, Span
from gpusim.traces.application import TraceLaunch
from gpusim.workloads.sampling import SampledLaunch

LOOK_CYCLES = 10
"""How often it is seen how many thread blocks of a launch have ended."""


@frozen(eq=False)
class Steady:
    """What was done while as many thread blocks began as ended, of a launch of which some ran.

    Attributes:
        halves: the first half of it, and the second one.
        left_out: thread blocks of the launch that did not run, as a multiple of those that did.
    """

    halves: tuple[Snapshot, Snapshot]
    left_out: float


@frozen(eq=False)
class TimedLaunch:
    """A launch that was timed.

    Attributes:
        launch: its number in the program.
        span: what was added from its begin to its end.
        steady: what stands for thread blocks that did not run; None: all did.
    """

    launch: int
    span: Span
    steady: Steady | None


@define(eq=False)
class TimedLaunches:
    """An application (`gpusim.core.warp_program.Application`) of which few launches run.

    Attributes:
        plan: how they were chosen.
        kinds: of all launches of the program.
        chosen: those that are measured on this machine.
        tenant: the whole application.
        machine: set before the first cycle.
        timed: what was measured, by the launch's number; those that only warm up included.
    """

    plan: LaunchPlan
    kinds: Sequence[Kind]
    chosen: Sequence[Chosen]
    tenant: Tenant
    machine: Machine | None = None
    timed: dict[int, TimedLaunch] = field(factory=dict)

    @property
    def name(self) -> str:
        """The program's name."""
        return self._whole.name

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, in allocation order."""
        return self._whole.buffers

    @property
    def _whole(self) -> Application:
        return self.tenant.application

    def numbers(self) -> list[int]:
        """The launches that are timed."""
        warm = self.plan.warm
        return sorted(
            {
                launch
                for one in self.chosen
                for launch in range(max(one.launch - warm, 0), one.launch + 1)
            }
        )

    def launches(self) -> Iterator[Launch]:
        """Those that are timed, each when the one before has ended."""
        assert self.machine is not None
        wanted, contents = set(self.numbers()), Contents.of(self._whole)
        count = 0
        for number, launch in enumerate(self._whole.launches()):
            count = number + 1
            self._check(number, launch)
            if number not in wanted:
                continue
            contents.look()
            begun = Snapshot.of(self.machine)
            part, looks = self._part(number, launch)
            yield part
            added = Snapshot.of(self.machine).since(begun)
            steady = None if part is launch else _steady(looks, added, launch.blocks / part.blocks)
            self.timed[number] = TimedLaunch(number, Span(-1, number, added), steady)
            if array := contents.look():
                raise UserError(writes_contents(self.plan, launch.name, array))
        if count != len(self.kinds):
            raise self._differs(count)

    def _check(self, number: int, launch: Launch) -> None:
        """A launch is what it was when launches were chosen."""
        if number >= len(self.kinds) or kind_of(launch) != self.kinds[number]:
            raise self._differs(number)

    def _differs(self, number: int) -> UserError:
        return UserError(
            f"--sample {self.plan}: launch {number} of {self.name} is another one when those "
            "before it are executed: its host goes on by what they compute; use "
            "windows=N,length=launch, for which all launches are executed"
        )

    def _part(self, number: int, launch: Launch) -> tuple[Launch, list[Snapshot]]:
        """What runs of a launch, and where looks at it are kept while it does.

        These are three: when as many thread blocks have ended as the SMs hold, in the middle, and
        when as many are left.  Of a trace the first ones run, as it is read in order.
        """
        assert self.machine is not None
        looks: list[Snapshot] = []
        waves, blocks = self.plan.waves, launch.blocks
        held = blocks_per_sm(self.machine.config.sm, launch) * len(self.tenant.sms)
        if waves is None or launch.copy is not None or not 0 < waves * held < blocks:
            return launch, looks
        count = waves * held
        first = 0 if isinstance(launch, TraceLaunch) else self.plan.first_block(number, blocks)
        at = [held, count // 2, count - held]
        self.machine.env.start(self._look(self.machine, at, looks), onlooker=True)
        return SampledLaunch(launch, [(first + one) % blocks for one in range(count)]), looks

    def _look(
        self, machine: Machine, at: Sequence[int], looks: list[Snapshot]
    ) -> Generator[int, None, None]:
        """Take a snapshot of the machine each time a number of thread blocks in `at` have ended."""
        (scheduler,) = machine.schedulers
        before = scheduler.blocks_ended
        for count in at:
            while scheduler.blocks_ended - before < count:
                yield LOOK_CYCLES
            looks.append(Snapshot.of(machine))


def _steady(looks: Sequence[Snapshot], added: Snapshot, larger: float) -> Steady:
    """What lies between three looks at a launch.

    Args:
        looks: they are fewer where thread blocks are shorter than looks are apart.
        added: from its begin to its end, which stands for that then.
        larger: how many times as many thread blocks the whole launch has.
    """
    if len(looks) < 3:
        return Steady((added, added), larger - 1)
    begun, middle, ended = looks
    return Steady((middle.since(begun), ended.since(middle)), larger - 1)


def writes_contents(plan: LaunchPlan, kernel: str, array: str) -> str:
    """Why launches of a program cannot be left out."""
    return (
        f"--sample {plan}: kernel {kernel!r} changes what array {array!r} holds, which later "
        "launches may need: use windows=N,length=launch, for which all launches are executed"
    )

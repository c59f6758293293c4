"""Data that a machine hands over at the end of a run."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import simpy
from attrs import Attribute, Factory, field, frozen
from numpy.typing import NDArray

from gpusim.core.counters import CounterRow
from gpusim.core.states import families
from gpusim.core.stop import Stop
from gpusim.core.version import form


@frozen
class Provenance:
    """What was run with what.  Fields as in `gpusim.results.datasets.PROVENANCE`."""

    gpusim: str
    model: str
    workload: str
    scale: str
    seed: int
    variants: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    form: str = field(factory=form)
    python: str = field(factory=platform.python_version)
    numpy: str = np.__version__
    simpy: str = simpy.__version__
    command_line: tuple[str, ...] = field(factory=lambda: tuple(sys.argv))

    @property
    def machine(self) -> str:
        """The model with its variants and all keys that were set, for titles."""
        return " + ".join((self.model, *self.variants, *self.overrides))

    @property
    def title(self) -> str:
        """What was run on what."""
        return f"{self.workload} ({self.scale}) on {self.machine}"


@frozen
class WallClock:
    """The run as an event of the real world.  Fields as in `gpusim.results.datasets.WALL`."""

    seconds: float
    finished: str
    host: str
    platform: str
    processors: int

    @classmethod
    def since(cls, started: float) -> WallClock:
        """The times of a run that ends now and began when `time.perf_counter` was `started`."""
        return cls(
            seconds=time.perf_counter() - started,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            host=platform.node(),
            platform=platform.platform(),
            processors=os.cpu_count() or 1,
        )


@frozen
class SummaryValue:
    """One headline number.

    Attributes:
        name, value, unit, description: the number; an int for counts.
        later: whether it came after digests were defined, and does not count in them.
    """

    name: str
    value: int | float
    unit: str
    description: str
    later: bool = False


@frozen
class ApplicationFacts:
    """One application; its numbers are those of its first complete run.

    Attributes:
        name: unique within the run.
        asid: address space.
        sms: indices of its SMs.
        launches, blocks, warps: how many there were.
        end: cycle in which its first complete run ended.
    """

    name: str
    asid: int
    sms: tuple[int, ...]
    launches: int
    blocks: int
    warps: int
    end: int


@frozen
class LaunchFacts:
    """One kernel launch.

    Attributes:
        app: name of the application.
        launch: its number within the application.
        kernel: name of the kernel.
        begin, end: cycle in which it began, and in which its last block had ended.
        blocks: thread blocks.
        work_begin: cycle from which on blocks were placed: `begin` and what a launch takes.
        stream: its stream; 0 is the default one.
        gpu: the GPU that it names, of those of its application; -1: all.
    """

    app: str
    launch: int
    kernel: str
    begin: int
    end: int
    blocks: int
    work_begin: int = Factory(lambda launch: launch.begin, takes_self=True)
    stream: int = 0
    gpu: int = -1


@frozen
class KernelFacts:
    """All launches of one kernel.  Fields as in `gpusim.results.datasets.KERNELS`."""

    app: str
    kernel: str
    launches: int
    blocks: int


@frozen
class NumberFacts:
    """A number of launches.  Fields as in `gpusim.results.datasets.LAUNCH_NUMBERS`."""

    name: str
    unit: str
    description: str
    whole: bool


@frozen(eq=False)
class ByLaunch:
    """Headline numbers of what was counted while launches ran; not a number: it does not exist.

    Attributes:
        numbers: what the columns are.
        of_launches: (launches, numbers), in the order of `RunData.launches`.
        kernels: in the order of their first launches.
        of_kernels: (kernels, numbers), of all launches of each together.
    """

    numbers: Sequence[NumberFacts]
    of_launches: NDArray[np.float64]
    kernels: Sequence[KernelFacts]
    of_kernels: NDArray[np.float64]


@frozen
class ArrayFacts:
    """An array of an application.  Fields as in `gpusim.results.datasets.ARRAYS`."""

    app: str
    name: str
    base: int
    bytes: int


@frozen
class CodeFacts:
    """A place in the code of an application.  Fields as in `gpusim.results.datasets.CODE`."""

    app: str
    kernel: str
    file: str
    line: int
    pc: int
    text: str


@frozen
class EstimateFacts:
    """A headline number that was estimated.  Fields as in `gpusim.results.datasets.ESTIMATES`."""

    name: str
    value: float
    low: float
    high: float
    windows: int
    refused: str


@frozen
class WindowFacts:
    """A window that was timed.  Fields as in `gpusim.results.datasets.WINDOWS`."""

    window: int
    app: str
    place: int
    launch: int
    cycles: int
    instructions: int


@frozen
class RunData:
    """Everything that a run leaves behind, but for recorded events.

    Attributes:
        provenance: what was run with what.
        config_toml: the fully resolved model.
        workload_toml: the applications with all parameters of their programs.
        origins: where each value of it came from, by dotted key.
        summary: headline numbers (`gpusim.runs.headline.headline`).
        counters: all counters.
        states: names of the states of a warp (`gpusim.core.states.state_names`).
        state_sums: (SMs, applications, states) int64, warp-cycles.
        applications: in the order of their indices.
        launches: in the order in which they began.
        wall: the run as an event of the real world.
        warnings: what a user should know, a sentence each.
        families: what each of the states has in common with others.
        stops: what became of the stop rules, if there were any.
        estimates: where numbers are estimated, what is known of each headline number.
        windows: what they were estimated from.
        by_launch: headline numbers of launches and kernels; None: they were not made.
        arrays: of all applications, in the order of their allocation.
        code: places in the code that accesses were made at.
    """

    provenance: Provenance
    config_toml: str
    workload_toml: str
    origins: Mapping[str, str]
    summary: Sequence[SummaryValue]
    counters: Sequence[CounterRow]
    states: Sequence[str]
    state_sums: NDArray[np.int64] = field()
    applications: Sequence[ApplicationFacts]
    launches: Sequence[LaunchFacts]
    wall: WallClock
    warnings: Sequence[str] = ()
    families: Sequence[str] = Factory(lambda run: families(run.states), takes_self=True)
    stops: Sequence[Stop] = ()
    estimates: Sequence[EstimateFacts] = ()
    windows: Sequence[WindowFacts] = ()
    by_launch: ByLaunch | None = None
    arrays: Sequence[ArrayFacts] = ()
    code: Sequence[CodeFacts] = ()

    @state_sums.validator
    def _check_shape(self, _: Attribute[Any], sums: NDArray[np.int64]) -> None:
        if sums.ndim != 3 or sums.shape[2] != len(self.states):
            raise ValueError(
                f"state sums of shape {sums.shape} do not fit {len(self.states)} states"
            )

    def __attrs_post_init__(self) -> None:
        names = [app.name for app in self.applications]
        if len(set(names)) != len(names):
            raise ValueError(f"names of applications must differ: {names}")
        if self.state_sums.shape[1] != len(names):
            raise ValueError(
                f"state sums of {self.state_sums.shape[1]} applications do not fit {len(names)}"
            )

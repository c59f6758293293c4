"""Values of a run's options in Python; each writes itself as the command line takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen
from attrs.validators import ge, gt, in_, le, optional

from gpusim.runs.run_length import MOST, SCALES
from gpusim.runs.windows.words import LAUNCH, LEAST_WAVES, LEAST_WINDOWS, ORDERS


@frozen(eq=False, repr=False)
class Amount:
    """A whole number of something.

    Attributes:
        count: from 1 to 10^18.

    Raises:
        ValueError: `count` is below 1 or too large.
    """

    unit: ClassVar[str]

    count: int = field(validator=[ge(1), le(MOST)])

    def __str__(self) -> str:
        """The amount as ``"2Mcycles"``, with the largest prefix that keeps the number whole."""
        for prefix, scale in reversed(SCALES.items()):
            if self.count % scale == 0:
                return f"{self.count // scale}{prefix}{self.unit}"
        return f"{self.count}{self.unit}"


class Cycles(Amount):
    """Core cycles: where to stop, or the length of a window."""

    unit = "cycles"


class Instructions(Amount):
    """Warp instructions: where to stop, what to skip, or the length of a window."""

    unit = "instructions"


class Launches(Amount):
    """Kernel launches to skip."""

    unit = "launches"


class Blocks(Amount):
    """Thread blocks to skip."""

    unit = "blocks"


@frozen(eq=False, repr=False)
class IpcStable:
    """Stop when the IPC is stable (PKA, MICRO 2021, §3.2).

    Attributes:
        deviation: standard deviation of the windows' IPC, as a part of their mean.
        windows: how many are compared, at least 2.
        length: of a window.
    """

    deviation: float = field(validator=gt(0))
    windows: int = field(validator=ge(2))
    length: Cycles = field(default=Cycles(10_000))

    def __str__(self) -> str:
        return f"ipc-stable({self.deviation * 100:g} %, {self.windows} windows, {self.length})"


@frozen(eq=False, repr=False)
class Windows:
    """Windows of a program that are timed, to estimate the whole program.

    Attributes:
        windows: how many, at least 2.
        length: how long each is measured; None: each window is a whole launch.
        warm: how long each is timed before that, in the unit of `length`; None for whole launches.
        by: ``"program"``: windows as the program runs; ``"launch"``: by launches that are alike.
        seed: of the places of the windows.
    """

    windows: int = field(validator=ge(LEAST_WINDOWS))
    length: Cycles | Instructions | None = None
    warm: Cycles | Instructions | None = None
    by: str | None = field(default=None, validator=optional(in_(ORDERS)))
    seed: int = field(default=0, validator=ge(0))

    def __str__(self) -> str:
        parts = {"windows": self.windows, "length": self.length or LAUNCH, "warm": self.warm}
        parts |= {"by": self.by, "seed": self.seed}
        return ",".join(f"{key}={value}" for key, value in parts.items() if value is not None)


@frozen
class LaunchSample:
    """Launches of each kind that are timed, to estimate the whole program.

    Attributes:
        launches: of each kind, at least 2.
        waves: thread blocks that are timed of a launch, as multiples of those that the SMs hold at
            once, at least 4; None: all.
        warm: launches that are timed before one that is measured.
        seed: of the choice.
    """

    launches: int = field(validator=ge(LEAST_WINDOWS))
    waves: int | None = field(default=None, validator=optional(ge(LEAST_WAVES)))
    warm: int = field(default=4, validator=ge(0))
    seed: int = field(default=0, validator=ge(0))

    def __str__(self) -> str:
        waves = "" if self.waves is None else f"waves={self.waves},"
        return f"launches={self.launches},{waves}warm={self.warm},seed={self.seed}"


def rules_as_text(rules: object) -> tuple[str, ...]:
    """Stop rules as the command line takes them, ``"RULE"`` or ``"NAME=RULE"``.

    Args:
        rules: one, several, or a mapping from applications to rules.

    Raises:
        TypeError: something else.
    """
    if isinstance(rules, str | Cycles | Instructions | IpcStable):
        return (str(rules),)
    if isinstance(rules, Mapping):
        return tuple(f"{name}={rule}" for name, rule in rules.items())
    if isinstance(rules, list | tuple):
        return tuple(text for rule in rules for text in rules_as_text(rule))
    raise TypeError(f"{rules!r} is no stop rule")

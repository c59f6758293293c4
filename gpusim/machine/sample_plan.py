"""How a program is sampled: how many windows, how long, and where they begin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from attrs import field, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.machine.amount import parse_amount

ORDERS = ("program", "launch")
"""Of places: as the program runs, or launches of one signature side by side."""

UNITS = ("cycles", "instructions")
"""Of the length of a window."""

LEAST_WINDOWS = 2

Signature = tuple[str, int, int, int]
"""Of a launch: its kernel, and numbers."""

_KEYS = ("windows", "length", "warm", "by", "seed")


@frozen
class Extent:
    """A length of time, or of work.

    Attributes:
        count: how many.
        unit: one of `UNITS`.
    """

    count: int
    unit: str

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


@frozen
class SamplePlan:
    """How a program is sampled.

    Attributes:
        windows: how many windows there are.
        length: how long each is measured.
        warm: how long it is timed before that.
        by: one of `ORDERS`.
        seed: of the places of the windows.
    """

    windows: int
    length: Extent
    warm: Extent = field()
    by: str = "program"
    seed: int = 0

    @warm.validator
    def _check(self, _: object, warm: Extent) -> None:
        if warm.unit != self.length.unit:
            raise ValueError("length and warm are both of cycles, or both of instructions")

    def __str__(self) -> str:
        return (
            f"windows={self.windows},length={self.length},warm={self.warm},by={self.by},"
            f"seed={self.seed}"
        )

    def places(
        self, launches: Sequence[int], signatures: Sequence[Signature], app: int
    ) -> list[int]:
        """Where windows begin to be measured, in warp instructions from the begin of a program.

        All instructions, in the plan's order, are cut into equal parts, in each of which a window
        begins at random.  The first application goes through its program once; the others begin
        anywhere in theirs and go around, so that windows meet every part of one beside
        any part of another.

        Args:
            launches: warp instructions of each.
            signatures: of each; launches with equal ones are alike.
            app: which application.

        Returns:
            places in rising order; those beyond the end of the program are of its second run.
        """
        starts = list(accumulate(launches, initial=0))
        total = starts[-1]
        order = list(range(len(launches)))
        if self.by == "launch":
            order.sort(key=lambda index: signatures[index])
        begins = list(accumulate((launches[index] for index in order), initial=0))
        random = np.random.default_rng([self.seed, app])
        first = int(random.integers(total)) if app else 0
        found = []
        for window, part in enumerate(random.random(self.windows)):
            place = min(int((window + part) * total / self.windows), total - 1)
            at = int(np.searchsorted(begins, place, side="right")) - 1
            found.append((starts[order[at]] + place - begins[at] - first) % total + first)
        return sorted(found)


def parse_sample(text: str) -> SamplePlan:
    """``"windows=30,length=50kcycles,warm=20kcycles,by=launch,seed=1"``; the last two may lack.

    Raises:
        UserError: something is missing, unknown, or no number above 0.
    """
    given = _given(text)
    for key in _KEYS[:3]:
        if key not in given:
            raise UserError(
                f"--sample {text}: {key} is missing; write it like "
                "windows=30,length=50kcycles,warm=20kcycles"
            )
    by = given.get("by", ORDERS[0])
    if by not in ORDERS:
        raise UserError(
            f"--sample {text}: by={by}{nearest(by, ORDERS)}; allowed: {', '.join(ORDERS)}"
        )
    try:
        return SamplePlan(
            _whole(given["windows"], LEAST_WINDOWS), _extent(given["length"]),
            _extent(given["warm"]), by, _whole(given.get("seed", "0"), 0),
        )  # fmt: skip
    except ValueError as error:
        raise UserError(f"--sample {text}: {error}") from error


def _given(text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key in given:
            raise UserError(f"--sample {text}: {part!r}: write each of KEY=VALUE once")
        if key not in _KEYS:
            raise UserError(
                f"--sample {text}: there is no {key!r}{nearest(key, _KEYS)}; "
                f"allowed: {', '.join(_KEYS)}"
            )
        given[key] = value
    return given


def _extent(text: str) -> Extent:
    unit = UNITS[1] if text.endswith(UNITS[1]) else UNITS[0]
    return Extent(parse_amount(text, unit), unit)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) < least:
        raise ValueError(f"{text[:20]!r}: must be a whole number of at least {least}")
    return int(text)

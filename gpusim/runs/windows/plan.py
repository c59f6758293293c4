"""The sampling plan of a program: how many windows, how long, and where they begin."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

import numpy as np
from attrs import field, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.runs.run_length import MOST, parse_amount
from gpusim.runs.windows.words import LAUNCH, LEAST_WINDOWS, MOST_WINDOWS, ORDERS, UNITS

Signature = tuple[str, int, int, int]
"""What makes launches alike: the kernel, and numbers of its launch."""

_KEYS = ("windows", "length", "warm", "by", "seed")


@frozen(eq=False, repr=False)
class Extent:
    """A length of time, or of work.

    Attributes:
        count: how many.
        unit: one of `UNITS`, or `LAUNCH`.
    """

    count: int
    unit: str

    def __str__(self) -> str:
        return LAUNCH if self.unit == LAUNCH else f"{self.count}{self.unit}"


@frozen
class SamplePlan:
    """How a program is sampled.

    Attributes:
        windows: how many windows there are.
        length: how long each is measured.
        warm: how long it is timed before that; None: whole launches begin on an idle machine.
        by: one of `ORDERS`.
        seed: of the places of the windows.
    """

    windows: int
    length: Extent
    warm: Extent | None = field()
    by: str = "program"
    seed: int = 0

    @warm.validator
    def _check(self, _: object, warm: Extent | None) -> None:
        if warm is not None and warm.unit != self.length.unit:
            raise ValueError("length and warm are both of cycles, or both of instructions")

    def __str__(self) -> str:
        warm = "" if self.warm is None else f"warm={self.warm},"
        return f"windows={self.windows},length={self.length},{warm}by={self.by},seed={self.seed}"

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
        if self.by == LAUNCH:
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

    def strata(
        self, launches: Sequence[int], signatures: Sequence[Signature]
    ) -> list[tuple[int, float, int]]:
        """Where windows of the only application begin, as for `places`, with `by` launch.

        Launches of one signature are a stratum, which has two windows at least; the others go to
        strata by their warp instructions.  In each they are spread over its instructions.  Where
        there are too few for that, all launches are one stratum, side by side by signature.

        Returns:
            (place, part of all instructions that it stands for, stratum), by place.
        """
        starts = list(accumulate(launches, initial=0))
        groups = list(_kinds(launches, signatures).values())
        if 2 * len(groups) > self.windows:
            groups = [[launch for group in groups for launch in group]]
        work = [sum(launches[launch] for launch in group) for group in groups]
        random = np.random.default_rng([self.seed, 0])
        found = []
        for number, count in enumerate(
            self._shared(work, [2] * len(groups), [self.windows] * len(groups))
        ):
            ends = np.cumsum([launches[launch] for launch in groups[number]])
            places = (np.arange(count) + random.random(count)) * (work[number] / count)
            for place in np.minimum(places.astype(int), work[number] - 1).tolist():
                index = int(np.searchsorted(ends, place, side="right"))
                launch = groups[number][index]
                at = starts[launch] + place - int(ends[index]) + launches[launch]
                found.append((at, work[number] / count / starts[-1], number))
        return sorted(found)

    def launches(
        self, launches: Sequence[int], signatures: Sequence[Signature]
    ) -> list[tuple[int, float, int]]:
        """Which launches are windows.

        The first launch of each signature is one: in it everything is cold, and pages get their
        frames.  Its others are a stratum, which has two windows at least, or all of its launches.
        The rest of the windows goes to strata by their warp instructions, and in each to launches
        that are spread over its instructions.  Where there are too few windows for that, all
        launches are one stratum.

        Args:
            launches: warp instructions of each.
            signatures: of each; launches with equal ones are alike.

        Returns:
            (launch, part of all instructions that it stands for, stratum), by launch.  One that
            stands for itself alone is a stratum of its own.
        """
        kinds = _kinds(launches, signatures)
        strata = [one for kind in kinds.values() for one in (kind[:1], kind[1:]) if one]
        if sum(min(len(stratum), 2) for stratum in strata) > self.windows:
            strata = [[launch for kind in kinds.values() for launch in kind]]
        sizes = [len(stratum) for stratum in strata]
        work = [sum(launches[launch] for launch in stratum) for stratum in strata]
        random = np.random.default_rng(self.seed)
        found = []
        least = [min(size, 2) for size in sizes]
        for number, count in enumerate(self._shared(work, least, sizes)):
            stratum, total = strata[number], work[number]
            if count == len(stratum):
                found += [(launch, launches[launch] / sum(work), -launch) for launch in stratum]
                continue
            ends = np.cumsum([launches[launch] for launch in stratum])
            places = (np.arange(count) + random.random()) * (total / count)
            weights: dict[int, float] = {}
            for index in np.searchsorted(ends, places, side="right").tolist():
                weights.setdefault(stratum[index], 0.0)
                weights[stratum[index]] += total / count / sum(work)
            found += [(launch, weight, number + 1) for launch, weight in weights.items()]
        return sorted(found)

    def _shared(self, work: Sequence[int], least: Sequence[int], most: Sequence[int]) -> list[int]:
        """How many windows each stratum has, by its work."""
        counts = list(least)
        wanting = [
            (-work[number] / count, number)
            for number, count in enumerate(counts)
            if count < most[number]
        ]
        heapify(wanting)
        for _ in range(self.windows - sum(counts)):
            if not wanting:
                break
            _, number = heappop(wanting)
            counts[number] += 1
            if counts[number] < most[number]:
                heappush(wanting, (-work[number] / counts[number], number))
        return counts


def _kinds(launches: Sequence[int], signatures: Sequence[Signature]) -> dict[Signature, list[int]]:
    """Launches that execute something, by signature."""
    kinds: dict[Signature, list[int]] = {}
    for launch, instructions in enumerate(launches):
        if instructions:
            kinds.setdefault(signatures[launch], []).append(launch)
    return kinds


def parse_sample(text: str) -> SamplePlan:
    """``"windows=30,length=50kcycles,warm=20kcycles,by=launch,seed=1"``; the last two may lack.

    Or ``"windows=10,length=launch,seed=1"``: whole launches.

    Raises:
        UserError: something is missing, unknown, or no number above 0.
    """
    given = split_plan(text)
    for key in given:
        if key not in _KEYS:
            raise UserError(
                f"--sample {text}: there is no {key!r}{nearest(key, _KEYS)}; "
                f"allowed: {', '.join(_KEYS)}, or launches"
            )
    whole = given.get("length") == LAUNCH
    for key in _KEYS[: 2 if whole else 3]:
        if key not in given:
            raise UserError(
                f"--sample {text}: {key} is missing; write it like "
                "windows=30,length=50kcycles,warm=20kcycles, windows=10,length=launch or launches=3"
            )
    if whole and ("warm" in given or given.get("by", LAUNCH) != LAUNCH):
        raise UserError(
            f"--sample {text}: whole launches need no warm, as the machine is idle before them, "
            "and are chosen by launch"
        )
    by = given.get("by", LAUNCH if whole else ORDERS[0])
    if by not in ORDERS:
        raise UserError(
            f"--sample {text}: by={by}{nearest(by, ORDERS)}; allowed: {', '.join(ORDERS)}"
        )
    try:
        return SamplePlan(
            _whole(given["windows"], LEAST_WINDOWS, MOST_WINDOWS),
            _extent(given["length"]),
            None if whole else _extent(given["warm"]),
            by,
            _whole(given.get("seed", "0"), 0),
        )
    except ValueError as error:
        raise UserError(f"--sample {text}: {error}") from error


def split_plan(text: str) -> dict[str, str]:
    """The parts of a plan, by key.

    Raises:
        UserError: one is no ``KEY=VALUE``, or there twice.
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key in given:
            raise UserError(f"--sample {text}: {part!r}: write each of KEY=VALUE once")
        given[key] = value
    return given


def _extent(text: str) -> Extent:
    if text == LAUNCH:
        return Extent(1, LAUNCH)
    unit = UNITS[1] if text.endswith(UNITS[1]) else UNITS[0]
    return Extent(parse_amount(text, unit), unit)


def _whole(text: str, least: int, most: int = MOST) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) < least:
        raise ValueError(f"{text[:20]!r}: must be a whole number of at least {least}")
    if int(text) > most:
        raise ValueError(f"{text}: must be at most {most:,}")
    return int(text)

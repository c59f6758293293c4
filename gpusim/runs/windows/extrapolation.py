"""Numbers of whole programs, estimated from windows of them, with intervals.

Places of windows are spread over a program's instructions.  So the program's cycles are its
instructions times the mean of the windows' cycles an instruction (Wunderlich et al., ISCA 2003);
whole launches count by what each stands for.
With several applications a window stands for one place in each; it weighs as much as the others
stay at theirs: the product of their cycles an instruction.  A counter of the whole is the mean
of its rates over time, in which a window weighs by the cycles an instruction of all, times the
cycles of the whole.  What belongs to an application is counted in its own part of a window, what
belongs to none in the parts of all.

Headline numbers are made of these as those of a whole run are made of its counters.  How much they
would differ with other windows, the jackknife tells: the numbers without each window in turn.  How
much they would differ if windows had been timed longer before they were measured, their halves
tell: what the first halves say, and what the second ones say.  A whole run is an accident itself,
with a spread of its own: it adds to the variance as much of it as the part that windows have timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.results.run_data import EstimateFacts, SummaryValue

LEAST_WINDOWS = 8
"""Windows without which there is no interval [our choice]."""

BIAS = 0.01
"""Share of a number that is added to its interval on either side, for what warming does not bring
back [our choice]."""

KNOWN = ("core_clock", "instructions")
"""Numbers that are no estimates."""

LARGEST_PART = 0.5
"""Share of the spread of a number that one window may make up [our choice]; of few windows one
makes up more by chance (Grubbs, Technometrics 1969)."""

SMALL = 0.05
"""Half of an interval, as share of the number, up to which that does not matter [our choice]."""

LARGEST_ERROR = 0.25
"""Half of the interval of cycles, as share, above which there are no intervals [our choice]."""

CONFIDENCE = 0.95

Floats = NDArray[np.float64]


@frozen(eq=False)
class Shares:
    """What some windows have measured, a row a window.

    Attributes:
        cycles: (n, applications) how long each application's part was.
        issued: (n, applications) warp instructions of each in its part, all above 0.
        values: (n, counters) what each counter counted: in the part of its application, or of none,
            in the parts of all together.
        sums: (n, SMs, applications, states) warp-cycles, of each application in its part.
        weights: (n,) what each stands for, of the instructions of a whole program.
        strata: (n,) numbers of those that are alike.
    """

    cycles: Floats
    issued: Floats
    values: Floats
    sums: Floats
    weights: Floats
    strata: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cycles)

    @property
    def complete(self) -> bool:
        """Whether each stands for itself alone: nothing is left out."""
        return len(np.unique(self.strata)) == len(self) > 1

    def without(self, gone: int) -> Shares:
        """All but one, for which the others of its stratum stand; if there are none, all."""
        alike = self.strata == self.strata[gone]
        if alike.sum() == 1:
            return self
        left = self.weights[alike].sum() - self.weights[gone]
        weights = np.where(alike, self.weights * (self.weights[alike].sum() / left), self.weights)
        kept = np.arange(len(self)) != gone
        return Shares(
            self.cycles[kept],
            self.issued[kept],
            self.values[kept],
            self.sums[kept],
            weights[kept],
            self.strata[kept],
        )


@frozen(eq=False)
class Whole:
    """What a program is estimated to do.

    Attributes:
        cycles: by application, up to the end of its program.
        values: of all counters.
        sums: (SMs, applications, states) warp-cycles.
    """

    cycles: NDArray[np.int64]
    values: NDArray[np.int64]
    sums: NDArray[np.int64]


def whole_of(shares: Shares, instructions: Sequence[int], owners: NDArray[np.int64]) -> Whole:
    """Cycles, counters and states of the whole.

    Args:
        shares: what was measured.
        instructions: of each application's program.
        owners: (counters,) index of the application of each; -1: of none, it is of all.
    """
    cpi = shares.cycles / shares.issued
    time = shares.weights * cpi.prod(axis=1)
    others = time[:, None] / cpi
    cycles = np.array(instructions) * time.sum() / others.sum(axis=0)
    weight = time / time.sum()
    # The last column, of all applications, is asked for by -1.
    lengths = np.column_stack((shares.cycles, shares.cycles.sum(axis=1)))
    span = np.append(cycles, cycles.max())
    values = np.einsum("n,nc->c", weight, shares.values / lengths[:, owners]) * span[owners]
    rates = shares.sums / shares.cycles[:, None, :, None]
    sums = np.einsum("n,nsat->sat", weight, rates) * cycles[None, :, None]
    return Whole(*(np.rint(array).astype(np.int64) for array in (cycles, values, sums)))


def estimates_of(
    shares: Shares,
    halves: tuple[Shares, Shares] | None,
    instructions: Sequence[int],
    headline: Callable[[Shares], Sequence[SummaryValue]],
    refusal: Callable[[str], str],
) -> list[EstimateFacts]:
    """What is known of each headline number.

    Args:
        shares: what was measured.
        halves: what was measured in the first halves of windows, and in the second halves.
        instructions: of each application's program.
        headline: makes headline numbers of what some windows measured.
        refusal: why a number cannot have an interval; "": it can.
    """

    def numbers(shares: Shares) -> dict[str, int | float]:
        return {one.name: one.value for one in headline(shares)}

    enough = range(len(shares) if len(shares) >= LEAST_WINDOWS else 0)
    without = [numbers(shares.without(gone)) for gone in enough]
    early, late = map(numbers, halves) if enough and halves is not None else ({}, {})
    freedom = max(len(shares) - len(np.unique(shares.strata)), 1)
    scale = quantile(freedom) * float(1 + shares.issued.sum() / sum(instructions)) ** 0.5
    rule = Rule(
        len(shares),
        LEAST_WINDOWS,
        0.0 if shares.complete else scale,
        max(LARGEST_PART, _largest_by_chance(freedom + 1)),
    )
    trends = {name: late[name] - early[name] for name in early.keys() & late.keys()}
    return intervals(headline(shares), without, trends, refusal, rule)


@frozen
class Rule:
    """How intervals are made of what windows measured.

    Attributes:
        windows: how many there are.
        least: without which there is no interval.
        scale: half of an interval in standard errors; 0: windows leave nothing out.
        largest: the share of the spread that one window may make up.
    """

    windows: int
    least: int
    scale: float
    largest: float


def intervals(
    values: Sequence[SummaryValue],
    without: Sequence[Mapping[str, int | float]],
    trends: Mapping[str, int | float],
    refusal: Callable[[str], str],
    rule: Rule,
) -> list[EstimateFacts]:
    """What is known of each headline number.

    Args:
        values: the estimates.
        without: what they are without each window in turn; empty: there are too few.
        trends: by name, what they would be if windows had been timed longer, less what they are.
        refusal: why a number cannot have an interval; "": it can.
        rule: how intervals are made.
    """
    found = [
        _facts(value, without, trends.get(value.name, 0.0), refusal(value.name), rule)
        for value in values
    ]
    errors = [
        (one.high - one.value) / one.value
        for one in found
        if one.name.rpartition("/")[2] == "cycles"
    ]
    if not any(error > LARGEST_ERROR for error in errors):
        return found
    why = f"the windows are not alike: cycles are known to {max(errors):.0%} only"
    return [_without_interval(one, why) for one in found]


def _without_interval(one: EstimateFacts, why: str) -> EstimateFacts:
    return evolve(one, low=np.nan, high=np.nan, refused=one.refused or why)


def _facts(
    value: SummaryValue,
    without: Sequence[Mapping[str, int | float]],
    trend: float,
    refusal: str,
    rule: Rule,
) -> EstimateFacts:
    """The interval of a number, or why it has none."""
    count = rule.windows
    found = np.array([numbers[value.name] for numbers in without if value.name in numbers])
    if not refusal and len(found) < rule.least:
        measured = len(found) if without else count
        refusal = f"{measured} windows measure it; an interval needs {rule.least}"
    number = float(value.value)
    if not refusal and not number:
        refusal = "no window tells of any"
    squares = (found - found.mean()) ** 2 if len(found) else found
    spread = float(squares.sum())
    half = float(np.hypot(rule.scale * np.sqrt((count - 1) / count * spread), trend))
    if not refusal and half > SMALL * abs(number) and squares.max() > rule.largest * spread:
        refusal = "the windows are not alike: most of the spread is of one"
    if refusal:
        half = np.nan
    elif rule.scale and value.name.rpartition("/")[2] not in KNOWN:
        half += BIAS * abs(number)
    return EstimateFacts(value.name, number, number - half, number + half, count, refusal)


def quantile(freedom: int) -> float:
    """The quantile of Student's distribution, for an interval of two sides."""
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))


def _largest_by_chance(windows: int) -> float:
    """Largest share of the spread that one of `windows` equal windows may have by chance."""
    from scipy.stats import t

    if windows < 3:
        return 1.0
    off = float(t.ppf(1 - (1 - CONFIDENCE) / (2 * windows), windows - 2)) ** 2
    return (windows - 1) / windows * off / (windows - 2 + off)

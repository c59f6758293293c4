"""What translation costs a run: its ideal twins are run beside it, and the lengths subtracted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from gpusim.config.ideal_twins import FAULTS, REMOTE, TLBS, WALKS, IdealTwin
from gpusim.core.counters import ratio
from gpusim.core.errors import UserError
from gpusim.core.metrics import FRACTION
from gpusim.results.run_data import RunData, SummaryValue
from gpusim.runs.options import RunOptions

_WORDS = {FAULTS: "page faults", WALKS: "page walks", TLBS: "TLBs", REMOTE: "links"}
_LENGTH = "cycles"


@frozen
class TwinLength:
    """How long a run takes on an ideal twin of its machine.

    Attributes:
        part: that was taken out last.
        cycles: its length, by the headline number's name: ``"cycles"``, and ``"APP/cycles"`` where
            several applications share the GPU.
    """

    part: str
    cycles: Mapping[str, int | float]


def check_measurable(options: RunOptions) -> None:
    """Refuse runs of which lengths tell no cost.

    Raises:
        UserError: they are stopped by their lengths.
    """
    if not options.cost:
        return
    for rule in options.until:
        if not rule.rstrip().endswith("instructions"):
            raise UserError(
                f"--cost compares the cycles of the same work: not with --until {rule}, which "
                "stops at other work; --until 500kinstructions stops at the same"
            )


def options_of_twin(options: RunOptions) -> RunOptions:
    """The options of a twin's run, of which only the length is kept."""
    return evolve(options, cost=False, record=(), output=None, log=None, log_every=None)


def twin_title(twin: IdealTwin) -> str:
    """What a twin is, for the eye."""
    return "without translation" if twin.part == TLBS else f"without {_WORDS[twin.part]}"


def lengths_of(
    twins: Sequence[IdealTwin], run: Callable[[IdealTwin], Mapping[str, int | float]]
) -> list[TwinLength]:
    """Run the twins, one after the other.

    Args:
        twins: from the one with the most parts to the one without translation.
        run: runs one, and returns its headline numbers.

    Raises:
        UserError: one cannot be run.
    """
    found = []
    for twin in twins:
        try:
            summary = run(twin)
        except UserError as error:
            raise UserError(f"--cost: the run {twin_title(twin)} failed: {error}") from error
        found.append(
            TwinLength(twin.part, {name: summary[name] for name in summary if _is_length(name)})
        )
    return found


def with_costs(run: RunData, lengths: Sequence[TwinLength]) -> RunData:
    """The facts of a run, with what translation and its parts cost among the headline numbers."""
    if not lengths:
        return run
    summary: list[SummaryValue] = []
    for value in run.summary:
        summary.append(value)
        if _is_length(value.name):
            twins = {one.part: one.cycles[value.name] for one in lengths}
            summary += (
                evolve(cost, name=value.name.removesuffix(_LENGTH) + cost.name)
                for cost in _costs(value.value, twins)
            )
    warnings = [*run.warnings, _ESTIMATED] if run.estimates else run.warnings
    return evolve(run, summary=summary, warnings=warnings)


_ESTIMATED = "costs are differences of two estimates, whose intervals are not known"


def _costs(cycles: int | float, twins: Mapping[str, int | float]) -> Iterator[SummaryValue]:
    """Headline numbers of one length and those of the twins, by the part that was taken out."""
    *_, ideal = twins.values()
    yield SummaryValue(
        "cycles_without_translation",
        ideal,
        "cycles",
        "length of the run without translation",
        later=True,
    )
    share = ratio(cycles - ideal, cycles)
    if share is None:
        return
    yield SummaryValue(
        "cost_translation", share, FRACTION, "cycles that translation costs", later=True
    )
    before = cycles
    for part, length in twins.items():
        if part == REMOTE:
            yield SummaryValue(
                "cost_remote",
                (cycles - length) / cycles,
                FRACTION,
                "cycles that the links between GPUs cost",
                later=True,
            )
            continue
        yield SummaryValue(
            f"cost_{part}",
            (before - length) / cycles,
            FRACTION,
            f"cycles that {_WORDS[part]} cost",
            later=True,
        )
        before = length


def _is_length(name: str) -> bool:
    return name.rpartition("/")[2] == _LENGTH

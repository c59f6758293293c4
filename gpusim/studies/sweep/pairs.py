"""Variants alone and in pairs: which go together, what they gain, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.studies.sweep.point import BASELINE, SHARED, as_text

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.sweep.results import SweepResults
    from gpusim.studies.sweep.spec import Sweep


def pair_name(first: str, second: str) -> str:
    """Two variants as one, as a sweep's table names it."""
    return f"{first}+{second}"


def pairs_of(variants: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every two of them, in their order; the model as it is makes no pairs."""
    return combinations([one for one in variants if one != BASELINE], 2)


_STAGES = "stages"
"""The key that lists all of a machine's: a list that leaves one out is refused by itself."""


class Machines:
    """Which variants of a model make one machine together.

    They contradict each other if both change or drop a key, and not in the same way: the machine
    would be that of the second one alone.  Stages that one brings and those that the other one
    brings or drops go together; of two that lie in the same place the second one's comes first.

    Args:
        model: name, or path.
        under: recipes that are laid below all variants.
    """

    def __init__(self, model: str, under: Sequence[str] = ()) -> None:
        self._model = model
        self._under = under
        self._plain = self._values()
        self._known: dict[str, dict[str, str]] = {}

    def why_not(self, first: str, second: str) -> str:
        """Why two variants cannot be one machine; empty: they can.

        Raises:
            UserError: one of them cannot be loaded alone.
        """
        one, other = self._changes(first), self._changes(second)
        for key in one:
            if key != _STAGES and one[key] != other.get(key, one[key]):
                choices = (each[key] or each.get(f"{key}.policy", "none") for each in (one, other))
                return f"both decide {key}: {' and '.join(choices)}"
        try:
            self._values(first, second)
        except UserError as error:
            return str(error)
        return ""

    def _changes(self, variant: str) -> dict[str, str]:
        """Keys that a variant changes, with the new values; empty: there is none any more."""
        if variant not in self._known:
            plain, changed = self._plain, self._values(variant)
            keys = sorted(plain.keys() | changed.keys())
            self._known[variant] = {
                key: changed.get(key, "") for key in keys if plain.get(key) != changed.get(key)
            }
        return self._known[variant]

    def _values(self, *names: str) -> dict[str, str]:
        found = load_model(self._model, [*self._under, *names])
        return {one.key: as_text(one.value) for one in found.values}


def refusals(sweep: Sweep) -> dict[tuple[str, str], str]:
    """Pairs of a sweep that do not make one machine, by model and pair, and why.

    Raises:
        UserError: a variant cannot be loaded alone.
    """
    found = {}
    for model in sweep.models:
        machines = Machines(model)
        for one, other in pairs_of(sweep.variants):
            if reason := machines.why_not(one, other):
                found[model, pair_name(one, other)] = reason
    return found


@frozen(eq=False)
class Pairs:
    """What variants gain: means over workloads, in percent.

    Attributes:
        gains: (variants, variants), symmetric: of each pair; on the diagonal alone; NaN: no run.
        beyond: (variants, variants), symmetric: by how many percentage points a pair gains more
            than both gains multiplied; NaN on the diagonal.
    """

    gains: pd.DataFrame
    beyond: pd.DataFrame


def gains_of(results: SweepResults, value: str, variants: Sequence[str]) -> Pairs:
    """Gains in a headline number of which more is better, geometric means over all workloads.

    Args:
        results: of a sweep with pairs.
        value: such as ``"ipc"``.
        variants: of the sweep, `BASELINE` among them.

    Raises:
        UserError: there is no such number, or the baseline was not run.
    """
    import numpy as np
    import pandas as pd

    table = results.table
    if value not in table.columns:
        raise UserError(f"sweep {results.name!r}: no run has a number {value!r}")
    done = table[(table["state"] == "done") & (table["role"] == SHARED)]
    numbers = done.pivot_table(index=["model", "workload", "seed"], columns="variant", values=value)
    if BASELINE not in numbers:
        raise UserError(f"sweep {results.name!r}: gains need runs of variant {BASELINE!r}")
    means = np.exp(np.log(numbers.div(numbers[BASELINE], axis=0)).mean())
    names = [one for one in variants if one != BASELINE]
    gains = pd.DataFrame(np.nan, index=names, columns=names)
    beyond = gains.copy()
    for name in names:
        gains.loc[name, name] = 100 * (means.get(name, np.nan) - 1)
    for one, other in pairs_of(names):
        both = means.get(pair_name(one, other), np.nan)
        product = means.get(one, np.nan) * means.get(other, np.nan)
        for row, column in ((one, other), (other, one)):
            gains.loc[row, column] = 100 * (both - 1)
            beyond.loc[row, column] = 100 * (both - product)
    return Pairs(gains, beyond)

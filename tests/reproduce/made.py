"""Made-up results: runs and characterizations that figures can be drawn of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from gpusim.characterize import ApplicationCharacterization, Distribution, KernelCounts
from gpusim.characterize.characterization import DISTRIBUTIONS
from gpusim.reproduce import Figure, Material

NUMBERS = ("cycles", "warp_cycles", "tlb_L1_hit_rate_mean", "tlb_L2_hit_rate")
Place = Mapping[str, str]


def some_number(place: Place, number: str) -> float:
    """Another one for each run, but for the seed of nothing random."""
    letters = sum(map(ord, "".join(place.values())))
    return 1000.0 + letters % 97 if number.endswith("cycles") else 0.3 + letters % 61 / 100


def runs_of(figure: Figure, value: Callable[[Place, str], float] = some_number) -> pd.DataFrame:
    """A table of all runs that a figure's sweeps name."""
    rows = []
    for sweep in figure.sweeps:
        axes = [[(keys, one) for one in values] for keys, values in sweep.set.items()]
        for variant, workload, *chosen in product(sweep.variants, sweep.workloads, *axes):
            place = {"variant": variant, "workload": workload}
            for keys, one in chosen:
                names = [key.strip() for key in keys.split(",")]
                place |= dict(zip(names, map(str, [one] if len(names) == 1 else one), strict=True))
            rows.append({**place, **{number: value(place, number) for number in NUMBERS}})
    return pd.DataFrame(rows)


def application(
    intra=(0, 0, 2, 0, 8), inter=(5, 3, 2, 0, 0), **distributions
) -> ApplicationCharacterization:
    """A characterization with these bins and distributions; the others have two values."""
    found = {
        name: Distribution.of(np.array(distributions.get(name, [3, 65]))) for name in DISTRIBUTIONS
    }
    kernel = KernelCounts("k", 1, 10, 10, 10, 10, 10)
    return ApplicationCharacterization(
        "x", 1, (kernel,), (), 5, np.array(intra), np.array(inter), 10, found
    )


def material(
    figure: Figure, value: Callable[[Place, str], float] = some_number,
    characterized: Callable[[str], ApplicationCharacterization] = lambda _: application(),
) -> Material:  # fmt: skip
    """Everything that a figure needs."""
    surveys = tuple(
        {name: characterized(name) for name in survey.workloads} for survey in figure.surveys
    )
    return Material("smoke", runs_of(figure, value), surveys)


def by_variant(**values: Mapping[str, float] | float) -> Callable[[Place, str], float]:
    """Numbers by variant; a variant's others are those of `some_number`."""
    table = {name.replace("_", "-"): value for name, value in values.items()}

    def value(place: Place, number: str) -> float:
        found = table.get(place["variant"], {})
        if isinstance(found, Mapping):
            return found.get(number, some_number({}, number))
        return found if number == "cycles" else some_number({}, number)

    return value

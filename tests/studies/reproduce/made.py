"""Made-up results: runs and characterizations that figures can be drawn of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import product
from typing import Any

import attrs
import numpy as np
import pandas as pd

from gpusim.machine.load import load_model
from gpusim.results.result import Result
from gpusim.runs.simulate import simulate
from gpusim.studies.characterize import ApplicationCharacterization, Distribution, KernelCounts
from gpusim.studies.characterize.characterization import DISTRIBUTIONS
from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.reproduce.mixes import applications
from gpusim.studies.sweep.point import as_text
from gpusim.studies.sweep.spec import Sweep
from gpusim.workloads.workload import load_workload

NUMBERS = (
    "cycles",
    "warp_cycles",
    "ipc",
    "tlb_L1_hit_rate_mean",
    "tlb_L2_hit_rate",
    "tlb_L2_mpki",
    "tlb_L3_hit_rate",
    "tlb_L2_bypass_hit_rate",
    "tlb_L1_stalled_by_miss",
    "tlb_L1_stalled_by_miss_max",
    "tlb_L1_long_misses",
    "concurrent_walks",
    "concurrent_walks_max",
    "l2_translation_hit_rate",
    "l2_bypassed",
    *(f"l2_level{level}_hit_rate" for level in range(1, 5)),
    "dram_bandwidth",
    "dram_data_bandwidth",
    "dram_translation_bandwidth",
    "dram_data_latency",
    "dram_translation_latency",
    "transactions_per_instruction",
    "tlb_L2_queueing",
    "tlb_FBT_hit_rate",
    "l1_hit_rate",
    "fbt_synonyms",
    "fbt_evictions",
    "l1_invalidations_filtered",
)
Place = Mapping[str, str]


def some_number(place: Place, number: str) -> float:
    """Another one for each run, but for the seed of nothing random."""
    letters = sum(map(ord, "".join(place.values())))
    return 1000.0 + letters % 97 if number.endswith("cycles") else 0.3 + letters % 61 / 100


def runs_of(figure: Figure, value: Callable[[Place, str], float] = some_number) -> pd.DataFrame:
    """A table of all runs that a figure's sweeps name, those alone among them."""
    rows = [_row(place, value) for sweep in figure.sweeps for place in _places(sweep)]
    return pd.DataFrame(rows).assign(key=[str(row) for row in range(len(rows))])


def _places(sweep: Sweep) -> Iterator[dict[str, str]]:
    """What tells the runs of a sweep from each other."""
    axes = [[(keys, one) for one in values] for keys, values in sweep.set.items()]
    for model, variant, workload, *chosen in product(
        sweep.models, sweep.variants, sweep.workloads, *axes
    ):
        place = {"model": model, "variant": variant, "workload": workload}
        for keys, one in chosen:
            names = [key.strip() for key in keys.split(",")]
            values = [one] if len(names) == 1 else one
            place |= dict(zip(names, map(as_text, values), strict=True))
        apps = applications(workload)
        splits = (
            [f"{sms}+{30 - sms}" for sms in range(sweep.split_step, 30, sweep.split_step)]
            if sweep.split_step
            else [""]
        )
        for split in splits:
            yield place | {"role": "run", "application": "", "sms": split}
            if len(apps) > 1:
                for alone, app in product(sweep.alone, apps):
                    like = variant if alone == "same" else alone
                    of_alone = {"role": "alone", "application": app, "sms": split or "15+15"}
                    yield place | of_alone | {"variant": like}


@attrs.frozen
class MadeRun:
    """A run of some applications: counters and recorded tables like those of a result.

    Each application has evicted one entry with 1 sub-entry in use, 2 with 2, … 16 with 16, and
    looked up four pages of its own in turn, twice, in each TLB level; in each cycle an entry was
    shared.
    """

    apps: Sequence[str]

    def __enter__(self) -> MadeRun:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def counters(self) -> pd.DataFrame:
        rows = [
            ("tlb/L3", 0, app, f"evicted_with_{used}", used)
            for app, used in product(self.apps, range(1, 17))
        ]
        return pd.DataFrame(rows, columns=["component", "instance", "app", "counter", "value"])

    @property
    def applications(self) -> pd.DataFrame:
        return pd.DataFrame({"name": self.apps, "asid": range(len(self.apps)), "end": 100})

    def table(self, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        rows = [
            (level, asid, page, 1, 10 * turn + page, 1, 2, 3, 4)
            for turn, page, asid, level in product(
                range(2), range(4), range(len(self.apps)), range(3)
            )
        ]
        names = {
            "tlb": ["level", "asid", "vpn", "hit", "cycle"],
            "sharing": [
                "level",
                "asid",
                "",
                "instance",
                "cycle",
                "shares",
                "reverts",
                "conflicts",
                "evictions",
            ],
        }[name]
        found = pd.DataFrame([row[: len(names)] for row in rows], columns=names)
        return found[list(columns or names)]


def _row(place: Place, value: Callable[[Place, str], float]) -> dict[str, object]:
    numbers = {number: value(place, number) for number in NUMBERS}
    apps = applications(place["workload"])
    if len(apps) > 1 and place["role"] == "run":
        for app, number in product(apps, NUMBERS):
            numbers[f"{app}/{number}"] = value({**place, "application": app}, number)
    return {**place, "state": "done", "key": "a run", **numbers}


@cache
def some_run() -> Result:
    """A short run that has recorded what figures may ask for."""
    model, work = load_model("apu-hsa"), load_workload("fw_block", "smoke")
    return simulate(model, work, record=("tlb", "tlb_misses", "lifetimes"))


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
    figure: Figure,
    value: Callable[[Place, str], float] = some_number,
    characterized: Callable[[str], ApplicationCharacterization] = lambda _: application(),
) -> Material:
    """Everything that a figure needs."""
    surveys = tuple(
        {name: characterized(name) for name in survey.workloads} for survey in figure.surveys
    )
    runs = runs_of(figure, value)

    def opened(key: str) -> AbstractContextManager[Any]:
        run = runs.iloc[int(key)]
        if run["model"] == "apu-hsa":
            return nullcontext(some_run())
        return MadeRun(
            [run["application"]] if run["application"] else applications(run["workload"])
        )

    return Material("smoke", runs, surveys, opened)


def by_variant(**values: Mapping[str, float] | float) -> Callable[[Place, str], float]:
    """Numbers by variant; a variant's others are those of `some_number`."""
    table = {name.replace("_", "-"): value for name, value in values.items()}

    def value(place: Place, number: str) -> float:
        found = table.get(place["variant"], {})
        if isinstance(found, Mapping):
            return found.get(number, some_number({}, number))
        return found if number == "cycles" else some_number({}, number)

    return value

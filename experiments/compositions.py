"""Compositions: which mechanisms help each other, alone and in pairs, and which cancel gains.

``gpusim study compositions`` runs what is missing of experiments/compositions.toml and
prints its tables; with ``--doc`` it writes them into the page docs/compositions.md, the matrix
beside it, and what each gains alone in each workload into tables/compositions.csv.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import evolve

from experiments.marked import compact, tell
from experiments.run_shown import run_shown, study_options
from gpusim.studies.sweep.pairs import Pairs, gains_of, pair_name
from gpusim.studies.sweep.picture import draw_sweep
from gpusim.studies.sweep.point import BASELINE
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.spec import Sweep, read_sweep

SPEC = Path(__file__).parent / "compositions.toml"
SHIFTED, SHIFTS = "l2.latency", ("8 cycles", "9 cycles", "11 cycles", "12 cycles")
"""What shifts a run without being a design: a key and its values, about that of the machine."""

MOST = 5
"""Rows of a table of pairs."""

VALUE = "ipc"


def by_workload(results: SweepResults) -> pd.DataFrame:
    """Gains over the baseline: workloads, and variants and pairs; 0.1 is a tenth more."""
    table = results.table[results.table["state"] == "done"]
    numbers = table.pivot_table(index="workload", columns="variant", values=VALUE)
    return numbers.div(numbers[BASELINE], axis=0) - 1


def alone(each: pd.DataFrame, pairs: Pairs) -> str:
    """What each gains without another one."""
    gains = np.diag(pairs.gains.to_numpy(float))
    rows = [
        [f"`{name}`", f"{gain:+.1f}", _range(each[name])]
        for name, gain in zip(_names(pairs), gains, strict=True)
    ]
    return compact(["recipe", "mean, %", "of one workload"], rows)


def numbers_alone(each: pd.DataFrame, pairs: Pairs) -> str:
    """What each gains alone in each workload, in percent, as CSV."""
    numbers = each[_names(pairs)].mul(100).round(1).T
    return numbers.to_csv(index_label="recipe", lineterminator="\n")


def strongest(each: pd.DataFrame, pairs: Pairs, *, helped: bool) -> str:
    """Pairs that gain most beyond the product of their gains, or stay most below it."""
    names, gains, beyond = _names(pairs), pairs.gains.to_numpy(float), pairs.beyond.to_numpy(float)
    found = [two for two in combinations(range(len(names)), 2) if np.isfinite(beyond[two])]
    found.sort(key=lambda two: beyond[two], reverse=helped)
    rows = []
    for first, second in found[:MOST]:
        one, other = names[first], names[second]
        more = each[pair_name(one, other)] - ((1 + each[one]) * (1 + each[other]) - 1)
        numbers = (gains[first, first], gains[second, second], gains[first, second])
        rows.append(
            [
                f"`{one}` and `{other}`",
                *map("{:+.1f}".format, (*numbers, beyond[first, second])),
                _range(more),
            ]
        )
    head = ["pair", "the first", "the second", "both", "beyond", "of one workload"]
    return compact(head, rows)


def _names(pairs: Pairs) -> list[str]:
    return [str(name) for name in pairs.gains.index]


def _range(numbers: pd.Series) -> str:
    """The smallest one and the largest one, in percent, each with its workload."""
    ends = (numbers.nsmallest(1), numbers.nlargest(1))
    return " to ".join(f"{100 * part.iloc[0]:+.1f} (`{part.index[0]}`)" for part in ends)


def refused(reasons: Mapping[tuple[str, str], str]) -> str:
    """Pairs that cannot be combined."""
    here = f"{SPEC.parents[1]}/"
    rows = [(f"`{pair}`", reason.replace(here, "")) for (_, pair), reason in reasons.items()]
    return compact(("pair", "why they cannot be combined"), rows)


def noise(results: SweepResults, shifted: SweepResults) -> str:
    """What shifts change of the baseline."""
    plain = results.table.query(f"variant == '{BASELINE}'").set_index("workload")[VALUE]
    numbers = shifted.table.pivot_table(index="workload", columns=SHIFTED, values=VALUE)
    ratios = numbers.div(plain, axis=0)
    means = np.exp(np.log(ratios).mean())
    return (
        f"An L2 hit that takes one or two cycles less or more changes the baseline's mean by "
        f"{means.min() - 1:+.1%} to {means.max() - 1:+.1%}, and a single workload by "
        f"{ratios.min().min() - 1:+.1%} to {ratios.max().max() - 1:+.1%}."
    )


def parts(results: SweepResults, shifted: SweepResults, sweep: Sweep) -> Iterator[tuple[str, str]]:
    """All parts of the page, by the names of their marks."""
    each, pairs = by_workload(results), gains_of(results, VALUE, sweep.variants)
    yield "alone", alone(each, pairs)
    yield "helped", strongest(each, pairs, helped=True)
    yield "taken away", strongest(each, pairs, helped=False)
    yield "refused", refused(results.refused)
    yield "noise", noise(results, shifted)


def main() -> None:
    """Run, then print or write."""
    arguments = study_options(__doc__, "compositions").parse_args()
    sweep = read_sweep(SPEC)
    alike = evolve(
        sweep,
        name=f"{sweep.name}-shifted",
        title="The baseline, shifted",
        pairs=False,
        variants=[BASELINE],
        set={**sweep.set, SHIFTED: SHIFTS},
        plot=None,
    )
    results, shifted = (run_shown(one, arguments.output, arguments.jobs) for one in (sweep, alike))
    for name, text in parts(results, shifted, sweep):
        tell(arguments.doc, f"compositions {name}", f"{text}\n")
    if arguments.doc is not None:
        numbers = numbers_alone(by_workload(results), gains_of(results, VALUE, sweep.variants))
        (arguments.doc.parent / "tables" / "compositions.csv").write_text(numbers, "utf-8")
        if picture := draw_sweep(results, sweep):
            shutil.copy(picture, arguments.doc.parent / "pictures")


if __name__ == "__main__":
    main()

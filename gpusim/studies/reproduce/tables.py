"""Tables of a figure: its runs, and the usual kinds of tables made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen

from gpusim.results.result import Result, open_result
from gpusim.studies.sweep.metrics import shared_runs
from gpusim.studies.sweep.point import ALONE, BASELINE, SHARED, as_text
from gpusim.views.plots.ratios import geometric_mean

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.characterize import ApplicationCharacterization

T = TypeVar("T")

OpenRun = Callable[[str], AbstractContextManager[Result]]
"""Opens the result of a run."""

Design = Mapping[str, object]
"""What identifies the runs of a design: columns of a sweep's table and their values."""

Change = Callable[["pd.DataFrame"], "pd.DataFrame"]
"""What is made of a table before it is shown."""

AVERAGE = "Average"
"""Name of the row of means."""


@frozen(eq=False)
class Material:
    """What a figure is made of.

    Attributes:
        scale: of all programs.
        runs: the rows of all its sweeps' tables; settings are text.
        surveys: of each survey of the figure, the characterization of each workload.
        open: opens the result of a run by its ``key`` in `runs`; default: keys are paths.
        machine: the variant of the model that lies under all designs.
    """

    scale: str
    runs: pd.DataFrame
    surveys: tuple[Mapping[str, ApplicationCharacterization], ...] = ()
    open: OpenRun = open_result
    machine: str = BASELINE

    def numbers(
        self,
        number: str,
        programs: Mapping[str, str],
        designs: Sequence[str] | Mapping[str, Design],
    ) -> pd.DataFrame:
        """A headline number: a row a program, a column a design; NaN where a run has none.

        Args:
            number: its name.
            programs: names for the index, and their workloads.
            designs: variants, or names for the columns and what tells their runs from others.
        """
        import pandas as pd

        columns = {}
        for name, design in _named(designs).items():
            found = self._of(design).drop_duplicates("workload").set_index("workload")
            cells = found.reindex(index=list(programs.values()), columns=[number])
            columns[name] = cells[number].to_numpy(float)
        return pd.DataFrame(columns, index=pd.Index(list(programs), name="program"))

    def read(
        self, reading: Callable[[Result], T], programs: Mapping[str, str], design: Design
    ) -> dict[str, T]:
        """Something of the run itself, of each program that was run: counters, recorded tables.

        Args:
            reading: of a run, which is closed afterwards.
            programs: names, and their workloads.
            design: what tells its runs from others.
        """
        keys = self._of(design).drop_duplicates("workload").set_index("workload")["key"]
        found = {}
        for name, workload in programs.items():
            if workload in keys:
                with self.open(keys[workload]) as result:
                    found[name] = reading(result)
        return found

    def compared(
        self,
        metric: str,
        mixes: Mapping[str, str],
        designs: Mapping[str, Design],
        alone: Design | None = None,
    ) -> pd.DataFrame:
        """What sharing the GPU costs: a row a mix of applications, a column a design.

        Args:
            metric: a column of `gpusim.studies.sweep.metrics.shared_runs`.
            mixes: names for the index, and their workloads.
            designs: names for the columns, and what tells their runs from others.
            alone: by what the runs alone differ from those of the design; None as a value: they
                have no such setting.  Default: by nothing.
        """
        import pandas as pd

        place = ["workload", "sms"]
        columns = {}
        for name, design in designs.items():
            lonely = {
                key: one for key, one in {**design, **(alone or {})}.items() if one is not None
            }
            runs = pd.concat(
                [self._of({**design, "role": SHARED}), self._of({**lonely, "role": ALONE})]
            )
            runs = runs.assign(variant="").drop_duplicates([*place, "role", "application"])
            runs = runs[runs["workload"].isin(list(mixes.values()))]
            found = shared_runs(runs, place).set_index("workload")[metric]
            columns[name] = found.reindex(list(mixes.values())).to_numpy(float)
        return pd.DataFrame(columns, index=pd.Index(list(mixes), name="mix"))

    def _of(self, design: Design) -> pd.DataFrame:
        """The rows of a design."""
        import pandas as pd

        wanted = pd.Series(data=True, index=self.runs.index)
        for column, value in design.items():
            wanted &= self.runs[column] == as_text(value)
        return self.runs[wanted]


def _named(designs: Sequence[str] | Mapping[str, Design]) -> Mapping[str, Design]:
    """Variants are named after themselves."""
    if isinstance(designs, Mapping):
        return designs
    return {variant: {"variant": variant} for variant in designs}


Table = Callable[[Material], "pd.DataFrame"]
"""Makes the numbers of a figure."""


def unchanged(table: pd.DataFrame) -> pd.DataFrame:
    """The table itself."""
    return table


def numbers(
    number: str,
    programs: Mapping[str, str],
    designs: Sequence[str] | Mapping[str, Design],
    then: Change = unchanged,
) -> Table:
    """The table of one headline number: `Material.numbers`, and what is made of it."""
    return lambda material: then(material.numbers(number, programs, designs))


def numbers_of_one(
    numbers: Mapping[str, str],
    programs: Mapping[str, str],
    design: Design,
    then: Change = unchanged,
) -> Table:
    """The table of several headline numbers of one design.

    Args:
        numbers: names for the columns, and those of the numbers.
        programs: names for the index, and their workloads.
        design: what tells its runs from others.
        then: what is made of the table.
    """

    def table(material: Material) -> pd.DataFrame:
        import pandas as pd

        columns = {
            name: material.numbers(number, programs, {name: design})[name]
            for name, number in numbers.items()
        }
        return then(pd.DataFrame(columns))

    return table


def compared(
    metric: str,
    mixes: Mapping[str, str],
    designs: Mapping[str, Design],
    alone: Design | None = None,
    then: Change = unchanged,
) -> Table:
    """The table of what sharing the GPU costs: `Material.compared`, and what is made of it."""
    return lambda material: then(material.compared(metric, mixes, designs, alone))


def with_average(table: pd.DataFrame) -> pd.DataFrame:
    """A last row of arithmetic means."""
    found = table.copy()
    found.loc[AVERAGE] = table.mean()
    return found


def normalised(times: pd.DataFrame, baseline: str = "baseline") -> pd.DataFrame:
    """Each column divided by that of the baseline."""
    return times.div(times[baseline], axis=0)


def reduction(times: pd.DataFrame, design: str, baseline: str = "baseline") -> float:
    """By how many percent a design cuts the geometric mean of times; negative: lengthens it."""
    return 100 * (1 - geometric_mean((times[design] / times[baseline]).to_numpy()))


def gain(times: pd.DataFrame, design: str, baseline: str = "baseline") -> pd.Series:
    """By how many percent each program is faster with a design."""
    return 100 * (times[baseline] / times[design] - 1)


def points(rates: pd.DataFrame, design: str, baseline: str = "baseline") -> pd.Series:
    """By how many percentage points a design raises the hit rate of each program."""
    return 100 * (rates[design] - rates[baseline])


def counted(result: Result, component: str, app: str | None = None) -> Counter[str]:
    """The counters of a component, summed over its instances.

    Args:
        result: of a run.
        component: such as ``"tlb/L2"``.
        app: of one application; None: of all.
    """
    rows = result.counters
    rows = rows[rows["component"] == component]
    if app is not None:
        rows = rows[rows["app"] == app]
    sums = rows.groupby("counter")["value"].sum()
    return Counter({str(name): int(value) for name, value in sums.items()})

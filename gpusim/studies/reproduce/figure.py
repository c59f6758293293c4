"""A figure of a paper, or a study: what it needs, its table, its picture, its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from attrs import field, frozen

from gpusim.results.result import Result, open_result
from gpusim.studies.characterize import ApplicationCharacterization
from gpusim.studies.reproduce.verdict import Measured
from gpusim.studies.sweep.metrics import shared_runs
from gpusim.studies.sweep.point import ALONE, BASELINE, SHARED, as_text
from gpusim.studies.sweep.spec import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

T = TypeVar("T")

OpenRun = Callable[[str], AbstractContextManager[Result]]
"""Opens the result of a run."""

Design = Mapping[str, object]
"""What tells the runs of a design from others: columns of a sweep's table and their values."""


@frozen(kw_only=True)
class Survey:
    """Programs to characterize without a machine (`gpusim.studies.characterize`).

    Attributes:
        model: whose SMs, pages and frames count.
        variants: of the model.
        workloads: names.
        settings: keys of the model, as for ``--set``.
    """

    model: str
    workloads: tuple[str, ...]
    variants: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(factory=dict)


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


@frozen(kw_only=True)
class Figure:
    """A figure, or a study that has none in the paper.

    Attributes:
        id: the paper's short name, and that of the figure.
        title: of its part of the page.
        about: what is shown, for people.
        claims: ids of those that it measures.
        table: its numbers, a row a program.
        draw: the picture of its table.
        measure: what of the table is set beside each claim.
        sweeps: runs that it needs; the scale is that asked for.
        surveys: programs that it needs characterized.
        cell: how a number of the table is written.
    """

    id: str
    title: str
    about: str
    table: Callable[[Material], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Picture]
    measure: Callable[[pd.DataFrame], Mapping[str, Measured]] = lambda _: {}
    claims: tuple[str, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    surveys: tuple[Survey, ...] = ()
    cell: str = "{:.3f}"

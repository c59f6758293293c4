"""`reproduce`: the runs of some figures, their tables, pictures and verdicts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from gpusim.results.result import open_result
from gpusim.studies.reproduce.claims import Claim, Paper
from gpusim.studies.reproduce.figure import Figure
from gpusim.studies.reproduce.overlay import Overlay
from gpusim.studies.reproduce.surveys import SurveyKeys, run_survey
from gpusim.studies.reproduce.tables import Material
from gpusim.studies.reproduce.verdict import Measured, Verdict, judge
from gpusim.studies.sweep.folder import FailedRun, RunFolder
from gpusim.studies.sweep.point import BASELINE, as_text
from gpusim.studies.sweep.progress import Report
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.run import cores, run_sweep, run_together
from gpusim.studies.sweep.spec import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.characterize import ApplicationCharacterization


@frozen
class Judged:
    """A claim and what became of it.

    Attributes:
        claim: what the paper says.
        measured: what is set beside it; None: nothing.
        verdict: on it.
    """

    claim: Claim
    measured: Measured | None
    verdict: Verdict


@frozen(eq=False)
class Outcome:
    """What became of a figure.

    Attributes:
        paper: whose it is.
        figure: which.
        scale: of its programs.
        table: its numbers; None where a run failed.
        claims: those that it measures.
        failures: runs that failed, so that nothing was measured.
        part: whether some of its programs were left out.
        acts: by design and policy (its key in the model and its class), how often it acted in all
            runs of the figure; made only where something was changed in them.
    """

    paper: Paper
    figure: Figure
    scale: str
    table: pd.DataFrame | None
    claims: tuple[Judged, ...]
    failures: tuple[FailedRun, ...] = ()
    part: bool = False
    acts: Mapping[tuple[str, str], int] = field(factory=dict)


Progress = Callable[[str], AbstractContextManager[Report | None]]
"""Opens what shows how far something is, by its title."""


def _silent(_title: str) -> AbstractContextManager[None]:
    return nullcontext()


@frozen(kw_only=True)
class Execution:
    """Where the runs of figures go, and how they are made.

    Attributes:
        folder: of runs, which other figures and sweeps share; made if it is new.
        scale: of the programs.
        jobs: processes of this machine; None: one a core.
        dask: address of a Dask scheduler whose workers do the runs (not the characterizations).
        retry_failed: run what has failed before once more.
        progress: shows how far a figure is.
        survey_keys: what surveys with it have worked out.
    """

    folder: str | os.PathLike[str]
    scale: str = "quick"
    jobs: int | None = None
    dask: str | None = None
    retry_failed: bool = False
    progress: Progress = _silent
    survey_keys: SurveyKeys = field(factory=dict, init=False, eq=False, repr=False)


def reproduce(
    paper: Paper,
    figures: Iterable[Figure],
    execution: Execution,
    overlay: Overlay | None = None,
) -> Iterator[Outcome]:
    """Make figures of a paper, one after the other; what was run before is not run again.

    Args:
        paper: whose figures they are.
        figures: which ones.
        execution: where and how.
        overlay: what is changed in all of them, beside the machine of the scale.

    Raises:
        UserError: as `gpusim.run_sweep`.
    """
    runs = RunFolder(execution.folder, create=True)
    known: dict[str, Counter[str]] = {}
    changed = overlay is not None
    machine = paper.machines.get(execution.scale, BASELINE)
    overlay = evolve(overlay or Overlay(), machine=machine)
    for figure in figures:
        sweeps = list(_run_sweeps(figure, runs, execution, overlay))
        material = Material(
            execution.scale,
            _rows(sweeps, overlay),
            tuple(_run_surveys(figure, runs, execution, overlay)),
            lambda key: open_result(runs.result_path(key)),
            machine,
        )
        failures = tuple(failed for results in sweeps for failed in results.failures)
        part = any(map(overlay.leaves_out, figure.sweeps))
        acts = _acts(material, known) if changed else {}
        yield evolve(outcome(paper, figure, material, failures), part=part, acts=acts)


def _acts(material: Material, known: dict[str, Counter[str]]) -> Counter[tuple[str, str]]:
    """How often each policy of each design acted; `known` has runs that were read before."""
    found: Counter[tuple[str, str]] = Counter()
    if material.runs.empty:
        return found
    rows = material.runs[material.runs["state"] == "done"]
    for design, key in zip(rows["variant"], rows["key"], strict=True):
        if key not in known:
            with material.open(key) as result:
                known[key] = result.acts
        for policy, acted in known[key].items():
            found[design, policy] += acted
    return found


def _run_sweeps(
    figure: Figure, runs: RunFolder, execution: Execution, overlay: Overlay
) -> Iterator[SweepResults]:
    changed = (one for sweep in figure.sweeps for one in overlay.over(sweep))
    for index, sweep in enumerate(changed):
        name = figure.id if index == 0 else f"{figure.id}-{index + 1}"
        with execution.progress(figure.title) as report:
            yield run_sweep(
                evolve(sweep, name=name, scale=execution.scale),
                runs.path,
                jobs=execution.jobs,
                dask=execution.dask,
                retry_failed=execution.retry_failed,
                progress=report,
            )


def _run_surveys(
    figure: Figure, runs: RunFolder, execution: Execution, overlay: Overlay
) -> Iterator[Mapping[str, ApplicationCharacterization]]:
    for survey in figure.surveys:
        with execution.progress(figure.title) as report:
            yield run_survey(
                overlay.over_survey(survey),
                execution.scale,
                runs.path,
                jobs=execution.jobs or cores(),
                progress=report,
                keys=execution.survey_keys,
            )


def run_ahead(
    paper: Paper, figures: Iterable[Figure], execution: Execution, changes: Iterable[Overlay]
) -> None:
    """Run all that `reproduce` would run for figures with one and another thing changed.

    Args:
        paper: whose figures they are.
        figures: which ones.
        execution: where and how.
        changes: what is changed, one after the other.

    Raises:
        UserError: as `gpusim.run_sweep`.
    """
    machine = paper.machines.get(execution.scale, BASELINE)
    name = f"{paper.paper}.choices"
    sweeps: list[Sweep] = []
    for overlay in changes:
        for sweep in (one for figure in figures for one in figure.sweeps):
            for one in evolve(overlay, machine=machine).over(sweep):
                named = evolve(one, name=name, scale=execution.scale)
                if named not in sweeps:
                    sweeps.append(named)
    if sweeps:
        with execution.progress(f"{paper.paper}: choices") as report:
            run_together(
                name,
                sweeps,
                execution.folder,
                jobs=execution.jobs,
                dask=execution.dask,
                progress=report,
            )


def outcome(
    paper: Paper, figure: Figure, material: Material, failures: tuple[FailedRun, ...] = ()
) -> Outcome:
    """A figure's table and verdicts; with a run missing, nothing is measured."""
    table = None if failures else figure.table(material)
    measured = {} if table is None else figure.measure(table)
    claims = judge_all(paper, figure, measured)
    return Outcome(paper, figure, material.scale, table, claims, failures)


def judge_all(paper: Paper, figure: Figure, measured: Mapping[str, Measured]) -> tuple[Judged, ...]:
    """The claims of a figure, in the order of the paper, with their verdicts."""
    return tuple(
        Judged(claim, measured.get(claim.id), judge(claim, measured.get(claim.id)))
        for claim in paper.claims_of(figure.id)
    )


def unmeasured(paper: Paper) -> tuple[Judged, ...]:
    """The claims of a paper that no figure measures; each says why."""
    return tuple(Judged(claim, None, judge(claim, None)) for claim in paper.claim if claim.reason)


def _rows(sweeps: Iterable[SweepResults], overlay: Overlay) -> pd.DataFrame:
    """The tables of some sweeps in one; what tells runs apart is text, designs have their names."""
    import pandas as pd

    parts = []
    for results in sweeps:
        table = results.table
        place = list(table.columns).index("key")
        names = list(table.columns[:place])
        text = {name: table[name].map(as_text) for name in names}
        text["variant"] = text["variant"].map(overlay.design)
        parts.append(table.assign(**text))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

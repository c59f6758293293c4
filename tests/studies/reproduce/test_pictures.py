"""Pictures of figures: crowded ones are dots, and the paper's numbers stand beside ours."""

from __future__ import annotations

import pandas as pd

from gpusim.studies.reproduce.claims import papers
from gpusim.studies.reproduce.pictures import CROWDED, Bars, panels, stated
from gpusim.studies.reproduce.run import Judged
from gpusim.studies.reproduce.verdict import Measured, Verdict

PAPERS = {paper.paper: paper for paper in papers()}


def table(programs: int) -> pd.DataFrame:
    index = [*(f"p{number}" for number in range(programs)), "Average"]
    rows = {"base": range(1, len(index) + 1), "mine": range(len(index), 0, -1)}
    return pd.DataFrame(rows, index=index).astype(float)


def names(axes: object) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]  # type: ignore[attr-defined]


def test_few_programs_have_bars() -> None:
    (axes,) = Bars("cycles")(table(CROWDED)).axes
    assert [one.get_label() for one in axes.containers] == ["base", "mine"]
    assert axes.get_ylabel() == "cycles"


def test_many_are_dots_with_the_means_below() -> None:
    (axes,) = Bars("cycles")(table(CROWDED + 1)).axes
    assert not axes.containers
    assert axes.get_xlabel() == "cycles"
    assert names(axes) == [*(f"p{number}" for number in range(CROWDED + 1)), "Average"]


def test_crowded_panels_stand_in_one_order() -> None:
    def reversed_times(rates: pd.DataFrame) -> pd.DataFrame:
        return rates.iloc[::-1].assign(mine=rates["base"])

    draw = panels(Bars("rate"), Bars("time", reversed_times, line="base", geomean=True, limit=9))
    left, right = draw(table(CROWDED + 1)).axes
    assert names(right) == [*names(left), "geomean"]
    assert names(left)[-1] == "Average"
    assert left.get_ylim() == right.get_ylim()


def judged(name: str, *ours: float) -> Judged:
    paper = PAPERS[name.partition(".")[0]]
    (claim,) = (one for one in paper.claim if one.id == name)
    return Judged(claim, Measured(ours), Verdict.AGREES)


def test_what_is_stated_beside_what_was_measured() -> None:
    (one,) = stated(judged("orch.fig11.full", 3.0))
    assert (one.name, one.unit, one.theirs, one.ours) == ("full", "%", 12.5, 3.0)
    assert not list(stated(judged("orch.fig2.low_hit")))
    several = list(stated(judged("vc.sec4.reach_vector", 1.0, 2.0)))
    assert [row.unit for row in several] == ["MB", "bits", "KB"]
    assert [row.name for row in several] == [f"reach vector [{number}]" for number in (1, 2, 3)]
    assert several[2].ours != several[2].ours  # nothing was measured

"""Which figures a folder has, in which order, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.core.errors import UserError
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import papers


@pytest.fixture
def folder(mine, tmp_path: Path) -> Path:
    """Of a paper that measures ``mine.fig1.faster`` and ``mine.fig2.reuse``."""
    return tmp_path / "shipped" / "mine"


def ids() -> list[str]:
    (paper,) = papers()
    return [figure.id for figure in figures_of(paper)]


def another(name: str, after: str = "") -> str:
    return f"""
from gpusim.studies.reproduce import Figure

from .figures import faster

MORE = Figure(id="{name}", title="", about="", table=len, draw=len, after="{after}")
"""


def test_in_the_order_of_their_claims_wherever_they_stand(folder: Path) -> None:
    assert ids() == ["mine.fig1", "mine.fig2"]


def test_what_lies_in_the_folder_is_there_in_its_place(folder: Path) -> None:
    """Without a claim a figure is the first, unless it comes after another one."""
    (folder / "a.py").write_text(another("mine.a"))
    (folder / "b.py").write_text(another("mine.b", "mine.c"))
    (folder / "c.py").write_text(another("mine.c", "mine.fig1"))
    assert ids() == ["mine.a", "mine.fig1", "mine.c", "mine.b", "mine.fig2"]


def test_an_id_is_that_of_one_figure(folder: Path) -> None:
    (folder / "more.py").write_text(another("mine.fig2"))
    with pytest.raises(UserError, match=r"more\.py: there are several figures 'mine\.fig2'"):
        ids()


def test_a_figure_comes_after_one_that_there_is(folder: Path) -> None:
    (folder / "more.py").write_text(another("mine.more", "mine.fig3"))
    with pytest.raises(UserError, match=r"mine\.more comes after 'mine\.fig3'; did you mean"):
        ids()


def test_figures_do_not_come_after_each_other(folder: Path) -> None:
    (folder / "a.py").write_text(another("mine.a", "mine.b"))
    (folder / "b.py").write_text(another("mine.b", "mine.a"))
    with pytest.raises(UserError, match=r"come after each other: mine\.a, mine\.b"):
        ids()


def test_a_claim_names_a_figure_that_there_is(mine) -> None:
    mine('"mine.fig2.reuse"', '"mine.fig2.reuse"\nfigure = "mine.fig3"')
    with pytest.raises(UserError, match=r"mine\.fig2\.reuse: no figure measures it; did you mean"):
        ids()


def test_a_claim_may_name_another_figure_than_its_id(mine) -> None:
    mine('"mine.fig2.reuse"', '"mine.sec2.reuse"\nfigure = "mine.fig2"')
    (paper,) = papers()
    figures_of(paper)
    assert [claim.id for claim in paper.claims_of("mine.fig2")] == ["mine.sec2.reuse"]


def test_choices_are_tried_on_what_some_figure_runs(mine) -> None:
    mine('workloads = ["nw"]', 'workloads = ["gem"]')
    with pytest.raises(UserError, match=r"study\.workloads: no figure runs 'gem'; did you mean"):
        ids()

"""Runs, small but whole, of which there are reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gpusim.results import RECORDS, Result
from gpusim.views.report import html_report
from tests.views.report.runs import NASTY, run, run_pair


@pytest.fixture(scope="session")
def everything() -> Iterator[Result]:
    with run(list(RECORDS)) as result:
        yield result


@pytest.fixture(scope="session")
def nothing() -> Iterator[Result]:
    with run([]) as result:
        yield result


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Result]:
    """Two applications, one of which runs several times and the other has a nasty name."""
    with run_pair(tmp_path_factory.mktemp("work"), "short", NASTY, list(RECORDS)) as result:
        yield result


@pytest.fixture(scope="session")
def report_of() -> Callable[[Result], str]:
    """`html_report`, once for each result."""
    made: dict[int, str] = {}

    def report(result: Result) -> str:
        if id(result) not in made:
            made[id(result)] = html_report(result)
        return made[id(result)]

    return report

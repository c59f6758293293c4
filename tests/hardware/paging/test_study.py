"""The study of docs/paging.md: its tables from made-up runs, and a run of its own."""

from __future__ import annotations

import pytest

from experiments.marked import marked
from experiments.paging.study import PROGRAMS, ROOM, Batch, Run, points, run, with_room
from experiments.paging.tables import PARTS, batches, gigabytes_per_second, parts, slowdowns
from tests import ROOT

PAGE = ROOT / "docs" / "paging.md"


def made(number: int) -> Run:
    served = [Batch(10, 0, 14_000), Batch(100, 5, 280_000)]
    return Run(1000 * (number + 1), 100, 7, 2, 110, 5, 103, 0.5, served)


RUNS = {(program, name): made(n) for n, (program, name, _) in enumerate(points())}


def test_no_run_is_made_twice() -> None:
    assert len(RUNS) == len(list(points()))


def test_the_page_has_all_tables() -> None:
    """With the rows that the runs of today make: programs, ratios, policies."""
    page = PAGE.read_text(encoding="utf-8")
    for name, text in parts(RUNS):
        told = marked(page, f"paging {name}").splitlines()
        assert len(told) == len(text.splitlines()), name
        assert told[0] == text.splitlines()[0], name
    assert set(PARTS) == {"oversubscription", "policies", "batches", "published"}


def test_slowdowns_are_ratios() -> None:
    found = slowdowns(RUNS)
    assert list(found.columns) == list(PROGRAMS)
    assert (found.loc[ROOM[0]] == 1).all()
    cycles = [RUNS["bfs", f"{ratio}"].cycles for ratio in ROOM]
    assert found["bfs"].tolist() == [one / cycles[0] for one in cycles]


def test_what_a_page_takes() -> None:
    """14,000 cycles of 1.4 GHz are 10 µs, of ten pages; 280,000 are 200 µs, of a hundred."""
    small, _, large, _ = batches(RUNS).splitlines()[2:]
    assert small.endswith("| 1.00 | – |")
    assert large.endswith("| – | 2.00 |")
    assert gigabytes_per_second(made(0)) == pytest.approx((3 << 20) / (100 / 1.4e9) / 1e9)


@pytest.mark.long
def test_a_run_of_it() -> None:
    found = run("gups", with_room(1.25))
    assert found.batches == len(found.served)
    assert sum(one.came for one in found.served) == found.pages_in > found.prefetched > 0
    assert sum(one.left for one in found.served) == found.pages_out > 0

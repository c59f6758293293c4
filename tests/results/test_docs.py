"""Pages on results tell the truth: tables are made here, examples run.

After a change of the schema: ``python -m tests.results.test_docs`` writes the tables anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpusim.runs.simulate  # noqa: F401
from experiments.marked import compact
from gpusim.core.metrics import declared_metrics
from gpusim.core.states import state_names
from gpusim.files.columns import Column, Table
from gpusim.results import ApplicationFacts, RunData
from gpusim.results.datasets import (
    APPLICATION_SMS,
    APPLICATIONS,
    ARRAYS,
    CODE,
    CONFIG,
    COUNTERS,
    ESTIMATES,
    KERNELS,
    LAUNCH_NUMBERS,
    LAUNCHES,
    OF_KERNELS,
    OF_LAUNCHES,
    ORIGINS,
    PROVENANCE,
    STATE_FAMILIES,
    STATE_SUMS,
    STATES,
    STOPS,
    SUMMARY,
    WALL,
    WARNINGS,
    WINDOWS,
    WORKLOAD,
)
from gpusim.results.event_tables import EVENTS, RECORDS
from gpusim.runs.headline import StateSums, headline
from gpusim.runs.recorder import Recorder
from gpusim.runs.writer import ResultWriter
from tests import ROOT
from tests.results.placed import CLASSES, metrics_at
from tests.runs.ended_walks import ended_walk

PAGE = ROOT / "docs" / "results.md"
REFERENCE = ROOT / "docs" / "reference" / "results.md"

GROUPS = {
    "provenance": PROVENANCE,
    "config": CONFIG,
    "config/origins": ORIGINS,
    "workload": WORKLOAD,
    "summary": SUMMARY,
    "counters": COUNTERS,
    "stalls": Table("Where the cycles of all warps went.", (STATES, STATE_FAMILIES, STATE_SUMS)),
    "applications": Table(APPLICATIONS.description, (*APPLICATIONS.columns, APPLICATION_SMS)),
    "launches": LAUNCHES,
    "arrays": ARRAYS,
    "code": CODE,
    "kernels": KERNELS,
    "launch_numbers": Table(
        LAUNCH_NUMBERS.description, (*LAUNCH_NUMBERS.columns, OF_LAUNCHES, OF_KERNELS)
    ),
    "stops": STOPS,
    "estimates": ESTIMATES,
    "windows": WINDOWS,
    "warnings": WARNINGS,
    "wall": WALL,
}


HEAD = ("dataset", "meaning")


def column_row(column: Column) -> list[str]:
    unit = f", {column.unit}" if column.unit not in ("", "1") else ""
    many = "list of " if column.many else ""
    return [f"`{column.name}`: {many}{column.type}{unit}", column.description]


def schema_tables() -> str:
    lines = []
    for name, table in GROUPS.items():
        lines += [f"### `/{name}`", "", table.description, ""]
        lines += [compact(HEAD, [*map(column_row, table.columns)]), ""]
    return "\n".join(lines)


def event_tables() -> str:
    lines = []
    for record, tables in RECORDS.items():
        for name in tables:
            table = EVENTS[name]
            lines += [f"### `/tables/{name}` (`--record {record}`)", "", table.description, ""]
            lines += [compact(HEAD, [*map(column_row, table.columns)]), ""]
    return "\n".join(lines)


def headline_table() -> str:
    states = state_names(("LEVEL",))
    sums = np.ones((1, 1, len(states)), np.int64)
    apps = [ApplicationFacts("app", 0, (0,), 1, 1, 1, 1)]
    of_every_run = headline([], [], StateSums(dict.fromkeys(states, ""), sums), apps, 1, 1)
    paths = ("tlb/LEVEL", "page_table/levelN")
    declared = metrics_at(*(next((p for p in paths if p.startswith(r)), r) for r in CLASSES))
    values = [*of_every_run[:3], *declared, *of_every_run[3:]]
    one_state = re.compile(r"share_(?!translation)")
    values = [value for value in values if not one_state.match(value.name)]
    cells = []
    for value in values:
        unit = "" if value.unit == "1" else f" [{value.unit}]"
        cells.append([f"`{value.name}`{unit}", value.description])
    cells.append(["`share_STATE` [fraction]", "share of warp-cycles in a state, such as `walk`"])
    return compact(["name [unit]", "what it is"], cells) + "\n"


def test_all_that_is_declared_is_in_the_table() -> None:
    """`gpusim.simulate` has imported all rooms; those made while it runs do not count."""
    declared = {cls for cls, _ in declared_metrics() if cls.__module__.startswith("gpusim.")}
    written = {cls for cls in declared if hasattr(sys.modules[cls.__module__], cls.__name__)}
    assert written == {cls for classes in CLASSES.values() for cls in classes}


PARTS: dict[str, Callable[[], str]] = {
    "schema": schema_tables,
    "events": event_tables,
    "headline": headline_table,
}


def fill(page: str) -> str:
    """The page with its generated parts made anew."""
    for name, make in PARTS.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{make()}\n{end}{rest.split(end)[1]}"
    return page


def test_the_tables_are_up_to_date() -> None:
    page = REFERENCE.read_text()
    assert fill(page) == page, "run: python -m tests.results.test_docs"


@pytest.mark.long
def test_the_examples_run(run: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ResultWriter("run.h5") as writer:
        recorder = Recorder(writer, ["walks"])
        for i in range(20):
            walk = ended_walk(0, 0x1000 + i % 3, 1, 10 * i, 10 * i + 5)
            recorder.listener("walks")(walk, 10 * i + 505)
        writer.finish(run).close()
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) >= 3
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    assert names["slowest"] == 500


if __name__ == "__main__":
    REFERENCE.write_text(fill(REFERENCE.read_text()))

"""`docs/results.md` tells the truth: its tables are made here, its examples run.

After a change of the schema: ``python tests/results/test_docs.py`` writes the tables anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from gpusim.core.counters import CounterRow
from gpusim.core.states import state_names
from gpusim.results import ApplicationFacts, Recorder, ResultWriter, RunData, headline
from gpusim.results.schema import (
    APPLICATION_SMS,
    APPLICATIONS,
    CONFIG,
    COUNTERS,
    EVENTS,
    LAUNCHES,
    ORIGINS,
    PROVENANCE,
    RECORDS,
    STATE_SUMS,
    STATES,
    SUMMARY,
    WALL,
    WORKLOAD,
)
from gpusim.results.storage.columns import Column, Table

PAGE = Path(__file__).parents[2] / "docs" / "results.md"

GROUPS = {
    "provenance": PROVENANCE,
    "config": CONFIG,
    "config/origins": ORIGINS,
    "workload": WORKLOAD,
    "summary": SUMMARY,
    "counters": COUNTERS,
    "stalls": Table("Where the cycles of all warps went.", (STATES, STATE_SUMS)),
    "applications": Table(
        APPLICATIONS.description, (*APPLICATIONS.columns, APPLICATION_SMS)
    ),
    "launches": LAUNCHES,
    "wall": WALL,
}  # fmt: skip


HEAD = ("dataset", "type", "unit", "what it tells")


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def column_row(column: Column) -> list[str]:
    name = f"`{column.name}`" + (" (list)" if column.many else "")
    return [name, column.type, column.unit, column.description]


def schema_tables() -> str:
    lines = []
    for name, table in GROUPS.items():
        lines += [f"### `/{name}`", "", table.description, ""]
        lines += grid(HEAD, [*map(column_row, table.columns)])
    return "\n".join(lines)


def event_tables() -> str:
    lines = []
    for record, tables in RECORDS.items():
        for name in tables:
            table = EVENTS[name]
            lines += [f"### `/tables/{name}` (`--record {record}`)", "", table.description, ""]
            lines += grid(HEAD, [*map(column_row, table.columns)])
    return "\n".join(lines)


def headline_table() -> str:
    counters = {
        "sm": "instructions memory_instructions transactions",
        "tlb/LEVEL": "lookups hits misses bypass_hits bypass_probes evicted_with_1 long_misses "
        "long_miss_cycles long_miss_warps most_miss_warps queued queue_cycles",
        "walk": "walks most_walks walk_cycles queue_cycles level_accesses cache_hits cache_lookups",
        "fbt": "lookups synonyms evictions probes probes_filtered",
        "l1": "hits lookups invalidations flushes",
        "l2": "hits lookups translation_hits translation_lookups",
        "page_table/levelN": "l2_lookups l2_hits l2_bypassed",
        "dram": "data_reads walk_reads writes row_hits row_misses row_conflicts data_read_bytes "
        "walk_read_bytes write_bytes data_latency_cycles walk_latency_cycles",
    }
    rows = [
        CounterRow(component, 0, "app", name, 8, "1", "")
        for component, names in counters.items()
        for name in names.split()
    ]
    for i, row in enumerate(rows):
        if row.name == "translation_lookups":
            rows[i] = CounterRow("l2", 0, "app", row.name, 7, "1", "")
    states = state_names(("LEVEL",))
    sums = np.ones((1, 1, len(states)), np.int64)
    apps = [ApplicationFacts("app", 0, (0,), 1, 1, 1, 1)]
    values = headline(rows, sums, states, apps, 1, 1)
    cells = [[f"`{value.name}`", value.unit, value.description] for value in values]
    return "\n".join(grid(["name", "unit", "what it is"], cells))


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
    page = PAGE.read_text()
    assert fill(page) == page, f"run: python {Path(__file__).relative_to(PAGE.parents[1])}"


def test_the_examples_run(run: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ResultWriter("run.h5") as writer:
        recorder = Recorder(writer, ["walks"])
        for i in range(20):
            recorder.walk(0, 0x1000 + i % 3, 1, 0, 10 * i, 10 * i + 5, 10 * i + 505, 4)
        writer.finish(run).close()
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) >= 3
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    assert names["slowest"] == 500


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text()))

"""Results with event tables made by hand, and what is in them by counting cycle after cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from gpusim.core.counters import CounterRow
from gpusim.core.states import state_names
from gpusim.results import ApplicationFacts, Provenance, Result, RunData, SummaryValue, WallClock
from gpusim.results.event_tables import EVENTS
from gpusim.runs.writer import ResultWriter
from gpusim.views.timelines import Selection, Window

STATES = state_names(("L1", "L2"))
CYCLES = 120
SMS, APPS, WARPS = 3, ("long", "short"), 5
LINE_BYTES = 128

Rows = Sequence[tuple[int, ...]]


def made(**tables: Rows) -> Result:
    """A run of `CYCLES` cycles with these event tables, in memory; columns they lack are 0."""
    applications = [
        ApplicationFacts(name, 10 + index, range(SMS), 1, 1, WARPS * (1 - index), CYCLES)
        for index, name in enumerate(APPS)
    ]
    run = RunData(
        provenance=Provenance("0", "made", "made", "smoke", 0),
        config_toml="",
        workload_toml="",
        origins={},
        summary=[SummaryValue("cycles", CYCLES, "cycles", "length of the run")],
        counters=list(_dram_counters(tables.get("dram", ()))),
        states=STATES,
        state_sums=np.zeros((SMS, len(APPS), len(STATES)), np.int64),
        applications=applications,
        launches=[],
        wall=WallClock(0.0, "", "", "", 1),
    )
    with ResultWriter() as writer:
        for name, rows in tables.items():
            table = writer.event_table(name)
            width = len(EVENTS[name].columns)
            for row in rows:
                table.append(*row, *[0] * (width - len(row)))
        return writer.finish(run)


def _dram_counters(rows: Rows) -> list[CounterRow]:
    walks = sum(row[5] > 0 for row in rows)
    writes = sum(row[3] == 5 for row in rows)
    counts = {"data_read": len(rows) - walks - writes, "walk_read": walks, "write": writes}
    return [
        CounterRow("dram", channel, APPS[0], name, value // 2 + channel * (value % 2), unit, "")
        for channel in range(2)
        for kind, count in counts.items()
        for name, value, unit in (
            (f"{kind}s", count, "1"),
            (f"{kind}_bytes", count * LINE_BYTES, "B"),
        )
    ]


def spans(shortest: int = 0) -> st.SearchStrategy[tuple[int, int]]:
    """Begin and end of an interval; it may last beyond the run."""
    return st.tuples(st.integers(0, CYCLES + 5), st.integers(shortest, 60)).map(
        lambda one: (one[0], one[0] + one[1])
    )


@st.composite
def windows(draw: Callable[..., int]) -> Window:
    begin = draw(st.integers(0, CYCLES - 1))
    end = draw(st.integers(begin + 1, CYCLES))
    return Window(begin, end, draw(st.integers(1, 50)))


def maybe(one: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | one


selections = st.builds(
    Selection,
    sm=maybe(st.integers(0, SMS - 1)),
    warp=maybe(st.integers(0, WARPS - 1)),
    app=maybe(st.sampled_from(APPS)),
)


def by_bin(window: Window, of_cycle: Callable[[int], Mapping[int, int]], groups: int) -> np.ndarray:
    """Sums over the cycles of each bin, one cycle after the other."""
    sums = np.zeros((window.bins, groups), np.int64)
    for cycle in range(window.begin, window.end):
        for group, value in of_cycle(cycle).items():
            sums[(cycle - window.begin) // window.bin_cycles, group] += value
    return sums

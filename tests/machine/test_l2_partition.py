"""The ways of the L2 cache, dealt out to applications."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import L2Config
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.files.units import Bytes
from gpusim.hardware.cache.array import DIRTY
from gpusim.hardware.cache.partition import arrays_of
from gpusim.machine import Tenant
from tests.examples import examples
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE

PARTS = change(SMALL, l2={"partition": "ways"})
"""128 KiB in 8 ways and one bank: 128 sets, so every 16 KiB another line of the same set."""
SAME_SET = 16 << 10

accesses = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 11), st.booleans()), min_size=20, max_size=120
)


class NaiveWays:
    """One set: each way belongs to an application and holds a line of it; times of last use."""

    def __init__(self, ways: int, apps: int) -> None:
        self.owner = [
            next(a for a in range(apps) if w < ways * (a + 1) // apps) for w in range(ways)
        ]
        self.line: list[tuple[int, int] | None] = [None] * ways
        self.dirty = [False] * ways
        self.used = [-1] * ways
        self.now = 0

    def way_of(self, app: int, line: int) -> int | None:
        self.now += 1
        for way, held in enumerate(self.line):  # hits anywhere
            if held == (app, line):
                self.used[way] = self.now
                return way
        return None

    def fill(self, app: int, line: int, dirty: bool) -> tuple[int, bool] | None:
        self.now += 1
        way = min(
            (w for w, owner in enumerate(self.owner) if owner == app),
            key=lambda way: self.used[way],
        )
        victim = self.line[way]
        was_dirty = self.dirty[way]
        self.line[way], self.dirty[way], self.used[way] = (app, line), dirty, self.now
        return None if victim is None else (victim[1], was_dirty)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 4), st.integers(4, 9), accesses)
def test_against_ways_with_owners(apps: int, ways: int, calls: list[tuple[int, int, bool]]) -> None:
    config = L2Config(Bytes(128 * ways), ways, banks=1, partition="ways")
    arrays, naive = arrays_of(config, range(apps)), NaiveWays(ways, apps)
    for asked, number, write in calls:
        app = asked % apps
        line = number * apps + app  # no two applications have a line in common
        held = naive.way_of(app, line)
        assert bool(arrays[app].missing(line, 0xF)) == (held is None)
        if held is None:
            gone, state = arrays[app].fill(line, 0xF | (DIRTY if write else 0))
            expected = naive.fill(app, line, write)
            assert ((gone, state > 0xF) if state else None) == expected
        elif write:
            arrays[app].mark(line, DIRTY)
            naive.dirty[held] = True


def pair(first: Script, second: Script) -> list[Tenant]:
    return [
        Tenant(name, ScriptedApplication([ScriptedLaunch([[script]])]), [sm])
        for sm, (name, script) in enumerate((("first", first), ("second", second)))
    ]


def reuse(lines: int, pause: int = 1) -> Script:
    """`lines` lines of one set of the L2 cache, three times; atomics do not stop in the L1."""
    steps = [(("atomic", BASE + i * SAME_SET), ("wait",), ("compute", pause)) for i in range(lines)]
    return [step for three in steps for step in three] * 3


def hits(partition: str, own: int, others: int) -> tuple[int, int]:
    """L2 hits of two applications that reuse lines of the same set, the first slowly."""
    config = change(SMALL, sm={"count": 2}, l2={"partition": partition}, memory={"page": 2 << 20})
    run = Run.of(config, pair(reuse(own, 600), reuse(others)))
    return run.count("l2", "hits", "first"), run.count("l2", "hits", "second")


def test_who_fits_into_its_ways_keeps_its_lines() -> None:
    assert hits("ways", 4, 8) == (2 * 4, 0)
    assert hits("none", 4, 8)[0] < 2 * 4
    assert hits("none", 4, 4) == hits("ways", 4, 4) == (2 * 4, 2 * 4)


def test_one_application_has_all_ways() -> None:
    runs = [Run(config, reuse(8)) for config in (PARTS, SMALL)]
    assert runs[0].loads == runs[1].loads
    rows = [[*run.machine.counter_rows()] for run in runs]
    assert rows[0] == rows[1]


def test_page_table_reads_use_the_ways_of_their_application() -> None:
    # One set in all: whatever is read competes for the two ways of its application.
    config = attrs.evolve(
        change(PARTS, sm={"count": 2}, l2={"size": Bytes(128 * 4), "ways": 4}),
        walk=WalkConfig(8, "memory"),
    )
    walks = [step for page in range(4) for step in (("load", BASE + 4096 * page), ("wait",))]
    run = Run.of(config, pair(walks, [("compute", 1)]))
    assert run.count("page_table/level1", "l2_hits", "first") == 0
    arrays = run.machine.systems[0].banks[0].arrays
    assert [array.used(0) for array in arrays.values()] == [2, 0]


def test_more_applications_than_ways() -> None:
    config = change(PARTS, sm={"count": 2}, l2={"ways": 1})
    with pytest.raises(UserError, match=r"l2.partition.*2 applications.*l2.ways = 1"):
        Run.of(config, pair(reuse(1), reuse(1)))

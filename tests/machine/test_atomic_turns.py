"""Lanes of an atomic that change one word take turns at the L2 bank, by hand."""

from __future__ import annotations

import pytest

from tests.machine.bench import SMALL, Run, change

TURNS = change(SMALL, l2={"atomic_interval": 10})
ALL_ON_ONE = ("reduce", *[0] * 32)
EACH_ITS_OWN = ("reduce", *range(0, 128, 4))
PAIRS = ("reduce", *[lane // 2 * 4 for lane in range(32)])


@pytest.mark.parametrize(
    ("atomic", "turns", "behind"),
    [(ALL_ON_ONE, 32, 0), (EACH_ITS_OWN, 1, 3), (PAIRS, 2, 1)],
    ids=["all on one word", "each on its own", "two on each"],
)
def test_a_bank_is_busy_while_lanes_take_turns(
    atomic: tuple[object, ...], turns: int, behind: int
) -> None:
    """The load behind the atomic waits for as long as a word is changed.

    It comes `behind` cycles later than the bank could look it up: the atomic's packet takes the
    crossbar a cycle for each sector.
    """
    script = [("load", 0), ("load", 1024), ("wait",), atomic, ("load", 512), ("wait",)]
    plain, taking = Run(SMALL, script), Run(TURNS, script)
    assert taking.count("l2", "atomic_cycles") == 10 * turns - 1
    assert taking.cycles - plain.cycles == 10 * turns - 1 - behind


def test_loads_do_not_take_turns() -> None:
    script = [("load", *[0] * 32), ("wait",)]
    assert Run(TURNS, script).cycles == Run(SMALL, script).cycles


def test_turns_may_take_a_part_of_a_cycle() -> None:
    script = [("load", 0), ("wait",), ALL_ON_ONE, ("load", 512), ("wait",)]
    part = Run(change(SMALL, l2={"atomic_interval": 1.45}), script)
    assert part.count("l2", "atomic_cycles") == round(1.45 * 32) - 1

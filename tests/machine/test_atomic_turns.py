"""Lanes of an atomic that change one word take turns at the L2 bank, by hand."""

from __future__ import annotations

import pytest

from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, change

TURNS = change(SMALL, l2={"atomic_interval": 10})
BY_SECTOR = change(TURNS, l2={"sector": 32, "atomic_grain": "sector"})
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


@pytest.mark.parametrize(
    ("atomic", "turns"),
    [
        (ALL_ON_ONE, 32),
        (EACH_ITS_OWN, 4),
        (PAIRS, 4),
        (("reduce", 0, 0, 0, 4, 32, 32), 3 + 2),
    ],
    ids=["all on one word", "four sectors", "two sectors, two on each word", "most of each sector"],
)
def test_sectors_of_a_line_change_one_after_the_other(
    atomic: tuple[object, ...], turns: int
) -> None:
    script = [("load", *range(0, 128, 4)), ("wait",), atomic, ("wait",)]
    assert Run(BY_SECTOR, script).count("l2", "atomic_cycles") == 10 * turns - 1


def test_whole_sectors_may_take_less() -> None:
    script = [("load", *range(0, 128, 4)), ("wait",), EACH_ITS_OWN, ("wait",)]
    whole = change(BY_SECTOR, l2={"atomic_whole": 8.0})
    assert Run(whole, script).count("l2", "atomic_cycles") == 8 * 4 - 1
    half = [*script[:2], ("reduce", *range(0, 64, 4), *range(0, 32, 4), 0), ("wait",)]
    assert Run(whole, half).count("l2", "atomic_cycles") == 8 * 3 + 10 - 1


@pytest.mark.parametrize(
    ("key", "message"),
    [("atomic_interval", "l2.atomic_.*needs l2.atomic_interval"), ("sector", "needs l2.sector")],
)
def test_a_grain_needs_what_it_is_of(key: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_model("h100", overrides={f"l2.{key}": "none", "l2.mshr_grain": "line"})

"""A load of a line that has just been stored to waits at the L2 bank, and the bank with it."""

from __future__ import annotations

import pytest

from gpusim.core.errors import UserError
from gpusim.files.units import cycles
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, change

LATER = change(SMALL, l2={"store_to_load": cycles(90)})
"""Loads are looked up 90 cycles behind a store to their line."""
WARM = [("load", 0), ("load", 1024), ("wait",)]


@pytest.mark.parametrize(
    ("store", "load", "waits"),
    [(0, 0, True), (4, 0, True), (1024, 0, False), (0, 1024, False)],
    ids=["the same word", "another word of the line", "another line", "the other line"],
)
def test_a_load_waits_for_a_store_to_its_line(store: int, load: int, waits: bool) -> None:
    script = [*WARM, ("store", store), ("coherent_load", load), ("wait",)]
    plain, later = Run(SMALL, script), Run(LATER, script)
    waited = later.count("l2", "store_to_load_cycles")
    assert later.cycles - plain.cycles == waited
    assert (80 < waited < 90) if waits else waited == 0


def test_the_bank_looks_up_nothing_else_meanwhile() -> None:
    script = [*WARM, ("store", 0), ("coherent_load", 0), ("coherent_load", 1024), ("wait",)]
    plain, later = Run(SMALL, script), Run(LATER, script)
    assert later.cycles - plain.cycles == later.count("l2", "store_to_load_cycles")


def test_it_is_about_copies() -> None:
    with pytest.raises(UserError, match=r"store_to_load.*needs l2\.copies"):
        load_model("h100", overrides={"l2.copies": "none"})


def test_a_load_long_after_the_store_does_not_wait() -> None:
    script = [*WARM, ("store", 0), ("compute", 400), ("coherent_load", 0), ("wait",)]
    assert Run(LATER, script).count("l2", "store_to_load_cycles") == 0

"""An L2 cache that writes through: DRAM gets each store at once, and lines are never dirty."""

from __future__ import annotations

import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.files.units import Bytes
from tests.machine.bench import SMALL, Run, change
from tests.quick import quick

BACK = change(SMALL, l2={"sector": Bytes(32)})
THROUGH = change(BACK, l2={"writes": "through"})
LANES = range(0, 128, 4)
STORE = ("store", *LANES)
LOAD = ("load", *LANES)


def test_each_store_is_written() -> None:
    """Three stores to one line: none leaves before the end, or each goes to DRAM."""
    script = [STORE, STORE, STORE, LOAD, ("wait",)]
    back, through = Run(BACK, script), Run(THROUGH, script)
    assert back.count("dram", "writes") == 0
    assert through.count("dram", "writes") == through.count("l2", "writebacks") == 3
    assert through.count("l2", "sectors_written_back") == 3 * 4


def test_what_a_store_left_is_found() -> None:
    """A store of whole sectors leaves them: the load after it asks DRAM for nothing."""
    run = Run(THROUGH, [STORE, LOAD, ("wait",)])
    assert run.count("l2", "sectors_fetched") == 0
    assert run.count("l2", "hits") == 1


def test_what_a_store_writes_in_part_is_fetched_when_it_is_read() -> None:
    run = Run(THROUGH, [("store", 0), ("load", 0), ("wait",)])
    assert run.count("l2", "sectors_written_back") == 1
    assert run.count("l2", "sectors_fetched") == 4  # all that the L1 cache asks for


def test_an_atomic_is_written() -> None:
    run = Run(THROUGH, [("atomic", 0), ("wait",), ("atomic", 0), ("wait",)])
    assert run.count("dram", "writes") == 2


def test_a_line_without_sectors() -> None:
    run = Run(change(SMALL, l2={"writes": "through"}), [LOAD, ("wait",), STORE, STORE])
    assert run.count("dram", "writes") == 2


@pytest.mark.parametrize("model", quick(["tiny", "kepler-uvm", "a100"], "kepler-uvm"))
def test_a_program_writes_at_least_as_much(model: str) -> None:
    workload = load_workload("atax", "smoke", overrides={"n": 256, "iterations": 1})
    written = []
    for writes in ("back", "through"):
        with simulate(load_model(model, (), {"l2.writes": writes}), workload) as run:
            table = run.counters
            rows = (table.component == "l2") & (table.counter == "writebacks")
            written.append(int(table[rows].value.sum()))
            stores = (table.component == "l2") & (table.counter == "stores")
            assert writes == "back" or written[-1] >= int(table[stores].value.sum()) > 0
    assert written[1] > written[0]


def test_what_waits_in_lines_cannot_be_written_through() -> None:
    with pytest.raises(UserError, match=r'l2.writes.*must be "back" with l2.byte_masks'):
        load_model("tiny", (), {"l2.writes": "through", "l2.byte_masks": True, "l2.sector": "32B"})

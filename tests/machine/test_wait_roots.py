"""Chains of waits are followed to what they end at, and parts are no more than the whole."""

from __future__ import annotations

import pytest

import gpusim
from gpusim.core.blame import Blame
from gpusim.core.cut import Pieces, Trailed
from gpusim.core.roots import Roots
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.hardware.sm.ledger import BookedPieces
from gpusim.hardware.sm.root_waits import RootWaits
from gpusim.results import Result
from gpusim.results.wait_roots import wait_roots


class Line(Trailed):
    """In the crossbar from 0 to 10, a bank without MSHRs being to blame for 4; then in DRAM."""

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        pieces.add(State.DRAM, max(start, 10), end)
        pieces.add(State.INTERCONNECT, start, 10)
        pieces.blame(State.INTERCONNECT, Blame.MSHRS, 4)


def test_what_a_holder_waited_for_is_the_root() -> None:
    roots, waits = Roots(), RootWaits()
    pieces = BookedPieces(IntList(), L2Waits(), waits)
    roots.note(Line(), 0, 30)
    roots.book(State.MSHR, 5, 25, pieces)
    assert (waits.mshr_crossbar, waits.mshr_dram, waits.mshr) == (1, 19, 20)
    roots.book(State.MSHR, 30, 40, pieces)  # nothing is known of later cycles
    assert waits.mshr == 20


def run(**settings: object) -> Result:
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    model = gpusim.load_model("kepler-uvm", [], overrides)
    return gpusim.simulate(model, gpusim.load_workload("atax", "smoke", overrides={"n": 96}))


def counted(result: Result, path: str) -> dict[str, int]:
    rows = result.counters[result.counters.component == path]
    sums: dict[str, int] = rows.groupby("counter").value.sum().to_dict()
    return sums


def cycles_in(result: Result, state: str) -> int:
    return sum(sums[state] for sums in result.state_cycles.values())


def test_full_l1_mshrs_are_the_fault_of_a_slow_dram() -> None:
    with run(l1__mshrs=2, dram__ideal=True, dram__ideal_latency="1500 cycles") as result:
        sums = counted(result, "sm")
        parts = [sums[f"mshr_{root}"] for root in ("crossbar", "l2", "dram", "other")]
        assert sum(parts) <= cycles_in(result, "mshr")
        assert sums["mshr_dram"] > 0.6 * cycles_in(result, "mshr") > 0
        assert result.summary["mshr_dram_waits"] == sums["mshr_dram"]
        text = dict(wait_roots(result))["mshr"]
    assert text.startswith("lines that hold the MSHRs wait ")
    assert " % for DRAM" in text.partition(",")[0]


def test_with_a_quick_dram_they_are_not() -> None:
    with run(l1__mshrs=2, dram__ideal=True, dram__ideal_latency="1 cycles") as result:
        sums = counted(result, "sm")
        assert sums["mshr_dram"] < 0.4 * cycles_in(result, "mshr")


def test_a_full_first_tlb_is_the_fault_of_walks() -> None:
    with run(tlb__L1__mshrs=1, walk__latency="3000 cycles") as result:
        sums = counted(result, "sm")
        first = cycles_in(result, "tlb_L1")
        assert 0.5 * first < sums["tlb_walks"] + sums["tlb_walkers"] <= first
        assert "for page walks under way" in dict(wait_roots(result))["tlb_L1"]


@pytest.mark.parametrize("latency", [1500, 1])
def test_reads_of_the_page_table_wait_where_they_wait(latency: int) -> None:
    overrides = {"dram.ideal": True, "dram.ideal_latency": f"{latency} cycles"}
    model = gpusim.load_model("maxwell-mask", [], overrides)
    workload = gpusim.load_workload("atax", "smoke", overrides={"iterations": 2})
    with gpusim.simulate(model, workload) as result:
        sums = counted(result, "walk")
        reads = sum(count for name, count in sums.items() if name.startswith("reads_"))
        assert reads <= sums["walk_cycles"]
        assert (sums["reads_dram"] > reads / 2) == (latency > 1)

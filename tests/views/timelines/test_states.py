"""Every state of a warp: small machines whose timelines are known to the cycle, read from a file.

The machine (`bench.SMALL`): L1 TLB 1 cycle, L1 cache 4, L2 TLB 10, fixed walk 500, crossbar 8
either way and a line in 4 flits, L2 cache 10, DRAM 100.  A warp is born in cycle 1, and what it
issues in cycle t is seen by the load/store unit in t + 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from attrs import frozen

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkConfig
from gpusim.files.units import Hertz, cycles
from gpusim.results import open_result
from gpusim.views.timelines import Selection, stalls, window_of
from tests.machine.bench import SMALL, Script, change
from tests.views.timelines.scripted import Runs, life, simulate

BASE = 1 << 32
PAGE, LINE = 4096, 128

FETCH: Runs = [("cache", 4), ("interconnect", 8), ("l2", 10), ("dram", 100), ("interconnect", 11)]
"""After the translation: a line of four flits is there three cycles after its first, 8 + 3."""
TRANSLATE: Runs = [("tlb_L1", 1), ("tlb_L2", 10), ("walk", 500)]
COLD: Runs = [("issuing", 1), *TRANSLATE, *FETCH]
"""A load that misses everywhere."""


@frozen
class Scenario:
    """Scripts of the warps of one block, and the states of some warps from birth to end."""

    config: GpuConfig
    scripts: tuple[Script, ...]
    lives: Mapping[int, Runs]


def tlb_l1(**keys: object) -> GpuConfig:
    return attrs.evolve(SMALL, tlb={**SMALL.tlb, "L1": attrs.evolve(SMALL.tlb["L1"], **keys)})


LINES = [BASE + LINE * i for i in range(8)]
WARM: Script = (("load", BASE), ("wait",))

SCENARIOS = {
    "miss": Scenario(SMALL, (WARM,), {0: COLD}),
    # The greedy scheduler runs the oldest to its end: 3 cycles, then 2, then 1.
    "one scheduler for three": Scenario(
        SMALL,
        ((("compute", 3),), (("compute", 2),), (("compute", 1),)),
        {
            0: [("computing", 3)],
            1: [("ready", 3), ("computing", 2)],
            2: [("ready", 3 + 2), ("computing", 1)],
        },
    ),
    # Warp 1 arrives in 1 + 20, its barrier takes the issue slot of cycle 21 and opens in 22.
    "barrier": Scenario(
        change(SMALL, sm={"schedulers": 2}),
        ((("barrier",), ("compute", 1)), (("compute", 20), ("barrier",))),
        {
            0: [("issuing", 1), ("barrier", 22 - 2), ("computing", 1)],
            1: [("computing", 20), ("issuing", 1)],
        },
    ),
    # Warp 0 has the port in cycles 2-5 and its data 3 cycles after the last pass, in 8.  Warp 1
    # issues in 2, has the port in 6 and 7, and its data in 10.
    "shared memory": Scenario(
        change(SMALL, sm={"shared_latency": cycles(3)}),
        ((("shared", 4),), (("shared", 2),)),
        {
            0: [("issuing", 1), ("shared", 8 - 2)],
            1: [("ready", 1), ("issuing", 1), ("shared", 10 - 3)],
        },
    ),
    # A queue of one: the second load issues when the last of four transactions has started, which
    # takes 4 cycles from the issue; its own last one hits the cache three cycles after its first.
    # When they are cold, the last one's miss merges with the first one's walk: it starts in
    # 2 + 3 = 5 and so sees 8 cycles of the L2 TLB's; after the walk the four meet the cache one a
    # cycle (3 cycles), and the fourth line comes 3 lines of 4 flits behind the first, but started
    # 3 cycles later: 11 + 12 - 3.
    "a full load/store unit": Scenario(
        change(SMALL, sm={"lsu_queue": 1}),
        (
            (
                ("load", *LINES[:4]),
                ("wait",),
                ("load", *LINES[:4]),
                ("load", *LINES[:4]),
            ),
        ),
        {
            0: [
                ("issuing", 1),
                ("lsu", 3),
                ("tlb_L2", 8),
                ("walk", 500),
                ("lsu", 3),
                *FETCH[:-1],
                ("interconnect", 11 + 12 - 3),
                ("issuing", 1),
                ("lsu", 3),
                ("issuing", 1),
                ("lsu", 3),
                ("cache", 4),
            ]
        },
    ),
    # Four transactions a cycle, but one port of the L1 TLB: the last of eight starts 7 cycles after
    # the first.  When they are cold, in 9, so it sees 4 cycles of the L2 TLB's; it meets the cache
    # with the second four, a cycle after the walk, and enters the network after seven others, of
    # which one has gone in the meantime: 8 + 7 - 1; on the way back, seven lines of four flits go
    # before it, and it was 7 cycles behind the first of them: 11 + 28 - 7.
    "one port of the L1 TLB": Scenario(
        change(SMALL, sm={"lsu_width": 4}),
        ((("load", *LINES), ("wait",), ("load", *LINES), ("wait",)),),
        {
            0: [
                ("issuing", 1),
                ("lsu", 7),
                ("tlb_L2", 4),
                ("walk", 500),
                ("lsu", 1),
                ("cache", 4),
                ("interconnect", 14),
                ("l2", 10),
                ("dram", 100),
                ("interconnect", 32),
                ("issuing", 1),
                ("lsu", 7),
                ("cache", 4),
            ]
        },
    ),
    # A store that hits the L2 takes 4 + 8 + 10 + 8 = 30 cycles from the unit until its credit is
    # back, 31 from its issue.  The second one is issued a cycle later, and waits from the cycle
    # after that: 31 - 2.  Then it takes 30 cycles itself.
    "one store credit": Scenario(
        change(SMALL, sm={"store_credits": 1}),
        ((*WARM, ("store", BASE), ("store", BASE + 32)),),
        {
            0: [
                *COLD,
                ("issuing", 2),
                ("credit", 29),
                ("cache", 4),
                ("interconnect", 8),
                ("l2", 10),
                ("interconnect", 8),
            ]
        },
    ),
    # One MSHR: of two lines of a known page, the second is tried in the cycle after the first, and
    # waits for the first one's 4 + 8 + 10 + 100 + 11 = 133 cycles but that one.
    "one MSHR in the L1 cache": Scenario(
        change(SMALL, l1={"mshrs": 1}),
        ((*WARM, ("load", BASE + LINE, BASE + 2 * LINE), ("wait",)),),
        {0: [*COLD, ("issuing", 1), ("lsu", 1), ("mshr", 132), *FETCH]},
    ),
    # Two pages.  The first is looked up in 2 and known in 2 + 1 + 10 + 500 = 513.  The second is
    # refused in 3, until 513; the unit serves the first then, and looks the second up in 514.
    "one MSHR in the L1 TLB": Scenario(
        tlb_l1(mshrs=1),
        ((("load", BASE, BASE + PAGE + LINE), ("wait",)),),
        {0: [("issuing", 1), ("lsu", 1), ("tlb_L1", 513 - 3), ("lsu", 1), *TRANSLATE, *FETCH]},
    ),
    # Each warp loads from a page of its own.  Warp 1 issues a cycle later and so comes to the one
    # walker a cycle later, of whose 500 cycles 499 are left.
    "one walker": Scenario(
        attrs.evolve(SMALL, walk=WalkConfig(1, "fixed", cycles(500))),
        (WARM, (("load", BASE + PAGE + LINE), ("wait",))),
        {
            0: COLD,
            1: [
                ("ready", 1),
                ("issuing", 1),
                *TRANSLATE[:2],
                ("walker", 499),
                ("walk", 500),
                *FETCH,
            ],
        },
    ),
    # One packet in the network: the second line of a known page is tried a cycle after the first,
    # which leaves the cache after 4 cycles and the network 8 later: it waits 4 + 8 - 1 cycles.
    "a crossbar with room for one packet": Scenario(
        change(SMALL, crossbar={"queue": 1}),
        ((*WARM, ("load", BASE + LINE, BASE + 2 * LINE), ("wait",)),),
        {0: [*COLD, ("issuing", 1), ("lsu", 1), ("interconnect", 11), *FETCH]},
    ),
    # One MSHR in the L2 cache: of two lines that arrive one after the other, the second waits for
    # the first one's 10 + 100 cycles but one, and is then looked up in 10.
    "one MSHR in the L2 cache": Scenario(
        change(SMALL, l2={"mshrs": 1}),
        ((*WARM, ("load", BASE + LINE, BASE + 2 * LINE), ("wait",)),),
        {
            0: [
                *COLD,
                ("issuing", 1),
                ("lsu", 1),
                ("cache", 4),
                ("interconnect", 8),
                ("l2", 109 + 10),
                ("dram", 100),
                ("interconnect", 11),
            ]
        },
    ),
    # GDDR5 at the clock of the core, neighbouring pages in neighbouring rows of one bank; a line
    # is two bursts.  A request that is accepted in clock c gets its first command in c + 1.
    # When the bank is cold, the second row's request is accepted in c + 1: ACT of the first c + 1,
    # PRE after RAS 46 in c + 47: it queues 46.  ACT after RP 20, RD after RCDRD 20, the second RD
    # after CCDL 3, data after CL 20 + BL 2: it takes 20 + 20 + 3 + 22 = 65.
    # Later, with the second row open, both again: PRE c + 1, ACT of the first c + 21, PRE for the
    # second c + 67: it queues 66, and takes 65.
    "two rows of one bank": Scenario(
        attrs.evolve(
            SMALL,
            dram=attrs.evolve(
                GDDR5,
                clock=Hertz(1_000_000_000),
                mapping="bank bank-group row column channel column:1",
            ),
        ),
        (
            (
                ("load", BASE, BASE + PAGE + LINE),
                ("wait",),
                ("compute", 100),
                ("load", BASE + 2 * LINE, BASE + PAGE + 3 * LINE),
                ("wait",),
            ),
        ),
        {
            0: [
                ("issuing", 1),
                ("lsu", 1),
                *TRANSLATE,
                *FETCH[:-2],
                ("dram_queue", 46),
                ("dram", 65),
                ("interconnect", 11),
                ("computing", 100),
                ("issuing", 1),
                ("lsu", 1),
                *FETCH[:-2],
                ("dram_queue", 66),
                ("dram", 65),
                ("interconnect", 11),
            ]
        },
    ),
}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_timelines_to_the_cycle(scenario: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    simulate(scenario.config, [[scenario.scripts]], output=path, record=["intervals"]).close()
    with open_result(path) as result:
        for warp, expected in scenario.lives.items():
            assert life(result, warp) == (1, expected)
        whole = stalls(result, window_of(result))
        assert (
            whole.sum("cycle").values.tolist()
            == result.stall_sums.sum(["sm", "app"]).values.tolist()
        )


def test_every_state_has_its_scenario(tmp_path: Path) -> None:
    with simulate(SMALL, [[SCENARIOS["miss"].scripts]]) as result:
        states = set(result.states)
    shown = {
        state for one in SCENARIOS.values() for runs in one.lives.values() for state, _ in runs
    }
    assert shown == states


def test_warps_of_one_walk_wait_together(tmp_path: Path) -> None:
    # Four warps ask for lines of one page, one a cycle; only the first walks.  They issue in
    # 1, 2, 3 and 4; the walk takes 13 to 513.
    scripts = [[("load", BASE + LINE * warp), ("wait",)] for warp in range(4)]
    with simulate(SMALL, [[scripts]]) as result:
        window = window_of(result, 0, 600, bin_cycles=1)
        walking = stalls(result, window).sel(state="walk").values
        assert walking.tolist() == [4 if 13 <= cycle < 513 else 0 for cycle in range(600)]
        by_hundred = stalls(result, window_of(result, 0, 600, bin_cycles=100)).sel(state="walk")
        assert by_hundred.values.tolist() == [4 * 87, 400, 400, 400, 400, 4 * 13]
        for warp in range(4):
            alone = stalls(result, window, Selection(warp=warp)).sel(state="walk").sum()
            assert int(alone) == 500

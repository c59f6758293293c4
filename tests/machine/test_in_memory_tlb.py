"""A stage with a memory port: a TLB that lies in memory, whose lookups are reads.

The machine is that of `test_latency`; its second TLB is as small as its first one.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, change

BASE, PAGE = 1 << 32, 4096
L1_TLB, L2_TLB, WALK = 1, 10, 500
L2, DRAM = 10, 100
STAGES = ("L1", "L2", "own", "walk")


def machine(**walk: object) -> GpuConfig:
    tlb = {**SMALL.tlb, "L2": attrs.evolve(SMALL.tlb["L2"], entries=16)}
    own = {"own": StageConfig(PolicyConfig("in-memory", {"entries": 256, "ways": 4}))}
    return change(attrs.evolve(SMALL, tlb=tlb, stage=own, stages=STAGES), walk=walk)


def pages(*numbers: int) -> Script:
    """Loads from pages, one after the other, each from another line of the L1 cache."""
    places = (BASE + PAGE * page + 128 * (page % 32) for page in numbers)
    return [step for place in places for step in (("load", place), ("wait",))]


def stage_cycles(run: Run) -> int:
    return run.states()["stage_own"]


def test_a_lookup_costs_a_read_and_a_fill_costs_a_write() -> None:
    run = Run(machine(), pages(0))
    assert [run.count("stage/own", name) for name in ("hits", "misses", "reads")] == [0, 1, 2]
    assert stage_cycles(run) == L2 + DRAM, "the set was in no cache"
    assert run.count("l2", "translation_lookups") == 2
    assert run.count("page_table/stages", "l2_lookups") == 2
    assert run.count("page_table/stages", "l2_hits") == 1, "it is, when the entry is written"


def test_what_it_has_is_not_walked_again() -> None:
    run = Run(machine(), pages(*range(17), 0))  # one page more than each TLB holds
    assert run.count("walk", "walks") == 17
    assert [run.count("stage/own", name) for name in ("hits", "misses", "reads")] == [1, 17, 35]
    plain = Run(attrs.evolve(machine(), stage={}, stages=()), pages(*range(17), 0))
    assert plain.latencies[-1] - run.latencies[-1] == WALK - L2, "its set is in the L2 cache"


def test_its_reads_go_where_those_of_walks_go() -> None:
    run = Run(machine(cost="memory", memory="dram"), pages(0, 1))
    assert run.count("l2", "translation_lookups") == 0
    assert run.count("dram", "walk_reads") == 4 + run.count("walk", "level_accesses")


def test_sets_hold_as_many_as_they_have_ways() -> None:
    same_set = [64 * number for number in range(5)]
    run = Run(machine(), pages(*same_set, *range(1, 17), *same_set[::-1]))
    assert run.count("stage/own", "evictions") >= 1
    assert run.count("stage/own", "hits") + run.count("stage/own", "misses") == run.count(
        "stage/own", "received"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [({"ways": 0}, "ways.*1 or more"), ({"entries": 100, "ways": 4}, "entries.*power of two")],
)
def test_shapes_that_cannot_be(options: dict[str, int], words: str) -> None:
    kind = {"policy": "in-memory", **options}
    with pytest.raises(UserError, match=words):
        load_model("tiny", overrides={"stages": list(STAGES), "stage.own.kind": kind})


def test_a_table_that_does_not_fit() -> None:
    large = {"own": StageConfig(PolicyConfig("in-memory", {"entries": 1 << 24}))}
    config = attrs.evolve(machine(), stage=large)
    with pytest.raises(UserError, match=r"raise memory\.size"):
        Run(config, pages(0))

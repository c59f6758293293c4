"""How long lines and translations stay, by the signals of what becomes of them."""

from __future__ import annotations

import attrs
import pytest

from gpusim.machine import Machine
from gpusim.results.result import Result
from tests.machine.bench import SMALL, Run, change
from tests.whole.running import base_run, run

BASE = 1 << 20
PAGE = 4096


def test_what_becomes_of_a_line() -> None:
    heard: list[tuple[str, int]] = []

    def listen(machine: Machine) -> None:
        caches = {"l1": machine.l1s[0].signals, "l2": machine.systems[0].banks[0].lines.signals}
        for cache, signals in caches.items():
            for event in ("use", "fill", "evict", "invalidate"):
                probe = getattr(signals, event)
                probe.listen(lambda line, _, name=f"{cache}.{event}": heard.append((name, line)))

    steps = [("load", BASE), ("wait",), ("load", BASE), ("wait",), ("store", BASE)]
    config = change(SMALL, l1={"translation": "after"})
    Run.meanwhile(config, listen, steps)
    line = BASE >> 7
    of_l1 = [(name, one) for name, one in heard if name.startswith("l1")]
    assert of_l1 == [("l1.fill", line), ("l1.use", line), ("l1.use", line), ("l1.invalidate", line)]
    assert [name for name, _ in heard if name.startswith("l2")] == ["l2.fill", "l2.use"]


def test_what_becomes_of_a_translation() -> None:
    heard: list[tuple[str, int]] = []

    def listen(machine: Machine) -> None:
        tlb = machine.tlbs["L1"][0]
        tlb.on_keep.listen(lambda _, tag, mapping: heard.append(("keep", tag)))
        tlb.on_evict.listen(lambda _, tag, mapping: heard.append(("evict", tag)))
        tlb.on_invalidate.listen(lambda _, tag: heard.append(("invalidate", tag)))

    first_level = attrs.evolve(SMALL.tlb["L1"], entries=1, ways=1)
    one_entry = attrs.evolve(SMALL, tlb={**SMALL.tlb, "L1": first_level})
    loads = [step for page in (0, 1) for step in (("load", BASE + PAGE * page), ("wait",))]
    run = Run.meanwhile(one_entry, listen, loads)
    first = BASE // PAGE
    assert heard == [("keep", first), ("keep", first + 1), ("evict", first)]
    run.machine.tlbs["L1"][0].shoot_down(first + 1)
    run.machine.tlbs["L1"][0].shoot_down(None)
    assert heard[3:] == [("invalidate", first + 1), ("invalidate", -1)]


def stays(result: Result) -> int:
    """Checks that a thing never stays in a place twice at once; returns the number of stays."""
    lives = result.table("lifetimes")
    for _, own in lives.sort_values(["begin", "end"]).groupby(["structure", "instance", "place"]):
        gone = own.end[own.end >= 0]
        assert (own["last"] >= own.begin).all()
        assert (gone >= own["last"][own.end >= 0]).all()
        assert len(own) - len(gone) <= 1
        assert (own.begin.iloc[1:].to_numpy() >= own.end.iloc[:-1].to_numpy()).all()
    return len(lives)


@pytest.mark.parametrize(
    "overrides",
    [
        {"tlb.L1.array": "sub-entry", "tlb.L1.sub_entries": 4, "tlb.L1.entries": 8},
        {"tlb.L1.mshrs": 1, "tlb.L1.mshr_policy": "in-tlb"},
        {"tlb.L1.array": "star", "tlb.L1.sub_entries": 4, "tlb.L1.entries": 8},
        {"tlb.L1.array": "colt", "tlb.L1.sub_entries": 4, "tlb.L1.entries": 8},
        {"tlb.L1.array": "tb-partitioned-shared", "tlb.L1.entries": 8, "tlb.L1.ways": 2},
        {"tlb.L1.sets": "base-delta", "tlb.L1.entries": 8},
        {"tlb.L1.hash": "xor", "tlb.L1.victims": 2, "tlb.L1.entries": 8, "tlb.L1.ways": 2},
    ],
    ids=["sub-entries", "MSHRs", "star", "colt", "partitioned", "base-delta", "hash and victims"],
)
def test_arrays_that_hand_on_what_they_evict(overrides: dict[str, object]) -> None:
    sizes = {"n": 192, "iterations": 2}
    with (
        run("tiny", "atax", overrides=overrides, parameters=sizes) as unheard,
        run("tiny", "atax", overrides=overrides, parameters=sizes, record=["lifetimes"]) as result,
    ):
        assert stays(result) > 0
        lives = result.table("lifetimes").query("structure == 0")
        assert 0 < (lives.end >= 0).sum() < len(lives)
        assert result.digest == unheard.digest


def test_lines_that_come_and_go_without_a_clock() -> None:
    with run("tiny", "atax", skip="1launches", record=["lifetimes"]) as result:
        assert stays(result) > 0
        ended = result.table("lifetimes").query("structure == 2 and end == 0")
        assert (ended.begin == 0).all()
    assert base_run("tiny", "atax").digest != result.digest

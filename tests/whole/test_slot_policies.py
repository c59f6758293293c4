"""A user's own policy for every slot, in plain Python also where gpusim is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpusim.core.registry import Slot
from gpusim.results.result import Result
from tests.whole import slot_policies
from tests.whole.running import run
from tests.whole.slot_policies import ATTACHED, LIKE

STAGE = {"stages": ["L1", "own", "L2", "walk"], "stage.own.scope": "gpu", "stage.own.queue": 16}

PAGING = {"paging.oversubscription": 2, "paging.eviction_block": "4KiB"}
"""Without room for all pages, some leave."""


NODE = {
    "node.gpus": 2, "node.link.bandwidth": "10GB/s", "node.link.latency": "9 cycles",
    "node.host_mmu.trip": "9 cycles", "node.host_mmu.entries": 4, "node.host_mmu.walkers": 1,
    "node.host_mmu.latency": "9 cycles",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_attached() -> Iterator[None]:
    ATTACHED.clear()
    yield
    ATTACHED.clear()


def with_own(key: str, name: str, workload: str = "atax", **more: object) -> Result:
    """A run with a policy of one's own, whose option is set."""
    kind = f"{slot_policies.__name__}:{name}"
    return run(
        "tiny",
        workload,
        overrides={f"{key}.policy": kind, f"{key}.level": 3, **more},
        parameters={"n": 48},
    )


def with_shipped(key: str, name: str, **more: object) -> Result:
    return run("tiny", "atax", overrides={key: name, **more}, parameters={"n": 48})


def counted(result: Result) -> tuple[Any, ...]:
    """All numbers of a run."""
    return dict(result.summary), result.counter_tree(), result.to_json()["stalls"]


def test_there_is_one_for_every_slot() -> None:
    assert {slot for slot, _, _ in LIKE.values()} | {Slot.STAGE} == set(Slot)


@pytest.mark.parametrize("name", LIKE)
def test_it_counts_what_one_of_gpusims_counts(name: str) -> None:
    _, key, like = LIKE[name]
    more: dict[str, object] = {"paging": PAGING, "node": NODE}.get(key.partition(".")[0], {})
    if key == "paging.mover":
        more = {**more, "paging.migration": "policy"}
    mine, shipped = with_own(key, name, **more), with_shipped(key, like, **more)
    assert counted(mine) == counted(shipped)
    assert set(ATTACHED) == {(name, 0)}
    left = "remote_reads" if key == "paging.mover" else "pages_out"
    assert shipped.summary.get(left, 1) > 0


def test_a_scheduler_that_is_not_greedy_gives_others_their_turn() -> None:
    greedy, patient = (with_own("sm.scheduler", f"{one}Oldest") for one in ("Greedy", "Patient"))
    assert greedy.summary["instructions"] == patient.summary["instructions"]
    assert greedy.digest != patient.digest


@pytest.mark.parametrize(
    ("key", "name"), [("tlb.L2.array", "Array"), ("tlb.L1.array", "Array"), ("tlb.L2.sets", "Sets")]
)
def test_what_a_class_states_is_what_an_object_states(key: str, name: str) -> None:
    plain, of_class, of_object = (
        with_own(key, one) for one in (name, f"Slow{name}", f"Slow{name}Too")
    )
    assert counted(of_class) == counted(of_object)
    assert of_class.summary["cycles"] > plain.summary["cycles"]


def test_a_page_that_several_blocks_wait_for_is_filled_for_each() -> None:
    of_class, of_object = (with_own("tlb.L2.array", f"EachArray{one}") for one in ("", "Too"))
    assert counted(of_class) == counted(of_object)


def test_what_a_base_sets_anew_holds() -> None:
    assert counted(with_own("tlb.L2.array", "Inherited")) == counted(
        with_shipped("tlb.L2.array", "set-associative")
    )


def test_a_stage() -> None:
    mine = with_own("stage.own.kind", "Passes", **STAGE)
    assert set(ATTACHED) == {("Passes", 0)}
    assert mine.states[-1] == "passing"
    assert any("own[0] passed" in one for one in mine.warnings)

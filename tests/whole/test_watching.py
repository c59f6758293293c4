"""What is recorded of TLBs and caches, against what is counted."""

from __future__ import annotations

import pytest

import gpusim
from experiments.fuzz.machines.models import SMALLER
from gpusim.core.errors import UserError
from gpusim.hardware.tlb import SubEntryArray
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import run

WATCHED = ("tlb_misses", "lifetimes")


def counted(result: Result, component: str, counter: str) -> int:
    rows = result.counters
    return int(rows.value[(rows.component == component) & (rows.counter == counter)].sum())


def test_what_is_watched_is_what_happens_unwatched() -> None:
    few: dict[str, object] = {"points": 300, "iterations": 2}
    result = run("apu-hsa", "kmeans", parameters=few, record=WATCHED)
    assert result.digest == run("apu-hsa", "kmeans", parameters=few).digest
    misses = result.table("tlb_misses")
    assert len(misses) == counted(result, "tlb/L1", "misses")
    assert set(misses.place) <= {0, 1, 2}
    first = misses.drop_duplicates("vline")
    assert (first.place[first.kind == 0] == 2).sum() > 0  # cold lines are nowhere
    lives = result.table("lifetimes")
    for structure, component in enumerate(("tlb/L1", "l1", "l2")):
        own = lives[lives.structure == structure]
        assert (own["last"] >= own.begin).all()
        ended = own[own.end >= 0]
        assert (ended.end >= ended["last"]).all()
        if structure == 0:
            assert len(ended) == counted(result, component, "evictions")
        assert 0 < len(own) <= counted(result, component, "fills")


@pytest.mark.long
def test_virtual_caches_are_watched_alike() -> None:
    result = run("apu-hsa", "kmeans", "vc", record=WATCHED)
    assert result.digest == run("apu-hsa", "kmeans", "vc").digest
    lives = result.table("lifetimes")
    assert (lives.structure == 2).sum() == counted(result, "l2", "fills")


@pytest.mark.long
def test_what_a_fill_does_to_bases_that_share() -> None:
    tiny = {"tlb.L2.entries": "7", "tlb.L2.ways": "7", "tlb.L3.entries": "4", "tlb.L3.ways": "4"}
    model = gpusim.load_model("a100-mig", ["eighth", "star"], tiny)
    work = gpusim.load_workload("star/MT", "smoke")
    result = gpusim.simulate(model, work, record=["sharing"])
    assert result.digest == gpusim.simulate(model, work).digest
    told = result.table("sharing")
    of_l3 = told[told.level == 2]
    shares = [counted(result, "tlb/L3", f"{layout}_shares") for layout in ("sequential", "stride")]
    assert of_l3.shares.sum() == sum(shares) > 0
    assert of_l3.conflicts.sum() == counted(result, "tlb/L3", "conflicts")
    assert of_l3.reverts.sum() == counted(result, "tlb/L3", "reverts")
    for level, name in ((1, "tlb/L2"), (2, "tlb/L3")):
        assert told.evictions[told.level == level].sum() == counted(result, name, "evictions")
    assert run("tiny", "atax", record=["sharing"]).table("sharing").empty  # no base can share


class Mute(SubEntryArray):
    """It does not tell what it evicts."""

    spills = False


def test_an_array_that_does_not_tell_is_refused() -> None:
    model = gpusim.load_model("tiny", overrides={"tlb.L1.array": f"{__name__}:Mute"})
    work = gpusim.load_workload("atax", "smoke", overrides={"n": 64})
    with pytest.raises(UserError, match="the array of tlb"):
        gpusim.simulate(model, work, record=["lifetimes"])


@pytest.mark.parametrize(
    "recipe", quick(["coherent-host", "zero-copy", "access-counters"], "coherent-host")
)
def test_pages_of_the_host_are_looked_for_on_a_node(recipe: str) -> None:
    model = gpusim.load_model("mcm-gpu", [recipe], SMALLER["mcm-gpu"])
    result = gpusim.simulate(model, gpusim.load_workload("strides", "smoke"), record=WATCHED)
    assert len(result.table("tlb_misses")) == counted(result, "tlb/L1", "misses") > 0

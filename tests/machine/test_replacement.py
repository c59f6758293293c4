"""Replacement policies in the arrays of whole machines, and where they are refused."""

from __future__ import annotations

from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes
from gpusim.machine import Machine, Tenant
from gpusim.runs.run import run_machine
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change
from tests.machine.own_replacement import MostRecent
from tests.machine.test_latency import BASE
from tests.quick import quick

OWN = "tests.machine.own_replacement:MostRecent"
POLICIES = ("brrip", "fifo", "lru", "plru", "random", "srrip")
LINES = {"walk.cache.kind": "lines", "walk.cache.size": "256B", "walk.cache.ways": 2}
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "L1 TLB": ("tlb.L1", {}),
    "L2 TLB": ("tlb.L2", {"tlb.L2.entries": 8}),
    "L1 cache": ("l1", {}),
    "L1 cache with reserved places": ("l1", {"l1.allocate": "on-miss"}),
    "L2 cache": ("l2", {}),
    "L2 cache by ways": ("l2", {"l2.partition": "ways"}),
    "cache of levels": ("walk.cache", {"walk.cache.entries": 2}),
    "cache of lines": ("walk.cache", LINES),
}
"""Where an array replaces: the table with the key, and what makes it so on the tiny model."""


def model(place: str, name: str) -> gpusim.LoadedModel:
    table, overrides = PLACES[place]
    return gpusim.load_model("tiny", overrides={**overrides, f"{table}.replacement": name})


def scene(config: Any) -> Run:
    """Eight warps that go over more lines and pages than fit anywhere, some again and again."""
    scripts: list[Script] = [
        [
            step
            for turn in range(24)
            for step in (
                (
                    ("load", "store", "atomic")[turn % 7 // 3],
                    BASE + 4096 * ((turn * (warp + 3)) % 19) + 128 * (turn % 5),
                ),
                ("wait",),
            )
        ]
        for warp in range(8)
    ]
    return Run(config, *scripts)


@pytest.mark.parametrize("name", quick([*POLICIES, OWN], "srrip", OWN))
@pytest.mark.parametrize("place", PLACES)
def test_each_policy_in_each_place_conserves_and_repeats(place: str, name: str) -> None:
    config = change(
        model(place, name).config,
        l1={"size": Bytes(1 << 10)},
        l2={"size": Bytes(8 << 10)},
        sm={"count": 1},
    )
    first, again = scene(config), scene(config)  # checked for conservation at their end
    assert first.loads == again.loads
    assert [*first.machine.counter_rows()] == [*again.machine.counter_rows()]


@pytest.mark.long
@pytest.mark.parametrize("name", POLICIES)
def test_a_program_with_one_policy_everywhere(name: str) -> None:
    keys = dict.fromkeys((f"{table}.replacement" for table, _ in PLACES.values()), name)
    everywhere = gpusim.load_model("tiny", overrides=keys)
    workload = gpusim.load_workload("bfs", scale="smoke")
    digest = gpusim.simulate(everywhere, workload).digest
    assert digest == gpusim.simulate(everywhere, workload).digest
    plain = gpusim.simulate(gpusim.load_model("tiny"), workload).digest
    assert (digest == plain) == (name == "lru")


@pytest.mark.parametrize("place", PLACES)
def test_a_policy_of_ones_own_is_told_of_everything(place: str) -> None:
    config = change(
        model(place, OWN).config,
        l1={"size": Bytes(1 << 10)},
        l2={"size": Bytes(8 << 10)},
        sm={"count": 1},
    )
    scene(config)
    heard = MostRecent.heard
    assert min(heard[what] for what in ("touch", "insert", "victim", "forget")) > 0
    assert heard["attach"] == (2 if place.startswith("L2 cache") else 1)  # two banks
    assert heard["victim"] <= heard["forget"] <= heard["insert"]


# -- what it does to hits ------------------------------------------------------------------------


def reuse(stride: int, ways: int, what: str) -> Script:
    """Fills a set, uses its first line again, brings in another, and comes back to the first."""
    order = [*range(ways), 0, ways, 0]
    return [step for one in order for step in ((what, BASE + stride * one), ("wait",))]


@pytest.mark.parametrize(("name", "hits"), [("lru", 2), ("fifo", 1), ("plru", 2), ("srrip", 2)])
def test_a_line_of_the_l1_cache_that_was_used_again(name: str, hits: int) -> None:
    run = Run(change(SMALL, l1={"replacement": PolicyConfig(name)}), reuse(4 << 10, 4, "load"))
    assert run.count("l1", "hits") == hits


@pytest.mark.parametrize(("name", "hits"), [("lru", 2), ("fifo", 1), ("plru", 2), ("srrip", 2)])
def test_a_line_of_the_l2_cache_that_was_used_again(name: str, hits: int) -> None:
    config = change(SMALL, l2={"replacement": PolicyConfig(name)}, memory={"page": 2 << 20})
    assert Run(config, reuse(16 << 10, 8, "atomic")).count("l2", "hits") == hits


@pytest.mark.parametrize(("name", "gone"), [("lru", 1), ("fifo", 0)])
def test_the_l1_cache_tells_of_a_line_that_a_fill_replaces(name: str, gone: int) -> None:
    config = change(SMALL, l1={"replacement": PolicyConfig(name), "translation": "after"})
    launch = ScriptedLaunch([[reuse(4 << 10, 4, "load")[:-2]]])
    machine = Machine(config, [Tenant("reuse", ScriptedApplication([launch]), [0])], seed=0)
    told: list[tuple[int, int]] = []
    answered: list[int] = []
    machine.sms[0].lsu.on_request.listen(lambda _request, _begin, end: answered.append(end))
    machine.l1s[0].signals.evict.listen(lambda line, cycle: told.append((line, cycle)))
    run_machine(machine)
    ((line, cycle),) = told
    assert line == BASE + (gone << 12) >> 7
    assert cycle == answered[-1]


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"l1.replacement": "lruu"}, ["l1.replacement = 'lruu'", "did you mean 'lru'", "srrip"]),
        (
            {"l1.replacement": "plru", "l1.ways": 3, "l1.size": "3KiB"},
            ["l1.replacement = 'plru'", "ways must be a power of two, not 3"],
        ),
        (
            {"l2.replacement": "plru", "l2.ways": 6, "l2.size": "12KiB"},
            ["l2.replacement = 'plru'", "ways must be a power of two, not 6"],
        ),
        (
            {"walk.cache.replacement": "plru", "walk.cache.entries": 12, "walk.cache.ways": 0},
            ["walk.cache.replacement = 'plru'", "not 12"],
        ),
        (
            {"l1.replacement.policy": "random", "l1.replacement.seed": 0},
            ["l1.replacement.seed = 0", "1 to 4294967295"],
        ),
        (
            {"l2.replacement.policy": "brrip", "l2.replacement.throttle": "often"},
            ["l2.replacement.throttle = 'often'", "of type int"],
        ),
        ({"l2.replacement.bits": 3}, ["'lru' has no option 'bits'", "it has none"]),
        (
            {"walk.cache.replacement": "collections:deque"},
            ["lacks", "victim", "gpusim.core.replacement.base.Replacement"],
        ),
        (
            {"l2.replacement.policy": OWN, "l2.replacement.ways": 5},
            ["l2.replacement", "wants 5 ways, not 8"],
        ),
        (
            {"l1.replacement": "tests.machine.own_replacement:Broken"},
            ["l1.replacement", "own_replacement.py", "in Broken.refusal", "IndexError"],
        ),
        (
            {"tlb.L1.replacement": "fifo", "tlb.L1.ideal": True},
            ["tlb.L1.replacement = 'fifo'", "of no effect", "ideal"],
        ),
        (
            {"tlb.L1.replacement": "fifo", "tlb.L1.array": "docs.examples.fifo_tlb:FifoArray"},
            ["tlb.L1.replacement = 'fifo'", "of no effect", "leave it out"],
        ),
    ],
    ids=str,
)
def test_what_is_refused(overrides: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        gpusim.load_model("tiny", overrides=overrides)
    for word in words:
        assert word in str(caught.value)


def test_a_share_of_the_ways_that_a_policy_cannot_serve() -> None:
    config = change(SMALL, sm={"count": 3}, l2={"partition": "ways"})
    config = change(config, l2={"replacement": PolicyConfig("plru")})
    script: Script = [("compute", 1)]
    tenants = [
        Tenant(f"app{sm}", ScriptedApplication([ScriptedLaunch([[script]])]), [sm])
        for sm in range(3)
    ]
    with pytest.raises(UserError, match=r"l2.replacement: .* not 3; l2.partition = .ways. .* 3 ap"):
        Run.of(config, tenants)

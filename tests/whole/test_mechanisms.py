"""Mechanisms of ORCH and COMP in whole runs: where they change nothing, and what is refused."""

from __future__ import annotations

from functools import cache

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import base_run, command, run

Counters = dict[tuple[str, int, str, str], int]


def counters(result: Result) -> Counters:
    table = result.counters
    keys = zip(table.component, table.instance, table.app, table.counter, strict=True)
    return dict(zip(keys, table.value, strict=True))


def short(*variants: str, overrides: dict[str, object] | None = None) -> Result:
    """Of atax, half of its iterations."""
    parameters: dict[str, object] = {"iterations": 4}
    return run("kepler-uvm", "atax", *variants, overrides=overrides, parameters=parameters)


@cache
def short_base() -> Result:
    return short()


def assert_same(base: Result, other: Result) -> Counters:
    """Everything is the same but the model's text; returns the counters of `other` alone."""
    assert base.summary == other.summary
    assert base.stalls.equals(other.stalls)
    ours, theirs = counters(base), counters(other)
    assert {key: theirs[key] for key in ours} == ours
    return {key: value for key, value in theirs.items() if key not in ours}


FULLY = {"sm.max_blocks": 1, "tlb.L1.ways": 64}
ONE_BLOCK = {"sm.max_blocks": 1}


@pytest.mark.parametrize("workload", quick(["atax", "bfs"], "bfs"))
@pytest.mark.parametrize("array", ["tb-partitioned", "tb-partitioned-shared"])
def test_one_block_with_all_sets_at_once_has_a_fully_associative_tlb(
    array: str, workload: str
) -> None:
    base = run("kepler-uvm", workload, overrides=FULLY)
    policy = {"policy": array, "parallel_compare": True}
    other = run("kepler-uvm", workload, overrides=ONE_BLOCK | {"tlb.L1.array": policy})
    own = assert_same(base, other)
    assert all(value == 0 for key, value in own.items() if key[3] != "sets_searched")


@pytest.mark.parametrize(
    "settings", [{"block_scheduler.min_samples": 1 << 40}, {"tlb.L1.ideal": True}]
)
def test_scheduling_by_equal_miss_rates_is_round_robin(settings: dict[str, object]) -> None:
    ideal = {key: value for key, value in settings.items() if key.startswith("tlb")}
    base = run("kepler-uvm", "bfs", overrides=ideal)
    own = assert_same(base, run("kepler-uvm", "bfs", "scheduling", overrides=settings))
    assert own == {("policies/block_scheduler/ThrashingAwarePlacement", 0, "", "acted"): 0}


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_compression_in_which_all_matches_is_none(level: str) -> None:
    """Half the ways hold two translations each, the other half stay empty."""
    sets = {"policy": "base-delta", "delta_vpn_bits": 60, "delta_pfn_bits": 60}
    base = short_base()
    own = assert_same(base, short(overrides={f"tlb.{level}.sets": sets}))
    assert sum(v for key, v in own.items() if key[3] == "compressed_inserts") > 0
    assert sum(v for key, v in own.items() if key[3] == "plain_inserts") == 0


def test_a_cluster_of_one_page_is_none() -> None:
    base = short_base()
    assert_same(base, short(overrides={"tlb.L2.array": "cluster"}))


@pytest.mark.parametrize(
    "variant",
    quick(
        ["scheduling", "partitioning", "partitioning-sharing", "compression+orchestrated"],
        "partitioning",
        "compression+orchestrated",
    ),
)
def test_orchestrated_machines_do_the_same_work(variant: str) -> None:
    base, other = base_run("kepler-uvm", "bfs"), run("kepler-uvm", "bfs", variant)
    for what in ("instructions", "memory_instructions", "transactions"):
        assert other.summary[what] == base.summary[what]
    for result in (base, other):
        of_sm = counters(result)
        for sm in range(16):
            tlb = {name: of_sm["tlb/L1", sm, "bfs", name] for name in ("lookups", "hits", "misses")}
            assert tlb["lookups"] == tlb["hits"] + tlb["misses"]
            assert tlb["lookups"] == of_sm["sm", sm, "bfs", "transactions"]
    blocks = [sum(v for k, v in counters(r).items() if k[3] == "blocks") for r in (base, other)]
    assert blocks[0] == blocks[1] > 0


@pytest.mark.parametrize(
    "variant",
    quick(
        [
            "scheduling",
            "partitioning",
            "partitioning-sharing",
            "compression",
            "compression-l1",
            "compression-unpartitioned",
            "compression-no-rebase",
            "compression+orchestrated",
            "cluster-tlb",
            "ideal-l1-tlb",
            "ideal-l2-tlb",
            "l1-tlb-256",
            "one-block-at-a-time",
        ],
        "partitioning-sharing",
        "compression",
    ),
)
def test_each_goes_with_huge_pages(variant: str) -> None:
    summary = short(variant, "huge-pages").summary
    assert summary["cycles"] > 0
    assert summary["tlb_L1_hit_rate"] > 0.5


def test_variants_build_on_each_other() -> None:
    def arrays(*variants: str) -> tuple[str, str, str, str, str]:
        config = load_model("kepler-uvm", variants).config
        levels = config.tlb
        return (
            config.block_scheduler.policy,
            levels["L1"].array.policy,
            levels["L1"].sets.policy,
            levels["L2"].array.policy,
            levels["L2"].sets.policy,
        )

    plain = ("set-associative", "plain")
    assert arrays("scheduling") == ("thrashing-aware", *plain, *plain)
    assert arrays("partitioning") == ("thrashing-aware", "tb-partitioned", "plain", *plain)
    shared = ("thrashing-aware", "tb-partitioned-shared")
    assert arrays("partitioning-sharing") == (*shared, "plain", *plain)
    assert arrays("compression+orchestrated") == (*shared, "base-delta", *plain)
    assert arrays("compression") == ("round-robin", *plain, "set-associative", "base-delta")


def test_own_counters_are_in_the_tree() -> None:
    tree = run("kepler-uvm", "bfs", "compression+orchestrated", "compression").counter_tree()
    first = tree["tlb"]["L1"][0][""]
    for name in ("sets_searched", "spills", "flags_raised", "shared_hits", "compressed_inserts"):
        assert name in first
    assert {"rebases", "plain_evictions"} <= tree["tlb"]["L2"][0][""].keys()


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        ("kepler-uvm", {"tlb.L2.array": "cluster", "tlb.L2.sets": "base-delta"}, ["of no effect"]),
        ("tiny", {"tlb.L1.sets": "base-dela"}, ["tlb.L1.sets", "did you mean 'base-delta'"]),
        (
            "tiny",
            {"tlb.L1.sets.policy": "base-delta", "tlb.L1.sets.rebase": -1},
            ["tlb.L1.sets.rebase = -1", "0 or more"],
        ),
        (
            "tiny",
            {"tlb.L1.sets": {"policy": "base-delta", "delta_bits": 9}},
            ["no option 'delta_bits'", "delta_vpn_bits"],
        ),
        (
            "tiny",
            {"tlb.L1.sets": "base-delta", "tlb.L1.ways": 1},
            ["tlb.L1.ways = 1", "must be even"],
        ),
        (
            "tiny",
            {
                "tlb.L1.array.policy": "tb-partitioned-shared",
                "tlb.L1.array.empty_rule": "stall",
            },
            ["tlb.L1.array.empty_rule = 'stall'", "did you mean 'stale'", "invalid, stale"],
        ),
        (
            "tiny",
            {"tlb.L1.array": {"policy": "tb-partitioned", "parallel_compare": 1}},
            ["tlb.L1.array.parallel_compare", "of type bool"],
        ),
        (
            "tiny",
            {"block_scheduler.policy": "thrashing-aware", "block_scheduler.window": "decoy"},
            ["block_scheduler.window = 'decoy'", "did you mean 'decay'", "cumulative"],
        ),
        (
            "tiny",
            {"block_scheduler": {"policy": "thrashing-aware", "window": "cycles"}},
            ["block_scheduler.length", "2 or more"],
        ),
    ],
)
def test_refused_when_loaded(model: str, settings: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        gpusim.load_model(model, overrides=settings)
    assert [word for word in words if word not in str(caught.value)] == []


def test_the_command_line_knows_the_policies() -> None:
    listed = command("list", "policies").output
    for name in (
        "thrashing-aware",
        "tb-partitioned",
        "tb-partitioned-shared",
        "base-delta",
        "plain",
    ):
        assert name in listed

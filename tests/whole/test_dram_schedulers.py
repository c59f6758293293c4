"""MASK's DRAM scheduler and its rivals in whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.hardware.dram import GoldenSilverNormal
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms
from tests.quick import quick
from tests.whole.running import run
from tests.whole.test_mechanisms import assert_same

PAIR = """
relaunch = "until-all-have-run"

[[applications]]
workload = "mvt"
smoke = { n = 64, iterations = 4 }

[[applications]]
workload = "gups"
smoke = { log2_words = 18, threads = 512, updates = 4 }
"""
SMALL = {"sm.count": 4, "dram.channels": 2, "l2.size": "128KiB", "l2.banks": 4}
ALL_256 = {f"dram.scheduler.{name}": 256 for name in ("golden", "silver", "normal")}
TIGHT = {f"dram.scheduler.{name}": 1 for name in ("golden", "silver", "normal", "thresh_max")}


@pytest.fixture
def pair(tmp_path: Path) -> gpusim.Workload:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    return gpusim.load_workload(str(path), "smoke")


@pytest.mark.long
@pytest.mark.parametrize("page", ["open", "closed"])
def test_one_application_without_walks_has_fr_fcfs(page: str) -> None:
    """A channel has at most 256 reads here: as many as its banks of the L2 cache have MSHRs."""
    settings = {**SMALL, "dram.page_policy": page}
    base = run("maxwell-mask", "mvt", "fixed-walk", overrides=settings)
    other = run("maxwell-mask", "mvt", "fixed-walk", "mask-dram", overrides=settings | ALL_256)
    own = assert_same(base, other)
    reads = {key[3]: 0 for key in own}
    for key, value in own.items():
        reads[key[3]] += value
    assert reads["silver_reads"] + counter(other, "forwarded") == base.summary["dram_reads"]
    assert reads["golden_reads"] == reads["normal_reads"] == 0


def counter(result: gpusim.Result, name: str) -> int:
    table = result.counters
    return int(table[(table.component == "dram") & (table.counter == name)].value.sum())


@pytest.mark.parametrize(
    ("variant", "settings"),
    quick(
        [("mask-dram", {}), ("mask-dram", TIGHT), ("app-aware-dram", {}), ("closed-row", {})],
        ("mask-dram", TIGHT),
    ),
)
def test_two_applications_lose_nothing(
    pair: gpusim.Workload, variant: str, settings: dict[str, object]
) -> None:
    model = load_model("maxwell-mask", [variant], SMALL | settings)
    result = gpusim.simulate(model, pair)  # checks conservation
    summary = result.summary
    assert summary["mvt/transactions"] > 0
    assert summary["dram_translation_reads"] > 0
    for app in ("mvt", "gups"):
        assert summary[f"{app}/dram_data_latency"] > 0
    assert result.digest == gpusim.simulate(model, pair).digest


@pytest.mark.parametrize("walk", ["l2", "dram"])
def test_what_the_queues_watch_is_empty_in_the_end(pair: gpusim.Workload, walk: str) -> None:
    settings = {**SMALL, "walk.memory": walk, "walk.sent_by": "walkers"}
    model = load_model("maxwell-mask", ["mask-dram"], settings)
    machine = Machine(model.config, assign_sms(model, pair), pair.seed)
    queues = [channel.queues[0] for channel in machine.systems[0].channels]
    assert all(isinstance(queue, GoldenSilverNormal) for queue in queues)
    pressure = queues[0]._pressure
    assert all(queue._pressure is pressure for queue in queues)
    seen = []
    machine.systems[0].walkers.on_walk.listen(
        lambda _walk, end: seen.append([pressure.walks(app, end) for app in (0, 1)])
    )
    run_machine(machine)
    assert not pressure._waiting
    assert not any(pressure._under_way)
    assert [max(of_app) > 0 for of_app in zip(*seen, strict=True)] == [True, True]
    assert max(map(max, seen)) <= 63


def test_nobody_is_told_of_walks_unless_a_queue_asks(pair: gpusim.Workload) -> None:
    for variant, listeners in (("shared-tlb", 0), ("app-aware-dram", 0), ("mask-dram", 1)):
        model = load_model("maxwell-mask", [variant], SMALL)
        machine = Machine(model.config, assign_sms(model, pair), pair.seed)
        tlbs = machine.tlbs
        assert {len(tlb.on_miss.listeners) for tlb in tlbs["L1"]} == {listeners}
        assert {len(tlb.on_fill.listeners) for tlb in tlbs["L1"]} == {listeners}
        assert len(machine.systems[0].walkers.on_admit.listeners) == listeners
        assert not tlbs["L2"][0].on_miss.listeners


@pytest.mark.long
def test_golden_makes_reads_of_the_page_table_faster(pair: gpusim.Workload) -> None:
    settings = {**SMALL, "walk.memory": "dram", "walk.sent_by": "walkers"}
    base, other = (
        gpusim.simulate(load_model("maxwell-mask", variants, settings), pair)
        for variants in ((), ("mask-dram",))
    )
    name = "dram_translation_latency"
    assert other.summary[name] < base.summary[name]
    # what the relaunched application reads after its first run is not in its own counters
    assert counter(other, "golden_reads") >= other.summary["dram_translation_reads"]
    mean = counter(other, "golden_latency_cycles") / counter(other, "golden_reads")
    assert mean < base.summary[name]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dram.scheduler.golden": 0}, ["dram.scheduler.golden = 0", "1 or more"]),
        ({"dram.scheduler.thresh_max": 2.5}, ["dram.scheduler.thresh_max", "of type int"]),
        ({"dram.scheduler.quota": "walk"}, ["dram.scheduler.quota", "did you mean 'walks'"]),
        ({"dram.scheduler.sliver": 64}, ["no option 'sliver'", "did you mean 'silver'"]),
        ({"dram.scheduler": "golden-silver"}, ["did you mean 'golden-silver-normal'"]),
        (
            {"dram.scheduler": {"policy": "fr-rr-fcfs", "golden": 1}},
            ["'fr-rr-fcfs' has no option 'golden'"],
        ),
    ],
)
def test_refused_when_loaded(settings: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load_model("maxwell-mask", ["mask-dram"], settings)
    assert [word for word in words if word not in str(caught.value)] == []

"""Every option of demand paging can be set, does what it says, or is refused in words."""

from __future__ import annotations

from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from tests.quick import quick

SMALL = {"n": 128, "iterations": 1}
HALF = {"paging.oversubscription": 2, "paging.eviction_block": "4KiB"}


def run(*recipes: str, **options: Any) -> Result:
    """A small run on the tiny machine, paging.… set by keys without it."""
    overrides = {f"paging.{key.replace('__', '.')}": value for key, value in options.items()}
    model = gpusim.load_model("tiny", [*recipes], overrides)
    return gpusim.simulate(model, gpusim.load_workload("atax", "smoke", overrides=dict(SMALL)))


def counted(result: Result, counter: str, component: str = "paging") -> int:
    rows = result.counters
    chosen = (rows.component == component) & (rows.counter == counter)
    return int(rows[chosen].value.sum())


@pytest.mark.parametrize("policy", ["lru", "lru-accesses", "access-counter", "random"])
@pytest.mark.parametrize("block", quick(["4KiB", "64KiB", "2MiB"], "4KiB"))
def test_eviction(policy: str, block: str) -> None:
    with run("demand-paging", oversubscription=2, eviction=policy, eviction_block=block) as result:
        assert result.summary["pages_out"] > 0
        came = result.summary["pages_in"]
        assert came == result.summary["pages_out"] + counted(result, "resident")
        assert counted(result, "bytes_to_device", "link") == came * 4096


def test_prefetch() -> None:
    """More comes with a fault, so there are fewer."""
    faults: dict[str, int] = {}
    for policy in ("none", "stride", "block", "tree"):
        with run("demand-paging", prefetch=policy) as result:
            faults[policy] = counted(result, "pages_asked")
            assert (counted(result, "pages_prefetched") > 0) == (policy != "none")
    assert faults["tree"] <= faults["block"] < faults["none"]
    assert faults["stride"] < faults["none"]


def test_pages_that_were_there() -> None:
    with run("demand-paging", arrays="device") as result:
        assert result.summary["faults"] == 0
        assert counted(result, "placed") == counted(result, "resident") > 0
    with run("demand-paging", arrays="device", oversubscription=2) as result:
        assert result.summary["faults"] > 0
        assert counted(result, "placed") == 8, "half of 67,072 bytes, in whole pages"


def test_a_part_of_the_memory_is_kept_free() -> None:
    with run("demand-paging", **{key[7:]: value for key, value in HALF.items()}) as result:
        assert counted(result, "resident") == 8
    with run("demand-paging", free=0.5, oversubscription=2, eviction_block="4KiB") as result:
        assert counted(result, "resident") <= 4


def test_a_pinned_array_stays() -> None:
    with run("demand-paging", pinned=["A"]) as result:
        assert 0 < result.summary["pages_in"] < 19
        assert result.summary["remote_reads"] > 0


def test_served_faults_alone_are_replayed() -> None:
    with run("demand-paging", replay="served") as some, run("demand-paging") as all_:
        assert 0 < counted(some, "replays", "faults") <= counted(all_, "replays", "faults")
        assert counted(some, "lost", "faults") == 0


def test_faults_without_room_in_the_buffer_come_again() -> None:
    with run("demand-paging", fault_buffer=1, batch=1, prefetch="none") as result:
        assert counted(result, "lost", "faults") > 0
        assert counted(result, "resident") == result.summary["fault_batches"]


def test_faster_links_are_faster() -> None:
    cycles = []
    for link in ("link-pcie-3", "link-pcie-4", "link-pcie-5", "link-nvlink-2"):
        with run(link) as result:
            cycles.append(result.summary["cycles"])
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > cycles[-1]


def test_recipes_stack_in_any_order() -> None:
    def told(*recipes: str) -> dict[str, Any]:
        return {one.key: one.value for one in gpusim.load_model("tiny", recipes).values}

    assert told("zero-copy", "link-pcie-4") == told("link-pcie-4", "zero-copy")
    assert told("zero-copy", "link-pcie-4")["paging.migration"] == "never"


WRONG = [
    ({"oversubscription": 2, "capacity": "64KiB"}, "contradicts paging.capacity"),
    ({"oversubscription": 0}, "oversubscription.*must be above 0"),
    ({"oversubscription": 1000}, "there would be .* bytes of device memory for the .* bytes"),
    ({"capacity": "1KiB"}, "must be at least memory.page, 4KiB"),
    ({"capacity": "1TiB"}, "not a size"),
    ({"capacity": "1000GiB"}, "what memory.size holds"),
    ({"eviction_block": "1KiB"}, "eviction_block.*power of two.*at least memory.page"),
    ({"eviction_block": "12KiB"}, "eviction_block.*power of two"),
    ({"eviction": "lur"}, "did you mean 'lru'"),
    ({"eviction.policy": "access-counter", "eviction.most": 1}, "most.*must be 2 or more"),
    ({"prefetch": "tre"}, "did you mean 'tree'"),
    ({"prefetch.threshold": 0}, "threshold.*must be 1 to 100"),
    ({"prefetch": {"policy": "stride", "degree": 0}}, "degree.*must be 1 or more"),
    ({"prefetch": {"policy": "block", "degree": 2}}, "degree"),
    ({"replay": "al"}, "did you mean 'all'.*allowed: all, served"),
    ({"arrays": "devices"}, "allowed: host, device"),
    ({"migration": "access"}, "did you mean 'accesses'.*allowed: fault, accesses, policy, never"),
    ({"migration": "accesses", "migration_block": "12KiB"}, "migration_block.*power of two"),
    ({"migration": "accesses", "arrays": "device"}, 'must be "host" with paging.migration'),
    ({"migration": "accesses", "threshold": 0}, "threshold.*must be 1 or more"),
    ({"migration": "never", "pinned": ["A"]}, "pinned.*must be empty with paging.migration"),
    ({"migration": "never", "oversubscription": 2}, "nothing comes to the device"),
    ({"free": 1.0, "oversubscription": 2}, "free.*must be 0 or more and below 1"),
    ({"free": 0.1}, "must be 0 without paging.capacity or paging.oversubscription"),
    ({"batch": 0}, "batch.*must be 1 or more"),
    ({"fault_buffer": 0}, "fault_buffer.*must be 1 or more"),
    ({"pinned": ["B"]}, "no application has an array 'B'.*allowed: .*A"),
    ({"link.bandwidth": "0GB/s"}, "not a whole number of bytes a second above zero"),
    ({"link.bandwidth": "12GB"}, "bandwidth"),
]


@pytest.mark.parametrize(("options", "told"), WRONG, ids=[" ".join(one) for one, _ in WRONG])
def test_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=f"(?s){told}"):
        run("demand-paging", **options)


def test_other_parts_that_contradict() -> None:
    with pytest.raises(UserError, match="an ideal TLB would hit on pages that are not on"):
        gpusim.load_model("tiny", ["demand-paging", "ideal-tlb"])
    small = {"memory.frames": "largest-fit", "paging.eviction_block": "64KiB"}
    with pytest.raises(UserError, match=r'at least 2MiB with memory\.frames = "largest-fit"'):
        gpusim.load_model("tiny", ["demand-paging"], small)
    fits = {**small, "memory.frames": {"policy": "largest-fit", "largest": "64KiB"}}
    gpusim.load_model("tiny", ["demand-paging"], fits)

"""Demand paging on a node whose GPUs ask a host's MMU, and whose pages move between them.

The host is 200 cycles away and walks a page in 100; pages come over links of 4 bytes a cycle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.config.node import MigrationConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from gpusim.machine.load import load_model
from tests.examples import examples
from tests.hardware.paging.bench import BATCH, L1_TLB, L2_TLB, PAGE, WALK, each, load, paged, store
from tests.hardware.paging.test_conservation import PAGES, SEVERAL_SIZES, Moved, scripts
from tests.hardware.paging.test_fault_latency import ARRIVES, FAULT
from tests.hardware.paging.test_node import (
    FIRST_TOUCH,
    REMOTE_FETCH,
    after,
    each_on_its_gpu,
    pagings,
    resident,
)
from tests.hardware.paging.test_storms import storm
from tests.machine.bench import SMALL, Script, change
from tests.machine.node_bench import node
from tests.machine.test_node_pages import COPY, HOST, ON_TOUCH, STORM, TRIP
from tests.machine.test_node_pages import FAULT as FAR_FAULT
from tests.quick import quick

ABSENT = FAULT + FAR_FAULT
"""The first walk finds nothing, the host's MMU neither; then the page is asked for as on one
GPU, and is in the GPU's table when it has come."""


def _host(
    gpus: int = 2, pages: dict[str, Any] | None = None, machine: GpuConfig = SMALL, **keys: Any
) -> GpuConfig:
    keys.setdefault("placement", FIRST_TOUCH)
    return node(gpus, paged(machine, **(pages or {})), host_mmu=HOST, **keys)


def test_a_fault_on_gpu_1_of_a_page_that_lies_with_no_gpu() -> None:
    done = each_on_its_gpu(_host(), [], each(3))
    assert done.latencies == [ABSENT]
    assert done.states()["host_mmu"] == FAR_FAULT
    assert done.states()["fault"] == BATCH + ARRIVES
    assert done.count("node/pages", "absent") == 1
    assert resident(done.machine) == [0, 1]


def test_a_page_that_came_for_another_gpu_is_a_far_fault() -> None:
    done = each_on_its_gpu(_host(), each(3), after(50_000, *each(3)))
    remote = L1_TLB + L2_TLB + WALK + FAR_FAULT + WALK + REMOTE_FETCH
    assert done.latencies == [ABSENT, remote]
    assert done.count("faults", "faults") == 1
    assert done.count("node/pages", "mapped_remotely") == 1


def test_a_page_that_came_for_another_gpu_moves_on_touch() -> None:
    """Books, links and tables agree on where it lies then."""
    done = each_on_its_gpu(_host(remote=ON_TOUCH), each(3), after(50_000, *each(3)))
    assert resident(done.machine) == [0, 1]
    assert done.count("node/pages", "migration_cycles") == 2 * TRIP + COPY
    assert done.count("link", "bytes_to_device") == PAGE


def test_a_page_leaves_gpu_0_while_gpu_1_reads_it_from_afar() -> None:
    """Both tables have it: two messages go out together, and all waits for both to be back."""
    config = _host(pages={"capacity": Bytes(2 * PAGE)})
    done = each_on_its_gpu(
        config,
        [*each(3), *after(80_000, *each(4)), *each(5)],
        [*after(50_000, *each(3)), *after(100_000, *each(3))],
    )
    first, _, second, third, again = done.latencies
    assert [first, second] == [ABSENT, ABSENT]
    assert third == ABSENT + 2 * TRIP
    assert done.count("node/pages", "messages") == done.count("node/pages", "acknowledgements") == 2
    assert done.count("node/pages", "departures") == 1
    assert again == ABSENT, "the host has it again, and it comes to GPU 1, which has room"
    assert resident(done.machine) == [2, 1]


def test_what_was_stored_to_from_afar_crosses_the_owners_link() -> None:
    config = _host(pages={"capacity": Bytes(PAGE)})
    done = each_on_its_gpu(
        config, [*each(3), *after(80_000, *each(4))], after(50_000, store(3), ("wait",))
    )
    assert done.count("paging", "pages_written_back") == 1
    assert done.latencies[2] == ABSENT + 2 * TRIP + ARRIVES


def test_a_full_memory_takes_no_page_of_another_gpu() -> None:
    config = _host(pages={"capacity": Bytes(PAGE)}, remote=ON_TOUCH)
    done = each_on_its_gpu(config, each(3), [*each(5), *after(50_000, *each(3))])
    assert done.count("node/pages", "no_room") == 1
    assert resident(done.machine) == [1, 1]


def test_a_page_that_moves_away_does_not_leave() -> None:
    """Page 3 is on its way to GPU 1 when GPU 0 chooses it: there is room without a departure."""
    config = _host(pages={"capacity": Bytes(2 * PAGE)}, remote=ON_TOUCH)
    late = L1_TLB + L2_TLB + WALK + TRIP + 100 - BATCH - FAR_FAULT
    done = each_on_its_gpu(
        config,
        [*each(3, 4), *after(60_000 + late, *each(5))],
        after(60_000 + ABSENT + ABSENT, *each(3)),
    )
    assert done.count("node/pages", "migrations") == 1
    assert done.count("paging", "pages_out") == 0
    assert resident(done.machine) == [2, 1]


remotes = st.sampled_from(
    [
        PolicyConfig("direct"),
        ON_TOUCH,
        ON_TOUCH,
        PolicyConfig("access-counters", {"threshold": 2}),
        PolicyConfig("griffin"),
        PolicyConfig("page-history", {"threshold": 2, "faults": 2}),
    ]
)
hosts = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 3),
        "placement": st.sampled_from(["first-touch", "interleave"]).map(PolicyConfig),
        "remote": remotes,
        "migration": st.sampled_from([None, MigrationConfig("fixed", cycles(300))]),
        "invalidation": st.sampled_from([None, "walked", "lazy"]).map(
            lambda name: name and PolicyConfig(name)
        ),
        "forwarding": st.sampled_from([None, "filtered"]).map(
            lambda name: name and PolicyConfig(name)
        ),
    }
)


@settings(max_examples=examples(80), deadline=None)
@given(scripts, hosts, pagings, st.sampled_from([None, None, "64KiB", "2MiB"]))
def test_pages_and_bytes(
    programs: list[Script], where: dict[str, Any], keys: dict[str, Any], sizes: str | None
) -> None:
    """`Run` itself checks the laws of the machine, and that nothing is under way at its end."""
    machine, where, keys = SMALL, dict(where), dict(keys)
    if sizes is not None:
        fitting = PolicyConfig("largest-fit", {"largest": sizes})
        machine = change(machine, memory={"frames": fitting})
        keys |= {"eviction_block": Bytes(2 << 20), "capacity": None}
    if where["migration"] is not None:
        where["invalidation"] = None
    moved = Moved()
    config = _host(pages=keys, machine=machine, **where)
    pages = SEVERAL_SIZES if sizes else PAGES
    done = each_on_its_gpu(config, *programs, moved=moved, pages=pages)
    accesses = sum(step[0] in ("load", "store") for script in programs for step in script)
    assert len(done.requests) == accesses
    there = resident(done.machine)
    room = keys["capacity"]
    assert room is None or max(there) * PAGE <= room
    out, placed = done.count("paging", "pages_out"), done.count("paging", "placed")
    assert moved.bytes[False] == (sum(there) + out - placed) * PAGE
    assert moved.bytes[True] == done.count("paging", "pages_written_back") * PAGE


def test_digests_of_equal_runs() -> None:
    config = _host(3, {"capacity": Bytes(3 * PAGE)}, remote=ON_TOUCH)
    programs = [[load(page), ("wait",)] * 2 + [store(11 - page)] for page in range(6)]
    first, again = (each_on_its_gpu(config, *programs) for _ in range(2))
    assert first.loads == again.loads
    assert list(first.machine.counter_rows()) == list(again.machine.counter_rows())


OVERSUBSCRIBED: dict[str, object] = {
    "node.remote": "migrate-on-touch", "paging.oversubscription": 1.3, "paging.free": 0.3,
    "paging.eviction_block": "4KiB", "paging.batch_time": "2us", "paging.batch": 8,
    "paging.prefetch": "block",
}  # fmt: skip


@pytest.mark.parametrize("words", quick([13, 15], 13))
def test_storms_of_moves_and_departures_end_and_have_equal_digests(
    words: int, tmp_path: Path
) -> None:
    """Pages move, leave, and are shot down, moved and made synonyms by events meanwhile."""
    model = gpusim.load_model("tiny", ["demand-paging"], STORM | OVERSUBSCRIBED)
    sizes = {"log2_words": words, "threads": 256, "updates": 2}
    workload = gpusim.load_workload("gups", "smoke", overrides=sizes)
    with gpusim.simulate(model, workload) as calm:
        told = dict(calm.summary)
    assert told["migrations"] > 0
    assert told["pages_out"] > told["migrations"]
    events = storm(workload, int(told["cycles"]), tmp_path / "events.jsonl")
    first, again = (gpusim.simulate(model, workload, events=events) for _ in range(2))
    with first, again:
        assert first.digest == again.digest
        assert first.summary["transactions"] == told["transactions"]


BESIDE = ["table-hashed", "walk-warps", "idyll", "trans-fw", "griffin", "memory-walks+mask"]


@pytest.mark.parametrize("recipes", quick(BESIDE, "idyll"))
def test_mechanisms_go_with_it(recipes: str) -> None:
    """Each ends and conserves: page tables, walkers, and what follows tables of GPUs."""
    settings_ = STORM | OVERSUBSCRIBED
    if recipes in ("idyll", "griffin"):
        del settings_["node.remote"]
    model = gpusim.load_model("tiny", [*recipes.split("+"), "demand-paging"], settings_)
    sizes = {"log2_words": 14, "threads": 256, "updates": 1}
    with gpusim.simulate(model, gpusim.load_workload("gups", "smoke", overrides=sizes)) as result:
        assert result.summary["pages_out"] > 0


def test_copies_are_refused() -> None:
    settings_ = {"node.gpus": 2, "node.link.bandwidth": "1GB/s", "node.link.latency": "1 cycles"}
    settings_ |= {
        "node.host_mmu.trip": "30 cycles", "node.host_mmu.entries": 4, "node.host_mmu.walkers": 2,
        "node.host_mmu.latency": "50 cycles", "node.remote": "read-duplication",
    }  # fmt: skip
    with pytest.raises(UserError, match="leaves for the host"):
        load_model("tiny", ["demand-paging"], settings_)

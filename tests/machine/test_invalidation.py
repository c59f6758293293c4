"""Invalidations of entries by walkers, and far faults on short ways: worked out by hand.

The machine is that of `test_node_pages`: a fault takes 500 cycles, a walk 500.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig, PolicyConfig
from gpusim.core.errors import UserError
from gpusim.files.units import cycles
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import Run, Script, ScriptedApplication, ScriptedLaunch
from tests.machine.node_bench import node, page, run_on
from tests.machine.test_node_pages import (
    FAULT,
    HOST,
    ON_TOUCH,
    STORM,
    TRIP,
    WALK,
    _after,
    _host,
    _together,
)
from tests.whole.running import run

LOAD: Script = [("load", page(1)), ("wait",)]


def _warps(config: GpuConfig, *blocks: list[Script]) -> Run:
    """Several warps a GPU."""
    launch = ScriptedLaunch(blocks)
    return Run.of(config, [Tenant("warps", ScriptedApplication([launch]), range(config.sms))])


@pytest.mark.parametrize(
    ("policy", "messages", "took"),
    [
        (None, 1, 0),
        (PolicyConfig("walked"), 3, WALK),
        (PolicyConfig("walked", {"directory_bits": 3}), 1, WALK),
        (PolicyConfig("walked", {"directory_bits": 1}), 3, WALK),
        (PolicyConfig("lazy"), 1, 0),
        (PolicyConfig("lazy", {"directory_bits": 0}), 3, 0),
    ],
)
def test_who_is_asked_and_what_the_walk_takes(
    policy: PolicyConfig | None, messages: int, took: int
) -> None:
    # Page 1 lies with GPU 1, which has used it when GPU 0 asks for it; all walkers are idle.
    config = _host(3, remote=ON_TOUCH, invalidation=policy)
    moved = _together(config, _after(9000, *LOAD), _after(1, *LOAD))
    assert moved.count("node/pages", "migrations") == 1
    assert moved.count("node/pages", "messages") == messages
    assert moved.count("node/pages", "shootdown_cycles") == 2 * TRIP + took
    assert moved.count("node/far_faults", "own_walks") == (0 if policy is None else messages)


def test_a_page_whose_entry_is_void_is_not_walked() -> None:
    # The message to GPU 1 comes in cycle 10,413, while a walk of page 3 is under way there: the
    # entry of page 1 stays void.  In that time the warp loads page 1, which is not walked.
    config = _host(remote=ON_TOUCH, invalidation=PolicyConfig("lazy"))
    both = [("load", page(3)), ("compute", 150), ("load", page(1)), ("wait",)]
    blocks = [[_after(9500, *LOAD), []], [_after(1, *LOAD), _after(10_300, *both)]]
    done = _warps(config, *blocks)
    assert done.count("node/pages", "migrations") == 2
    assert done.count("node/far_faults", "unwalked") == 1


def test_a_page_that_the_filter_lacks_goes_to_the_host_without_a_walk() -> None:
    near = run_on(node(), LOAD).latencies[0]
    short = run_on(_host(forwarding=PolicyConfig("filtered")), LOAD)
    assert short.latencies[0] == near + FAULT
    assert short.states()["host_mmu"] == FAULT
    assert short.count("node/far_faults", "unwalked") == 1
    # What the host has answered for is walked, and known when it is asked for again.
    again = run_on(_host(forwarding=PolicyConfig("filtered")), [*LOAD, *LOAD])
    assert again.count("node/far_faults", "faults") == 1


def test_a_fault_that_queues_at_the_host_is_walked_by_a_gpu_that_has_the_page() -> None:
    # The host's one walker takes 5,000 cycles a page, and its TLB has one entry.  GPU 1 asks for
    # its pages 1 and 5, GPU 0 for page 3, and at once for page 1: that one would queue.
    slow = attrs.evolve(HOST, entries=1, latency=cycles(5000))
    config = node(host_mmu=slow, forwarding=PolicyConfig("filtered", {"entries": 0}))
    other: Script = [("load", page(5)), ("wait",)]
    done = _warps(
        config,
        [_after(30_000, ("load", page(3)), ("compute", 10), *LOAD)],
        [_after(1, *LOAD, ("compute", 15_000), *other)],
    )
    assert done.count("node/host_mmu", "forwarded") == 1
    assert done.count("node/host_mmu", "spared") == 1
    walked = 2 * TRIP + 5000
    forwarded = 2 * TRIP + TRIP + WALK + TRIP
    assert done.count("node/far_faults", "fault_cycles") == 3 * walked + forwarded
    assert done.count("node/far_faults", "own_walks") == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"node.invalidation": "walked"},
        pytest.param(
            {"node.invalidation.policy": "lazy", "node.invalidation.bases": 1},
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"node.forwarding.policy": "filtered", "node.forwarding.entries": 16},
            marks=pytest.mark.long,
        ),
    ],
)
def test_storms_end_and_have_equal_digests(settings: dict[str, object]) -> None:
    overrides = STORM | {"node.remote": "migrate-on-touch"} | settings
    few = {"log2_words": 14, "threads": 256, "updates": 2}
    first, second = (run("tiny", "gups", overrides=overrides, parameters=few) for _ in range(2))
    assert first.digest == second.digest
    assert first.summary["migrations"] > 0


def test_what_cannot_be_is_refused() -> None:
    sets: dict[str, object] = {
        "node.gpus": 2, "node.link.bandwidth": "1GB/s", "node.link.latency": "1 cycles",
    }  # fmt: skip
    with pytest.raises(UserError, match=r"node\.invalidation.*without node\.host_mmu"):
        load_model("tiny", [], sets | {"node.invalidation": "lazy"})
    host = {key: STORM[key] for key in STORM if key.startswith("node.host_mmu")}
    fixed = {"node.migration.cost": "fixed", "node.invalidation": "lazy"}
    with pytest.raises(UserError, match="steps"):
        load_model("tiny", [], sets | host | fixed | {"node.remote": "migrate-on-touch"})

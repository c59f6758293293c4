"""Pages that move where all GPUs of a node walk one table: every step worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, PolicyConfig
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from tests.examples import examples
from tests.machine.bench import Script
from tests.machine.node_bench import node, page
from tests.machine.test_node_pages import COPY, HOST, TRIP, WALK, _after, _together
from tests.whole.running import run

LOOKUP, REMOTE, HOME = 1 + 10, 259, 134
COUNTED = PolicyConfig("access-counters", {"threshold": 2})


def _shared(gpus: int = 2, **keys: Any) -> GpuConfig:
    keys.setdefault("remote", COUNTED)
    return node(gpus, page_tables="shared", host_mmu=HOST, **keys)


def _loads(number: int, *lines: int) -> Script:
    return [step for line in lines for step in (("load", page(number, 128 * line)), ("wait",))]


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_move_asks_all_gpus(gpus: int) -> None:
    """Any of them may have the page in its TLBs: the messages go out together."""
    script = [*_loads(1, 0, 1), *_after(5000, *_loads(1, 2))]
    run = _together(_shared(gpus), script, *[[]] * (gpus - 1))
    assert run.count("node/pages", "migrations") == 1
    assert run.count("node/pages", "messages") == gpus
    assert run.count("node/pages", "shootdown_cycles") == 2 * TRIP
    assert run.count("node/pages", "copy_cycles") == COPY
    assert run.count("node/far_faults", "faults") == 0, "nothing looked for it meanwhile"
    assert run.latencies == [LOOKUP + WALK + REMOTE, REMOTE, LOOKUP + WALK + HOME]


def test_a_walk_that_ends_meanwhile_waits_for_the_move() -> None:
    """GPU 1 walks its own page while that moves away: no walk finds it, and the host is asked, who
    answers when it has moved.

    GPU 0's second request leaves in cycle 784.  The move begins a trip later, and ends after two
    more and the copy, in 1569; GPU 1's walk ends in 1112.
    """
    run = _together(_shared(), _loads(1, 0, 1), _after(600, *_loads(1, 5)))
    asked, ends = TRIP + 100, 784 + 3 * TRIP + COPY - 1
    waits = ends - (1112 + asked) + TRIP
    assert run.states()["host_mmu"] == asked
    assert run.states()["migration"] == waits
    assert run.latencies[2] == LOOKUP + WALK + asked + waits + WALK + REMOTE


def test_a_walk_that_has_read_its_entry_begins_anew() -> None:
    """The message comes to GPU 1 while it walks the page; the walk ends when it has moved."""
    run = _together(_shared(), _loads(1, 0, 1), _after(700, *_loads(1, 5)))
    assert run.count("walk", "again") == 1
    assert run.latencies[2] == LOOKUP + 2 * WALK + REMOTE


steps = st.one_of(
    st.builds(lambda n, line: ("load", page(n, 128 * line)), st.integers(0, 5), st.integers(0, 3)),
    st.builds(lambda n: ("store", page(n)), st.integers(0, 5)),
    st.just(("wait",)),
    st.builds(lambda many: ("compute", many), st.integers(1, 900)),
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(steps, max_size=14), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from([COUNTED, PolicyConfig("griffin", {"epoch": 200, "busy": 1})]),
)
def test_nothing_is_lost(programs: list[Script], gpus: int, remote: PolicyConfig) -> None:
    """`Run` itself checks the laws of the machine, owners of pages among them."""
    done = _together(_shared(gpus, remote=remote), *programs)
    assert len(done.requests) == sum(one[0] in ("load", "store") for two in programs for one in two)


STORM: dict[str, object] = {
    "node.gpus": 4, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles",
    "node.page_tables": "shared", "node.host_mmu.trip": "30 cycles", "node.host_mmu.entries": 4,
    "node.host_mmu.walkers": 2, "node.host_mmu.latency": "50 cycles", "tlb.L1.entries": 4,
    "tlb.L1.ways": 4, "node.remote.policy": "access-counters", "node.remote.threshold": 3,
}  # fmt: skip


@pytest.mark.parametrize("workload", ["gups", pytest.param("atax", marks=pytest.mark.long)])
def test_storms_end_and_have_equal_digests(workload: str) -> None:
    few = {"log2_words": 14, "threads": 256, "updates": 4} if workload == "gups" else None
    first, second = (run("tiny", workload, overrides=STORM, parameters=few) for _ in range(2))
    assert first.digest == second.digest
    assert first.summary["migrations"] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node.remote": "read-duplication"}, "one frame for it"),
        ({"node.remote": "migrate-on-touch"}, "counts accesses"),
        ({"node.remote": "direct"}, "of no effect"),
        ({"node.forwarding": "filtered"}, "tables of GPUs"),
        ({"node.invalidation": "lazy"}, "tables of GPUs"),
    ],
)
def test_what_needs_tables_of_gpus_is_refused(change: dict[str, object], message: str) -> None:
    settings_ = {key: value for key, value in STORM.items() if not key.startswith("node.remote")}
    if "node.remote" not in change:
        change |= {"node.remote": "access-counters"}
    with pytest.raises(UserError, match=message):
        load_model("tiny", [], settings_ | change)

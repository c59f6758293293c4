"""Copies of pages that GPUs read, and give up for a store: by hand, and beside an oracle.

The bench is that of `test_node_pages`: a host 200 cycles away that walks a page in 100, links that
carry a page in `COPY` cycles.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, PolicyConfig
from gpusim.core.errors import UserError
from gpusim.hardware.walk import NodeTable
from gpusim.machine.load import load_model
from gpusim.runs.conservation import ConservationError, check_conservation
from tests.machine.bench import Run, Script
from tests.machine.node_bench import page, run_on
from tests.machine.test_node_pages import (
    COPY,
    FAULT,
    STORM,
    TRIP,
    _after,
    _host,
    _together,
)
from tests.quick import quick
from tests.whole.running import run

COPIED = PolicyConfig("read-duplication")
FIRST = 1 << 20
"""The number of page 0 of the scripts."""


def _copied(gpus: int = 2, **keys: Any) -> GpuConfig:
    return _host(gpus, remote=COPIED, **keys)


def _table(run: Run) -> NodeTable:
    table = run.machine.page_table
    assert isinstance(table, NodeTable)
    return table


def test_a_page_that_no_table_has_is_copied_over_the_link_alone() -> None:
    done = run_on(_copied(), [("load", page(1)), ("wait",), ("load", page(1, 128)), ("wait",)])
    # its owner has no entry of it, so that no message goes out
    assert done.count("node/far_faults", "fault_cycles") == FAULT + COPY
    assert done.latencies[1] == 134, "the copy is at home"
    assert done.count("node/pages", "copies") == 1
    assert done.count("node/pages", "messages") == 0
    table = _table(done)
    copy, whole = table.of_gpu(FIRST + 1, 0), table.find(FIRST + 1)
    assert copy is not None
    assert whole is not None
    assert (table.gpu_of(copy.pfn), table.gpu_of(whole.pfn)) == (0, 1)
    assert not copy.writable
    assert not whole.writable


def test_an_owner_is_asked_to_read_only_before_the_first_copy_and_not_before_the_next() -> None:
    done = _together(
        _copied(3),
        _after(9000, ("load", page(1)), ("wait",)),
        _after(18000, ("load", page(1)), ("wait",)),
        _after(1, ("load", page(1)), ("wait",)),  # it lies with this one
    )
    counts = {name: done.count("node/pages", name) for name in ("messages", "copies", "collapses")}
    assert counts == {"messages": 1, "copies": 2, "collapses": 0}
    assert done.count("node/pages", "shootdown_cycles") == 2 * TRIP
    assert done.count("node/pages", "copy_cycles") == 2 * COPY
    # the host walks the page once, and finds it in its TLB then
    assert done.count("node/far_faults", "fault_cycles") == (
        FAULT + (2 * TRIP + 2 * TRIP + COPY) + (2 * TRIP + COPY)
    )


@pytest.mark.parametrize("writer", [0, 1])
def test_a_store_gives_up_the_copies_and_has_the_page(writer: int) -> None:
    """Page 1 lies with GPU 1, GPU 0 has a copy; either one stores to it."""
    store: Script = [("store", page(1, 256)), ("wait",)]
    quiet: Script = [("compute", 12000), ("wait",)]
    scripts = [
        _after(6000, ("load", page(1)), ("wait",), *quiet, *(store if writer == 0 else [])),
        _after(1, ("load", page(1)), ("wait",), *quiet, *quiet, *(store if writer == 1 else [])),
    ]
    done = _together(_copied(), *scripts)
    # host TLB hit; a message to each of those that have it, and back; no byte has to move
    assert done.count("node/held_stores", "held_cycles") == TRIP + 2 * TRIP + TRIP
    assert done.count("node/pages", "collapses") == 1
    assert done.count("node/pages", "copies") == 1
    assert done.count("node/pages", "migrated_bytes") == 0
    table = _table(done)
    mapping = table.find(FIRST + 1)
    assert mapping is not None
    assert mapping.writable
    assert table.gpu_of(mapping.pfn) == writer
    assert not table.copies(mapping.tag)
    assert done.count("node/pair", "stores") == 0, "it is stored to at home"


def test_a_store_that_finds_no_entry_is_a_read_first() -> None:
    """A far fault does not say what waits for it [our choice]: a copy, then the store."""
    done = _together(
        _copied(),
        _after(6000, ("store", page(1)), ("wait",)),
        _after(1, ("load", page(1)), ("wait",)),
    )
    assert done.count("node/pages", "copies") == 1
    assert done.count("node/pages", "collapses") == 1
    assert done.count("node/pages", "messages") == 1 + 1  # GPU 1 twice: GPU 0 has its copy
    assert _table(done).gpu_of(_pfn(done, 1)) == 0


def _pfn(done: Run, number: int) -> int:
    mapping = _table(done).find(FIRST + number)
    assert mapping is not None
    return mapping.pfn


def test_a_page_that_collapsed_too_often_is_used_where_it_lies() -> None:
    policy = PolicyConfig("read-duplication", {"collapses": 1})
    read = [("load", page(1)), ("wait",), ("compute", 9000), ("wait",)]
    done = _together(
        _host(remote=policy),
        _after(6000, *read, *read, *read),
        _after(1, *read, *read, ("store", page(1)), ("wait",), ("compute", 9000), ("wait",)),
    )
    assert done.count("node/pages", "copies") == 1
    assert done.count("node/pages", "mapped_remotely") == 1
    assert done.count("node/pair", "loads") > 0


Uses = list[tuple[int, int, bool]]
"""One after the other: GPU, page, whether it stores."""


def _oracle(uses: Uses, gpus: int) -> tuple[dict[int, int], dict[int, set[int]], list[int]]:
    """Owners, copies, and how many copies and collapses there are."""
    owner: dict[int, int] = {}
    copies: dict[int, set[int]] = {}
    made = collapsed = 0
    for gpu, number, stores in uses:
        owner.setdefault(number, (FIRST + number) % gpus)
        own = copies.setdefault(number, set())
        if gpu != owner[number] and gpu not in own:
            own.add(gpu)
            made += 1
        if stores and own:
            owner[number] = gpu
            own.clear()
            collapsed += 1
    return owner, copies, [made, collapsed]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=1, max_size=10
    )
)
@example([(0, 1, True), (1, 1, False), (2, 1, False), (1, 1, True), (0, 1, False)])
def test_owners_and_copies_are_those_of_an_oracle(uses: Uses) -> None:
    gpus = 3
    done = _in_turn(_copied(gpus), uses, gpus, slot=6000)
    owners, copies, counts = _oracle(uses, gpus)
    table = _table(done)
    for which, owner in owners.items():
        assert table.gpu_of(_pfn(done, which)) == owner
        assert set(table.copies(FIRST + which)) == copies[which]
    assert [done.count("node/pages", name) for name in ("copies", "collapses")] == counts


def _in_turn(config: GpuConfig, uses: Uses, gpus: int, slot: int) -> Run:
    """Uses of pages, each when those before it are long over."""
    scripts: list[Script] = [[] for _ in range(gpus)]
    passed = [0] * gpus
    for number, (gpu, which, stores) in enumerate(uses):
        due = (number + 1) * slot
        scripts[gpu] += [("compute", due - passed[gpu]), ("wait",)]
        access = ("store" if stores else "load", page(which, 128 * (number % 8)))
        scripts[gpu] += [access, ("wait",)]
        passed[gpu] = due
    return _together(config, *(script or [("compute", 1)] for script in scripts))


def test_a_copy_that_may_be_written_is_a_violation() -> None:
    done = run_on(_copied(), [("load", page(1)), ("wait",)])
    done.machine.page_table.protect(0, FIRST + 1, writable=True)
    with pytest.raises(ConservationError, match="GPU 0 has a copy"):
        check_conservation(done.machine)


@pytest.mark.parametrize("workload", quick(["atax", "gups"], "gups"))
def test_storms_of_copies_and_collapses(workload: str) -> None:
    storm = STORM | {"node.remote": "read-duplication"}
    few = {"log2_words": 14, "threads": 256, "updates": 2} if workload == "gups" else {}
    first, second = (run("tiny", workload, overrides=storm, parameters=few) for _ in range(2))
    assert first.digest == second.digest
    assert first.summary["page_copies"] > 0
    assert first.summary["held_stores"] > 0


def test_copies_and_copy_engines_are_refused_together() -> None:
    settings_ = STORM | {
        "node.remote": "read-duplication",
        "node.copy_engines.count": 1,
        "node.copy_engines.bandwidth": "1GB/s",
    }
    with pytest.raises(UserError, match=r"node\.remote.*not with node\.copy_engines"):
        load_model("tiny", [], settings_)

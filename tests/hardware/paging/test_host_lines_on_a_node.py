"""Lines that stay with the host, on a node: each GPU reads and writes them over its own link.

GPUs are `bench.SMALL`; a link to the host moves 4 bytes a cycle and takes 50, and the host's
memory 100.  Requests leave a GPU before its L2 cache, as those to other GPUs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.paging import HEADER_BYTES
from gpusim.hardware.walk import NodeTable
from gpusim.machine import Machine
from tests.examples import examples
from tests.hardware.paging.bench import FETCH, L1_TLB, L2_TLB, PAGE, WALK, each, load, paged, store
from tests.hardware.paging.test_conservation import PAGES, Moved, scripts
from tests.hardware.paging.test_fault_latency import BATCH, HEADER, OVER_THE_LINK
from tests.hardware.paging.test_node import REMOTE_FETCH, after, each_on_its_gpu
from tests.hardware.paging.test_node_host_mmu import hosts
from tests.hardware.paging.test_storms import storm
from tests.machine.bench import Run
from tests.machine.node_bench import node
from tests.machine.test_node_pages import FAULT as FAR_FAULT
from tests.machine.test_node_pages import HOST, ON_TOUCH, STORM
from tests.quick import quick

WALKED = L1_TLB + L2_TLB + WALK
WAY, MEMORY, CROSSBAR = 50, 100, 8
OUT = 1 + 4 + CROSSBAR
LINE = OUT + OVER_THE_LINK + CROSSBAR + 3
"""A load: to start, L1 cache, crossbar, link and host, crossbar (a line has four parts)."""
WRITE = OUT + 8 + WAY + MEMORY + HEADER + WAY + CROSSBAR
"""A store or an atomic of a sector of 32 bytes, which takes 8 cycles of the link, as an
acknowledgement does."""


def _node(pages: dict[str, Any] | None = None, gpus: int = 2, **keys: Any) -> GpuConfig:
    keys.setdefault("placement", PolicyConfig("first-touch"))
    return node(gpus, paged(**(pages or {"migration": "never"})), **keys)


def _of_each(done: Run, path: str, counter: str) -> list[int]:
    rows = done.machine.counter_rows()
    return [row.value for row in rows if row.component == path and row.name == counter]


def on_gpus(machine: Machine) -> list[int]:
    """Pages in the memory of each GPU, where tables and books say the same."""
    assert machine.paging is not None
    table = machine.page_table
    assert isinstance(table, NodeTable)
    found = [[*memory.pages()] for memory in machine.paging.memories.all]
    for gpu, tags in enumerate(found):
        for tag in tags:
            mapping = table.find(tag)
            assert mapping is not None
            assert table.gpu_of(mapping.pfn) == gpu, "one owner a page"
    here = sum(one.pages for one in table.mappings() if not table.with_host(one.pfn))
    assert sum(map(len, found)) == here
    return [*map(len, found)]


def test_a_load_on_any_gpu_crosses_its_own_link() -> None:
    script = [*each(3), load(3, line=1), ("wait",)]
    done = each_on_its_gpu(_node(), script, script)
    both = [LINE, LINE, WALKED + LINE, WALKED + LINE]
    assert sorted(done.latencies) == both, "no link waits for the other one"
    assert _of_each(done, "host", "reads") == [2, 2]
    assert _of_each(done, "link", "bytes_to_device") == [2 * 128] * 2
    assert done.count("l2", "lookups") == done.count("node/pair", "requests") == 0


@pytest.mark.parametrize("kind", ["store", "reduce", "atomic"])
def test_what_is_written_goes_there_and_is_acknowledged(kind: str) -> None:
    _, address = store(3)
    done = each_on_its_gpu(_node(), [], [*each(3), (kind, address), ("wait",)])
    assert done.latencies == [WALKED + LINE, WRITE]
    atomics = kind == "atomic"
    assert done.count("host", "atomics") == atomics
    assert done.count("host", "writes") == 1 - atomics
    assert done.count("link", "bytes_to_host") == HEADER_BYTES + 32
    assert done.count("link", "bytes_to_device") == 128 + (32 if atomics else HEADER_BYTES)


def test_the_states_of_such_a_load() -> None:
    states = each_on_its_gpu(_node(), [], [*each(3), load(3, 1), ("wait",)]).states()
    assert states["link"] == 2 * OVER_THE_LINK
    assert "l2" not in states


def test_with_readers_caching_a_gpu_keeps_a_line_until_it_stores_to_it() -> None:
    lines = [*each(3), load(3, 1), ("wait",), store(3), ("wait",)]
    done = each_on_its_gpu(_node(caching="reader"), [], lines)
    assert done.latencies == [WALKED + LINE + 10, LINE + 10, WRITE], "its L2 cache takes 10"
    assert done.count("node/reader", "fetches") == done.count("host", "reads") == 2
    assert done.count("node/reader", "dropped") == 1


def test_a_pinned_array_beside_pages_that_come() -> None:
    done = each_on_its_gpu(_node({"pinned": ("a",)}), [], each(3))
    assert done.latencies == [WALKED + LINE]


def _lines(*numbers: int) -> list[tuple[object, ...]]:
    return [step for line in numbers for step in (load(0, line), ("wait",))]


def test_a_block_comes_to_the_gpu_that_has_accessed_it_often() -> None:
    """Each GPU counts its own accesses: the third one of GPU 1 brings the block there."""
    config = _node({"migration": "accesses", "threshold": 3})
    done = each_on_its_gpu(
        config,
        [*_lines(0, 1), ("compute", 4 * BATCH), *_lines(2)],
        [*_lines(4, 5, 6), ("compute", 3 * BATCH), *_lines(7)],
    )
    from_host = [LINE] * 3 + [WALKED + LINE] * 2
    assert sorted(done.latencies[:5]) == from_host
    assert done.latencies[5:] == [WALKED + FETCH, WALKED + REMOTE_FETCH + 100]
    assert on_gpus(done.machine) == [0, 16]
    assert _of_each(done, "link", "bytes_to_device") == [2 * 128, 3 * 128 + 16 * PAGE]


def test_pages_of_a_block_come_to_the_memories_that_placement_names() -> None:
    config = _node({"migration": "accesses", "threshold": 1}, placement=PolicyConfig("interleave"))
    done = each_on_its_gpu(config, each(0), after(5000))
    assert on_gpus(done.machine) == [8, 8]
    assert done.count("paging", "pages_migrated") == 16


def test_the_hosts_mmu_answers_where_such_a_page_lies() -> None:
    done = each_on_its_gpu(_node(host_mmu=HOST, remote=ON_TOUCH), each(3), each(3))
    assert done.latencies == [WALKED + FAR_FAULT + WALK + LINE] * 2
    assert done.count("node/pages", "mapped_remotely") == 2
    assert done.count("node/pages", "migrations") == 0


kept = st.fixed_dictionaries(
    {
        "migration": st.sampled_from(["accesses", "never", "policy"]),
        "threshold": st.integers(1, 4),
        "migration_block": st.sampled_from([PAGE, 4 * PAGE]).map(Bytes),
        "capacity": st.none() | st.integers(1, PAGES).map(lambda pages: Bytes(pages * PAGE)),
        "batch_time": st.sampled_from([500, 3000]).map(cycles),
    }
)


@settings(max_examples=examples(80), deadline=None)
@given(scripts, hosts, st.booleans(), st.sampled_from(["home", "reader"]), kept)
def test_pages_and_bytes(
    programs: list[Any], where: dict[str, Any], asks: bool, caching: str, keys: dict[str, Any]
) -> None:
    """`Run` itself checks the laws of the machine, and that nothing is under way at its end."""
    where, keys = where | {"caching": caching, "host_mmu": HOST}, dict(keys)
    if where["migration"] is not None:
        where["invalidation"] = None
    if not asks:
        where = {key: where[key] for key in ("gpus", "placement", "caching")}
    if keys["migration"] == "policy":
        keys["mover"] = PolicyConfig("hot-pages", {"threshold": keys["threshold"]})
    if keys["migration"] == "never":
        keys["capacity"] = None
    moved = Moved()
    programs = programs[: where["gpus"]]
    done = each_on_its_gpu(_node(keys, **where), *programs, moved=moved, pages=PAGES)
    accesses = sum(step[0] in ("load", "store") for script in programs for step in script)
    assert len(done.requests) == accesses
    there, room = on_gpus(done.machine), keys["capacity"]
    assert room is None or max(there) * PAGE <= room
    count = done.count
    came = (sum(there) + count("paging", "pages_out")) * PAGE
    answers = HEADER_BYTES * count("host", "writes")
    assert moved.bytes[False] == came + count("host", "read_bytes") + answers
    requests = HEADER_BYTES * count("host", "reads")
    back = count("paging", "pages_written_back") * PAGE
    assert moved.bytes[True] == back + requests + count("host", "write_bytes")


COUNTED: dict[str, object] = {
    "paging.oversubscription": 1.3, "paging.eviction_block": "4KiB", "paging.batch_time": "2us",
    "paging.threshold": 3, "paging.migration_block": "4KiB",
}  # fmt: skip


@pytest.mark.parametrize("remote", quick(["direct", "migrate-on-touch"], "migrate-on-touch"))
def test_storms_end_and_have_equal_digests(remote: str, tmp_path: Path) -> None:
    """Pages come and leave, move between GPUs, and are shot down and made synonyms meanwhile."""
    given_ = STORM | COUNTED | {"node.remote": remote}
    model = gpusim.load_model("tiny", ["access-counters"], given_)
    sizes = {"log2_words": 14, "threads": 256, "updates": 2}
    workload = gpusim.load_workload("gups", "smoke", overrides=sizes)
    with gpusim.simulate(model, workload) as calm:
        told = dict(calm.summary)
    assert told["remote_reads"] > 0
    events = storm(workload, int(told["cycles"]), tmp_path / "events.jsonl")
    first, again = (gpusim.simulate(model, workload, events=events) for _ in range(2))
    with first, again:
        assert first.digest == again.digest
        assert first.summary["transactions"] == told["transactions"]


@pytest.mark.parametrize(
    "recipe", quick(["zero-copy", "access-counters", "second-memory", "coherent-host"], "zero-copy")
)
def test_recipes_of_the_host_run_on_a_node(recipe: str) -> None:
    links = {"node.gpus": 2, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles"}
    model = gpusim.load_model("tiny", [recipe], links)
    with gpusim.simulate(model, gpusim.load_workload("atax", "smoke")) as result:
        assert result.summary["remote_reads"] > 0


def test_equal_runs() -> None:
    config = _node({"migration": "accesses", "threshold": 2, "capacity": Bytes(3 * PAGE)}, gpus=3)
    programs = [[load(page), ("wait",)] * 2 + [store(11 - page)] for page in range(3)]
    first, again = (each_on_its_gpu(config, *programs) for _ in range(2))
    assert first.loads == again.loads
    assert list(first.machine.counter_rows()) == list(again.machine.counter_rows())

"""Launches of one GPU of a node, copies by engines, and collectives made of them.

A GPU is `bench.SMALL`: crossbar 8 either way and 32 bytes a cycle, L2 cache 10, DRAM 100.  A link
moves 32 bytes a cycle and takes 50; its packets have 16 bytes beside data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpusim.config.node import CopyEngineConfig
from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.core.warp_program import Buffer, Launch
from gpusim.files.units import Bandwidth
from gpusim.machine import Tenant
from gpusim.programs import writing as gpu
from gpusim.programs.program_function import FunctionProgram
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch
from tests.machine.node_bench import BASE, node, page
from tests.quick import quick
from tests.whole.running import run

CROSSBAR, L2, DRAM, LINK = 8, 10, 100, 50
FLITS = 4
READ = CROSSBAR + L2 + DRAM + CROSSBAR + FLITS - 1
TO_LINK = CROSSBAR + FLITS - 1
WRITTEN = CROSSBAR + FLITS - 1 + L2 + DRAM + CROSSBAR
"""The line that is stored to is fetched first."""
ONE_LINE = READ + TO_LINK + (5 + LINK) + WRITTEN + (1 + LINK) + CROSSBAR

Body = Callable[[gpu.AddressSpace], Iterator[Launch]]


def done(
    body: Body, gpus: int = 2, *, bandwidth: int = 32, count: int = 1, engines: bool = True
) -> tuple[Run, FunctionProgram]:
    """A run of a program, whose engines move `bandwidth` bytes a cycle."""
    rate = Bandwidth(bandwidth * SMALL.clock)
    config = node(gpus, copy_engines=CopyEngineConfig(count, rate) if engines else None)
    program = FunctionProgram("copies", body, ())
    return Run.of(config, [Tenant("copies", program, range(config.sms))]), program


def arrays(memory: gpu.AddressSpace, gpus: int, length: int) -> list[gpu.Floats]:
    """Of each GPU one, of numbers that tell it and their place."""
    made = []
    for one in range(gpus):
        with memory.on(one):
            values = np.arange(length, dtype=np.float32) + 1000 * one
            made.append(memory.allocate(f"a{one}", values))
    return made


def copy_of(lines: int) -> Body:
    def body(memory: gpu.AddressSpace) -> Iterator[Launch]:
        there, here = arrays(memory, 2, 32 * lines)
        yield gpu.peer_copy(here, there)

    return body


def link_bytes(run: Run) -> dict[str, int]:
    assert run.machine.node is not None
    names = [link.name for link in run.machine.node.links]
    rows = run.machine.counter_rows()
    found = [row for row in rows if (row.component, row.name) == ("node/link", "bytes_in")]
    return {names[row.instance]: row.value for row in found if row.value}


def test_a_line_is_read_at_home_and_stored_over_the_link() -> None:
    one, program = done(copy_of(1))
    assert one.count("node/copy", "copy_cycles") == ONE_LINE == 383
    assert (program.memory["a1"].data == program.memory["a0"].data).all()
    assert link_bytes(one) == {"link[0→1]": 128 + 16, "link[1→0]": 16}


def test_a_stream_of_lines_has_the_bandwidth_of_the_link_or_of_the_engine() -> None:
    many, _ = done(copy_of(512))
    assert many.count("node/copy", "copy_cycles") == ONE_LINE + int(511 * 144 / 32)
    slow, _ = done(copy_of(512), bandwidth=8)
    assert slow.count("node/copy", "copy_cycles") == ONE_LINE + 511 * 128 // 8


def test_without_engines_a_copy_is_a_kernel() -> None:
    engine, first = done(copy_of(8))
    kernel, second = done(copy_of(8), engines=False)
    assert link_bytes(engine) == link_bytes(kernel)
    assert (first.memory["a1"].data == second.memory["a1"].data).all()
    assert kernel.count("sm", "transactions") == 2 * 8
    assert engine.count("sm", "transactions") == 0


@pytest.mark.parametrize(("count", "at_once"), [(1, False), (2, True)])
def test_an_engine_has_one_copy_at_a_time(count: int, at_once: bool) -> None:
    def body(memory: gpu.AddressSpace) -> Iterator[Launch]:
        there, here = arrays(memory, 2, 64)
        for stream in (1, 2):
            half = gpu.Span(here, 32 * stream - 32, 32), gpu.Span(there, 32 * stream - 32, 32)
            yield gpu.copied(*half).on(stream, gpu=0)

    two, _ = done(body, count=count)
    more = 5 if at_once else ONE_LINE  # a packet of 144 bytes after the other
    assert two.cycles in range(ONE_LINE + more, ONE_LINE + more + 3)


def test_parts_of_lines_are_read_and_written_apart() -> None:
    def body(memory: gpu.AddressSpace) -> Iterator[Launch]:
        there, here = arrays(memory, 2, 128)
        yield gpu.copied(gpu.Span(here, 40, 64), gpu.Span(there, 8, 64)).on(gpu=1)

    run, program = done(body)
    assert (program.memory["a1"].data[40:104] == np.arange(8, 72)).all()
    # Lines end 24 and 56 numbers after the begin of the source, and 24 and 56 of the target.
    assert run.count("node/copy", "reads") == run.count("node/copy", "writes") == 3
    assert run.count("node/copy", "copied_bytes") == 256
    assert run.count("node/pair", "loads") == 3  # the engine of GPU 1 reads GPU 0's memory


@pytest.mark.parametrize("gpus", [2, 3, 4])
def test_a_ring_all_reduce_moves_its_share_of_bytes_over_each_link(gpus: int) -> None:
    length = 96 * gpus

    def body(memory: gpu.AddressSpace) -> Iterator[Launch]:
        yield from gpu.ring_all_reduce(arrays(memory, gpus, length)).launches

    run, program = done(body, gpus)
    total = gpus * np.arange(length) + 1000 * sum(range(gpus))
    for one in range(gpus):
        assert (program.memory[f"a{one}"].data == total).all()
    lines = 2 * (gpus - 1) * (4 * length // gpus) // 128
    assert run.count("node/copy", "copied_bytes") == 128 * lines * gpus
    found, next_of = link_bytes(run), {one: (one + 1) % gpus for one in range(gpus)}
    there = {f"link[{one}→{next_of[one]}]": 144 * lines for one in range(gpus)}
    back = {f"link[{next_of[one]}→{one}]": 16 * lines for one in range(gpus)}
    expected = {name: there.get(name, 0) + back.get(name, 0) for name in (*there, *back)}
    assert found == expected


def test_a_reduce_scatter_leaves_a_part_with_each_and_an_all_gather_brings_all() -> None:
    def scatter(memory: gpu.AddressSpace) -> Iterator[Launch]:
        yield from gpu.ring_reduce_scatter(arrays(memory, 3, 96)).launches

    def gather(memory: gpu.AddressSpace) -> Iterator[Launch]:
        yield from gpu.ring_all_gather(arrays(memory, 3, 96)).launches

    _, scattered = done(scatter, 3)
    _, gathered = done(gather, 3)
    total = 3 * np.arange(96) + 3000
    parts = [np.arange(32) + 32 * one + 1000 * one for one in range(3)]
    for one in range(3):
        part = slice(32 * ((one + 1) % 3), 32 * ((one + 1) % 3) + 32)
        assert (scattered.memory[f"a{one}"].data[part] == total[part]).all()
        assert (gathered.memory[f"a{one}"].data == np.concatenate(parts)).all()


def _launch(gpu_: int | None, stream: int = 0) -> ScriptedLaunch:
    script = [("compute", 1000), ("wait",)]
    return ScriptedLaunch([[script]], stream_use=StreamUse(stream, gpu=gpu_))


@pytest.mark.parametrize(
    ("launches", "lengths"),
    [
        ([_launch(0), _launch(1)], 1),
        ([_launch(0), _launch(0)], 2),
        ([_launch(0), _launch(0, 1)], 2),
        ([_launch(0), _launch(None), _launch(1)], 3),
    ],
)
def test_each_gpu_has_streams_of_its_own(launches: list[ScriptedLaunch], lengths: int) -> None:
    alone = Run.of(node(), [Tenant("a", ScriptedApplication([_launch(0)]), range(2))]).cycles
    both = Run.of(node(), [Tenant("a", ScriptedApplication(launches), range(2))]).cycles
    assert lengths * alone <= both < lengths * alone + 5


def test_a_launch_runs_on_its_gpu_and_an_array_lies_there() -> None:
    script = [("load", page(1)), ("wait",), ("load", page(1, 128)), ("wait",)]
    for one in (0, 1):
        launch = ScriptedLaunch([[script]] * 2, stream_use=StreamUse(gpu=one))
        array = Buffer("a", BASE, 1 << 16, gpu=1)
        application = ScriptedApplication([launch], buffers=(array,))
        run = Run.of(node(), [Tenant("a", application, range(2))])
        assert {request.sm for request in run.requests} == {one}
        assert (run.count("node/pair", "requests") == 0) == (one == 1)


def test_what_a_node_does_not_have_is_refused() -> None:
    tenant = Tenant("a", ScriptedApplication([_launch(2)]), range(2))
    with pytest.raises(UserError, match="is of GPU 2, and 'scripted' has 2"):
        Run.of(node(), [tenant])
    array = Buffer("weights", BASE, 4096, gpu=2)
    tenant = Tenant("a", ScriptedApplication([_launch(0)], buffers=(array,)), range(2))
    with pytest.raises(UserError, match="array 'weights' lies with GPU 2, and 'a' has 2"):
        Run.of(node(), [tenant])
    with pytest.raises(UserError, match="is of GPU 1, and 'scripted' has 1"):
        Run.of(SMALL, [Tenant("a", ScriptedApplication([_launch(1)]), range(1))])
    memory = gpu.AddressSpace()
    ten, eight = memory.zeros("ten", 10, np.float32), memory.zeros("eight", 8, np.float32)
    with pytest.raises(UserError, match="both must be alike"):
        gpu.peer_copy(ten, eight)
    with pytest.raises(UserError, match="elements 4 to 9 of 'eight', which has 8"):
        gpu.copied(gpu.Span(ten, 4, 6), gpu.Span(eight, 4, 6))
    with pytest.raises(UserError, match="all of the same size"):
        gpu.ring_all_reduce([ten, eight])
    with pytest.raises(UserError, match=r"memory\.on\(-1\)"), memory.on(-1):
        pass


NODE: dict[str, Any] = {
    "node.gpus": 2, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles",
    "node.copy_engines.count": 1, "node.copy_engines.bandwidth": "32GB/s",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", quick(["data_parallel_step", "tensor_parallel_mlp"], "tensor_parallel_mlp")
)
def test_programs_of_several_gpus(name: str) -> None:
    first, second = (run("tiny", name, overrides=NODE, parameters={"gpus": 2}) for _ in range(2))
    assert first.digest == second.digest
    bytes_ = 128 * 128 * 4 if name == "data_parallel_step" else 64 * 128 * 4
    assert first.summary["copied_bytes"] == 2 * bytes_  # 2 (n - 1) / n, of each GPU
    assert first.summary["remote_requests"] == 2 * bytes_ // 128

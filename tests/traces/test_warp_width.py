"""Blocks that were traced with warps of another width: thread by thread, and on machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim import load_model, load_workload, simulate
from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from gpusim.traces.warp_width import rewarp, width_notice
from tests.examples import examples
from tests.quick import quick
from tests.traces.test_table import random_table, save
from tests.traces.writing import EXIT, block, header, write

LINE = 64
LOADS = (Op.LOAD, Op.ATOMIC)

Access = tuple[int, int, int, int]
"""Of a thread: operation, address, size, and barriers before it."""


class Oracle:
    """Follows a block thread by thread.

    Attributes:
        accesses: of each thread.
        awaited: for each of them, how many of the thread's own loads were waited for by then.
        barriers: of each warp.
        together: warps' accesses by row of the chunks, and by barriers passed: the lines.
    """

    def __init__(self, chunks: Sequence[LaneChunk], threads: int, width: int) -> None:
        warps = -(-threads // width)
        self.accesses: list[list[Access]] = [[] for _ in range(threads)]
        self.awaited: list[list[int]] = [[] for _ in range(threads)]
        self.barriers = [0] * warps
        self.together: dict[tuple[int, int, int], set[int]] = {}
        self._width = width
        self._row = 0
        self._issued = [0] * warps
        self._arrived = [0] * warps
        self._loads: list[list[int]] = [[] for _ in range(threads)]
        for chunk in chunks:
            assert chunk.active.shape[1] == warps
            access = -1
            for row, kind in enumerate(chunk.kind.tolist()):
                access += kind in MEMORY_OPS
                for warp in np.flatnonzero(chunk.active[row]).tolist():
                    if kind in MEMORY_OPS:
                        lanes = chunk.address[access, warp].tolist()
                        self._access(warp, kind, lanes, int(chunk.size[access]))
                    elif kind == Op.BARRIER:
                        self.barriers[warp] += 1
                    elif kind == Op.WAIT:
                        arrived = self._issued[warp] - int(chunk.arg[row])
                        self._arrived[warp] = max(self._arrived[warp], arrived)
                self._row += 1

    def _access(self, warp: int, kind: int, lanes: list[int], size: int) -> None:
        used = [(lane, address) for lane, address in enumerate(lanes) if address != INACTIVE]
        for lane, address in used:
            thread = warp * self._width + lane
            own = self._loads[thread]
            self.awaited[thread].append(sum(number < self._arrived[warp] for number in own))
            self.accesses[thread].append((kind, address, size, self.barriers[warp]))
            if kind in LOADS:
                own.append(self._issued[warp])
        lines = {address // LINE for _, address in used}
        self.together[self._row, warp, self.barriers[warp]] = lines
        self._issued[warp] += bool(used) and kind in LOADS


def transactions(chunks: Sequence[LaneChunk]) -> int:
    return sum(
        len(segment.lines) for chunk in chunks for segment in coalesce(chunk, Coalescing(LINE))
    )


@st.composite
def blocks(draw: st.DrawFn, width: int) -> tuple[list[LaneChunk], int]:
    """Pieces of a block whose warps mostly, or not at all, do the same; and its threads."""
    threads = draw(st.integers(1, 4 * width))
    warps = -(-threads // width)
    there = np.arange(warps * width).reshape(warps, width) < threads
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alike = draw(st.sampled_from([0.4, 0.9, 1]))
    kinds = [Op.LOAD, Op.STORE, Op.ATOMIC, Op.COMPUTE, Op.BARRIER, Op.WAIT, Op.WAIT]
    pieces = []
    for names in draw(st.lists(st.lists(st.sampled_from(kinds), max_size=6), max_size=3)):
        kind = np.array(names, dtype=np.uint8)
        active = generator.random((len(names), warps)) < alike
        memory = np.isin(kind, sorted(MEMORY_OPS))
        address = 32 * generator.integers(0, 40, (int(memory.sum()), warps, width))
        holes = generator.random(address.shape) < draw(st.sampled_from([0, 0.5, 1]))
        address[~active[memory]] = INACTIVE
        address[holes | ~there] = INACTIVE
        arg = generator.integers(0, 3, len(names))
        size = np.full(len(address), 4, dtype=np.int64)
        pieces.append(LaneChunk(kind, arg, active, address, size))
    return pieces, threads


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.sampled_from([(32, 64), (16, 64), (8, 32), (1, 2)]))
def test_narrow_warps_are_joined(data: st.DataObject, widths: tuple[int, int]) -> None:
    traced, wanted = widths
    pieces, threads = data.draw(blocks(traced))
    joined = list(rewarp(pieces, threads, traced, wanted, by_thread=True))
    before, after = Oracle(pieces, threads, traced), Oracle(joined, threads, wanted)
    assert after.accesses == before.accesses
    for own, others in zip(after.awaited, before.awaited, strict=True):
        assert all(one >= other for one, other in zip(own, others, strict=True))
    ratio = wanted // traced
    groups = [
        before.barriers[first : first + ratio] for first in range(0, len(before.barriers), ratio)
    ]
    assert after.barriers == [max(group) for group in groups]
    lines: dict[tuple[int, int, int], set[int]] = {}
    for (row, warp, passed), own_lines in before.together.items():
        lines.setdefault((row, warp // ratio, passed), set()).update(own_lines)
    assert transactions(joined) == sum(len(one) for one in lines.values())


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from([(4, 6), (6, 4)]))
def test_any_width_keeps_what_threads_do(data: st.DataObject, widths: tuple[int, int]) -> None:
    traced, wanted = widths
    pieces, threads = data.draw(blocks(traced))
    cut = list(rewarp(pieces, threads, traced, wanted, by_thread=True))
    before, after = Oracle(pieces, threads, traced), Oracle(cut, threads, wanted)
    assert after.accesses == before.accesses


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.sampled_from([(64, 32), (64, 16), (8, 4)]))
def test_wide_warps_are_split(data: st.DataObject, widths: tuple[int, int]) -> None:
    traced, wanted = widths
    pieces, threads = data.draw(blocks(traced))
    cut = list(rewarp(pieces, threads, traced, wanted, by_thread=True))
    before, after = Oracle(pieces, threads, traced), Oracle(cut, threads, wanted)
    assert (after.accesses, after.awaited) == (before.accesses, before.awaited)
    ratio = traced // wanted
    assert after.barriers == [before.barriers[warp // ratio] for warp in range(len(after.barriers))]
    assert transactions(cut) == sum(len(one) for one in after.together.values())


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_lanes_that_are_no_threads_are_dealt_evenly(data: st.DataObject) -> None:
    pieces, threads = data.draw(blocks(8))
    cut = list(rewarp(pieces, threads, 8, 4, by_thread=False))
    for piece, parts in zip(pieces, cut, strict=True):
        for access, (rows, dealt) in enumerate(zip(piece.address, parts.address, strict=True)):
            for warp, row in enumerate(rows):
                used = row[row != INACTIVE].tolist()
                first = len(used) if warp * 8 + 4 >= threads else -(-len(used) // 2)
                halves = [used[:first], used[first:]]
                for part, half in enumerate(halves[: 1 + (warp * 8 + 4 < threads)]):
                    mine = dealt[2 * warp + part]
                    assert mine[mine != INACTIVE].tolist() == half, (access, warp, part)


def test_warps_in_step_keep_their_rows() -> None:
    address = np.arange(2 * 4 * 32).reshape(2, 4, 32) * 4
    kind = np.array([Op.LOAD, Op.WAIT, Op.COMPUTE, Op.STORE], dtype=np.uint8)
    arg = np.array([0, 0, 3, 0])
    piece = LaneChunk(kind, arg, np.ones((4, 4), dtype=bool), address, np.array([4, 4]))
    (joined,) = rewarp([piece], 128, 32, 64, by_thread=True)
    assert (joined.kind.tolist(), joined.arg.tolist()) == (kind.tolist(), arg.tolist())
    assert joined.active.shape == (4, 2)
    assert joined.address.reshape(address.shape).tolist() == address.tolist()


LOAD = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0"
USE = "0020 ffffffff 1 R8 FADD 2 R4 R4 0 0"
WAITS = "0030 ffffffff 0 BAR.SYNC 0 0 0"
LONG = "0018 ffffffff 1 R9 MOV 0 0"


def test_sass_on_64_lanes(tmp_path: Path) -> None:
    """Warps 0 and 1 meet at their barrier though one gets there by another way; 2 is left over."""
    text = header(block__dim="(96,1,1)")
    text += block([[LOAD, USE, WAITS, EXIT], [LOAD, LONG, USE, WAITS, EXIT], [LOAD, WAITS, EXIT]])
    path = write(tmp_path / "one.traceg", text)
    with simulate(load_model("r9-nano"), load_workload(str(path))) as run:
        summary, counters = run.summary, run.counters
        sm = counters[counters.component == "sm"].groupby("counter")["value"].sum()
        assert (sm["warps"], sm["loads"], sm["barriers"]) == (2, 2, 2)
        assert summary["transactions"] == 2 + 2  # 128 bytes, in lines of 64
        (warning,) = run.warnings
        assert warning.startswith("one: its warps of 32 threads are joined to warps of 64 (sm.warp")
        assert "warp_size = 32" in run.workload_toml


@pytest.mark.parametrize("model", quick(["tiny", "kepler-uvm", "apu-hsa"], "tiny"))
def test_wavefronts_on_32_lanes(tmp_path: Path, model: str) -> None:
    path = save(tmp_path / "wide.npz", random_table(5))
    trace = open_trace(path)
    (application,) = trace.applications
    config = load_model(model).config
    expected = sum(
        len(segment.lines)
        for launch in application.launches()
        for number in range(launch.blocks)
        for chunk in launch.run_block(number, config.sm.warp_size)
        for segment in coalesce(chunk, Coalescing.of(config))
    )
    with simulate(load_model(model), load_workload(str(path))) as run:
        assert run.summary["transactions"] == expected
        assert any("wide: its warps of 64" in one for one in run.warnings) == (
            config.sm.warp_size == 32
        )
        digest = run.digest
    record_trace(trace, tmp_path / "own.h5", trace.warp_size)
    with simulate(load_model(model), load_workload(str(tmp_path / "own.h5"))) as again:
        assert again.digest == digest


def test_traces_of_a_workload_file_say_so_too(tmp_path: Path) -> None:
    """Each application its own width; side caches hear nothing of warps that are cut."""
    save(tmp_path / "wide.npz", random_table(6))
    write(tmp_path / "narrow.traceg", header() + block([[LOAD, USE, EXIT]]))
    (tmp_path / "both.toml").write_text(
        "[[applications]]\ntrace = 'wide.npz'\n[[applications]]\ntrace = 'narrow.traceg'\n"
    )
    work = load_workload(str(tmp_path / "both.toml"))
    assert [spec.warp_size for spec in work.applications] == [64, 32]
    with simulate(load_model("tiny"), work) as run:
        (warning,) = (one for one in run.warnings if "warps of" in one)
        assert warning.startswith("wide: its warps of 64 threads are split into warps of 32 (sm.w")
    notice = width_notice(32, 64, ["scalar", "instruction"])
    assert (
        "warps of 64 (sm.warp_size), and its scalar, instruction caches see no accesses" in notice
    )

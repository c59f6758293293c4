"""The coalescer against a lane-by-lane oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, SIDE_OPS, LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from tests.examples import examples

LINES = [32, 64, 128, 256]
ADDRESSED = MEMORY_OPS | set(SIDE_OPS.values())


Lists = tuple[list[int], list[int], list[int], list[int]]
"""Kinds, arguments, lines and sectors of a segment."""


def coalesced(chunk: LaneChunk, line_bytes: int, covered: bool = False) -> list[Lists]:
    segments = coalesce(chunk, Coalescing(line_bytes, covered))
    return [(list(one.kinds), one.args, one.lines, one.sectors) for one in segments]


def naive(chunk: LaneChunk, line_bytes: int, covered: bool = False) -> list[Lists]:
    """One lane after the other."""
    segments = []
    for warp in range(chunk.active.shape[1]):
        segment: Lists = ([], [], [], [])
        kinds, args, lines, sectors = segment
        memory = 0
        for number, op in enumerate(chunk.kind.tolist()):
            arg = int(chunk.arg[number])
            touched: dict[int, int] = {}
            written: set[int] = set()
            if op in ADDRESSED:
                for address in chunk.address[memory, warp].tolist():
                    if address != INACTIVE:
                        line = address // line_bytes
                        sector = address % line_bytes // 32
                        touched[line] = touched.get(line, 0) | 1 << sector
                        written |= set(range(address, address + int(chunk.size[memory])))
                for line in touched:
                    for sector in range(line_bytes // 32):
                        first = line * line_bytes + 32 * sector
                        if covered and op == Op.STORE and written >= set(range(first, first + 32)):
                            touched[line] |= 1 << sector + 8
                memory += 1
                arg = len(touched)
            if chunk.active[number, warp]:
                kinds.append(op)
                args.append(arg)
                lines += touched
                sectors += touched.values()
        segments.append(segment)
    return segments


@st.composite
def chunks(draw: Any) -> LaneChunk:
    """Rows of the usual shapes (one line, strided, broadcast, scattered) with holes; also no
    instructions, none that accesses memory, rows without a lane, and rows in which none is active.
    """
    kinds = draw(st.lists(st.sampled_from(list(Op)), max_size=6))
    warps = draw(st.integers(1, 3))
    lanes = draw(st.sampled_from([0, 1, 4, 32, 64]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    active = generator.random((len(kinds), warps)) < 0.8
    rows = []
    sizes = []
    for number, op in enumerate(kinds):
        if op not in ADDRESSED:
            continue
        size = draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
        base = draw(st.sampled_from([0, 4096, (1 << 40) + 224]))
        stride = draw(st.sampled_from([0, 1, 2, 9, 32]))
        row = base + size * stride * np.tile(np.arange(lanes), (warps, 1))
        if draw(st.booleans()):
            row = base + size * generator.integers(0, 64, (warps, lanes))
        row = row // size * size
        row[generator.random(row.shape) < draw(st.sampled_from([0, 0.3, 0.95, 1]))] = INACTIVE
        row[~active[number]] = INACTIVE
        rows.append(row)
        sizes.append(size)
    return LaneChunk(
        np.array(kinds, dtype=np.uint8),
        generator.integers(0, 9, len(kinds)),
        active,
        np.array(rows, dtype=np.int64).reshape(len(rows), warps, lanes),
        np.array(sizes, dtype=np.int64),
    )


@settings(max_examples=examples(250), deadline=None)
@given(chunks(), st.sampled_from(LINES), st.booleans())
def test_against_the_lane_by_lane_oracle(chunk: LaneChunk, line_bytes: int, covered: bool) -> None:
    assert coalesced(chunk, line_bytes, covered) == naive(chunk, line_bytes, covered)


def load(*addresses: int) -> LaneChunk:
    return LaneChunk(
        np.array([Op.LOAD], dtype=np.uint8),
        np.zeros(1, dtype=np.int64),
        np.ones((1, 1), dtype=bool),
        np.array([[addresses]], dtype=np.int64),
        np.array([4]),
    )


@pytest.mark.parametrize(("line_bytes", "lines"), [(32, 4), (64, 2), (128, 1), (256, 1)])
def test_a_unit_stride_warp(line_bytes: int, lines: int) -> None:
    (segment,) = coalesce(load(*range(1024, 1024 + 128, 4)), Coalescing(line_bytes))
    assert segment.args == [lines]
    assert segment.lines == [1024 // line_bytes + i for i in range(lines)]
    assert sum(mask.bit_count() for mask in segment.sectors) == 4


def test_a_chunk_without_a_memory_operation_needs_no_lanes() -> None:
    chunk = LaneChunk(
        np.array([Op.COMPUTE, Op.BARRIER], dtype=np.uint8),
        np.array([7, 0]),
        np.array([[True, False], [True, True]]),
        np.zeros((0, 2, 0), dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
    assert coalesced(chunk, 128) == [
        ([Op.COMPUTE, Op.BARRIER], [7, 0], [], []),
        ([Op.BARRIER], [0], [], []),
    ]


def test_transactions_are_in_the_order_of_their_lowest_lanes() -> None:
    (segment,) = coalesce(load(INACTIVE, 512, 0, 520, 256, 0, 640 + 32), Coalescing(128))
    assert segment.lines == [4, 0, 2, 5]
    assert segment.sectors == [1, 1, 1, 2]

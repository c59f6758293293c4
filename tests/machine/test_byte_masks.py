"""L2 caches that follow the bytes that stores write: by hand, and against a naive one of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.core.errors import UserError
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import BYTES_SHIFT, COVERED_SHIFT, INACTIVE, LaneChunk, Op
from gpusim.files.units import Bytes
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.sectors import SectorBursts, SectoredQueues
from gpusim.hardware.dram.waiting import Waiting
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.machine.load import load_model
from tests.examples import examples
from tests.machine.bench import Run, change
from tests.machine.test_latency import BASE
from tests.machine.test_sectored_l2 import SECTORED, accesses, launches, sector, sectors

MASKED = change(SECTORED, l2={"byte_masks": True})
FIRST, SECOND = sector(0)[:4], sector(0)[4:]
"""The halves of a sector."""


def completed(run: Run) -> int:
    return run.count("l2", "completed")


def test_two_halves_are_a_sector() -> None:
    run = launches(MASKED, ("store", *FIRST), ("store", *SECOND), ("load", BASE))
    assert (sectors(run), completed(run)) == ((0, 0), 1)
    run = launches(SECTORED, ("store", *FIRST), ("store", *SECOND), ("load", BASE))
    assert sectors(run) == (1, 0)


def test_halves_that_overlap_are_none() -> None:
    run = launches(MASKED, ("store", *FIRST), ("store", *sector(0)[1:5]), ("load", BASE))
    assert (sectors(run), completed(run)) == ((1, 0), 0)


def test_a_load_of_bytes_that_are_there_fetches_their_sector_all_the_same() -> None:
    run = launches(MASKED, ("store", *FIRST), ("load", BASE), ("store", BASE), ("load", BASE))
    assert (sectors(run), completed(run)) == ((1, 0), 0)


def test_what_was_evicted_begins_anew() -> None:
    """One set of one way: another line comes between the halves."""
    config = change(MASKED, l2={"size": Bytes(128), "ways": 1})
    run = launches(
        config, ("store", *FIRST), ("load", BASE + 128), ("store", *SECOND), ("load", BASE)
    )
    assert (sectors(run), completed(run)) == ((2, 1), 0)


def test_a_whole_line_may_be_the_sector() -> None:
    config = change(MASKED, l2={"sector": Bytes(128)})
    parts = [("store", *sector(2 * half), *sector(2 * half + 1)) for half in (0, 1)]
    run = launches(config, *parts, ("load", BASE))
    assert (sectors(run), completed(run)) == ((0, 0), 4)
    assert sectors(launches(config, parts[0], ("load", BASE))) == (4, 0)


class NaiveBytes:
    """One set of lines, the least recently used first; of each the words that are there."""

    def __init__(self, ways: int, sector: int) -> None:
        self.ways, self.words = ways, sector // 4
        self.lines: dict[int, tuple[set[int], set[int]]] = {}
        self.fetched = self.written = 0

    def access(self, kind: str, addresses: list[int]) -> None:
        touched: dict[int, set[int]] = {}
        for address in addresses:
            touched.setdefault(address // 128, set()).add(address % 128 // 4)
        for line, words in touched.items():
            there, dirty = self.lines.pop(line, (set(), set()))
            for part in {word // self.words for word in words}:
                whole = set(range(part * self.words, (part + 1) * self.words))
                if kind != "store" and not whole <= there:
                    self.fetched += self.words // 8
                    there |= whole
                if kind != "load":
                    dirty.add(part)
            there |= words
            if len(self.lines) == self.ways:
                _, gone = self.lines.pop(next(iter(self.lines)))
                self.written += len(gone) * self.words // 8
            self.lines[line] = there, dirty


@settings(max_examples=examples(60), deadline=None)
@given(accesses(), st.sampled_from([32, 64, 128]), st.sampled_from([1, 2]))
def test_against_the_naive_cache(steps: list[tuple[str, list[int]]], size: int, ways: int) -> None:
    config = change(MASKED, l2={"sector": Bytes(size), "ways": ways, "size": Bytes(128 * ways)})
    run = launches(config, *[(kind, *where) for kind, where in steps])
    naive = NaiveBytes(ways, size)
    for kind, where in steps:
        naive.access(kind, where)
    assert sectors(run) == (naive.fetched, naive.written)


@st.composite
def stores(draw: Any) -> LaneChunk:
    """Stores of two warps, none of whose lanes crosses a sector."""
    size = draw(st.sampled_from([1, 2, 4, 8]))
    count = draw(st.integers(1, 3))
    place = st.one_of(st.just(INACTIVE), st.integers(0, 511 // size).map(lambda at: at * size))
    lanes = draw(st.lists(place, min_size=count * 2 * 32, max_size=count * 2 * 32))
    return LaneChunk(
        np.full(count, Op.STORE, dtype=np.uint8),
        np.zeros(count, dtype=np.int64),
        np.ones((count, 2), dtype=bool),
        np.array(lanes).reshape(count, 2, 32),
        np.full(count, size),
    )


@given(stores(), st.sampled_from([32, 64, 128, 256]))
def test_masks_are_the_bytes_of_lanes(chunk: LaneChunk, line: int) -> None:
    for warp, segment in enumerate(
        coalesce(chunk, Coalescing(line, covered=True, byte_masks=True))
    ):
        told = iter(zip(segment.lines, segment.sectors, strict=True))
        for operation, transactions in enumerate(segment.args):
            size = int(chunk.size[operation])
            written = {
                int(address) + byte
                for address in chunk.address[operation, warp]
                if address != INACTIVE
                for byte in range(size)
            }
            for _ in range(transactions):
                number, mask = next(told)
                for part in range(line // 32):
                    base = number * line + 32 * part
                    own = {base + byte for byte in range(32)} & written
                    assert bool(mask >> part & 1) == bool(own)
                    assert bool(mask >> COVERED_SHIFT + part & 1) == (len(own) == 32)
                    bits = mask >> BYTES_SHIFT + 32 * part & 0xFFFFFFFF
                    expected = 0 if len(own) == 32 else sum(1 << byte - base for byte in own)
                    assert bits == expected


def test_a_write_of_some_bytes_moves_its_sector_but_answers_no_read() -> None:
    partial = 0b11 | 0b10 << COVERED_SHIFT
    write = MemoryRequest(Kind.WRITEBACK, 0, 0, 0, 0, 128, -1, partial, 0, None, IntList())
    assert SectorBursts(Bytes(32)).take_in(write, DramCounters()) == 2
    queues = SectoredQueues(GDDR5, AddressMapping(GDDR5).banks)
    queues.add(Waiting(write, 0, 0, True, 1, 0), 0)
    for place, waits in ((0b01, False), (0b10, True)):
        read = MemoryRequest(Kind.LOAD, 0, 0, 0, 0, 128, -1, place, 0, None, IntList())
        assert queues.add(Waiting(read, 0, 0, False, 1, 0), 0) == waits


def test_masks_need_sectors() -> None:
    with pytest.raises(UserError, match=r"l2\.byte_masks = True: needs l2\.sector"):
        load_model("tiny", [], {"l2.byte_masks": True})


FILLED = change(MASKED, l2={"partial_writes": "fill", "size": Bytes(128), "ways": 1})
"""One line: what leaves it in part is read before it is written."""


def test_what_leaves_in_part_is_read_first() -> None:
    run = launches(FILLED, ("store", *FIRST, *sector(1)), ("load", BASE + 128))
    assert (run.count("l2", "partial_lines"), run.count("l2", "partial_sectors")) == (1, 1)
    assert sectors(run) == (2, 2)
    assert run.count("l2", "fills") == run.count("dram", "data_reads") == 2
    plain = change(FILLED, l2={"partial_writes": None})
    run = launches(plain, ("store", *FIRST, *sector(1)), ("load", BASE + 128))
    assert sectors(run) == (1, 2)


def test_what_leaves_whole_is_only_written() -> None:
    run = launches(FILLED, ("store", *FIRST), ("store", *SECOND), ("load", BASE + 128))
    assert run.count("l2", "partial_lines") == 0
    assert sectors(run) == (1, 1)


@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["store", "load"]), st.integers(0, 63)), min_size=1, max_size=24
    )
)
def test_each_sector_that_leaves_in_part_is_read_once(steps: list[tuple[str, int]]) -> None:
    """Beside the fetches of the same cache without it; conservation is checked in each run."""
    places = [(kind, BASE + 4 * (word + 24 * (word > 31))) for kind, word in steps]
    filled = launches(FILLED, *places)
    plain = launches(change(FILLED, l2={"partial_writes": None}), *places)
    partial = filled.count("l2", "partial_sectors")
    assert sectors(filled)[0] - sectors(plain)[0] == partial
    assert sectors(filled)[1] == sectors(plain)[1]
    assert filled.count("l2", "writebacks") == plain.count("l2", "writebacks")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"l2.partial_writes": "fill"}, r"l2\.partial_writes.*needs l2\.byte_masks = true"),
        ({"l2.partial_writes": "read"}, r"l2\.partial_writes.*'read'"),
    ],
)
def test_partial_writes_need_byte_masks(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_model("h100", overrides=overrides)

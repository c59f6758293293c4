"""What skipping leaves in TLBs and caches, against a reference that takes one access at a time."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.request import Kind
from gpusim.core.warp_program import (
    COVERED_SHIFT,
    INACTIVE,
    MEMORY_OPS,
    SECTOR_BYTES,
    SECTORS,
    LaneChunk,
)
from gpusim.hardware.sm.coalescer import KIND_OF_OP, lanes_that_cover
from gpusim.hardware.sm.in_step import Part
from gpusim.hardware.sm.skipped_accesses import touched_by
from gpusim.hardware.sm.skipping import SkippingScheduler
from gpusim.hardware.sm.warp import SkippedBlock
from gpusim.machine import Machine
from gpusim.machine.skipping import SkipFirst
from gpusim.machine.warming import prepare_warming
from gpusim.simulate import assign_sms
from gpusim.simulate import run as run_machine

BASE = 1 << 40

Access = tuple[int, int, int]
"""Line, kind, sectors."""


def accesses(chunk: LaneChunk, line_bytes: int, covered: bool) -> dict[int, list[Access]]:
    """By warp number, what its lanes access, one after the other; and by instruction in each."""
    covers = lanes_that_cover(chunk) if covered else np.zeros(chunk.address.shape, dtype=bool)
    memory = [kind for kind in chunk.kind.tolist() if kind in MEMORY_OPS]
    found: dict[int, list[Access]] = {}
    for row, kind in enumerate(memory):
        for warp in range(chunk.address.shape[1]):
            for lane, address in enumerate(chunk.address[row, warp].tolist()):
                if address == INACTIVE:
                    continue
                bit = 1 << address % line_bytes // SECTOR_BYTES
                if covers[row, warp, lane]:
                    bit |= bit << COVERED_SHIFT
                access = (address // line_bytes, KIND_OF_OP[kind], bit)
                found.setdefault(row << 32 | warp, []).append(access)
    return found


def joined(chunk: LaneChunk, line_bytes: int, covered: bool, blocks: int) -> list[list[Access]]:
    """By block, each line and kind once, where it is accessed for the last time."""
    of: list[dict[tuple[int, int], int]] = [{} for _ in range(blocks)]
    warps = chunk.active.shape[1] // blocks
    for key, some in accesses(chunk, line_bytes, covered).items():
        lines = of[(key & (1 << 32) - 1) // warps]
        for line, kind, bit in some:
            lines[line, kind] = lines.pop((line, kind), 0) | bit
    return [[(line, kind, sectors) for (line, kind), sectors in lines.items()] for lines in of]


@st.composite
def chunks(draw: Callable[[Any], Any]) -> LaneChunk:
    rows, warps = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    kinds = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 7]), min_size=rows, max_size=rows))
    memory = sum(kind in MEMORY_OPS for kind in kinds)
    seed, spread = draw(st.integers(0, 999)), draw(st.sampled_from([8, 64, 4096, 1 << 60]))
    rng = np.random.default_rng(seed)
    address = BASE + 4 * rng.integers(0, spread, (memory, warps, 8))
    address[rng.random(address.shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = INACTIVE
    return LaneChunk(
        np.array(kinds, dtype=np.uint8), np.zeros(rows, dtype=np.int64),
        np.ones((rows, warps), dtype=bool), address, np.full(memory, 4),
    )  # fmt: skip


@given(chunk=chunks(), covered=st.booleans(), line=st.sampled_from([32, 128]))
@settings(max_examples=60, deadline=None)
def test_a_block_touches_each_line_where_it_is_used_last(
    chunk: LaneChunk, covered: bool, line: int
) -> None:
    for blocks in {1, 2, 4} & {1, chunk.active.shape[1]}:
        touched = touched_by(chunk, line, covered, blocks)
        found = [list(zip(one.lines, one.kinds, one.sectors, strict=True)) for one in touched]
        assert found == joined(chunk, line, covered, blocks)


# -- whole machines --------------------------------------------------------------------------------


class OneByOne:
    """Warms a machine by one access at a time, with nothing but what its arrays do."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.config = machine, machine.config
        self.page_shift = self.config.memory.page.bit_length() - 1
        sectors = self.config.l1.sector // SECTOR_BYTES
        places = range(0, self.config.l1.line // SECTOR_BYTES, sectors)
        self.groups = [(1 << sectors) - 1 << place for place in places]
        self.line_shift = self.config.l1.line.bit_length() - 1

    def warm(self, block: SkippedBlock, chunk: LaneChunk) -> None:
        """Let a block's piece pass."""
        (piece,) = joined(chunk, self.config.l1.line, self.config.knows_covered, 1)
        point = self.machine.sms[block.sm].lsu.point
        if self.config.l1.translation == "after":
            self._after(point, block, piece)
            return
        base = self._pages(point, block, [line for line, _, _ in piece])
        for line, kind, bits in piece:
            name = base[self._page(line)] + line
            fetched = self._l1(point._l1, name, kind, bits)
            if fetched:
                self._l2(point, name, kind, fetched, block.app)

    def _after(self, point: Any, block: Any, piece: list[Access]) -> None:
        left = []
        for line, kind, bits in piece:
            fetched = self._l1(point._l1, block.asid_tag | line, kind, bits)
            if fetched:
                left.append((line, kind, fetched))
        base = self._pages(point, block, [line for line, _, _ in left])
        for line, kind, bits in left:
            self._l2(point, base[self._page(line)] + line, kind, bits, block.app)

    def _page(self, line: int) -> int:
        return line >> self.page_shift - self.line_shift

    def _pages(self, point: Any, block: Any, lines: list[int]) -> dict[int, int]:
        order: dict[int, None] = {}
        for line in lines:
            order.pop(self._page(line), None)
            order[self._page(line)] = None
        shift = self.page_shift - self.line_shift
        return {
            page: point._tlb.warm(block.asid_tag | page, block).delta << shift for page in order
        }

    def _l1(self, l1: Any, name: int, kind: int, bits: int) -> int:
        """What of an access goes on to the L2 cache."""
        array, stores, wanted = l1.array, self.config.l1.writes, bits & SECTORS
        if kind == Kind.LOAD:
            missing = array.missing(name, wanted)
            fetched = sum(group for group in self.groups if group & missing)
            if fetched:
                array.fill(name, fetched)
            return fetched
        if kind != Kind.STORE or stores == "evict":
            array.remove(name)
        else:
            array.missing(name, 0)
        whole = bits >> COVERED_SHIFT
        kept = sum(group for group in self.groups if group & whole == group)
        if kind == Kind.STORE and stores == "allocate" and kept & ~array.state(name):
            array.fill(name, kept)
        return bits

    def _l2(self, point: Any, line: int, kind: int, bits: int, app: int) -> None:
        point.warm_behind.warm(line << self.line_shift, bits, kind, app)


class Reference(SkippingScheduler):
    """Skips one access at a time."""

    def _pass(self, block: SkippedBlock, part: Part) -> None:
        assert isinstance(self.pace, SkipForReference)
        self.pace.by[0].warm(block, part.chunk())


@frozen
class SkipForReference(SkipFirst):
    by: list[OneByOne] = field(factory=list)

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return Reference


def contents(machine: Machine) -> Iterator[object]:
    """Everything that TLBs, caches and the page table hold, in order of replacement."""
    for levels in machine.tlbs.values():
        for level in levels:
            yield [
                [(tag, one.pfn) for tag, one in part.items()]
                for part in cast("Any", level.array)._plain
            ]
    for l1 in machine.l1s:
        yield [list(lines.items()) for lines in l1.array._sets]
    for bank in machine.systems[0].banks:
        for array in dict.fromkeys(bank.arrays.values()):
            yield [list(lines.items()) for lines in array._sets]
    yield machine.page_table.mapped_pages


def skipped(
    overrides: dict[str, object], workload: str, settings_: dict[str, object], naive: bool
) -> list[object]:
    loaded = gpusim.load_model("tiny", (), {"l1.at_launch": "keep", **overrides})
    tenants = assign_sms(loaded, gpusim.load_workload(workload, "smoke", overrides=settings_))
    pace = SkipForReference(9, "launches") if naive else SkipFirst(9, "launches")
    machine = Machine(loaded.config, tenants, 0, pace)
    prepare_warming(machine)
    if isinstance(pace, SkipForReference):
        pace.by.append(OneByOne(machine))
    run_machine(machine)
    return list(contents(machine))


MACHINES: dict[str, dict[str, object]] = {
    "before": {},
    "parallel": {"l1.translation": "parallel"},
    "after": {"l1.translation": "after"},
    "stores take lines away": {"l1.writes": "evict"},
    "stores leave lines": {"l1.writes": "allocate", "l1.sector": "32B", "l2.sector": "32B"},
    "sectors": {"l1.sector": "32B", "l2.sector": "32B"},
    "fifo": {"l1.replacement": "fifo", "l2.replacement": "fifo", "tlb.L1.replacement": "fifo"},
    "plru": {"l1.replacement": "plru", "l2.replacement": "srrip"},
    "hashed": {"l1.hash": "xor"},
}
"""Small machines of each kind of path to the L2 cache."""

PROGRAMS: dict[str, dict[str, object]] = {
    "mvt": {"n": 256, "iterations": 24},
    "pagerank": {"graph.vertices": 700},
    "gups": {"threads": 1024, "updates": 3},
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", MACHINES)
def test_contents_are_those_of_a_reference(kind: str, name: str) -> None:
    found, expected = (
        skipped(MACHINES[kind], name, PROGRAMS[name], naive) for naive in (False, True)
    )
    assert found == expected
    assert found[-1]

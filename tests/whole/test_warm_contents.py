"""What skipping leaves in TLBs and caches, against a reference that takes one access at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import Kind
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import (
    COVERED_SHIFT,
    INACTIVE,
    MEMORY_OPS,
    SECTOR_BYTES,
    SECTORS,
    SIDE_OPS,
    LaneChunk,
    Op,
    Segment,
)
from gpusim.hardware.sm.coalescer import KIND_OF_OP, lanes_that_cover
from gpusim.hardware.sm.untimed import last_touches, warm_up
from gpusim.hardware.sm.untimed.accesses import KIND_BITS, touched_by, touched_in
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.hardware.sm.warp import SkippedBlock
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine import Machine
from gpusim.runs.run import run_machine
from gpusim.runs.skipping import SkipFirst
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from tests.examples import examples
from tests.quick import quick

BASE = 1 << 40
KINDS = (1 << KIND_BITS) - 1

Access = tuple[int, int, int]
"""Line, kind, sectors."""

Line = tuple[int, int]
"""The partition that is asked for it, and its name."""

Page = tuple[int, int, int]
"""Position of the SM, block slot if that matters, page."""


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


def last_uses(touches: Iterable[tuple[object, int]]) -> dict[object, int]:
    """Each thing once, where it is last, with all its bits."""
    found: dict[object, int] = {}
    for what, bits in touches:
        found[what] = found.pop(what, 0) | bits
    return found


def by_block(chunk: LaneChunk, line_bytes: int, covered: bool, blocks: int) -> list[list[Access]]:
    """By block, what its lanes access, one after the other."""
    of: list[list[Access]] = [[] for _ in range(blocks)]
    warps = chunk.active.shape[1] // blocks
    for key, some in accesses(chunk, line_bytes, covered).items():
        of[(key & (1 << 32) - 1) // warps] += some
    return of


@st.composite
def chunks(draw: Callable[[Any], Any]) -> LaneChunk:
    rows, warps = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    kinds = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 7]), min_size=rows, max_size=rows))
    memory = sum(kind in MEMORY_OPS for kind in kinds)
    seed, spread = draw(st.integers(0, 999)), draw(st.sampled_from([8, 64, 4096, 1 << 60]))
    rng = np.random.default_rng(seed)
    address = BASE + 4 * rng.integers(0, spread, (memory, warps, 8))
    address[rng.random(address.shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = INACTIVE
    active = np.ones((rows, warps), dtype=bool)
    active[[kind in MEMORY_OPS for kind in kinds]] = (address != INACTIVE).any(axis=2)
    return LaneChunk(
        np.array(kinds, dtype=np.uint8),
        np.zeros(rows, dtype=np.int64),
        active,
        address,
        np.full(memory, 4),
    )


@given(
    chunk=chunks(), covered=st.booleans(), line=st.sampled_from([32, 128]), sectors=st.booleans()
)
@settings(max_examples=examples(320), deadline=None)
def test_a_block_touches_each_line_where_it_is_used_last(
    chunk: LaneChunk, covered: bool, line: int, sectors: bool
) -> None:
    grain, covered = (SECTOR_BYTES, covered) if sectors else (line, False)
    for blocks in {1, 2, 4} & {1, chunk.active.shape[1]}:
        touched = touched_by(chunk, line, grain, covered, blocks)
        for number, expected in enumerate(by_block(chunk, line, covered, blocks)):
            names, bits = touched.of(number).tolist()
            found = last_uses(zip(names, bits, strict=True))
            lines = last_uses((one << KIND_BITS | kind, bit) for one, kind, bit in expected)
            if grain == line:
                lines = dict.fromkeys(lines, (1 << line // SECTOR_BYTES) - 1)
            assert list(found.items()) == list(lines.items())


@given(
    ops=st.lists(st.tuples(st.sampled_from(list(Op)), st.integers(0, 3)), max_size=8),
    seed=st.integers(0, 99),
)
def test_a_segment_touches_what_its_memory_operations_do(
    ops: list[tuple[Op, int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    expected, lines, sectors = [], [], []
    for op, count in ops:
        if op in MEMORY_OPS or op in SIDE_OPS.values():
            for line, bits in rng.integers(1, 16, (count, 2)).tolist():
                lines.append(line)
                sectors.append(bits)
                if op in MEMORY_OPS:
                    expected.append((line << KIND_BITS | KIND_OF_OP[op], bits))
    kinds, args = bytes(op for op, _ in ops), [count for _, count in ops]
    names, bits = touched_in(Segment(kinds, args, IntList(lines), sectors, [], [])).tolist()
    assert list(zip(names, bits, strict=True)) == expected


# -- whole machines --------------------------------------------------------------------------------


class OneByOne:
    """Warms a machine by one access at a time, with nothing but what its arrays do."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.config = machine, machine.config
        self.page_lines = self.config.memory.page // self.config.l1.line
        sectors = self.config.l1.sector // SECTOR_BYTES
        places = range(0, self.config.l1.line // SECTOR_BYTES, sectors)
        self.groups = [(1 << sectors) - 1 << place for place in places]
        self.line_shift = self.config.l1.line.bit_length() - 1
        self.space = machine.schedulers[0].asid << ASID_SHIFT
        self.by_slot = self.config.tlb["L1"].array.policy == "tb-partitioned"

    def warm(self, touches: Sequence[tuple[SkippedBlock, int, int]]) -> None:
        """Let what blocks touched pass: of each the block, its name, and sectors."""
        table, asid = self.machine.page_table, self.machine.schedulers[0].asid
        base = {}
        for _, name, _ in touches:
            page = (name >> KIND_BITS) // self.page_lines
            if page not in base:
                base[page] = table.walk(asid, page).mapping.delta * self.page_lines
        self._fill_l1s(touches, base)
        homes = {id(block): block for block, _, _ in touches}
        named = [(self._part(block, name), name) for block, name, _ in touches]
        lines = last_uses((one, bits) for one, (_, _, bits) in zip(named, touches, strict=True))
        at = {one: place for place, one in enumerate(named)}
        pages = {
            (
                block.home,
                block.slot if self.by_slot else 0,
                (name >> KIND_BITS) // self.page_lines,
            ): (place, id(block))
            for place, (block, name, _) in enumerate(touches)
        }
        pages = self._in_tlbs(pages)
        events = [(at[cast("Line", one)], 1, one, bits) for one, bits in lines.items()]
        events += [(place, 0, page, of) for (_, _, page), (place, of) in pages.items()]
        kept = list(last_uses((cast("Line", one)[1] >> KIND_BITS, 0) for one in lines))
        kept = kept[-2 * self.machine.config.l2.size // self.config.l1.line :]
        for _, is_line, what, more in sorted(events, key=lambda one: one[:2]):
            if is_line and cast("Line", what)[1] >> KIND_BITS in kept:
                self._l2(*cast("Line", what), more, base)
            elif not is_line:
                block = homes[more]
                self._point(block).tlb.warm(self.space | cast("int", what), block)

    def _in_tlbs(self, pages: dict[Page, tuple[int, int]]) -> dict[Page, tuple[int, int]]:
        """The last ones of each SM, and the last use of each page."""
        if self.by_slot:
            return pages
        last = sorted(pages, key=lambda page: pages[page])
        most, kept = 2 * self.config.tlb["L1"].entries, {page[2]: page for page in last}
        of = {home: [page for page in last if page[0] == home] for home, _, _ in last}
        chosen = {*kept.values(), *(page for some in of.values() for page in some[-most:])}
        return {page: pages[page] for page in chosen}

    def _point(self, block: SkippedBlock) -> Any:
        return self.machine.sms[block.sm].lsu.point

    def _fill_l1s(
        self, touches: Sequence[tuple[SkippedBlock, int, int]], base: dict[int, int]
    ) -> None:
        most = 2 * self.config.l1.size // self.config.l1.line
        for home in {block.home for block, _, _ in touches}:
            here = [(block, name, bits) for block, name, bits in touches if block.home == home]
            block = here[0][0]
            for name, bits in list(last_uses((one[1:]) for one in here).items())[-most:]:
                line, kind = cast("int", name) >> KIND_BITS, cast("int", name) & KINDS
                virtual = self.config.l1.translation == "after"
                asked = self.space | line if virtual else base[line // self.page_lines] + line
                self._l1(self._point(block).l1, asked, kind, bits)

    def _l1(self, l1: Any, name: int, kind: int, bits: int) -> None:
        array, stores, wanted = l1.array, self.config.l1.writes, bits & SECTORS
        if kind == Kind.LOAD:
            missing = array.missing(name, wanted)
            fetched = sum(group for group in self.groups if group & missing)
            if fetched:
                array.fill(name, fetched)
            return
        if kind != Kind.STORE or stores == "evict":
            array.remove(name)
        else:
            array.missing(name, 0)
        whole = bits >> COVERED_SHIFT
        kept = sum(group for group in self.groups if group & whole == group)
        if kind == Kind.STORE and stores == "allocate" and kept & ~array.state(name):
            array.fill(name, kept)

    def _part(self, block: SkippedBlock, name: int) -> int:
        """The partition whose bank is asked, where that is another one than the line's home."""
        if self.config.l2.copies is None or name & KINDS != Kind.LOAD:
            return 0
        return self.machine.systems[0].domain.partitions.of_sm[block.sm]

    def _l2(self, part: int, name: int, bits: int, base: dict[int, int]) -> None:
        line, kind = name >> KIND_BITS, name & KINDS
        if kind == Kind.LOAD:
            bits = sum(group for group in self.groups if group & bits)
        address = base[line // self.page_lines] + line << self.line_shift
        system = self.machine.systems[0]
        name = address >> system.banks[0].lines.shift
        bank = name % len(system.banks) if system.hashing is None else system.hashing.part(name)
        if self.config.l2.copies is None:
            system.banks[bank].warm(address, bits, kind, 0)
            return
        each = len(system.banks) // 2
        twins = [system.banks[bank % each], system.banks[bank % each + each]]
        home = twins.pop(bank // each)
        if kind != Kind.LOAD:
            twins[0].lines.arrays[0].remove(name)
        elif part != bank // each:
            missing = twins[0].lines.arrays[0].missing(name, bits)
            twins[0].warm(address, bits, kind, 0)
            if not missing:
                return
            bits = missing
        home.warm(address, bits, kind, 0)


class Reference(SkippingScheduler):
    """Skips one access at a time."""

    def _touches(self, block: SkippedBlock, touches: Any) -> None:
        assert isinstance(self.pace, SkipForReference)
        self.pace.seen.extend((block, name, bits) for name, bits in touches.T.tolist())

    def _pass_all(self, ended: bool) -> None:
        assert isinstance(self.pace, SkipForReference)
        self.pace.by[0].warm(self.pace.seen)
        self.pace.seen.clear()


@frozen
class SkipForReference(SkipFirst):
    by: list[OneByOne] = field(factory=list)
    seen: list[tuple[SkippedBlock, int, int]] = field(factory=list)

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return Reference


def contents(machine: Machine) -> Iterator[object]:
    """Everything that TLBs, caches and the page table hold, in order of replacement."""
    for levels in machine.tlbs.values():
        for level in levels:
            array = cast("Any", level.array)
            if isinstance(level.array, SetAssociativeArray):
                yield [
                    [(tag, array.peek(tag, 0).pfn) for tag in array.beside(index)]
                    for index in range(len(array._sets))
                ]
            else:
                yield [
                    [(tag, one.pfn) for tag, one in part.entries.items()] for part in array._sets
                ]
    for l1 in machine.l1s:
        yield [(line, l1.array.state(line)) for line in l1.array.lines()]
    for bank in machine.systems[0].banks:
        for array in dict.fromkeys(bank.arrays.values()):
            yield [(line, array.state(line)) for line in array.lines()]
    yield machine.page_table.mapped_pages


def skipped(
    overrides: dict[str, object], workload: str, settings_: dict[str, object], naive: bool
) -> list[object]:
    pace = SkipForReference(9, "launches") if naive else SkipFirst(9, "launches")
    return contents_after(overrides, workload, settings_, pace)


def contents_after(
    overrides: dict[str, object], workload: str, settings_: dict[str, object], pace: SkipFirst
) -> list[object]:
    loaded = gpusim.load_model("tiny", (), {"l1.at_launch": "keep", **overrides})
    tenants = assign_sms(loaded, gpusim.load_workload(workload, "smoke", overrides=settings_))
    machine = Machine(loaded.config, tenants, 0, pace)
    prepare_warming(machine)
    if isinstance(pace, SkipForReference):
        pace.by.append(OneByOne(machine))
    run_machine(machine)
    return list(contents(machine))


COPIES = {"l2.partitions": 2, "l2.copies": "reads", "l2.far": "20 cycles"}
MACHINES: dict[str, dict[str, object]] = {
    "before": {},
    "parallel": {"l1.translation": "parallel"},
    "after": {"l1.translation": "after"},
    "stores take lines away": {"l1.writes": "evict"},
    "stores leave lines": {"l1.writes": "allocate", "l1.sector": "32B", "l2.sector": "32B"},
    "sectors": {"l1.sector": "32B", "l2.sector": "32B"},
    "copies": {**COPIES},
    "copies of sectors": {**COPIES, "l1.sector": "32B", "l2.sector": "32B"},
    "byte masks": {"l1.sector": "32B", "l2.sector": "32B", "l2.byte_masks": True},
    "fifo": {"l1.replacement": "fifo", "l2.replacement": "fifo", "tlb.L1.replacement": "fifo"},
    "plru": {"l1.replacement": "plru", "l2.replacement": "srrip"},
    "hashed": {"l1.hash": "xor"},
    "by block slots": {"tlb.L1.array": "tb-partitioned"},
    "large pages": {"memory.page": "64KiB"},
}
"""Small machines of each kind of path to the L2 cache."""

PROGRAMS: dict[str, dict[str, object]] = {
    "mvt": {"n": 256, "iterations": 24},
    "pagerank": {"graph.vertices": 700},
    "gups": {"threads": 1024, "updates": 3},
}


ALL = list(product(MACHINES, PROGRAMS))
QUICK = [one for one in ALL if one[1] == "gups" or one[0] == next(iter(MACHINES))]


@pytest.mark.parametrize(("kind", "name"), quick(ALL, *QUICK))
def test_contents_are_those_of_a_reference(kind: str, name: str) -> None:
    found, expected = (
        skipped(MACHINES[kind], name, PROGRAMS[name], naive) for naive in (False, True)
    )
    assert found == expected
    assert found[-1]


class Weighed(SkippingScheduler):
    """Tells how long logs are at their end."""

    def _pass_all(self, ended: bool) -> None:
        assert isinstance(self.pace, SkipAndWeigh)
        if self._log is not None:
            self._log.join()
            self.pace.lengths.append(len(self._log.names))
        super()._pass_all(ended)


@frozen
class SkipAndWeigh(SkipFirst):
    lengths: list[int] = field(factory=list)

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return Weighed


def test_a_long_log_is_made_shorter_and_keeps_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, object] = {"l2.size": "8KiB"}

    def weighed() -> tuple[int, list[object]]:
        pace = SkipAndWeigh(9, "launches")
        found = contents_after(small, "gups", PROGRAMS["gups"], pace)
        return sum(pace.lengths), found

    length, once = weighed()
    monkeypatch.setattr(warm_up, "_LONG", 1)
    monkeypatch.setattr(last_touches, "_PIECES", 4)
    for batch in (1 << 20, 64):
        monkeypatch.setattr(last_touches, "_BATCH", batch)
        shorter, found = weighed()
        assert shorter < length / 2
        assert found == once

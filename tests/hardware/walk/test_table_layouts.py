"""Page tables that are no radix tree: where entries lie after any changes, and what walks read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import (
    ElasticCuckooTable,
    FirstTouchFrames,
    FlattenedTable,
    HashedTable,
    Memory,
    PageTable,
    RangeTable,
    Step,
    TableLayout,
    TableSite,
)
from gpusim.machine.load import load_model
from tests.examples import examples
from tests.hardware.walk.walkers_bench import Bench, table_site

PAGE, REGION = 4096, 1 << 28
SIZES = (1, 16, 512)
LINE = 64
A, B = 0x1000, 0x2001

Change = tuple[int, int, int, int]
"""Address space, page, size and frame."""

changes = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 4000), st.sampled_from(SIZES), st.integers(0, 1 << 14)
    ),
    max_size=examples(150),
)


def fresh(frames: int = 4096) -> TableSite:
    memory = Memory(PAGE, REGION, FirstTouchFrames(frames, 0))
    return table_site(memory)


def changed(layout: TableLayout, wanted: Sequence[Change]) -> list[Mapping]:
    """Map the pages that are free, and unmap those that are mapped; returns what is mapped."""
    mapped: dict[int, Mapping] = {}
    for asid, vpn, pages, frame in wanted:
        tag = asid << ASID_SHIFT | vpn // pages * pages
        there = {id(mapped[one]): mapped[one] for one in range(tag, tag + pages) if one in mapped}
        for mapping in there.values():
            layout.unmapped(mapping)
            for one in range(mapping.tag, mapping.tag + mapping.pages):
                del mapped[one]
        if not there:
            new = Mapping(tag, frame // pages * pages, pages)
            layout.mapped(new)
            mapped.update(dict.fromkeys(range(tag, tag + pages), new))
    return list({id(one): one for one in mapped.values()}.values())


def clusters(mapped: Sequence[Mapping]) -> dict[tuple[int, int], list[Mapping]]:
    """Pages that share a slot: eight neighbours of a size."""
    found: dict[tuple[int, int], list[Mapping]] = {}
    for one in mapped:
        found.setdefault((one.pages, one.tag // one.pages // 8), []).append(one)
    return found


def last(layout: TableLayout, mapping: Mapping) -> Step:
    return layout.steps(mapping.tag + mapping.pages // 2, mapping)[-1]


@pytest.mark.parametrize("make", [HashedTable, ElasticCuckooTable])
@settings(max_examples=examples(60), deadline=None)
@given(changes)
def test_each_slot_has_eight_pages(make: Callable[..., TableLayout], wanted: list[Change]) -> None:
    layout = make(fresh())
    mapped = changed(layout, wanted)
    places = {}
    for key, pages in clusters(mapped).items():
        addresses = {last(layout, page).address for page in pages}
        assert len(addresses) == 1
        places[key] = addresses.pop()
        assert places[key] % LINE == 0
    assert len(set(places.values())) == len(places), "two slots in one place"


@settings(max_examples=examples(60), deadline=None)
@given(changes)
def test_a_hashed_walk_goes_from_slot_to_slot_until_it_finds_the_page(wanted: list[Change]) -> None:
    layout = HashedTable(fresh(128), load=0.25)  # 64 slots, so that many collide
    wanted = [(0, vpn % 256, 1, frame) for _, vpn, _, frame in wanted]
    taken = {last(layout, one).address for one in changed(layout, wanted)}
    for mapping in clusters(changed(HashedTable(fresh()), wanted)).values():
        steps = layout.steps(mapping[0].tag, mapping[0])
        addresses = [step.address for step in steps]
        assert addresses[-1] in taken
        assert all(
            after - before in (LINE, LINE - 64 * LINE) for before, after in pairwise(addresses)
        )
        home = layout.steps(mapping[0].tag, None)[0].address
        assert addresses[0] == home, "where a walk begins depends on the page alone"


def test_a_hash_table_that_is_full() -> None:
    layout = HashedTable(fresh(64), load=1.0)
    for number in range(8):
        layout.mapped(Mapping(8 * number, number))
    with pytest.raises(UserError, match=r"all 8 slots.*memory\.table\.load"):
        layout.mapped(Mapping(64, 9))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 1 << 20), max_size=examples(300)), st.sampled_from([2, 3, 4]))
def test_a_cuckoo_table_grows_bit_by_bit_and_loses_nothing(numbers: list[int], ways: int) -> None:
    layout = ElasticCuckooTable(fresh(), ways=ways, slots=4)
    there: dict[int, Mapping] = {}
    for number in numbers:
        mapping = there.pop(number, None)
        if mapping is not None:
            layout.unmapped(mapping)
        else:
            there[number] = mapping = Mapping(8 * number, number)
            layout.mapped(mapping)
        for one in there.values():
            (step,) = layout.steps(one.tag, one)
            assert len({step.address, *step.beside}) == ways
    table = layout._tables[0][0] if there or numbers else None
    if table is not None:
        assert sorted(table.keys()) == sorted(there)
        assert table.used == len(there)


def test_a_cuckoo_table_becomes_larger_at_its_threshold() -> None:
    layout = ElasticCuckooTable(fresh(), slots=16)
    for number in range(28):
        layout.mapped(Mapping(8 * number, number))
    table = layout._tables[0][0]
    assert table.growths == 0, "28 of 48 are less than 0.6"
    layout.mapped(Mapping(8 * 28, 28))
    assert table.growths == 1
    for number in range(29, 46):
        layout.mapped(Mapping(8 * number, number))
    assert table._capacity() == 96, "a slot of each way moves with each new page"


def runs(mapped: Sequence[Mapping]) -> Iterator[tuple[int, int, int]]:
    """Naively: first page, page behind the last one, and difference, of each run."""
    begin: int | None = None
    small = sorted(
        (tag, one.delta) for one in mapped for tag in range(one.tag, one.tag + one.pages)
    )
    for index, (tag, delta) in enumerate(small):
        begin = tag if begin is None else begin
        if index + 1 == len(small) or small[index + 1] != (tag + 1, delta):
            yield begin, tag + 1, delta
            begin = None


@settings(max_examples=examples(60), deadline=None)
@given(changes, st.booleans())
def test_ranges_are_the_longest_runs(wanted: list[Change], identity: bool) -> None:
    layout = RangeTable(fresh(), fanout=2)
    if identity:  # long runs: each page lies where its number says, but for some
        wanted = [(a, v, p, v if f % 8 else v + 512) for a, v, p, f in wanted]
    mapped = changed(layout, wanted)
    found = [(one.first, one.end, one.delta) for asid in (0, 1) for one in layout.ranges(asid)]
    assert found == list(runs(mapped))
    for one in mapped:
        count = len(layout.ranges(one.asid))
        assert len(layout.steps(one.tag, one)) == max((count - 1).bit_length(), 1)


def test_the_nodes_of_a_range_table_are_a_tree() -> None:
    layout = RangeTable(fresh(), fanout=4)
    pages = [Mapping(2 * number, 2 * number, 1) for number in range(40)]
    for number, page in enumerate(pages):
        layout.mapped(Mapping(page.tag, number, 1))
    paths = [[step.address for step in layout.steps(page.tag, page)] for page in pages]
    assert [len(set(level)) for level in zip(*paths, strict=True)] == [1, 3, 10]
    assert len({address for path in paths for address in path}) == 14


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1 << 30)), max_size=20, unique=True))
def test_a_tree_without_flattening_is_the_radix_tree(asked: list[tuple[int, int]]) -> None:
    memories = [Memory(PAGE, REGION, FirstTouchFrames(100, 0)) for _ in range(2)]
    plain = PageTable(PAGE, 4, [memories[0]] * 2)
    layout = FlattenedTable(table_site(memories[1]), together=1)
    other = PageTable(PAGE, 4, [memories[1]] * 2, layout=layout)
    assert other.levels == plain.levels
    for asid, vpn in asked:
        one, two = plain.walk(asid, vpn), other.walk(asid, vpn)
        assert (one.entries, one.prefixes, two.beside) == (two.entries, two.prefixes, ())


def test_a_flattened_tree_is_half_as_deep() -> None:
    table = PageTable(
        PAGE,
        4,
        [memory := Memory(PAGE, REGION, FirstTouchFrames(100, 0))],
        layout=FlattenedTable(table_site(memory)),
    )
    first, neighbour, far = (table.walk(0, vpn).entries for vpn in (0, 1, 1 << 17))
    assert table.levels == len(first) == 2
    assert neighbour == (first[0], first[1] + 8)
    assert far == (first[0], first[1] + (8 << 17)), "all in one table of 2 MiB"
    assert table.walk(0, 1 << 18).entries[0] == first[0] + 8


# -- walks -----------------------------------------------------------------------------------------


class Two(TableLayout):
    """A step of two reads, and one of a single read."""

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        return [Step(64, (128,)), Step(192)]


class TwoForAll(Two):
    first_is_enough = False


def takes(address: int) -> int:
    return {64: 30, 128: 50, 192: 30}[address]


@pytest.mark.parametrize(("layout", "end"), [(Two, 60), (TwoForAll, 80)])
def test_reads_of_a_step_are_sent_at_once(layout: type[TableLayout], end: int) -> None:
    bench = Bench(walkers=1, cost="memory", layout=layout, takes=takes)
    bench.ask(0, A)
    assert bench.run() == [(end, A)]
    assert [cycle for cycle, _, _ in bench.reads] == [0, 0, end - 30]
    assert bench.counts("walks", "level_accesses", "beside", "walk_cycles") == [1, 3, 1, end]


def test_a_read_that_is_late_hinders_no_one() -> None:
    def slow(address: int) -> int:
        return 1000 if address == 128 else 30

    bench = Bench(walkers=1, cost="memory", layout=Two, takes=slow)
    bench.ask(0, A)
    bench.ask(0, B)
    assert bench.run() == [(60, A), (120, B)]
    assert bench.counts("level_accesses") == [6]


def test_a_step_that_is_timed_takes_as_long_as_one_read() -> None:
    from gpusim.files.units import cycles

    bench = Bench(walkers=1, cost="per-level", latency=cycles(10), layout=Two)
    bench.ask(0, A)
    assert bench.run() == [(20, A)]


class NoStep(Two):
    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        return []


def test_a_walk_has_to_read_something() -> None:
    bench = Bench(walkers=1, cost="memory", layout=NoStep)
    with pytest.raises(UserError, match=r"memory\.table: NoStep\.steps.*one step or more"):
        bench.table.walk(0, A)


@pytest.mark.parametrize("table", ["hashed", "elastic-cuckoo", "range"])
def test_upper_levels_that_are_not_there_cannot_be_cached(table: str) -> None:
    with pytest.raises(UserError, match=r"walk\.cache\.kind.*has no upper levels"):
        load_model("tiny", overrides={"memory.table": table})
    load_model(
        "tiny",
        overrides={"memory.table": table, "walk.cache.kind": "lines", "walk.cache.size": "1KiB"},
    )


def test_walks_of_a_fixed_time_read_no_table() -> None:
    with pytest.raises(UserError, match=r"memory\.table.*of no effect"):
        load_model("tiny", overrides={"memory.table": "flattened", "walk.cost": "fixed"})


def test_arrays_that_lie_in_order_are_one_range() -> None:
    memory = Memory(PAGE, REGION, FirstTouchFrames(100, 0))
    layout = RangeTable(table_site(memory))
    table = PageTable(PAGE, 4, [memory], layout=layout)
    table.begin(0, [Buffer("a", 0, 4 * PAGE)])
    for vpn in range(4):
        table.walk(0, vpn)
    assert len(layout.ranges(0)) == 1
    table.remap(0, 2)
    assert [(one.first, one.end) for one in layout.ranges(0)] == [(0, 2), (2, 3), (3, 4)]
    table.unmap(0, 3)
    assert len(layout.ranges(0)) == 2

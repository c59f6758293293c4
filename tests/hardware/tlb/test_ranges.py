"""Sub-entries in arrays of sets, and sets dealt out to the blocks of several SMs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.structures import Dimensions
from gpusim.hardware.tlb import SubEntryArray, TbPartitionedSharedArray, TlbArray, make_array
from gpusim.hardware.tlb.array import slot_of
from gpusim.hardware.tlb.base_delta import CompressionCounters
from tests.examples import examples

SUB = 4


def made(ways: int, sets: int, hashed: str | None = None, **delta: object) -> TlbArray:
    """An array of sub-entries with base-delta sets."""
    config = TlbConfig("gpu", ways * sets, ways, sub_entries=SUB)
    options = {"rebase": 0, "delta_vpn_bits": 4, "delta_pfn_bits": 4, **delta}
    object.__setattr__(config, "array", PolicyConfig("sub-entry"))
    object.__setattr__(config, "sets", PolicyConfig("base-delta", options))
    object.__setattr__(config, "hash", hashed)
    return make_array(config)


def fill(array: TlbArray, tag: int, pfn: int) -> Mapping:
    mapping = Mapping(tag, pfn)
    array.insert(tag, mapping, 0)
    return mapping


def counters(array: TlbArray) -> CompressionCounters:
    (one,) = array.counters()
    assert isinstance(one, CompressionCounters)
    return one


def test_entries_whose_frames_agree_share_a_way() -> None:
    """One set of two ways, one of them plain: two ranges in the compressed way, one beside it."""
    array = made(ways=2, sets=1)
    kept = [fill(array, SUB * number, 8 + number) for number in range(2)]
    kept.append(fill(array, 1, 9))  # of the first range
    kept.append(fill(array, SUB * 2, 100))  # frames 96 to 111, not 0 to 15
    assert [array.lookup(one.tag, 0) for one in kept] == kept
    assert array.lookup(2, 0) is None
    assert (counters(array).compressed_inserts, counters(array).plain_inserts) == (3, 1)


def test_an_entry_leaves_the_compressed_ways_with_its_first_far_frame() -> None:
    array = made(ways=2, sets=1)
    near, far = fill(array, 0, 3), fill(array, 1, 100)
    assert (array.lookup(0, 0), array.lookup(1, 0)) == (near, far)
    assert (counters(array).compressed_inserts, counters(array).plain_inserts) == (1, 1)
    assert array.invalidate(1)
    assert array.lookup(1, 0) is None


def test_a_hash_gives_ranges_other_sets() -> None:
    """Bases 0 and 5 of four sets: 0b00 ^ 0b00 and 0b01 ^ 0b01 are both set 0; one way is plain."""
    array = made(ways=2, sets=4, hashed="xor", partitioned=False)
    kept = [fill(array, SUB * base, 1) for base in (0, 5, 10, 15)]
    assert [array.lookup(one.tag, 0) for one in kept] == kept
    kept.append(fill(array, SUB * 20, 1))
    assert sum(array.lookup(one.tag, 0) is None for one in kept) == 1


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 63)), max_size=80))
def test_without_anything_to_compress_it_is_a_sub_entry_array(
    events: list[tuple[bool, int]],
) -> None:
    """Entries of which each needs a plain way, beside an array of as many ways."""
    config = TlbConfig("gpu", 4, 2, sub_entries=SUB)
    plain, array = SubEntryArray(config), made(4, 2, delta_pfn_bits=1)
    array.insert(1 << 30, Mapping(1 << 30, 1 << 30), 0)  # the bases of both sets
    array.insert(1 << 30 | SUB, Mapping(1 << 30 | SUB, 1 << 30), 0)
    for inserts, tag in events:
        if inserts:
            mapping = Mapping(tag, 4 * tag)
            plain.insert(tag, mapping, 0)
            array.insert(tag, mapping, 0)
        elif (found := plain.lookup(tag, 0)) is not None:
            assert array.lookup(tag, 0) is found


def test_the_storage_has_all_frames_of_an_entry() -> None:
    dimensions = Dimensions(
        page_bits=36, frame_bits=20, page_table_levels=4, index_bits=9, sms=1, block_slots=1
    )
    plain, compressed, *_ = made(ways=2, sets=4).storage(dimensions) or ()
    assert plain.fields == {"page": 36 - 2 - 2, "frame": SUB * 20}
    assert compressed.fields["frames"] == 2 * SUB * 4


def test_blocks_of_two_sms_have_sets_of_their_own() -> None:
    """Four sets of a way, two blocks on each SM: a set for each."""
    array = TbPartitionedSharedArray(TlbConfig("tpc", 4, 1))
    array.begin_kernel(2, sm=0)
    array.begin_kernel(2, sm=1)
    slots = [slot_of(sm, slot) for sm in range(2) for slot in range(2)]
    for number, slot in enumerate(slots):
        array.insert(number, Mapping(number, number), slot)
    found = [[array.lookup(page, slot) is not None for page in range(4)] for slot in slots]
    assert found == [[page == number for page in range(4)] for number in range(4)]
    array.end_block(slot_of(1, 0))
    assert array.flags == [False] * 4

"""MSHRs that follow sectors, beside a dict of how many requests wait for each sector."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.hardware.cache.sector_places import MERGE_LIST, REGISTERS, ROOM, SectorPlaces
from tests.examples import examples

SECTORS = 8
calls = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, (1 << SECTORS) - 1)), max_size=60
)
"""Whether a request misses or sectors come, of which line, and which sectors."""


@settings(max_examples=examples(200), deadline=None)
@given(calls, st.integers(1, 12), st.sampled_from([1, 2, 3, 1 << 20]))
def test_places_are_those_of_each_sector(
    steps: list[tuple[bool, int, int]], registers: int, merge: int
) -> None:
    places = SectorPlaces(registers, merge)
    waiting: Counter[tuple[int, int]] = Counter()
    for misses, line, mask in steps:
        sectors = [(line, sector) for sector in range(SECTORS) if mask >> sector & 1]
        if not misses:
            places.give_back(line, mask)
            for sector in sectors:
                del waiting[sector]
            continue
        new = sum(sector not in waiting for sector in sectors)
        why = ROOM if not new or len(waiting) + new <= registers else REGISTERS
        if any(waiting[sector] >= merge for sector in sectors if sector in waiting):
            why = MERGE_LIST
        assert places.full(line, mask) == why
        if why == ROOM:
            places.take(line, mask)
            waiting.update(sectors)
    assert str(places).startswith(f"{len(waiting)} of ")

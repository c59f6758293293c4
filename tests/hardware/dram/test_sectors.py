"""Requests of sectors in a DRAM channel."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.files.units import Bytes
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.sectors import SectorBursts, SectoredQueues
from gpusim.hardware.dram.waiting import Waiting


def request(kind: Kind, address: int, sectors: int, depth: int = 0) -> MemoryRequest:
    return MemoryRequest(kind, 0, 0, 0, 0, address, -1, sectors, depth, None, IntList())


@given(st.sampled_from([16, 32, 64, 128]), st.integers(1, 255))
def test_bursts_are_those_that_a_sector_lies_in(burst: int, sectors: int) -> None:
    touched = {32 * s + byte for s in range(8) if sectors >> s & 1 for byte in range(32)}
    counters = DramCounters()
    bursts = SectorBursts(Bytes(burst)).take_in(request(Kind.LOAD, 0, sectors), counters)
    assert bursts == len({byte // burst for byte in touched})
    assert counters.data_read_bytes == bursts * burst


@pytest.mark.parametrize(
    ("kind", "depth", "counter"),
    [
        (Kind.LOAD, 0, "data_read_bytes"),
        (Kind.WALK, 2, "walk_read_bytes"),
        (Kind.WRITEBACK, 0, "write_bytes"),
    ],
)
def test_bytes_are_counted_apart(kind: Kind, depth: int, counter: str) -> None:
    counters = DramCounters()
    SectorBursts(32).take_in(request(kind, 0, 0b101, depth), counters)
    assert counters == evolve(DramCounters(), **{counter: 64})


def test_a_read_finds_its_data_in_writes_of_all_its_sectors() -> None:
    queues = SectoredQueues(GDDR5, AddressMapping(GDDR5).banks)

    def waiting(kind: Kind, address: int, sectors: int) -> Waiting:
        one = Waiting(request(kind, address, sectors), 0, 0, kind == Kind.WRITEBACK, 1, 0)
        one.rank = address << 8 | sectors
        return one

    def has_to_wait(address: int, sectors: int) -> bool:
        read = waiting(Kind.LOAD, address, sectors)
        waits = queues.add(read, 0)
        if waits:
            queues.remove(read)
        return waits

    first, second = waiting(Kind.WRITEBACK, 128, 0b0011), waiting(Kind.WRITEBACK, 128, 0b0110)
    assert has_to_wait(128, 0b0001)
    queues.add(first, 0)
    queues.add(second, 0)
    assert not has_to_wait(128, 0b0111)
    assert not has_to_wait(128 + 64 + 8, 1)  # an entry of a page table in sector 2
    assert has_to_wait(128, 0b1001)
    assert has_to_wait(0, 0b0001)
    queues.remove(first)
    assert has_to_wait(128, 0b0001)
    assert not has_to_wait(128, 0b0010)

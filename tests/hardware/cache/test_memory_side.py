"""A slice of a memory-side cache alone, before a channel that is a mock; and in a machine."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.config.dram import MemorySideConfig
from gpusim.core.engine import NEVER, Environment, Port
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.files.units import Bytes, Hertz, cycles
from gpusim.hardware.cache import MemorySideCache, Slice

LINE, LATENCY, TRIP, DRAM = 128, 20, 7, 100
HIT, MISS = LATENCY, LATENCY + TRIP + DRAM


class Bench:
    """A slice of 2 sets of 2 ways; a line takes 2 cycles at 64 bytes a cycle.

    Args:
        depth: what fits into the channel's port.
        busy: cycle before which the channel takes nothing.
        slice_: what else than by default is alike for slices.
    """

    def __init__(self, depth: int = NEVER, busy: int = 0, **slice_: Any) -> None:
        env = self.env = Environment()
        self.channel: Port[MemoryRequest] = Port(env, "channel", TRIP, depth=depth)
        self.back: Port[MemoryRequest] = Port(env, "back")
        config = MemorySideConfig(Bytes(4 * LINE), 2, cycles(LATENCY), 64)
        site = Slice(
            **{
                "config": config,
                "clock": Hertz(10**9),
                "line": LINE,
                "together": LINE,
                "sectored": False,
                "channels": 1,
                "depth": 16,
                "apps": 1,
            }
            | slice_
        )
        self.cache = MemorySideCache(env, 0, site, self.channel)
        self.asked: list[tuple[int, int]] = []
        self.answered: list[tuple[int, int]] = []
        self._stream: list[tuple[int, MemoryRequest]] = []
        self.channel.connect(env.start(self._serve(busy)))
        self.back.connect(env.start(self._collect()))

    def send(self, cycle: int, address: int, kind: Kind = Kind.LOAD, sectors: int = 15) -> None:
        """A request that a bank sends in some cycle; to be called in their order."""
        trail = IntList([State.L2, cycle])
        request = MemoryRequest(kind, 0, 0, 0, 0, address, 0, sectors, 0, None, trail)
        if kind != Kind.WRITEBACK:
            request.return_to(self.back)
        self._stream.append((cycle, request))

    def run(self) -> list[int]:
        """Cycles in which the reads were answered, by their order."""
        self.env.start(self._send())
        self.env.run()
        assert self.cache.in_flight() == 0
        return [cycle for cycle, _ in self.answered]

    @property
    def counted(self) -> tuple[int, ...]:
        """Lookups, hits, misses, fills, and writes."""
        (one,) = self.cache.app_counters(0)
        return tuple(getattr(one, key) for key in ("lookups", "hits", "misses", "fills", "writes"))

    def _send(self) -> Generator[int, None, None]:
        for cycle, request in self._stream:
            if cycle > self.env.now:
                yield cycle - self.env.now
            self.cache.requests.send(request)

    def _serve(self, busy: int) -> Generator[int | None, None, None]:
        while True:
            while self.env.now < busy:
                yield busy - self.env.now
            while (request := self.channel.take()) is not None:
                self.asked.append((self.env.now, request.address))
                if request.kind != Kind.WRITEBACK:
                    request.answer(DRAM)
            yield self.channel.pause()

    def _collect(self) -> Generator[int | None, None, None]:
        while True:
            while (request := self.back.take()) is not None:
                self.answered.append((self.env.now, request.address))
            yield self.back.pause()


def test_a_miss_goes_to_dram_and_a_second_read_does_not():
    bench = Bench()
    bench.send(0, 0)
    bench.send(500, 0)
    assert bench.run() == [MISS, 500 + HIT] == [127, 520]
    assert bench.asked == [(27, 0)]
    assert bench.counted == (2, 1, 1, 1, 0)


def test_a_line_takes_its_bytes_at_the_slices_bandwidth():
    bench = Bench()
    for line in range(4):
        bench.send(0, line * LINE)
    for line in range(4):
        bench.send(500, line * LINE)
    assert bench.run() == [127, 129, 131, 133, 520, 522, 524, 526]


def test_a_set_keeps_what_was_used_last():
    bench = Bench()
    for number, line in enumerate((0, 2, 0, 4, 0, 2)):  # all in set 0 of two ways
        bench.send(1000 * number, line * LINE)
    late = [cycle - 1000 * number for number, cycle in enumerate(bench.run())]
    assert late == [MISS, MISS, HIT, MISS, HIT, MISS]


def test_what_is_written_goes_to_dram_at_once_and_is_not_kept():
    bench = Bench()
    bench.send(0, 0, Kind.WRITEBACK)
    bench.send(100, 0)
    bench.send(500, 0, Kind.WRITEBACK)
    bench.send(600, 0)
    assert bench.run() == [100 + MISS, 600 + HIT]
    assert bench.asked == [(27, 0), (127, 0), (527, 0)]
    assert bench.counted == (2, 1, 1, 1, 2)


def test_sectors_that_did_not_come_are_asked_for():
    bench = Bench(sectored=True)
    for cycle, sectors in ((0, 0b0001), (500, 0b0001), (1000, 0b0011), (1500, 0b0011)):
        bench.send(cycle, 0, sectors=sectors)
    assert bench.run() == [MISS, 500 + HIT, 1000 + MISS, 1500 + HIT]


def test_lines_of_a_channel_fill_all_sets():
    bench = Bench(channels=4, together=2 * LINE)
    mine = [0, 1, 8, 9]  # of every 8 lines 2 lie in this channel: they are its lines 0 to 3
    for number, line in enumerate(mine * 2):
        bench.send(1000 * number, line * LINE)
    late = [cycle - 1000 * number for number, cycle in enumerate(bench.run())]
    assert late == [MISS] * 4 + [HIT] * 4


def test_a_full_channel_holds_up_those_behind():
    bench = Bench(depth=1, busy=300)
    bench.send(0, 0)
    bench.send(0, LINE)
    bench.send(0, 2 * LINE)
    # The first waits in the port; each next one enters when the one before it is taken.
    assert bench.run() == [300 + DRAM, 300 + TRIP + DRAM, 300 + 2 * TRIP + DRAM]


def test_a_second_lap_of_a_machine_is_read_from_it():
    lines = (0x10000000 + 128 * np.arange(512))[:, None] + 4 * np.arange(32)
    small = {"l1.size": "2KiB", "l2.size": "16KiB"}
    side = {"dram.memory_side.slice": "64KiB", "dram.memory_side.ways": 16}
    reads = []
    for more in ({}, side):
        model = gpusim.load_model("tiny", overrides=small | more)
        result = gpusim.simulate(model, np.concatenate([lines, lines])[None])
        counters = result.counters.groupby(["component", "counter"]).value.sum()
        reads.append(int(counters["dram", "data_reads"]))
    assert reads == [1024, 512]
    assert counters["memory_side", "hits"] == 512


def test_what_is_skipped_leaves_it_warm():
    lines = (0x10000000 + 128 * np.arange(256))[:, None] + 4 * np.arange(32)
    small = {"l1.size": "2KiB", "l2.size": "16KiB"}
    side = {"dram.memory_side.slice": "64KiB", "dram.memory_side.ways": 16}
    model = gpusim.load_model("tiny", overrides=small | side)
    laps = np.stack([lines, lines])  # each warp is a block of its own
    workload = gpusim.workload_of(laps, warps_per_block=1)
    result = gpusim.simulate(model, workload, skip="1blocks")
    counters = result.counters.groupby(["component", "counter"]).value.sum()
    assert counters["memory_side", "hits"] >= 256
    assert counters["dram", "data_reads"] == 0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("slice", "3KiB", r"must be a multiple of 16 ways × 128B \(l2.line\)"),
        ("ways", 0, "must be 1 or more"),
        ("bytes_per_cycle", 0, "must be 1 or more"),
    ],
)
def test_wrong_shapes_are_refused(key, value, message):
    side = {"dram.memory_side.slice": "64KiB", "dram.memory_side.ways": 16}
    with pytest.raises(gpusim.UserError, match=message):
        gpusim.load_model("tiny", overrides=side | {f"dram.memory_side.{key}": value})

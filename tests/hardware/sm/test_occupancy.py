"""Occupancy against brute force: place blocks until some resource would be overdrawn."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.sm import SmConfig
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.files.units import Bytes
from gpusim.hardware.sm.occupancy import Occupancy, blocks_per_sm
from tests.examples import examples


@frozen
class Shape:
    threads_per_block: int
    registers_per_thread: int
    shared_bytes: int
    name: str = "shape"
    blocks: int = 1
    stream_use: StreamUse = IN_TURN
    copy: None = None

    def run_block(self, block: int, warp_size: int) -> Any:
        return iter(())


configs = st.builds(
    SmConfig,
    count=st.just(1),
    warp_size=st.sampled_from([32, 64]),
    max_threads=st.integers(1, 2048),
    max_warps=st.integers(1, 64),
    max_blocks=st.integers(1, 16),
    registers=st.integers(0, 65536),
    shared_memory=st.integers(0, 48 << 10).map(Bytes),
)
shapes = st.builds(Shape, st.integers(1, 1024), st.integers(0, 64), st.integers(0, 24 << 10))


def naive_fits(config: SmConfig, blocks: list[Shape]) -> bool:
    warps = [-(-b.threads_per_block // config.warp_size) for b in blocks]
    return (
        len(blocks) <= config.max_blocks
        and sum(b.threads_per_block for b in blocks) <= config.max_threads
        and sum(warps) <= config.max_warps
        and sum(b.registers_per_thread * b.threads_per_block for b in blocks) <= config.registers
        and sum(b.shared_bytes for b in blocks) <= config.shared_memory
    )


@settings(max_examples=examples(200), deadline=None)
@given(configs, shapes)
def test_blocks_of_an_sm(config: SmConfig, shape: Shape) -> None:
    count = 0
    while naive_fits(config, [shape] * (count + 1)):
        count += 1
    assert blocks_per_sm(config, shape) == count


@settings(max_examples=examples(200), deadline=None)
@given(configs, st.lists(st.tuples(st.booleans(), shapes, st.integers(0, 15)), max_size=40))
def test_blocks_that_come_and_go(config: SmConfig, calls: list[tuple[bool, Shape, int]]) -> None:
    room = Occupancy(config)
    resident: list[tuple[Shape, int, list[int]]] = []
    for arrives, shape, which in calls:
        if arrives:
            fits = naive_fits(config, [shape for shape, _, _ in resident] + [shape])
            assert room.fits(shape) == fits
            if not fits:
                continue
            slot, warps = room.take(shape)
            slots = {slot for _, slot, _ in resident}
            taken = {warp for _, _, own in resident for warp in own}
            assert slot == min(set(range(config.max_blocks)) - slots)
            free = sorted(set(range(config.max_warps)) - taken)
            assert warps == free[: -(-shape.threads_per_block // config.warp_size)]
            resident.append((shape, slot, warps))
        elif resident:
            room.give_back(*resident.pop(which % len(resident)))

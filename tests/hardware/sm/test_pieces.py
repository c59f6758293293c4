"""A thread block is executed piece by piece, as its warps ask for what comes next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define

from gpusim.core.engine import Environment, Port
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.warp_program import LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing
from gpusim.hardware.sm.warp import Block, Seat

WARPS, PIECES = 2, 3


@define
class Computing:
    """A launch of one block, whose pieces each are one compute instruction of both warps."""

    name: str = "computing"
    blocks: int = 1
    threads_per_block: int = 64
    registers_per_thread: int = 0
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: None = None
    made: int = 0

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        for _ in range(PIECES):
            self.made += 1
            yield LaneChunk(
                kind=np.array([Op.COMPUTE], dtype=np.uint8),
                arg=np.array([self.made]),
                active=np.ones((1, WARPS), dtype=bool),
                address=np.zeros((0, WARPS, warp_size), dtype=np.int64),
                size=np.zeros(0, dtype=np.int64),
            )


def test_no_piece_before_a_warp_asks_for_it() -> None:
    launch = Computing()
    ended: Port[Block] = Port(Environment(), "ended")
    block = Block(launch, 0, Seat(0, 0, 0, list(range(WARPS)), 0, 0), ended)
    block.open(32, Coalescing(128))
    assert launch.made == 0
    for piece in range(1, PIECES + 1):
        for warp in range(WARPS):
            segment = block.next_segment(warp)
            assert segment is not None
            assert segment.args == [piece]
            assert launch.made == piece
    assert block.next_segment(0) is None

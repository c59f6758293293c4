"""Programs given as lists of addresses, and measures of them that are obviously right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from attrs import frozen

from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.warp_program import INACTIVE, Buffer, LaneChunk, Launch, Op
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload

LANES = 32
BASE = 1 << 20
PAGE = 4096

Warp = list[list[int]]
"""Of each memory instruction: the byte address of each active lane."""
Blocks = list[list[Warp]]


@frozen(eq=False)
class ListedLaunch:
    listed: Blocks
    name: str = "listed"
    threads_per_block: int = 64
    registers_per_thread: int = 16
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: None = None
    compute: int = 0

    @property
    def blocks(self) -> int:
        return len(self.listed)

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """One chunk an instruction, as if all warps were in step; arithmetic after each."""
        warps = self.listed[block]
        count = self.threads_per_block // warp_size
        for number in range(max((len(warp) for warp in warps), default=0)):
            address = np.full((1, count, warp_size), INACTIVE)
            for index, warp in enumerate(warps):
                if number < len(warp):
                    address[0, index, : len(warp[number])] = warp[number]
            active = (address[0] != INACTIVE).any(axis=1)
            yield LaneChunk(
                np.array([Op.LOAD, Op.COMPUTE, Op.WAIT], dtype=np.uint8),
                np.array([0, self.compute, 0]),
                np.stack([active, active, active]),
                address,
                np.array([4]),
            )


@frozen(eq=False)
class ListedApplication:
    listed: list[Launch]
    buffers: tuple[Buffer, ...] = ()
    name: str = "listed"

    def launches(self) -> Iterator[Launch]:
        yield from self.listed


def workload_of(*launches: ListedLaunch, buffers: tuple[Buffer, ...] = ()) -> Workload:
    spec = ApplicationSpec("listed", lambda: ListedApplication(list(launches), buffers))
    return Workload("listed", "smoke", 0, (spec,))


def pages(*numbers: int) -> list[int]:
    """A lane for each page number."""
    return [BASE + number * PAGE for number in numbers]


# Measures, one access at a time ------------------------------------------------------------------


def block_accesses(block: list[Warp], line: int = 128) -> list[tuple[int, int]]:
    """(step, page) of each transaction of a block that runs alone."""
    found = []
    for step in range(max((len(warp) for warp in block), default=0)):
        for warp in block:
            if step < len(warp):
                lines = dict.fromkeys(address // line for address in warp[step])
                found += [(step, one * line // PAGE) for one in lines]
    return found


def steps(block: list[Warp]) -> int:
    return max((len(warp) for warp in block), default=0)


def sm_accesses(blocks: Blocks, sms: int, per_sm: int) -> list[list[tuple[int, int]]]:
    """(block, page) of each access of each SM; all SMs advance step by step."""
    streams: list[list[tuple[int, int]]] = [[] for _ in range(sms)]
    resident: list[list[list[int]]] = [[] for _ in range(sms)]
    waiting = list(range(len(blocks)))
    pointer = 0
    while waiting or any(resident):
        for sm in range(sms):
            resident[sm] = [one for one in resident[sm] if one[1] < steps(blocks[one[0]])]
        while waiting:
            room = [sm % sms for sm in range(pointer, pointer + sms)]
            room = [sm for sm in room if len(resident[sm]) < per_sm]
            if not room:
                break
            resident[room[0]].append([waiting.pop(0), 0])
            pointer = room[0] + 1
        for sm in range(sms):
            for one in resident[sm]:
                accesses = block_accesses(blocks[one[0]])
                streams[sm] += [(one[0], page) for step, page in accesses if step == one[1]]
                one[1] += 1
    return streams


def distances(stream: list[tuple[int, int]]) -> Counter[int]:
    """Distinct other pages between accesses of a block to one page, all blocks in between."""
    found: Counter[int] = Counter()
    for second, (block, page) in enumerate(stream):
        between = set()
        for other, touched in reversed(stream[:second]):
            if (other, touched) == (block, page):
                found[len(between - {page})] += 1
                break
            between.add(touched)
    return found


def intra_bins(blocks: Blocks) -> list[int]:
    bins = [0] * 5
    for block in blocks:
        touched = [page for _, page in block_accesses(block)]
        if touched:
            reused = sum(page in touched[:place] for place, page in enumerate(touched))
            bins[min(reused * 5 // len(touched), 4)] += 1
    return bins


def inter_bins(blocks: Blocks) -> list[int]:
    bins = [0] * 5
    touched = [[page for _, page in block_accesses(block)] for block in blocks]
    touched = [one for one in touched if one]
    for i, one in enumerate(touched):
        for j, other in enumerate(touched):
            if i != j:
                common = sum(page in set(other) for page in one)
                bins[min(common * 5 // len(one), 4)] += 1
    return bins

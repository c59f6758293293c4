"""Page-table walkers alone: what asks them and the memory that they read are mocks.

The page table, which is data without a clock, is a real one: of four levels, with 8-byte entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpusim.config.translation import WalkConfig
from gpusim.core.engine import NEVER, Environment
from gpusim.core.request import MemoryRequest, Translation
from gpusim.core.states import State
from gpusim.files.units import Hertz
from gpusim.hardware.walk import (
    FirstTouchFrames,
    Memory,
    PageTable,
    TableLayout,
    TableSite,
    Walkers,
    WalkersSite,
)
from tests.hardware.mocks import MockBelow, MockRequester, translation

READ: Final = 30
"""From the arrival of a read at the mock memory to its answer."""
LEVELS: Final = 4
PAGE: Final = 4096
MEMORY: Final = 1 << 30
FRAMES: Final = (MEMORY - (1 << 24)) // PAGE


def table_site(memory: Memory, page: int = PAGE) -> TableSite:
    """What a layout of page tables is made with, for one memory of all address spaces."""
    return TableSite(
        page.bit_length() - 1,
        LEVELS,
        512,
        memory.allocator.frames,
        lambda asid: 0,
        lambda asid, size: memory.reserve(size),
    )


class Bench:
    """Walkers between a requester and a memory.

    Args:
        depth, opens: of the memory's port (`MockBelow`).
        layout: of the page table; None: a radix tree.
        takes: cycles of a read, by its address.
        keys: of the walkers' table.
    """

    def __init__(
        self,
        depth: int = NEVER,
        opens: int = 0,
        layout: Callable[[TableSite], TableLayout] | None = None,
        takes: Callable[[int], int] = lambda _: READ,
        **keys: Any,
    ) -> None:
        env = self.env = Environment()
        memory = Memory(PAGE, MEMORY, FirstTouchFrames(FRAMES, 0))
        made = None if layout is None else layout(table_site(memory))
        self.table = PageTable(PAGE, LEVELS, [memory], layout=made)
        self.memory: MockBelow[MemoryRequest] = MockBelow(
            env, lambda read: read.answer(takes(read.address)), depth, opens
        )
        self.requester: MockRequester[Translation] = MockRequester(env)
        site = WalkersSite(env, WalkConfig(**keys), Hertz(10**9), self.table, 1)
        self.walkers = Walkers(site, lambda read: self.memory.port)

    def ask(self, cycle: int, tag: int, *, prefetch: bool = False) -> None:
        asked = translation(tag, int(State.TLB), prefetch=prefetch)
        self.requester.ask(cycle, asked, self.walkers.requests)

    def run(self) -> list[tuple[int, int]]:
        """Run to the end; the cycle and the page of each answer."""
        self.env.run()
        assert not self.walkers.in_flight()
        return [(cycle, one.tag) for cycle, one in self.requester.answers]

    @property
    def frames(self) -> list[int | None]:
        """What the answers said."""
        mappings = [one.mapping for _, one in self.requester.answers]
        return [None if one is None else one.pfn for one in mappings]

    @property
    def reads(self) -> list[tuple[int, int, int]]:
        """Cycle, page and level (1 is the root) of each read that reached the memory."""
        return [(cycle, read.tag, read.depth) for cycle, read in self.memory.arrived]

    def counts(self, *names: str) -> list[int]:
        return [getattr(self.walkers.counters[0], name) for name in names]

    def prefetch_counts(self, *names: str) -> list[int]:
        return [getattr(self.walkers.prefetches[0], name) for name in names]

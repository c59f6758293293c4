"""A TLB level alone: what asks it, what is below, and the page table are mocks."""

from __future__ import annotations

from typing import Any, Final

from gpusim.config.translation import TlbConfig
from gpusim.core.engine import NEVER, Environment
from gpusim.core.request import Kind, MemoryRequest, Translation
from gpusim.core.stage import StageSite
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.files.units import Hertz, cycles
from gpusim.hardware.tlb import SetAssociativeArray, TlbLevel
from tests.hardware.mocks import (
    MockAccess,
    MockBelow,
    MockPages,
    MockRequester,
    MockSender,
    translation,
)

LATENCY: Final = 3
"""Of a lookup."""
BELOW: Final = 20
"""From a miss's arrival at what is below to its answer."""
CLOCK: Final = Hertz(10**9)
WALKER: Final = int(State.WALKER)


class Bench:
    """A TLB of 8 entries between a requester and a stage that answers from the page table.

    Args:
        level: 0 for the TLB next to the SM.
        depth, opens: of what is below (`MockBelow`).
        keys: of the TLB that differ.
    """

    def __init__(self, level: int = 1, depth: int = NEVER, opens: int = 0, **keys: Any) -> None:
        env = self.env = Environment()
        self.pages = MockPages()
        self.below: MockBelow[Translation] = MockBelow(env, self.translate, depth, opens)
        self.requester: MockRequester[Translation] = MockRequester(env)
        config = TlbConfig(
            **{"scope": "gpu", "entries": 8, "ways": 8, "latency": cycles(LATENCY), **keys}
        )
        self.array = SetAssociativeArray(config)
        site = StageSite(
            env=env,
            name="L2[0]",
            kind="L2",
            index=0,
            below=self.below.port,
            state=State.TLB + level,
            below_state=WALKER,
            apps=1,
            sms=(0,),
            pages=self.pages,
            queue=config.queue,
            trip=config.trip.cycles(CLOCK),
        )
        self.level = TlbLevel(site, config, CLOCK, self.array)
        self.state = State.TLB + level

    def translate(self, asked: Translation) -> None:
        asked.mapping = self.pages.find(asked.tag)
        asked.answer(BELOW)

    def hold(self, *tags: int) -> None:
        """The array has the translations of some pages."""
        for tag in tags:
            mapping = self.pages.find(tag)
            assert mapping is not None
            self.array.insert(tag, mapping, 0)

    def ask(self, cycle: int, tag: int, *, prefetch: bool = False) -> None:
        asked = translation(tag, self.state, prefetch=prefetch)
        self.requester.ask(cycle, asked, self.level.requests)

    def run(self) -> list[tuple[int, int]]:
        """Run to the end; the cycle and the page of each answer."""
        self.env.run()
        assert not self.level.in_flight()
        return [(cycle, one.tag) for cycle, one in self.requester.answers]

    @property
    def frames(self) -> list[int | None]:
        """What the answers said."""
        mappings = [one.mapping for _, one in self.requester.answers]
        return [None if one is None else one.pfn for one in mappings]

    @property
    def sent(self) -> list[tuple[int, int]]:
        """The cycle in which each miss reached what is below, and its page."""
        return [(cycle, one.tag) for cycle, one in self.below.arrived]

    def counts(self, *names: str) -> list[int]:
        return [getattr(self.level.counters[0], name) for name in names]

    def prefetch_counts(self, *names: str) -> list[int]:
        return [getattr(self.level.prefetches[0], name) for name in names]


class FirstBench(Bench):
    """The TLB next to an SM: the test asks it as a load/store unit does.

    Attributes:
        missed_below: pages that the level below does not have either.
        translated: takes the requests that missed, with their translations.
        refusals: cycles in which a miss was refused.
        sender: what is woken then when there may be room.
    """

    def __init__(self, **keys: Any) -> None:
        super().__init__(0, **keys)
        self.access = MockAccess()
        self.translated: MockRequester[MemoryRequest] = MockRequester(self.env)
        self.refusals: list[int] = []
        self.sender = MockSender(self.env)
        self.missed_below: set[int] = set()

    def translate(self, asked: Translation) -> None:
        if asked.tag in self.missed_below:
            asked.trail += (WALKER + 1, self.env.now)
        super().translate(asked)

    def look_up(self, tag: int, delay: int = 0) -> None:
        """Look a page up; a miss waits, or, where it is refused, wants to be woken."""
        if self.level.lookup(tag, self.access) is not None:
            return
        if self.level.refuses(tag, self.access):
            self.refusals.append(self.env.now)
            self.level.when_free(self.sender)
            return
        trail = IntList([int(State.CACHE), self.env.now])
        request = MemoryRequest(Kind.LOAD, 0, 0, 0, tag, -1, 0, 1, 0, self.access, trail)
        request.return_to(self.translated.port)
        self.level.miss(request, delay)

    def run_first(self) -> list[tuple[int, int]]:
        self.env.run()
        assert not self.level.in_flight()
        return [(cycle, one.tag) for cycle, one in self.translated.answers]

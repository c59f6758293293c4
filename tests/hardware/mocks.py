"""Mock neighbours of a component that is tested alone: what asks it, and what it asks."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Generator
from operator import itemgetter
from typing import Generic, TypeVar

from gpusim.core.blame import Blames
from gpusim.core.engine import NEVER, Environment, Port, Sink, Sleeper, Wakeable
from gpusim.core.interfaces import Inbound, Route
from gpusim.core.mapping import Mapping, Mappings
from gpusim.core.request import Access, MemoryRequest, Purpose, Translation, Traveller
from gpusim.core.unboxed import IntList

T = TypeVar("T", bound=Traveller)


class MockBelow(Generic[T]):
    """What a component sends to: notes what arrives in which cycle, and has it answered.

    Args:
        env: the environment.
        answer: is called with each item in the cycle in which it is taken.
        depth: items that fit into its port, those on the way included.
        opens: cycle before which it takes nothing.

    Attributes:
        port: where the component sends to.
        arrived: what was taken, each with its cycle.
    """

    def __init__(
        self,
        env: Environment,
        answer: Callable[[T], None],
        depth: int = NEVER,
        opens: int = 0,
    ) -> None:
        self.port: Port[T] = Port(env, "below", depth=depth)
        self.arrived: list[tuple[int, T]] = []
        self._env = env
        self._answer = answer
        self.port.connect(env.start(self._run(opens)))

    def _run(self, opens: int) -> Generator[int | None, None, None]:
        while self._env.now < opens:
            yield opens - self._env.now
        while True:
            while (item := self.port.take()) is not None:
                self.arrived.append((self._env.now, item))
                self._answer(item)
            yield self.port.pause()


class MockRequester(Generic[T]):
    """What asks a component: notes in which cycle each answer comes.

    Attributes:
        port: where the answers come to.
        answers: what came back, each with its cycle.
    """

    def __init__(self, env: Environment) -> None:
        self.port: Port[T] = Port(env, "requester")
        self.answers: list[tuple[int, T]] = []
        self._env = env
        self.port.connect(env.start(self._run()))

    def ask(self, cycle: int, item: T, asked: Sink) -> None:
        """Before the first cycle: send an item that reaches a port without a latency in `cycle`."""
        item.return_to(self.port)
        asked.send(item, cycle)

    def _run(self) -> Generator[int | None, None, None]:
        while True:
            while (item := self.port.take()) is not None:
                self.answers.append((self._env.now, item))
            yield self.port.pause()


class MockLink(Inbound):
    """The crossbar's way out: what the test puts there comes in the cycle that it says."""

    def __init__(self) -> None:
        self.queue: list[tuple[int, MemoryRequest]] = []
        self.ready = NEVER

    def connect(self, receiver: Sleeper, blames: Blames | None = None) -> None:
        self.receiver = receiver

    def put(self, cycle: int, request: MemoryRequest) -> None:
        insort(self.queue, (cycle, request), key=itemgetter(0))
        self.ready = self.queue[0][0]
        self.receiver.wake.at(self.ready)

    def arrived(self) -> int:
        return self.queue[0][0] if self.queue else NEVER

    def head(self) -> MemoryRequest:
        return self.queue[0][1]

    def take(self) -> MemoryRequest:
        _, request = self.queue.pop(0)
        self.ready = self.queue[0][0] if self.queue else NEVER
        return request


class OneRoute(Route):
    """Every address lies behind one port."""

    def __init__(self, port: Port[MemoryRequest]) -> None:
        self._port = port

    def port(self, address: int) -> Port[MemoryRequest]:
        return self._port


class MockPages(Mappings):
    """The page table, as stages ask it: page *n* lies in frame *n* + 100 until it is moved."""

    page_bytes = 4096

    def __init__(self) -> None:
        self.mappings = self
        self._mappings: dict[int, Mapping] = {}

    def find(self, tag: int) -> Mapping | None:
        if tag not in self._mappings:
            self._mappings[tag] = Mapping(tag, tag + 100)
        return self._mappings[tag]

    def move(self, tag: int, pfn: int) -> None:
        self._mappings[tag] = Mapping(tag, pfn)


class MockAccess(Access):
    """A warp instruction: notes the requests that are answered."""

    def __init__(self, warp_slot: int = 0) -> None:
        self.app = self.sm = self.slot = 0
        self.warp_slot = warp_slot
        self.answers: list[MemoryRequest] = []

    def answered(self, request: MemoryRequest) -> None:
        self.answers.append(request)


class MockSender(Wakeable):
    """What waits for room: notes the cycles in which it is woken."""

    def __init__(self, env: Environment) -> None:
        self.woken: list[int] = []
        self._env = env

    def now(self) -> None:
        self.woken.append(self._env.now)


def translation(tag: int, state: int, *, prefetch: bool = False) -> Translation:
    """The miss of a warp on a page, or a prefetch of it, that is in a state from cycle 0 on."""
    kind = Purpose.PREFETCH if prefetch else Purpose.DEMAND
    return Translation(0, 0, 0, tag, 0, 0, IntList([state, 0]), None, int(kind))


def at(env: Environment, cycle: int, act: Callable[[], object]) -> None:
    """Let the test do something in a later cycle."""

    def wait() -> Generator[int, None, None]:
        yield cycle
        act()

    env.start(wait())

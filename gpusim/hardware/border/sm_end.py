"""The SMs' end of the border: what they send to, and what hears the memory side."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from mypy_extensions import i64

from gpusim.core.blame import Blames
from gpusim.core.engine import (
    NEVER,
    EventLoop,
    Hearer,
    Sink,
    Sleeper,
    Waiters,
    Wake,
    Wakeable,
)
from gpusim.core.interfaces import Inbound
from gpusim.core.mapping import Mapping
from gpusim.core.request import MemoryRequest, Translation, Traveller
from gpusim.core.unboxed import Fifo, IntList, Words
from gpusim.hardware.border.messages import (
    ADMITTED,
    BYTE,
    KIND_BITS,
    KINDS,
    LEFT,
    PLACE,
    PLACES,
    REPLY,
    REQUEST,
    STALLED,
    TRANSLATION,
    tell_long,
)
from gpusim.hardware.border.trails import go_on
from gpusim.hardware.crossbar import Link, Network, NetworkCounters


class OnTheirWay:
    """What has crossed the border and has not come back, by a number that goes with it."""

    __slots__ = ("_free", "_travellers")

    def __init__(self) -> None:
        self._travellers: list[Traveller | None] = []
        self._free = IntList()

    def add(self, traveller: Traveller) -> int:
        """The number of one that goes."""
        if self._free:
            number = self._free.pop()
            self._travellers[number] = traveller
            return number
        self._travellers.append(traveller)
        return len(self._travellers) - 1

    def take(self, number: int) -> Traveller:
        """The one that has come back."""
        traveller = self._travellers[number]
        assert traveller is not None
        self._travellers[number] = None
        self._free.append(number)
        return traveller


class FarLink(Link):
    """A link of the network of requests that comes out on the memory side.

    Args:
        env: the environment.
        counters: of the network.
        index: of the link.
        end: of the border.
    """

    __slots__ = ("_end", "_index")

    def __init__(self, env: EventLoop, counters: NetworkCounters, index: int, end: SmEnd) -> None:
        super().__init__(env, counters, [])
        self._index: i64 = index
        self._end = end

    def put(self, arrival: int, request: MemoryRequest, entrance: int, flits: int) -> None:
        end = self._end
        told = end.told
        kind: i64 = request.kind
        app: i64 = request.app
        sm: i64 = request.sm
        at: i64 = arrival
        size: i64 = flits
        told.append(self.env._now)
        head = (self._index << PLACE | sm) << PLACE | app
        told.append((head << BYTE | kind) << KIND_BITS | REQUEST)
        told.append(at << PLACE | size)
        told.append(request.tag)
        told.append(request.address)
        tell_long(told, request.sectors)
        told.append(request.trail[-1])
        told.append(end.away.add(request))


class Replies(Inbound):
    """Answers to the requests of one SM, which have come out of the network of replies."""

    __slots__ = ("_queue", "_receiver", "env")

    def __init__(self, env: EventLoop) -> None:
        self.env = env
        self.ready = NEVER
        self._queue: Fifo[MemoryRequest] = Fifo()
        self._receiver: Wake | None = None

    def connect(self, receiver: Sleeper, blames: Blames | None = None) -> None:
        self._receiver = receiver.wake

    def arrived(self) -> int:
        return self.ready

    def head(self) -> MemoryRequest:
        return self._queue[0]

    def put(self, reply: MemoryRequest) -> None:
        """One is there from this cycle on."""
        self._queue.append(reply)
        now = self.env._now
        if now < self.ready:
            self.ready = now
        if self._receiver is not None:
            self._receiver.at(now)

    def take(self) -> MemoryRequest:
        reply = self._queue.pop(0)
        if not self._queue:
            self.ready = NEVER
        return reply


class FarWalkers(Sink):
    """The way to the walkers, whose queue is on the memory side.

    Args:
        name: of the queue.
        depth: translations that fit in, with those on their way.
        end: of the border.
    """

    __slots__ = ("_blocked", "_depth", "_end", "_inside", "name")

    def __init__(self, name: str, depth: int, end: SmEnd) -> None:
        self.name = name
        self._depth = depth
        self._end = end
        self._inside = 0
        self._blocked = Waiters()

    @property
    def full(self) -> bool:
        return self._inside >= self._depth

    def when_free(self, sender: Wakeable) -> None:
        self._blocked.add(sender)

    def send(self, item: Translation, extra_cycles: int = 0) -> None:
        self._inside += 1
        end = self._end
        told, trail = end.told, item.trail
        kind: i64 = item.kind
        app: i64 = item.app
        told.append(end.env._now)
        told.append((app << BYTE | kind) << KIND_BITS | TRANSLATION)
        told.append(extra_cycles)
        told.append(item.sm)
        told.append(item.tag)
        told.append(item.slot)
        told.append(item.warp_slot)
        told.append(trail[-2])
        told.append(trail[-1])
        told.append(end.away.add(item))

    def admitted(self) -> None:
        """The walkers have taken one in."""
        self._inside -= 1
        if self._blocked.waiting:
            self._blocked.wake(self._depth - self._inside if self._inside else NEVER)


@frozen(eq=False, repr=False)
class SmEndSite:
    """Where the SMs' end stands in a machine.

    Attributes:
        env: the loop of the SMs' side.
        told: what goes to the memory side.
        requests: makes the network of requests of the SMs' side, whose links are made new.
        first_sm: whose entrance is its first one.
        sms, banks: how many there are.
        walkers: name of their queue.
        depth: of it.
        learn: the mapping of a page from what the memory side has told of it: the page that was
            asked for, its first page and frame, how many they are, whether it may be written.
    """

    env: EventLoop
    told: Words
    requests: Network
    first_sm: int
    sms: int
    banks: int
    walkers: str
    depth: int
    learn: Callable[[int, int, int, int, bool], Mapping]


class SmEnd(Hearer):
    """The SMs' end.

    Attributes:
        env: the loop of the SMs' side.
        told: what goes to the memory side.
        away: what is there.
        requests: network of requests, whose entrances SMs send to.
        replies: by SM, where answers come.
        walkers: where translations go.
    """

    def __init__(self, site: SmEndSite) -> None:
        self.env = site.env
        self.told = site.told
        self.away = OnTheirWay()
        self.requests = site.requests
        self.requests.links = [
            FarLink(site.env, site.requests.counters, index, self)
            for index in range(len(site.requests.links))
        ]
        self.replies = [Replies(site.env) for _ in range(site.sms)]
        self.walkers = FarWalkers(site.walkers, site.depth, self)
        self._first_sm = site.first_sm
        self._stalls = [Blames() for _ in range(site.banks)]
        self._learn = site.learn

    def hear(self, words: Words) -> None:
        word = words.take()
        message = word & KINDS
        if message == REPLY:
            reply = self.away.take(word >> KIND_BITS)
            assert isinstance(reply, MemoryRequest)
            go_on(reply, words, self._stalls)
            self.replies[reply.sm - self._first_sm].put(reply)
        elif message == LEFT:
            self._left(word >> KIND_BITS, words)
        elif message == STALLED:
            blame, begin = words.take(), words.take()
            self._stalls[word >> KIND_BITS].note(blame, begin, self.env._now)
        elif message == ADMITTED:
            self.walkers.admitted()
        else:
            translation = self.away.take(word >> KIND_BITS)
            assert isinstance(translation, Translation)
            self._translated(translation, words)

    def _left(self, what: i64, words: Words) -> None:
        """A request has left the network: of which SM, and from 1 on, which bank was stalled."""
        entrance = self.requests.entrances[what & PLACES]
        bank = what >> PLACE
        arrived = words.take() if bank else 0
        entrance.inside -= 1
        if entrance.blocked.waiting:
            entrance.wake(self._stalls[bank - 1] if bank else None, arrived)

    def _translated(self, translation: Translation, words: Words) -> None:
        """A translation comes back."""
        pages = words.take()
        if pages:
            first, frame, writable = words.take(), words.take(), words.take() != 0
            translation.mapping = self._learn(translation.tag, first, frame, pages, writable)
        translation.read_at = self.env._now
        go_on(translation, words, self._stalls)
        translation.answer()

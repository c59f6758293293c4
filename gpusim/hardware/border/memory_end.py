"""The memory side's end of the border: what hears the SMs' side, and tells it what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen
from mypy_extensions import i64

from gpusim.core.blame import Blames
from gpusim.core.engine import (
    NEVER,
    EventLoop,
    Hearer,
    NeverFull,
    Port,
    Turning,
    TurnTaker,
    Wakeable,
)
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import MemoryRequest, Translation
from gpusim.core.states import State
from gpusim.core.unboxed import Words, pair
from gpusim.hardware.border.messages import (
    ADMITTED,
    BYTE,
    BYTES,
    KIND_BITS,
    KINDS,
    LEFT,
    PLACE,
    PLACES,
    REPLY,
    REQUEST,
    TRANSLATED,
    take_long,
)
from gpusim.hardware.border.trails import ToldPieces, ToldStalls
from gpusim.hardware.crossbar import Entrance, Link, Network

_INTERCONNECT: Final = int(State.INTERCONNECT)


class CrossedRequest(MemoryRequest):
    """A request of the SMs' side, on this one.

    Args:
        head: its kind, application and SM.
        words: what else was told of it.

    Attributes:
        number: of it, there.
    """

    __slots__ = ("number",)

    def __init__(self, head: i64, words: Words) -> None:
        app = head >> BYTE & PLACES
        sm = head >> BYTE + PLACE & PLACES
        tag, address, sectors = words.take(), words.take(), take_long(words)
        trail = pair(_INTERCONNECT, words.take())
        asid = tag >> ASID_SHIFT
        super().__init__(head & BYTES, app, asid, sm, tag, address, -1, sectors, 0, None, trail)
        self.number: i64 = words.take()


class CrossedTranslation(Translation):
    """A translation of the SMs' side, on this one.

    Args:
        head: its kind and application.
        words: what else was told of it.

    Attributes:
        number: of it, there.
    """

    __slots__ = ("number",)

    def __init__(self, head: i64, words: Words) -> None:
        sm, tag, slot, warp_slot = words.take(), words.take(), words.take(), words.take()
        trail = pair(words.take(), words.take())
        asid = tag >> ASID_SHIFT
        super().__init__(head >> BYTE, asid, sm, tag, slot, warp_slot, trail, kind=head & BYTES)
        self.number: i64 = words.take()


class Landing(Entrance):
    """Where requests of an SM have come in, on this side; tells the SMs' side when they leave.

    Args:
        network: of requests.
        latencies: as at its entrance.
        number: of the SM among those of the network.
        end: of the border.
    """

    __slots__ = ("_end", "_sm")

    def __init__(self, network: Network, latencies: list[int], number: int, end: MemoryEnd) -> None:
        super().__init__(network, number, latencies, NEVER)
        self._end = end
        self._sm: i64 = number
        self.when_free(Wakeable())  # so that it learns of each

    def wake(self, blames: Blames | None, arrived: int) -> None:
        told = self._end.told
        told.append(self._end.env._now)
        bank: i64 = 0
        if blames is not None and blames.until > arrived:
            stalls = blames.follower
            assert isinstance(stalls, ToldStalls)
            bank = stalls.bank + 1
        told.append((bank << PLACE | self._sm) << KIND_BITS | LEFT)
        if bank:
            told.append(arrived)


class Admits(Wakeable):
    """Tells the SMs' side of each translation that walkers take out of their queue.

    Args:
        queue: of the walkers.
        end: of the border.
    """

    __slots__ = ("_end", "_queue")

    def __init__(self, queue: Port[Translation], end: MemoryEnd) -> None:
        self._queue = queue
        self._end = end
        queue.when_free(self)

    def now(self) -> None:
        end = self._end
        end.told.append(end.env._now)
        end.told.append(ADMITTED)
        self._queue.when_free(self)


class Exit(Turning):
    """Where the replies to an SM come out of their network: it takes them when they are there.

    Args:
        link: of the network.
        end: of the border.
    """

    __slots__ = ("_end", "_link", "process")

    def __init__(self, link: Link, end: MemoryEnd) -> None:
        self._link = link
        self._end = end
        self.process = TurnTaker(end.env, self)
        link.connect(self.process)

    def turn(self, now: int) -> int:
        link = self._link
        while link.ready <= now:
            reply = link.take()
            assert isinstance(reply, CrossedRequest)
            self._end.replied(reply, now)
        return link.ready


class Answers(NeverFull):
    """Where walkers answer translations of the SMs' side."""

    __slots__ = ("_end", "name")

    def __init__(self, end: MemoryEnd) -> None:
        self.name = "answers of the walkers"
        self._end = end

    def send(self, item: CrossedTranslation, extra_cycles: int = 0) -> None:
        self._end.translated(item)


@frozen(eq=False, repr=False)
class MemoryEndSite:
    """Where the memory side's end stands in a machine.

    Attributes:
        env: the loop of the memory side.
        told: what goes to the SMs' side.
        ahead: cycles after which what that tells arrives.
        requests, replies: the networks.
        first_sm: whose entrances are the first ones.
        sms, banks: how many there are.
        walkers: their queue.
    """

    env: EventLoop
    told: Words
    ahead: int
    requests: Network
    replies: Network
    first_sm: int
    sms: int
    banks: int
    walkers: Port[Translation]


class MemoryEnd(Hearer):
    """The memory side's end.

    Attributes:
        env: the loop of the memory side.
        told: what goes to the SMs' side.
    """

    def __init__(self, site: MemoryEndSite) -> None:
        self.env = site.env
        self.told = site.told
        self._ahead = site.ahead
        self._links: Sequence[Link] = site.requests.links
        self._pieces = ToldPieces(site.told)
        self._first_sm = site.first_sm
        self._walkers = site.walkers
        self._answers = Answers(self)
        self._landings: list[Landing] = []
        for number in range(site.sms):
            entrance = site.requests.entrances[number]
            landing = Landing(site.requests, entrance.latencies, number, self)
            site.requests.entrances[number] = landing
            self._landings.append(landing)
            Exit(site.replies.links[number], self)
        Admits(site.walkers, self)
        for bank in range(site.banks):
            blames = site.requests.links[bank].blames
            assert blames is not None
            blames.follower = ToldStalls(bank, site.told)

    def hear(self, words: Words) -> None:
        word = words.take()
        head = word >> KIND_BITS
        if word & KINDS == REQUEST:
            arrival = words.take()  # and flits
            request = CrossedRequest(head, words)
            number = request.sm - self._first_sm
            self._landings[number].inside += 1
            link = self._links[head >> BYTE + 2 * PLACE]
            link.put(arrival >> PLACE, request, number, arrival & PLACES)
        else:
            extra = words.take()
            translation = CrossedTranslation(head, words)
            translation.return_to(self._answers)
            self._walkers.send(translation, extra - self._ahead)

    def replied(self, request: CrossedRequest, now: int) -> None:
        """A request has come out of the network of replies."""
        told = self.told
        told.append(now)
        told.append(request.number << KIND_BITS | REPLY)
        self._pieces.tell(request, now)

    def translated(self, translation: CrossedTranslation) -> None:
        """A translation is answered."""
        told, mapping, now = self.told, translation.mapping, self.env._now
        told.append(now)
        told.append(translation.number << KIND_BITS | TRANSLATED)
        if mapping is None:
            told.append(0)
        else:
            told.append(mapping.pages)
            told.append(mapping.tag)
            told.append(mapping.pfn)
            told.append(1 if mapping.writable else 0)
        self._pieces.tell(translation, now)

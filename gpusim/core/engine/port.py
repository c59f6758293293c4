"""Ports: the only way in which components talk."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from mypy_extensions import mypyc_attr

from gpusim.core.engine.loop import NEVER, EventLoop, Sleeper, Waiters, Wake, Wakeable
from gpusim.core.unboxed import Fifo, IntFifo, place_in

T = TypeVar("T")


@mypyc_attr(allow_interpreted_subclasses=True)
class Sink:
    """Something that can be sent to: a port, the entrance of a network, a way to several ports.

    Attributes:
        name: for reports.
    """

    __slots__ = ()

    name: str

    @property
    def full(self) -> bool:
        """Whether a sender has to wait."""
        raise NotImplementedError

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when there is room."""
        raise NotImplementedError

    def send(self, item: Any, extra_cycles: int = 0) -> None:
        """Send `item`, `extra_cycles` later than usual."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class NeverFull(Sink):
    """A sink whose senders are limited elsewhere: by their MSHRs, or by the walks under way."""

    __slots__ = ()

    @property
    def full(self) -> bool:
        return False

    def when_free(self, sender: Wakeable) -> None:
        """Never called for: this port is never full, so no sender waits for it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Port(Sink, Generic[T]):
    """A FIFO with a latency, a bandwidth and a depth.

    An item sent in cycle *t* arrives in cycle ``t + latency``, never earlier.  The receiver takes
    at most `bandwidth` arrived items a cycle; the rest wait, and that wait is measured.  Items
    that arrive in the same cycle are taken in the order in which they were sent.

    A port holds at most `depth` items (those still under way count).  A sender asks `full` first
    and, if it is, parks itself with `when_free`: nothing is ever dropped.

    Args:
        env: the environment.
        name: for reports.
        latency: cycles from sender to receiver.
        bandwidth: items that the receiver may take in one cycle.
        depth: items that fit; `NEVER` for no limit.

    Attributes:
        queue: items, in the order in which they arrive.
        ready: when the first of them arrives; `NEVER` if there is none.
        taken, waited_cycles: items taken, and the cycles that they waited after their arrival.
    """

    __slots__ = (
        "_blocked",
        "_cycle",
        "_behind",
        "_last",
        "_left",
        "_receiver",
        "bandwidth",
        "depth",
        "env",
        "latency",
        "name",
        "queue",
        "ready",
        "taken",
        "waited_cycles",
    )

    def __init__(
        self,
        env: EventLoop,
        name: str,
        latency: int = 0,
        bandwidth: int = NEVER,
        depth: int = NEVER,
    ) -> None:
        self.env = env
        self.name = name
        self.latency = latency
        self.bandwidth = bandwidth
        self.depth = depth
        self.taken = 0
        self.waited_cycles = 0
        self.queue: Fifo[T] = Fifo()
        self.ready = NEVER
        self._behind = IntFifo()
        """When the items behind the first one arrive."""
        self._last = 0
        """Arrival of the last item, while there is one."""
        self._blocked = Waiters()
        self._receiver: Wake | None = None
        self._cycle = -1
        self._left = 0

    def connect(self, receiver: Sleeper) -> None:
        """Name the process that is woken when an item arrives."""
        self._receiver = receiver.wake
        if self.queue:
            self._receiver.at(self.ready)

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def full(self) -> bool:
        """Whether a sender has to wait."""
        return len(self.queue) >= self.depth

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when there is room for an item, after the senders that asked before."""
        self._blocked.add(sender)

    def send(self, item: T, extra_cycles: int = 0) -> None:
        """Send `item`; it arrives after the latency and `extra_cycles` more.

        The sender has made sure that the port is not `full`.
        """
        arrival = self.env._now + self.latency + extra_cycles
        queue = self.queue
        if arrival >= self.ready:  # the receiver knows of the one before it
            if arrival >= self._last:
                self._last = arrival
                self._behind.append(arrival)
                queue.append(item)
            else:
                place = place_in(self._behind, arrival + 1)
                self._behind.insert(place, arrival)
                queue.insert(place + 1, item)
            return
        if queue:
            self._behind.insert(0, self.ready)
            queue.insert(0, item)
        else:
            self._last = arrival
            queue.append(item)
        self.ready = arrival
        receiver = self._receiver
        if receiver is not None and arrival < receiver.due:
            receiver.at(arrival)

    def head(self) -> T | None:
        """The item that `take` would return now, left in place."""
        now = self.env._now
        if self.ready > now or (self._cycle == now and not self._left):
            return None
        return self.queue[0]

    def take(self) -> T | None:
        """Remove and return the next item; None if none is there or the cycle's share is used."""
        now = self.env._now
        arrival = self.ready
        if arrival > now:
            return None
        if self.bandwidth != NEVER:
            if self._cycle != now:
                self._cycle = now
                self._left = self.bandwidth
            if not self._left:
                return None
            self._left -= 1
        queue = self.queue
        item = queue.pop(0)
        self.ready = self._behind.pop(0) if queue else NEVER
        self.taken += 1
        self.waited_cycles += now - arrival
        if self._blocked.waiting:
            self._wake_blocked()
        return item

    def _wake_blocked(self) -> None:
        """Wake as many waiting senders as there is room for, the first ones first.

        One that has no use for its room leaves it to the next, who is woken with the next item
        that is taken; when none is left to be taken, all are woken.
        """
        self._blocked.wake(self.depth - len(self.queue) if self.queue else NEVER)

    def next_cycle(self) -> int:
        """The first cycle, now or later, in which `take` can return an item; `NEVER` if empty."""
        now = self.env._now
        if self.ready > now:
            return self.ready
        return now if self._cycle != now or self._left else now + 1

    def pause(self) -> int | None:
        """What a receiver of this port alone yields: cycles until the next item, None if empty."""
        cycle = self.next_cycle()
        return None if cycle == NEVER else cycle - self.env._now

"""A request that waits in a channel, and its rank among all that wait there."""

from __future__ import annotations

from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.request import MemoryRequest

PRECEDENCE: Final = 1 << 48
"""What a queue takes off the rank of a request that goes before all others; a channel accepts fewer
requests than this."""

HIT: Final = 0
MISS: Final = 1
CONFLICT: Final = 2
FORWARDED: Final = 3
"""What a request found in its bank: its row, no row, another row; or its data in a write."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class Served:
    """Reads that a part of a queue has served.

    Attributes:
        reads: how many.
        latency_cycles: from acceptance to the end of the data, summed over them.
    """

    reads: int = 0
    latency_cycles: int = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class Due:
    """What a command is next for: a request, or a bank.

    Attributes:
        due: first clock of the command, as far as the bank alone is concerned.
    """

    __slots__ = ("due",)

    due: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Waiting(Due):
    """A request that waits in a channel.

    Attributes:
        request: the request itself.
        bank: the index of its bank in the channel.
        row: its row in that bank.
        write: whether it writes.
        rank: of the requests whose next command could go in the same clock, the lowest rank goes
            first, after those whose row was opened for them.  At first the number of the request in
            the order of acceptance; `DramQueue.add` may take multiples of `PRECEDENCE` off, or add
            them.
        clock: DRAM clock in which it was accepted.
        served: where its queue wants it counted when it is answered, beside the counters of its
            application; None: nowhere.
        due: first clock of its column access, as far as its bank alone is concerned.
        opened: number of the opening of its row, if that was opened for it; 0: it was not.
        left: column accesses (bursts) still to do.
        accepted: core cycle in which it was accepted.
        first: DRAM clock of its first command, -1 before.
        outcome: what it found in its bank at its first command: `HIT`, `MISS`, `CONFLICT`, or
            `FORWARDED`.
        finished: DRAM clock in which its data ends.
    """

    __slots__ = (
        "accepted",
        "bank",
        "clock",
        "finished",
        "first",
        "left",
        "opened",
        "outcome",
        "rank",
        "request",
        "row",
        "served",
        "write",
    )

    outcome: int
    finished: int

    def __init__(
        self, request: MemoryRequest, bank: int, row: int, write: bool, left: int, accepted: int
    ) -> None:
        self.request = request
        self.bank = bank
        self.row = row
        self.write = write
        self.left = left
        self.accepted = accepted
        self.rank = 0
        self.clock = 0
        self.opened = 0
        self.first = -1
        self.served: Served | None = None


def goes_first(one: Waiting, other: Waiting) -> bool:
    """Whether, of two requests whose column accesses could go in one clock, the first one goes.

    Of requests whose rows were opened for them, the one that was accepted in an earlier clock; of
    one clock, the one whose row was opened first.
    """
    if not (one.opened and other.opened):
        return one.opened > 0 or (not other.opened and one.rank < other.rank)
    place, others = one.rank // PRECEDENCE, other.rank // PRECEDENCE
    if place != others:
        return place < others
    return one.clock < other.clock or (one.clock == other.clock and one.opened < other.opened)

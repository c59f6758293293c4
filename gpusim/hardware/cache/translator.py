"""What an L2 bank whose lines have virtual names and its translator say to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from attrs import frozen

from gpusim.core.engine import Sink
from gpusim.core.request import VirtualRequest


@frozen(eq=False, repr=False)
class Invalidation:
    """A message that lines have to go.

    Attributes:
        lines: the lines; not all of them need be here.
        page: the page of which all lines have to go instead, for which the bank walks its tags;
            -1: none.
        purge: what the table is answered with when they have gone.
    """

    lines: Sequence[int]
    page: int
    purge: Any


class Translator(Protocol):
    """The forward–backward table (see `gpusim.hardware.fbt.Fbt`).

    A miss that is sent to its entrance comes back, as soon as it may be let through, to the
    `grants` or the `replays` of its bank.
    """

    @property
    def entrance(self) -> Sink:
        """Where misses are sent."""

    def filled(self, request: VirtualRequest) -> None:
        """The line of a miss that was let through is cached from now on."""

    def finished(self, request: VirtualRequest) -> None:
        """A miss that was let through is answered."""

    def evicted(self, line: int, dirty: int, app: int, bank: Any) -> None:
        """A line has left; `bank.written_back` follows when DRAM has its dirty sectors, if any."""

    def wrote(self, line: int, request: VirtualRequest) -> None:
        """A store of `request` made a line dirty that is cached under the name `line`."""

    def done(self, purge: object, delay: int) -> None:
        """The bank has done what a message of the table asked for."""

"""FR-FCFS among requests of one application, and ranks of applications above that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import ClassVar, Self

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Ending
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.queue import FrFcfs
from gpusim.hardware.dram.waiting import PRECEDENCE, Waiting

_rank = attrgetter("rank")


@mypyc_attr(allow_interpreted_subclasses=True)
class Ranking:
    """A table that all channels share: how applications rank, and when that changes.

    It listens to ``dram.request``.

    Attributes:
        places: by application, 0 goes first.
        version: how often they have changed.
    """

    def __init__(self, apps: int) -> None:
        self.places = list(range(apps))
        self.version = 0

    def set_order(self, order: Sequence[int]) -> None:
        """Applications rank in this order from now on."""
        for place, app in enumerate(order):
            self.places[app] = place
        self.version += 1

    @abstractmethod
    def advance(self, cycle: int) -> None:
        """Bring the ranks up to date at core cycle `cycle`; cycles never go back."""

    @abstractmethod
    def request_done(self, done: Completion) -> None:
        """A request has its data: the signal ``dram.request``."""


@mypyc_attr(allow_interpreted_subclasses=True)
class RankedQueue(FrFcfs):
    """Requests of the application that ranks first go first; of these row hits, then the oldest.

    What has waited for `patience` core cycles goes before all of that, the oldest first.  A channel
    learns of new ranks, and of what has waited too long, when the next read comes to it [our
    choice].

    Args:
        entries, banks: see `DramQueue`.
        ranking: of a machine that has one application; `attach` gives the real one.
        quantum: core cycles after which applications are ranked anew.
        patience: see above.

    Attributes:
        never: what has not happened in a run that is shorter than a quantum.
    """

    __slots__ = ("_arrived", "_patience", "_quantum", "_version", "ranking")

    reads_only = True
    never: ClassVar[str] = ""

    def __init__(
        self, entries: int, banks: int, ranking: Ranking, quantum: int, patience: int
    ) -> None:
        super().__init__(entries, banks)
        self.ranking = ranking
        self._version = 0
        self._quantum = quantum
        self._patience = patience
        self._arrived: dict[Waiting, None] = {}
        """What waits and has not waited for too long, the oldest first."""

    def add(self, waiting: Waiting, now: int) -> None:
        cycle = waiting.accepted
        self.ranking.advance(cycle)
        self._promote(cycle)
        if self._version != self.ranking.version:
            self._rank_anew()
        waiting.rank += PRECEDENCE * self.ranking.places[waiting.request.app]
        self._arrived[waiting] = None
        super().add(waiting, now)

    def remove(self, waiting: Waiting) -> None:
        self._arrived.pop(waiting, None)
        super().remove(waiting)

    def best(self, bank: int, row: int) -> Waiting | None:
        """The oldest row hit, else the oldest request, of the application that ranks first."""
        waiting = self._banks[bank]
        if not waiting:
            return None
        first = waiting[0]
        if row >= 0:
            lower = (first.rank // PRECEDENCE + 1) * PRECEDENCE
            for one in waiting:
                if one.rank >= lower:
                    break
                if one.row == row:
                    return one
        return first

    def _promote(self, cycle: int) -> None:
        """What has waited for too long ranks above all applications."""
        late = []
        for waiting in self._arrived:
            if cycle - waiting.accepted < self._patience:
                break
            late.append(waiting)
        for waiting in late:
            del self._arrived[waiting]
            waiting.rank = waiting.rank % PRECEDENCE - PRECEDENCE
            self._order(waiting.bank)

    def _rank_anew(self) -> None:
        """Applications have got other ranks."""
        self._version = self.ranking.version
        places = self.ranking.places
        for waiting in self._arrived:
            waiting.rank = waiting.rank % PRECEDENCE + PRECEDENCE * places[waiting.request.app]
        for bank, requests in enumerate(self._banks):
            if requests:
                self._order(bank)

    def _order(self, bank: int) -> None:
        self._banks[bank].sort(key=_rank)
        self.changed.append(bank)

    def acted(self) -> int:
        """How often applications got other ranks here."""
        return self._version

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """Among several applications, it is to rank them."""
        quantum = made[0]._quantum
        if len(ending.apps) > 1 and ending.cycles < quantum:
            yield (
                f"{cls.never}: its quantum of {quantum} cycles is longer than the run of "
                f"{ending.cycles} cycles; set {ending.key}.quantum"
            )

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """For as many applications as there are SMs."""
        app = bits_for(dimensions.sms)
        return [
            *super().storage(dimensions),
            Storage("owners of requests", self._entries, {"application": app, "late": 1}),
            Storage("ranks of applications", dimensions.sms, {"rank": app}),
        ]

"""MASK's address-space-aware DRAM scheduler (§5.4): a golden, a silver and a normal queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Self

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import at_least, one_of
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import MemoryRequest
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.dram.pressure import TranslationPressure, watch_pressure
from gpusim.hardware.dram.queue import DramQueue, Fcfs, FcfsOfBanks, FrFcfs, entries_storage
from gpusim.hardware.dram.waiting import PRECEDENCE, Served, Waiting

QUOTAS = ("pressure", "walks")
GOLDEN = ("queue", "bank")
ROW_HITS = ("in-queue", "first")
COUNTED = ("now", "epoch")


@attr.s(auto_attribs=True, eq=False, repr=False)
class QueueCounters:
    """What the three queues did, all applications together."""

    golden_reads: int = count("reads answered from the golden queue")
    silver_reads: int = count("reads answered from the silver queue")
    normal_reads: int = count("reads answered from the normal queue")
    golden_latency_cycles: int = count(
        "sum over reads of the golden queue from acceptance to the end of the data", "cycle"
    )
    silver_latency_cycles: int = count(
        "sum over reads of the silver queue from acceptance to the end of the data", "cycle"
    )
    normal_latency_cycles: int = count(
        "sum over reads of the normal queue from acceptance to the end of the data", "cycle"
    )
    turns: int = count("turns that applications had at the silver queue")
    expired_turns: int = count("turns that ended because their application asked for nothing")
    promoted: int = count("reads that waited too long in the normal queue and went on to silver")


@mypyc_attr(allow_interpreted_subclasses=True)
class GoldenSilverNormal(DramQueue):
    """Page-table reads first, then data of the application whose turn it is, then other data.

    The golden queue is first come, first served; silver and normal are FR-FCFS queues.  A bank
    works for the highest queue that has a request for it, and of commands that could go in one
    clock, that of the highest queue goes (a column access before an activation, as always); so
    banks that no higher request wants serve lower ones.

    An application may put as many requests into silver as its quota says; then the next one that
    has requests here gets its turn.  What finds silver full goes to normal and does not count.
    A read stays in the queue that it was put into, unless `patience` says otherwise.

    Args:
        entries, banks: see `DramQueue`; `entries` has no meaning, as each queue has its size.
        golden: entries of the golden queue (MASK §7.4).
        silver: entries of the silver queue (MASK §7.4).
        normal: entries of the normal queue (MASK §7.4).
        thresh_max: sum of the quotas (Equation 1); each is at least 1, all the same while nothing
            is walked [our choice].
        idle: core cycles without a request after which a turn ends if another application has one;
            0: only its quota ends a turn, as in the paper.
        patience: core cycles after which a read of the normal queue goes on to silver as soon as
            that has room, in no application's quota; 0: never, as in the paper.
        counted: walks and warps of a quota are those when the turn begins (``"now"``, MASK §5.4),
            or the most walks and mean warps of the running ``"epoch"``.
        epoch: core cycles after which walks and stalled warps are counted anew; for ``"epoch"``
            only.
        golden_order: golden is first come, first served as a whole ``"queue"``, whose head's bank
            works for it alone, or within each ``"bank"``.
        row_hits: row hits go first in their own queue (``"in-queue"``: silver and normal), or
            before all requests of their bank (``"first"``, as in the released simulator).
        quota: quotas are in proportion to an application's ``"pressure"`` (concurrent walks times
            warps stalled by one), or to its ``"walks"`` alone, as in the released simulator.
    """

    __slots__ = (
        "_counters",
        "_data",
        "_golden",
        "_heard",
        "_home",
        "_idle",
        "_left",
        "_normal",
        "_now",
        "_patience",
        "_patient",
        "_pressure",
        "_quota",
        "_rows_first",
        "_served",
        "_silver",
        "_sizes",
        "_thresh_max",
        "_turn",
        "epoch",
    )

    reads_only = True

    def __init__(
        self,
        entries: int,
        banks: int,
        *,
        golden: int = 16,
        silver: int = 64,
        normal: int = 192,
        thresh_max: int = 500,
        idle: int = 0,
        patience: int = 0,
        epoch: int = 100_000,
        quota: str = "pressure",
        counted: str = "now",
        golden_order: str = "queue",
        row_hits: str = "in-queue",
    ) -> None:
        at_least(1, golden=golden, silver=silver, normal=normal, thresh_max=thresh_max)
        at_least(1, epoch=epoch)
        at_least(0, idle=idle, patience=patience)
        one_of(QUOTAS, quota=quota)
        one_of(COUNTED, counted=counted)
        one_of(GOLDEN, golden_order=golden_order)
        one_of(ROW_HITS, row_hits=row_hits)
        self.size = 0
        self.epoch = epoch
        self._sizes = golden, silver, normal
        in_order = Fcfs if golden_order == "queue" else FcfsOfBanks
        self._golden: DramQueue = in_order(golden, banks)
        self._silver = FrFcfs(silver, banks)
        self._normal = FrFcfs(normal, banks)
        self.changed = self._golden.changed
        self._served = [Served() for _ in self._sizes]
        self._home: dict[Waiting, DramQueue] = {}
        """Which queue a request waits in."""
        self._pressure = TranslationPressure(1, epoch)
        self._thresh_max = thresh_max
        self._rows_first = row_hits == "first"
        self._idle = idle
        self._patience = patience
        self._patient: deque[Waiting] = deque()
        """What came into normal, the oldest first; some are served. Empty without `patience`."""
        self._quota = quota
        self._now = counted == "now"
        self._data: dict[int, int] = {}
        """Requests for data that wait, by application."""
        self._turn = -1
        self._left = 0
        """What its application may still put into silver."""
        self._heard = 0
        """When that application last had a request, or got its turn."""
        self._counters = QueueCounters()

    def attach(self, signals: Signals) -> None:
        self.watch(watch_pressure(signals, self.epoch))

    def watch(self, pressure: TranslationPressure) -> None:
        """Quotas follow `pressure`."""
        self._pressure = pressure

    def full(self, request: MemoryRequest) -> bool:
        """Whether the queue that it would go to is full."""
        if request.depth > 0:
            return self._golden.full(request)
        return self._normal.full(request) and not self._silver_takes(request)

    def add(self, waiting: Waiting, now: int) -> None:
        """Take a request into its queue, after moving on what has waited too long in normal."""
        if self._patient:
            self._promote(waiting.accepted, now)
        request = waiting.request
        if request.depth > 0:
            self._put(waiting, now, self._golden, 0)
            return
        app, cycle = request.app, waiting.accepted
        self._data[app] = self._data.get(app, 0) + 1
        if not self._left:
            self._pass_turn(cycle)
        elif self._idle and app != self._turn and cycle - self._heard > self._idle:
            self._counters.expired_turns += 1
            self._pass_turn(cycle)
        if app == self._turn:
            self._heard = cycle
        if self._silver_takes(request):
            self._left -= 1
            self._put(waiting, now, self._silver, 1)
        else:
            self._put(waiting, now, self._normal, 2)
            if self._patience:
                self._patient.append(waiting)

    def _put(self, waiting: Waiting, now: int, queue: DramQueue, number: int) -> None:
        """Golden goes before what has no rank among the three (writes), normal after it."""
        waiting.rank += (number - 1) * PRECEDENCE
        waiting.served = self._served[number]
        self._home[waiting] = queue
        self.size += 1
        queue.add(waiting, now)

    def _promote(self, cycle: int, now: int) -> None:
        """Let reads go on from normal to silver that have waited there for `patience` cycles."""
        patient = self._patient
        while patient:
            oldest = patient[0]
            if self._home.get(oldest) is not self._normal:
                patient.popleft()
                continue
            if cycle - oldest.accepted < self._patience or self._silver.full(oldest.request):
                return
            patient.popleft()
            self._normal.remove(oldest)
            oldest.rank -= PRECEDENCE
            oldest.served = self._served[1]
            self._home[oldest] = self._silver
            self._silver.add(oldest, now)
            self.changed.append(oldest.bank)
            self._counters.promoted += 1

    def remove(self, waiting: Waiting) -> None:
        """Forget a request."""
        self.size -= 1
        self._home.pop(waiting).remove(waiting)
        request = waiting.request
        if request.depth == 0:
            self._data[request.app] -= 1

    def best(self, bank: int, row: int) -> Waiting | None:
        """The best request of the highest queue that has one for the bank, or a row hit."""
        if self._rows_first and row >= 0 and (hit := self._row_hit(bank, row)) is not None:
            return hit
        for queue in (self._golden, self._silver, self._normal):
            best = queue.best(bank, row)
            if best is not None:
                return best
        return None

    def requests(self) -> list[Waiting]:
        """All requests, golden ones first."""
        return [*self._golden.requests(), *self._silver.requests(), *self._normal.requests()]

    def _row_hit(self, bank: int, row: int) -> Waiting | None:
        """The request of the highest queue that lies in the open row."""
        for one in self._golden.requests():
            if one.bank == bank and one.row == row:
                return one
        for queue in (self._silver, self._normal):
            best = queue.best(bank, row)
            if best is not None and best.row == row:
                return best
        return None

    # -- turns -----------------------------------------------------------------------------------

    def _silver_takes(self, request: MemoryRequest) -> bool:
        return request.app == self._turn and self._left > 0 and not self._silver.full(request)

    def _pass_turn(self, cycle: int) -> None:
        """Round-robin among applications that have requests."""
        apps = self._pressure.apps
        self._turn = min(
            (app for app, number in self._data.items() if number),
            key=lambda app: (app - self._turn - 1) % apps,
        )
        self._left = self._threshold(cycle)
        self._heard = cycle
        self._counters.turns += 1

    def _threshold(self, cycle: int) -> int:
        """The quota of the application whose turn it is (Equation 1)."""
        pressure = self._pressure
        weights = [self._weight(app, cycle) for app in range(pressure.apps)]
        total = sum(weights)
        share = weights[self._turn] / total if total else 1 / pressure.apps
        return max(int(self._thresh_max * share), 1)

    def acted(self) -> int:
        """Reads that went ahead of others: those of the golden and the silver queue."""
        golden, silver, _ = self._served
        return golden.reads + silver.reads

    def _weight(self, app: int, cycle: int) -> float:
        """What the quota of an application is in proportion to."""
        pressure = self._pressure
        walks = pressure.walks_now(app) if self._now else pressure.walks(app, cycle)
        if self._quota == "walks":
            return walks
        return walks * (pressure.warps_now(app) if self._now else pressure.warps(app, cycle))

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """Among several applications, its quotas are to follow the pressure of each epoch."""
        epoch = made[0].epoch
        if not made[0]._now and len(ending.apps) > 1 and ending.cycles <= epoch:
            yield (
                f"'golden-silver-normal' never counted walks and stalled warps anew: its epoch of "
                f"{epoch} cycles is longer than the run of {ending.cycles} cycles; "
                f"set {ending.key}.epoch"
            )

    # -- reports ---------------------------------------------------------------------------------

    def counters(self) -> Iterator[QueueCounters]:
        own, (golden, silver, normal) = self._counters, self._served
        own.golden_reads, own.golden_latency_cycles = golden.reads, golden.latency_cycles
        own.silver_reads, own.silver_latency_cycles = silver.reads, silver.latency_cycles
        own.normal_reads, own.normal_latency_cycles = normal.reads, normal.latency_cycles
        yield own

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        turn = {"application": bits_for(dimensions.sms), "quota": bits_for(self._thresh_max + 1)}
        return [entries_storage(sum(self._sizes), dimensions), Storage("turn", 1, turn)]


register_policy(Slot.DRAM_QUEUE, "golden-silver-normal", GoldenSilverNormal)

"""Applications in two clusters by how much they ask of DRAM, and ranks in each (TCM)."""

from __future__ import annotations

from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.ranked import Ranking


class Clusters(Ranking):
    """Clusters and ranks of Kim et al., *Thread Cluster Memory Scheduling*, MICRO 2010.

    At the end of a quantum, applications that ask for least are put into the latency-sensitive
    cluster, as long as together they used no more than `share` of all service; these rank first,
    the one that asks for least before the others.  The others are ranked by niceness: many banks at
    once are nice, many row hits are not, as they keep others waiting.  Every `shuffle` cycles their
    ranks change by the paper's insertion shuffle, so that each is first for some time, and the
    nicest most often.

    [Our choice: how much one asks for is its requests in the quantum, since DRAM does not know its
    instructions; how many banks, the mean over its reads when they come; of equally nice ones, the
    one with the higher number is nicer, instead of a random shuffle where all are alike.]

    Args:
        apps: how many there are.
        quantum, shuffle: core cycles.
        share: see above.
    """

    def __init__(self, apps: int, quantum: int, shuffle: int, share: float) -> None:
        super().__init__(apps)
        self._apps = apps
        self._quantum = quantum
        self._shuffle = shuffle
        self._share = share
        self._quantum_ends = quantum
        self._shuffled = 0
        """When ranks changed last; 0: before the end of the first quantum."""
        self._phase = 0
        self._latency: list[int] = []
        """The latency-sensitive cluster, the first one first."""
        self._bandwidth: list[int] = []
        """The other one, the first one last."""
        self._niceness = [0] * apps
        self._waiting: list[dict[tuple[int, int], int]] = [{} for _ in range(apps)]
        """By application, queue and bank: its reads that wait."""
        self._queues = 0
        self._rows: dict[tuple[int, int, int], int] = {}
        """By application, channel and bank: the row of its last request."""
        self._forget()

    def _forget(self) -> None:
        """A quantum begins."""
        apps = self._apps
        self._requests = [0] * apps
        self._row_hits = [0] * apps
        self._service = [0] * apps
        self._arrivals = [0] * apps
        self._banks = [0] * apps

    def add_queue(self) -> int:
        """A number for another queue."""
        self._queues += 1
        return self._queues

    def came(self, app: int, queue: int, bank: int) -> None:
        """A read waits."""
        waiting = self._waiting[app]
        waiting[queue, bank] = waiting.get((queue, bank), 0) + 1
        self._arrivals[app] += 1
        self._banks[app] += len(waiting)

    def left(self, app: int, queue: int, bank: int) -> None:
        """A read waits no longer."""
        waiting = self._waiting[app]
        waiting[queue, bank] -= 1
        if not waiting[queue, bank]:
            del waiting[queue, bank]

    def request_done(self, done: Completion) -> None:
        app, row = done.app, done.row
        place = app, done.channel, done.bank
        self._requests[app] += 1
        self._row_hits[app] += self._rows.get(place, -1) == row
        self._rows[place] = row
        self._service[app] += done.finished - done.issued

    def advance(self, cycle: int) -> None:
        while cycle >= self._quantum_ends:
            self._cluster()
            self._shuffled = self._quantum_ends
            self._quantum_ends += self._quantum
        while self._shuffled and cycle >= self._shuffled + self._shuffle:
            self._shuffled += self._shuffle
            self._shuffle_ranks()

    def _cluster(self) -> None:
        """A quantum ends: form clusters, and rank what they hold."""
        order = sorted(range(self._apps), key=self._requests.__getitem__)
        left = self._share * sum(self._service)
        self._latency = []
        for app in order:
            left -= self._service[app]
            if left < 0:
                break
            self._latency.append(app)
        others = order[len(self._latency) :]
        self._rate(others)
        self._bandwidth = sorted(others, key=self._nice)
        self._phase = 0
        self._forget()
        self._publish()

    def _rate(self, apps: list[int]) -> None:
        """Niceness: place by banks at once, from the fewest on, less place by row hits."""
        by_banks = sorted(apps, key=lambda app: self._banks[app] / max(self._arrivals[app], 1))
        by_rows = sorted(apps, key=lambda app: self._row_hits[app] / max(self._requests[app], 1))
        for app in apps:
            self._niceness[app] = by_banks.index(app) - by_rows.index(app)

    def _shuffle_ranks(self) -> None:
        """A step of the insertion shuffle: one more of the highest, or of the lowest, is sorted."""
        order, count = self._bandwidth, len(self._bandwidth)
        if count < 2:
            return
        if self._phase < count:
            begin = count - 1 - self._phase
            order[begin:] = sorted(order[begin:], key=self._nice, reverse=True)
        else:
            end = self._phase - count + 1
            order[:end] = sorted(order[:end], key=self._nice)
        self._phase = (self._phase + 1) % (2 * count)
        self._publish()

    def _nice(self, app: int) -> tuple[int, int]:
        return self._niceness[app], app

    def _publish(self) -> None:
        self.set_order([*self._latency, *reversed(self._bandwidth)])

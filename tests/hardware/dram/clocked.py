"""A DRAM controller that looks at everything in every clock: slow and obviously right.

It scans the whole queue and the whole history of commands, knows no refresh, and serves as the
oracle for `gpusim.hardware.dram.commands`, which computes the same clocks without looking in
between.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.config.dram import DramConfig
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.timing import Timing


@dataclass
class Request:
    """One request, its place, and when its data ended (-1: not yet)."""

    arrival: int
    address: int
    write: bool
    rank: int
    group: tuple[int, int]
    bank: int
    row: int
    accepted: int = -1
    finished: int = -1


@dataclass
class Command:
    """A command that was issued."""

    name: str
    rank: int
    group: tuple[int, int]
    bank: int
    clock: int


@dataclass
class Clocked:
    """The controller; `run` returns its requests with their times."""

    config: DramConfig
    protects_hits: bool = True
    history: list[Command] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    reads: list[Request] = field(default_factory=list)
    writes: list[Request] = field(default_factory=list)
    opened: list[Request] = field(default_factory=list)
    draining: bool = False

    def __post_init__(self) -> None:
        self.timing = Timing.of(self.config)

    def run(self, stream: list[tuple[int, int, bool]]) -> list[Request]:
        """Serve ``(arrival, address, write)`` in order of arrival."""
        mapping = AddressMapping(self.config)
        requests = []
        for arrival, address, write in stream:
            bank, row = mapping.bank_and_row(address)
            rank, group, _ = mapping.bank_place(bank)
            requests.append(Request(arrival, address, write, rank, (rank, group), bank, row))
        outside = list(requests)
        clock = 0
        while outside or self.reads or self.writes or self.opened:
            self.tick(clock)
            while outside and outside[0].arrival <= clock:
                queue = self.writes if outside[0].write else self.reads
                size = self.config.write_queue if outside[0].write else self.config.read_queue
                if len(queue) >= size:
                    break
                request = outside.pop(0)
                request.accepted = clock
                if not request.write and any(w.address == request.address for w in self.writes):
                    request.finished = clock + 1
                else:
                    queue.append(request)
            clock += 1
            assert clock < 100_000
        return requests

    def tick(self, clock: int) -> None:
        """One clock: one command, or, with two buses, a column access and then a row command."""
        high = self.config.drain_high * self.config.write_queue
        low = self.config.drain_low * self.config.write_queue
        if not self.draining and (len(self.writes) > high or not self.reads):
            self.draining = True
        elif self.draining and len(self.writes) < low and self.reads:
            self.draining = False
        queue = self.writes if self.draining else self.reads
        columns, rows = ("RD", "WR"), ("ACT", "PRE")
        for names in (columns, rows) if self.config.row_bus else (columns + rows,):
            self.look(queue, clock, names)

    def look(self, queue: list[Request], clock: int, names: tuple[str, ...]) -> None:
        """Issue one of the named commands, if one is ready."""
        ready = [r for r in self.opened if self.ready(self.next_command(r), r, clock)]
        ready = [r for r in ready if self.next_command(r) in names]
        if not ready and self.protects_hits:
            ready = self.choose(queue, clock, names)
        elif not ready:
            ready = [r for r in queue[:1] if self.ready(self.next_command(r), r, clock)]
            ready = [r for r in ready if self.next_command(r) in names]
        if ready:
            self.issue(min(ready, key=lambda r: r.accepted), queue, clock)

    def choose(self, queue: list[Request], clock: int, names: tuple[str, ...]) -> list[Request]:
        """Ready row hits if there are any, else whatever is ready and closes no wanted row."""
        ready = [r for r in queue if self.ready(self.next_command(r), r, clock)]
        ready = [r for r in ready if self.next_command(r) in names]
        hits = [r for r in ready if self.rows.get(r.bank) == r.row]
        if hits:
            return hits[:1]
        wanted = {r.bank for r in [*queue, *self.opened] if self.rows.get(r.bank) == r.row}
        return [r for r in ready if self.next_command(r) == "ACT" or r.bank not in wanted][:1]

    def next_command(self, request: Request) -> str:
        """What the request needs next."""
        if request.bank not in self.rows:
            return "ACT"
        if self.rows[request.bank] != request.row:
            return "PRE"
        return "WR" if request.write else "RD"

    def ready(self, name: str, request: Request, clock: int) -> bool:
        """Whether no earlier command forbids this one."""
        t = self.timing
        activations = [c for c in self.history if c.name == "ACT" and c.rank == request.rank]
        if name == "ACT":
            for count, window in ((4, t.FAW), (32, t.A32W)):
                if len(activations) >= count and clock < activations[-count].clock + window:
                    return False
        return all(
            clock >= c.clock + self.gap(t, c, name, request)
            for c in reversed(self.history)
            if c.rank == request.rank
        )

    def gap(self, t: Timing, before: Command, name: str, request: Request) -> int:
        """Clocks between a command and another one of the same rank."""
        gaps = [0]
        pair = (before.name, name)
        gaps.append(
            {
                ("ACT", "ACT"): t.RRDS,
                ("RD", "RD"): t.CCDS,
                ("WR", "WR"): t.CCDS,
                ("RD", "WR"): t.CL + t.CCDS + 2 - t.CWL,
                ("WR", "RD"): t.CWL + t.BL + t.WTRS,
                ("PRE", "PRE"): t.PPD,
            }.get(pair, 0)
        )
        if before.group == request.group:
            gaps.append(
                {
                    ("ACT", "ACT"): t.RRDL,
                    ("RD", "RD"): t.CCDL,
                    ("WR", "WR"): t.CCDL,
                    ("WR", "RD"): t.CWL + t.BL + t.WTRL,
                }.get(pair, 0)
            )
        if before.bank == request.bank:
            gaps.append(
                {
                    ("ACT", "RD"): t.RCDRD,
                    ("ACT", "WR"): t.RCDWR,
                    ("ACT", "PRE"): t.RAS,
                    ("ACT", "ACT"): t.RC,
                    ("PRE", "ACT"): t.RP,
                    ("RD", "PRE"): t.RTP,
                    ("WR", "PRE"): t.CWL + t.BL + t.WR,
                }.get(pair, 0)
            )
        return max(gaps)

    def issue(self, request: Request, queue: list[Request], clock: int) -> None:
        """Issue the next command of a request."""
        t = self.timing
        name = self.next_command(request)
        self.history.append(Command(name, request.rank, request.group, request.bank, clock))
        self.history = self.history[-150:]
        if name == "PRE":
            del self.rows[request.bank]
        elif name == "ACT":
            self.rows[request.bank] = request.row
            queue.remove(request)
            self.opened.append(request)
        else:
            request.finished = clock + t.BL + (t.CWL if request.write else t.CL)
            (self.opened if request in self.opened else queue).remove(request)

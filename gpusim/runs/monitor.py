"""Progress of a run while it runs: samples of the machine's counters.

A monitor reads and never writes: results are the same with and without it.  A warp's wait is
booked when it ends, so one that is still waiting does not show yet; compute instructions that a
warp issues in one go are all counted when the first one is issued.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping

from attrs import frozen

from gpusim.core.counters import ratio
from gpusim.machine import Machine

HEARTBEAT_CYCLES = 250
"""How often `now_and_then` looks at the clock, in simulated cycles."""

REPORT_SECONDS = 0.25
"""How often it reports, in real time: a sample costs as much as hundreds of events."""


@frozen(eq=False, repr=False)
class Activity:
    """What happened in some cycles.

    Attributes:
        cycles: how many.
        instructions: warp instructions issued.
        transactions: coalesced memory transactions issued.
        tlb_lookups, tlb_hits: by TLB level, all TLBs of a level together.
        state_cycles: warp-cycles booked, by state, in the order of the machine's states.
    """

    cycles: int
    instructions: int
    transactions: int
    tlb_lookups: Mapping[str, int]
    tlb_hits: Mapping[str, int]
    state_cycles: Mapping[str, int]

    @property
    def ipc(self) -> float | None:
        """Warp instructions a cycle; None in no cycles."""
        return ratio(self.instructions, self.cycles)

    @property
    def tlb_hit_rates(self) -> dict[str, float | None]:
        """By level; None where nothing was looked up."""
        return {
            level: ratio(self.tlb_hits[level], lookups)
            for level, lookups in self.tlb_lookups.items()
        }

    @property
    def shares(self) -> dict[str, float | None]:
        """Shares of the booked warp-cycles by state; None if none were booked."""
        total = sum(self.state_cycles.values())
        return {state: ratio(cycles, total) for state, cycles in self.state_cycles.items()}

    def since(self, before: Activity) -> Activity:
        """What happened after `before`, which begins in the same cycle."""
        return Activity(
            self.cycles - before.cycles,
            self.instructions - before.instructions,
            self.transactions - before.transactions,
            _less(self.tlb_lookups, before.tlb_lookups),
            _less(self.tlb_hits, before.tlb_hits),
            _less(self.state_cycles, before.state_cycles),
        )


def _less(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before[name] for name, count in counts.items()}


@frozen(eq=False, repr=False)
class Progress:
    """How far a run is, and what it is doing.

    Attributes:
        warps_done, warps_total: of the launches so far.
        warps_running: in residence on the SMs.
        activity: since the begin of the run.
        in_flight: what is not finished in each part of the machine: instructions and posted
            stores in the load/store units (``lsu``), translations in each TLB level (``tlb_L1``,
            ...) and at the walkers (``walk``), lines that the L1 caches wait for (``l1``), and
            requests in the crossbar, the L2 banks and the DRAM channels.
        launches: that have begun.
        blocks_done, blocks_known: thread blocks that have ended, and those of the launches so far.
        done: whether this is the last report of its run.
        run: which of several runs this is; empty: the run itself.
    """

    warps_done: int
    warps_running: int
    warps_total: int
    activity: Activity
    in_flight: Mapping[str, int]
    launches: int = 0
    blocks_done: int = 0
    blocks_known: int = 0
    done: bool = False
    run: str = ""

    @property
    def cycle(self) -> int:
        """Simulated time."""
        return self.activity.cycles

    @property
    def transactions(self) -> int:
        """Coalesced memory transactions issued."""
        return self.activity.transactions


Report = Callable[[Progress], None]


def now_and_then(machine: Machine, report: Report) -> Generator[int, None, None]:
    """A process that reports every `REPORT_SECONDS` of real time, as long as the machine runs."""
    due = 0.0
    while running(machine):
        if time.monotonic() >= due:
            report(sample(machine))
            due = time.monotonic() + REPORT_SECONDS
        yield HEARTBEAT_CYCLES


def every(cycles: int, machine: Machine, report: Report) -> Generator[int, None, None]:
    """A process that reports every `cycles` simulated cycles, as long as the machine runs."""
    yield cycles
    while running(machine):
        report(sample(machine))
        yield cycles


def running(machine: Machine) -> bool:
    """Whether any application has not ended."""
    return any(scheduler.in_flight() for scheduler in machine.schedulers)


def sample(machine: Machine, done: bool = False) -> Progress:
    """How far `machine` is now, or, at its end (`done`), how long its applications took."""
    sms, apart = machine.sms, machine.apart
    behind = in_memory_side(machine) if apart is None else apart.ask("monitor")
    return Progress(
        warps_done=machine.warps_ended,
        warps_running=sum(sm.resident for sm in sms),
        warps_total=sum(scheduler.warps_known for scheduler in machine.schedulers),
        activity=_activity(machine, done),
        in_flight={
            "lsu": sum(sm.lsu.in_flight() for sm in sms),
            **{
                f"tlb_{level}": sum(tlb.in_flight() for tlb in tlbs)
                for level, tlbs in machine.tlbs.items()
            },
            "walk": behind["walk"],
            "l1": sum(l1.in_flight() for l1 in machine.l1s),
            **behind,
        },
        launches=sum(scheduler.launches_begun for scheduler in machine.schedulers),
        blocks_done=sum(scheduler.blocks_ended for scheduler in machine.schedulers),
        blocks_known=sum(scheduler.blocks_known for scheduler in machine.schedulers),
        done=done,
    )


def in_memory_side(machine: Machine) -> dict[str, int]:
    """What is not finished in each part behind the crossbar, and in that."""
    systems = machine.systems
    return {
        "walk": sum(one.walkers.in_flight() for one in systems),
        "crossbar": sum(
            network.in_flight() for one in systems for network in (one.requests, one.replies)
        ),
        "l2": sum(bank.in_flight() for one in systems for bank in one.banks),
        "dram": sum(
            part.in_flight() for one in systems for part in (*one.memory_side, *one.channels)
        ),
    }


def _activity(machine: Machine, done: bool) -> Activity:
    ended = max(scheduler.finished_at for scheduler in machine.schedulers)
    sums = (app for sm in machine.sms for app in sm.ledger.sums)
    tlbs = {
        level: [counters for tlb in tlbs for counters in tlb.counters]
        for level, tlbs in machine.tlbs.items()
    }
    return Activity(
        cycles=ended if done else machine.env.now,
        instructions=sum(c.instructions for sm in machine.sms for c in sm.counters),
        transactions=machine.transactions,
        tlb_lookups={level: sum(c.lookups for c in all_) for level, all_ in tlbs.items()},
        tlb_hits={level: sum(c.hits for c in all_) for level, all_ in tlbs.items()},
        state_cycles=dict(zip(machine.states, map(sum, zip(*sums, strict=True)), strict=True)),
    )

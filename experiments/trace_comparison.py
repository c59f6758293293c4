"""One trace of MGPUSim on our machine: what both count, and what named differences make of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import frozen

from experiments.trace_counts import (
    NAMES,
    Figures,
    Measured,
    Trace,
    measured_figures,
    read_trace,
    reference_figures,
    replayed_figures,
)
from experiments.trace_replay import (
    LINE_SHIFT,
    PAGE_SHIFT,
    Columns,
    Counts,
    Emptied,
    Replay,
    other_lines,
    reverse_instructions,
)
from gpusim.config.load import LoadedModel
from gpusim.machine.load import load_model
from gpusim.programs.workload import RECORDED

MODEL = "r9-nano"
TOLERANCE = 0.10
"""Largest difference, relative to MGPUSim's count."""
NOISE = 0.001
"""A difference of so small a part of all requests of a unit is none."""


@frozen
class Difference:
    """What one difference between the machines does to a count: at least `low`, at most `high`.

    Attributes:
        name: as docs/validation.md explains it.
        low, high: added to our count they give MGPUSim's; equal where they are exact.
    """

    name: str
    low: float
    high: float


@frozen
class Row:
    """One count of one trace.

    Attributes:
        name: one of `NAMES`.
        ours, reference: the counts.
        requests: of the unit, in MGPUSim.
        differences: all that concern this count.
    """

    name: str
    ours: float
    reference: float
    requests: float
    differences: tuple[Difference, ...]

    @property
    def relative(self) -> float:
        """Our count relative to MGPUSim's."""
        if not self.reference:
            return 0.0 if not self.ours else float("inf")
        return self.ours / self.reference - 1

    @property
    def verdict(self) -> str:
        """``"ok"``; ``"explained"`` by differences; or ``"OUT"``."""
        if self._meets(()):
            return "ok"
        return "explained" if self._meets(self.differences) else "OUT"

    def _meets(self, differences: tuple[Difference, ...]) -> bool:
        slack = max(TOLERANCE * self.reference, NOISE * self.requests)
        low = self.ours + sum(difference.low for difference in differences)
        high = self.ours + sum(difference.high for difference in differences)
        return low - slack <= self.reference <= high + slack


@frozen
class Comparison:
    """One trace: all counts, and the cycles of both machines, which are for information."""

    trace: str
    rows: tuple[Row, ...]
    cycles: int
    reference_cycles: int

    @property
    def passed(self) -> bool:
        """Whether no count is left without an explanation."""
        return all(row.verdict != "OUT" for row in self.rows)


class Differences:
    """The named differences, computed from the rows of a trace and MGPUSim's other counters."""

    def __init__(
        self, trace: Trace, model: LoadedModel, emptied: Emptied, measured: Measured
    ) -> None:
        self._trace = trace
        self._group = model.config.sms_per_tpc
        self._measured = measured
        self._emptied = emptied

        def replay(columns: Columns, group: int = 0) -> Counts:
            return Replay(model.config, emptied).run(columns, group)

        ours = replay(trace.columns)
        reverse = replay(reverse_instructions(trace.columns))
        others = replay(trace.columns, self._group)
        self._plain, self._reverse, self._others = (
            replayed_figures(trace, counts) for counts in (ours, reverse, others)
        )
        self._whole = ours.l2_write_misses - ours.l2_partial_misses

    def of(self, name: str) -> Iterator[Difference]:
        """All differences that concern a count."""
        if name == "DRAM reads":
            yield _exactly("whole-line stores fetch nothing", -self._whole)
        yield _up_to("scalar and instruction lines", self._others[name] - self._plain[name])
        yield _up_to("order within instructions", self._reverse[name] - self._plain[name])
        yield from self._requests(name)
        if name == "DRAM writes":
            yield _exactly("dirty lines written for host copies", self._measured.dropped)
            yield _exactly("dirty lines written at the end", self._measured.dirty)
        if name in ("DRAM reads", "DRAM writes"):
            yield self._host_copies(name)

    def _requests(self, name: str) -> Iterator[Difference]:
        """Requests of the scalar and instruction paths, which our machine does not have."""
        count = self._trace.counter
        if name.startswith("L2 TLB") or name == "page walks":
            pages = self._other_pages()
            misses = count("L1STLB", "miss") + count("L1ITLB", "miss")
            amount = misses - pages if name == "L2 TLB hits" else pages
            yield _exactly("scalar and instruction requests", amount)
        elif name == "L2 read hits":
            requests = count("L1SCache", "read-miss") + count("L1ICache", "read-miss")
            displaced = self._others["L2 read misses"] - self._plain["L2 read misses"]
            yield _exactly("scalar and instruction requests", max(requests - displaced, 0.0))

    def _other_pages(self) -> int:
        """Pages that only scalar loads and instruction fetches touch."""
        columns = self._trace.columns
        lines = other_lines(columns, self._group)[:, 3]
        vector = np.unique(columns["vaddr"] >> PAGE_SHIFT)
        return len(np.setdiff1d(lines >> PAGE_SHIFT - LINE_SHIFT, vector))

    def _host_copies(self, name: str) -> Difference:
        """Copies between host and device, which DRAM counts but no cache sees.

        The host has to write what a kernel reads before any has written it; it may write and read
        whatever is mapped, once and again for each launch before which it copied.
        """
        columns = self._trace.columns
        times = 1 + len(self._emptied.l2)
        mapped = times * len(columns["page_vaddr"]) << PAGE_SHIFT - LINE_SHIFT
        if name == "DRAM reads":
            return Difference("copies to the host", 0, mapped)
        _, first = np.unique(columns["vaddr"] >> LINE_SHIFT, return_index=True)
        inputs = int((columns["is_write"][first] == 0).sum())
        return Difference("copies from the host", inputs, mapped)


def _exactly(name: str, amount: float) -> Difference:
    return Difference(name, amount, amount)


def _up_to(name: str, amount: float) -> Difference:
    return Difference(name, min(amount, 0.0), max(amount, 0.0))


def emptied_caches(trace: Trace, model: LoadedModel, reference: Figures) -> Emptied:
    """Launches before which caches were emptied: those before which the host copied.

    If the read misses of a cache level tell otherwise, in an untimed replay, it was emptied before
    every launch; that is told by this count alone, and then holds for all others.
    """
    every = frozenset(range(1, int(trace.columns["kernel"].max()) + 1))

    def told_by(name: str, *candidates: Emptied) -> Emptied:
        def off(one: Emptied) -> float:
            counts = Replay(model.config, one).run(trace.columns, 0)
            return abs(replayed_figures(trace, counts)[name] - reference[name])

        first = candidates[0]
        if off(first) <= TOLERANCE * reference[name]:
            return first
        return min(candidates, key=off)

    by_copies = Emptied(trace.copied, trace.copied)
    l1 = told_by("L1 read misses", by_copies, Emptied(every, trace.copied)).l1
    return told_by("L2 read misses", Emptied(l1, trace.copied), Emptied(l1, every))


def compare(path: Path, pace: str = RECORDED) -> Comparison:
    """Replay one trace, with MGPUSim's turns or, at a free pace, those of our machine."""
    trace, model = read_trace(path), load_model(MODEL)
    reference = reference_figures(trace)
    emptied = emptied_caches(trace, model, reference)
    measured = measured_figures(trace, model, emptied, pace)
    differences = Differences(trace, model, emptied, measured)
    requests: dict[str, float] = {}
    for name, unit in NAMES.items():
        if name != "page walks":
            requests[unit] = requests.get(unit, 0) + reference[name]
    rows = tuple(
        Row(
            name, measured.figures[name], reference[name], requests[unit],
            tuple(one for one in differences.of(name) if one.high - one.low + abs(one.low) >= 0.5),
        )
        for name, unit in NAMES.items()
    )  # fmt: skip
    return Comparison(trace.name, rows, measured.cycles, trace.cycles)

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
    code_between,
    reverse_instructions,
)
from gpusim.config.load import LoadedModel
from gpusim.machine.load import load_model
from gpusim.traces.options import RECORDED

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
        self._measured = measured
        self._l2_ways = model.config.l2.ways
        self._group = model.config.sms_per_tpc
        self._ahead = model.config.instruction.ahead if model.config.instruction else 0
        self._emptied = emptied

        def replay(columns: Columns) -> Counts:
            return Replay(model.config, emptied).run(columns)

        ours = replay(trace.columns)
        self._plain = replayed_figures(trace, ours)
        self._reverse = replayed_figures(trace, replay(reverse_instructions(trace.columns)))
        self._whole = ours.l2_write_misses - ours.l2_partial_misses

    def of(self, name: str) -> Iterator[Difference]:
        """All differences that concern a count."""
        if name == "DRAM reads":
            yield _exactly("whole-line stores fetch nothing", -self._whole)
        if name in self._plain:
            yield _up_to("order within instructions", self._reverse[name] - self._plain[name])
        yield from self._code(name)
        if name.startswith("L2 ") and "TLB" not in name:
            late = self._measured.late_hits
            yield _up_to("places given away late", -late if name.endswith("hits") else late)
        if name == "DRAM writes":
            yield _exactly("dirty lines written for host copies", self._measured.dropped)
            yield _exactly("dirty lines written at the end", self._measured.dirty)
        if name in ("DRAM reads", "DRAM writes"):
            yield self._host_copies(name)

    def _code(self, name: str) -> Iterator[Difference]:
        """Code of which the trace does not tell whether it was fetched, and what that displaces.

        Of LRU sets that are used in turn, one line too many misses all the ways.
        """
        columns = self._trace.columns
        fetched = self._measured.figures["instruction misses"]
        untraced = self._trace.counter("L1ICache", "read-miss") - fetched
        groups = len(np.unique(columns["cu"] // self._group))
        if name in ("instruction misses", "instruction TLB hits"):
            kernels = len(np.unique(columns["kernel"] << 8 | columns["cu"] // self._group))
            yield Difference("code ends within instruction buffers", -self._ahead * kernels, 0)
            between = code_between(columns, self._group)
            yield _up_to("code between distant accesses", max(between - fetched, 0.0))
        elif name in ("L2 read hits", "L2 read misses", "DRAM reads"):
            yield _up_to("code that is not traced", untraced)
        elif name in ("L2 write misses", "L2 write hits"):
            displaced = max(untraced, 0.0) / groups * self._l2_ways
            yield Difference("code that is not traced", -displaced, displaced)

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

    If the read misses of a cache level do not fit that in an untimed replay, it was emptied before
    every launch; this count alone decides it, for all others too.
    """
    every = frozenset(range(1, int(trace.columns["kernel"].max()) + 1))

    def nearer_by(name: str, *candidates: Emptied) -> Emptied:
        def off(one: Emptied) -> float:
            counts = Replay(model.config, one).run(trace.columns)
            return abs(replayed_figures(trace, counts)[name] - reference[name])

        first = candidates[0]
        if off(first) <= TOLERANCE * reference[name]:
            return first
        return min(candidates, key=off)

    by_copies = Emptied(trace.copied, trace.copied)
    l1 = nearer_by("L1 read misses", by_copies, Emptied(every, trace.copied)).l1
    return nearer_by("L2 read misses", Emptied(l1, trace.copied), Emptied(l1, every))


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
            name,
            measured.figures[name],
            reference[name],
            requests[unit],
            tuple(one for one in differences.of(name) if one.high - one.low + abs(one.low) >= 0.5),
        )
        for name, unit in NAMES.items()
    )
    return Comparison(trace.name, rows, measured.cycles, trace.cycles)

"""DRAM standards: tables of one channel, each beside the preset that it is held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, floor

from attrs import field, frozen

from gpusim.config.dram import DramConfig, DramTiming
from gpusim.files.units import cycles

IN_CLOCKS = ("BL", "CCDS", "CCDL")
"""Constraints that follow from the length of a burst, which has as many clocks at any clock."""
ROUNDED_DOWN = "REFI"
"""The one constraint that is a largest time."""


@frozen
class Preset:
    """What another simulator has for a standard, as facts.

    Attributes:
        source: repository, commit and file.
        names: of the presets there.
        picoseconds: of its command clock.
        clocks: its timing constraints in clocks, by our names.
        nanoseconds: those that it resolves by a formula from a time.
        organization: its sizes, by the keys of a model's `dram` table; `row` in bytes.
    """

    source: str
    names: str
    picoseconds: int
    clocks: Mapping[str, int]
    nanoseconds: Mapping[str, int] = field(factory=dict)
    organization: Mapping[str, int] = field(factory=dict)

    def at(self, clock: int) -> Mapping[str, int]:
        """All its numbers, the timing constraints in clocks of `clock` Hz.

        A time of whole clocks there is that many here if the clocks are the same (to 2 %,
        which is nearer than the bins are), else it is rounded up.
        """
        here = Fraction(10**12, clock)
        same = abs(here / self.picoseconds - 1) < Fraction(1, 50)
        found: dict[str, int] = {}
        for name, count in self.clocks.items():
            time = count * self.picoseconds / here
            rounded = floor(time) if name == ROUNDED_DOWN else ceil(time)
            found[name] = count if same or name in IN_CLOCKS else rounded
        step = Fraction(self.picoseconds) if same else here
        for name, time_ns in self.nanoseconds.items():
            found[name] = ceil(time_ns * 1000 / step)
        return {**found, **self.organization}


@frozen
class DramStandard:
    """One channel of a standard at one data rate.

    Attributes:
        title: the standard, and the data rate.
        config: the table of a channel, as a model's `dram` table has it.
        preset: what it is held against.
        reasons: why a number differs from the preset's, by key.
        analogy: of which part the numbers are, where none of its own are public; else empty.
    """

    title: str
    config: DramConfig
    preset: Preset
    reasons: Mapping[str, str] = field(factory=dict)
    analogy: str = ""

    def compared(self) -> Iterator[tuple[str, int, int]]:
        """Key, our number, the preset's, of all that the preset states."""
        dram = self.config
        for name, theirs in self.preset.at(dram.clock).items():
            timing = getattr(dram.timing, name, None)
            ours = int(getattr(dram, name)) if timing is None else timing.cycles(dram.clock)
            yield name, ours, theirs


def timing_in_clocks(**clocks: int) -> DramTiming:
    """Timing constraints in clocks."""
    return DramTiming(**{name: cycles(count) for name, count in clocks.items()})

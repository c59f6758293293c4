"""The window and selection of a timeline: cycles, bins, and warps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError

if TYPE_CHECKING:
    from gpusim.results.result import Result

MOST_BINS = 2_000_000
"""Bins that a window may have: with as many, the stalls take half a gigabyte, all of it 1.3."""


@frozen
class Window:
    """The cycles ``[begin, end)``, cut into bins.

    Attributes:
        begin: first cycle.
        end: cycle after the last.
        bin_cycles: cycles of a bin; the last bin may be shorter.

    Raises:
        UserError: there is no cycle in it, or no bin, or there are more than `MOST_BINS`.
    """

    begin: int
    end: int
    bin_cycles: int

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.begin < self.end:
            raise UserError(
                f"a window from cycle {self.begin} to cycle {self.end}: it must begin at 0 or "
                "later, and end (exclusively) after that"
            )
        if self.bin_cycles < 1:
            raise UserError(f"bins of {self.bin_cycles} cycles; allowed: 1 or more")
        if self.bins > MOST_BINS:
            least = -(-(self.end - self.begin) // MOST_BINS)
            raise UserError(
                f"{self.end - self.begin} cycles in bins of {self.bin_cycles} are {self.bins} "
                f"bins; allowed: {MOST_BINS}. Take bins of {least} cycles or more, or a narrower "
                "window"
            )

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return -(-(self.end - self.begin) // self.bin_cycles)

    @property
    def edges(self) -> NDArray[np.int64]:
        """First cycles of the bins, and the cycle after the last: ``(bins + 1,)``."""
        starts = np.arange(self.begin, self.end, self.bin_cycles, dtype=np.int64)
        return np.append(starts, np.int64(self.end))

    @property
    def widths(self) -> NDArray[np.int64]:
        """Cycles of each bin: ``(bins,)``."""
        return np.diff(self.edges)


@frozen
class Selection:
    """Which warps; None: all.

    Attributes:
        sm: index of an SM.
        warp: number of a warp, in the order in which warps started on the GPU.
        app: name of an application.
    """

    sm: int | None = None
    warp: int | None = None
    app: str | None = None


ALL_WARPS = Selection()


def window_of(
    result: Result,
    begin: int | None = None,
    end: int | None = None,
    bin_cycles: int | None = None,
    bins: int = 400,
) -> Window:
    """A part of a run; by default all of it.

    Args:
        result: the run.
        begin: first cycle; None: that of the run.
        end: cycle after the last; None: the end of the run.
        bin_cycles: cycles of a bin; None: as few as give at most `bins` bins.
        bins: see there.

    Raises:
        UserError: there are no such cycles in the run, or the bins cannot be.
    """
    cycles = run_cycles(result)
    first = 0 if begin is None else begin
    last = cycles if end is None else end
    if first >= cycles or last > cycles:
        raise UserError(
            f"a window from cycle {first} to cycle {last}: {result.name} is a run of {cycles} "
            "cycles"
        )
    if bins < 1:
        raise UserError(f"a window in {bins} bins; allowed: 1 or more")
    return Window(
        first, last, max(-(-(last - first) // bins), 1) if bin_cycles is None else bin_cycles
    )


def run_cycles(result: Result) -> int:
    """Length of a run, in cycles."""
    return int(result.summary["cycles"])

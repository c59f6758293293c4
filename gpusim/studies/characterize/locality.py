"""Page locality: distances of the pages that an SM asks for in turn (COMP's characterisation)."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.hardware.walk import PageTable

WINDOW = 256
"""Consecutive accesses of an SM within which upper bits are compared (our choice)."""


def strides(page: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n - 1,) from each of (n,) page numbers to the next; 0 where the page stays the same."""
    return np.diff(page)


def shared_upper_bits(number: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """How many upper bits all page numbers of a window have in common.

    Args:
        number: (n,) virtual page numbers, or frames.
        bits: width of such a number.

    Returns:
        (n // `WINDOW`,) one a whole window, 0 to `bits`.
    """
    windows = number[: len(number) // WINDOW * WINDOW].reshape(-1, WINDOW)
    differ = np.bitwise_or.reduce(windows ^ windows[:, :1], axis=1)
    width = np.frexp(differ.astype(np.float64))[1].astype(np.int64)  # exact below 2**53
    shared: NDArray[np.int64] = np.maximum(bits - width, 0)
    return shared


@frozen(eq=False)
class Frames:
    """Where the pages of an application lie in physical memory.

    Attributes:
        table: maps pages when they are first asked for.
        asid: address space of the application.
        page_bits: width of a virtual page number.
        frame_bits: width of a frame number.
    """

    table: PageTable
    asid: int
    page_bits: int
    frame_bits: int

    def of(self, page: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) frames of (n,) pages; new ones are mapped in the order in which they stand."""
        pages, first, where = np.unique(page, return_index=True, return_inverse=True)
        frame = np.zeros(len(pages), dtype=np.int64)
        for index in np.argsort(first).tolist():
            frame[index] = self.table.translate(self.asid, int(pages[index]))
        return frame[where]

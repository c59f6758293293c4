"""Ranges of addresses that arrays have reserved, and whose pages their programs map themselves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Buffer


class ReservedRanges:
    """Pages of arrays that are mapped by calls alone, never because they are asked for.

    Args:
        page_shift: bits of an address below a page's number.

    Attributes:
        runs_now: names what the application of an address space runs now, for messages.
    """

    def __init__(self, page_shift: int) -> None:
        self._shift = page_shift
        self.runs_now: Callable[[int], str] = _a_program
        self._arrays: dict[int, list[Buffer]] = {}
        """By address space, sorted by address."""

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        """An application begins, with these arrays.

        Raises:
            UserError: pieces of one are no whole pages.
        """
        page = 1 << self._shift
        reserved = [one for one in arrays if one.piece]
        for one in reserved:
            if one.piece % page or one.base % page:
                raise UserError(
                    f"array {one.name!r} is mapped in pieces of {one.piece >> 10} KiB, which are "
                    f"no whole pages of memory.page = {page >> 10} KiB; reserve it in larger "
                    "pieces, or lower memory.page"
                )
        self._arrays[asid] = sorted(reserved, key=_base)

    def array_of(self, asid: int, vpn: int, pages: int = 1) -> Buffer | None:
        """The array in whose reserved addresses one of some pages lies."""
        arrays = self._arrays.get(asid)
        if not arrays:
            return None
        index = bisect_right(arrays, (vpn + pages << self._shift) - 1, key=_base) - 1
        if index < 0 or vpn << self._shift >= arrays[index].base + arrays[index].bytes:
            return None
        return arrays[index]

    def refuse(self, asid: int, vpn: int, pages: int = 1) -> None:
        """Pages that have no frame are asked for.

        Raises:
            UserError: one of them would have to be mapped by its program.
        """
        array = self.array_of(asid, vpn, pages)
        if array is not None:
            address = max(vpn << self._shift, array.base)
            raise UserError(
                f"{self.runs_now(asid)} accesses page {address:#x} of array {array.name!r}, from "
                f"byte {address - array.base:,} on, where the array is reserved and not mapped: "
                "the program has to yield memory.map(...) of it before"
            )


def _a_program(asid: int) -> str:
    return f"the program of address space {asid}"


def _base(array: Buffer) -> int:
    return array.base

"""The memory that thread blocks of a trace take while they are read, however well they pack."""

from __future__ import annotations

from gpusim.core.untrusted import MEMORY_VARIABLE, SURE_BYTES, format_memory, memory_limit

LINE_BYTES = 160
"""Bytes of a line that is kept, beside its text."""

ACCESS_BYTES = 400
"""Bytes of a memory operation that is kept, beside its addresses."""

ADDRESS_BYTES = 8
"""Bytes of an address."""

PLAIN_BYTES = 96
"""Bytes of any other operation that is kept."""

_SHARE = 16
"""Blocks may take this part of what an input may take: those of many SMs are under way at once."""


class Room:
    """Bytes taken of a budget.  The system's memory is looked up only above `SURE_BYTES`."""

    __slots__ = ("_most", "_taken")

    def __init__(self) -> None:
        self._taken = 0
        self._most = SURE_BYTES

    def take(self, size: int) -> None:
        """Take `size` bytes of the budget.

        Raises:
            ValueError: the budget has fewer bytes left.
        """
        self._taken += size
        if self._taken > self._most:
            self._most = max(SURE_BYTES, memory_limit() // _SHARE)
            if self._taken > self._most:
                raise ValueError(
                    f"what is read of thread blocks takes more than {format_memory(self._most)}, "
                    f"1/{_SHARE} of what is allowed ({MEMORY_VARIABLE}=SIZE sets another limit)"
                )

    def give_back(self, size: int) -> None:
        """Give `size` bytes back to the budget."""
        self._taken -= size

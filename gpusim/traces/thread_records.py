"""The accesses of one thread, or of one queue, as traces of CPUs and of memories tell them."""

from __future__ import annotations

from array import array

from attrs import define, field

from gpusim.core.untrusted import afford, brief
from gpusim.traces.application import ADDRESS_BITS, MOST_ACCESS_BYTES

ACCESS_BYTES = 32
"""Memory that one access takes."""

MOST_INSTRUCTIONS = 1 << 48
"""Instructions in a row without an access (our choice)."""

_LOOK_EVERY = 1 << 16


@define(eq=False)
class ThreadRecords:
    """Accesses in the order of a file; one row each.

    Attributes:
        address: byte addresses.
        size: bytes.
        store: 1 for a store, 0 for a load.
        before: instructions without an access since the access before.
        warp: number of the thread, or warp, that a file states; 0 where it states none.
        after: instructions behind the last access.
    """

    address: array[int] = field(factory=lambda: array("q"))
    size: array[int] = field(factory=lambda: array("H"))
    store: array[int] = field(factory=lambda: array("B"))
    before: array[int] = field(factory=lambda: array("q"))
    warp: array[int] = field(factory=lambda: array("l"))
    after: int = 0

    def __len__(self) -> int:
        return len(self.address)

    def instructions(self, count: int = 1) -> None:
        """Instructions without an access.

        Raises:
            ValueError: no trace can have as many.
        """
        self.after += count
        if not 0 <= self.after < MOST_INSTRUCTIONS:
            raise ValueError(f"{brief(count)} instructions; allowed: 0 to {MOST_INSTRUCTIONS - 1}")

    def access(self, address: int, size: int, store: bool, warp: int = 0) -> None:
        """An access.

        Raises:
            ValueError: no access can be as large, or there.
            UserError: the file has more of them than fit into memory.
        """
        if not 0 < size <= MOST_ACCESS_BYTES:
            raise ValueError(f"an access of {size} bytes; allowed: 1 to {MOST_ACCESS_BYTES}")
        if address < 0 or (address + size) >> ADDRESS_BITS:
            raise ValueError(f"an address outside the {ADDRESS_BITS} bits of an address")
        if not 0 <= warp < 1 << 31:
            raise ValueError(f"warp {warp}; allowed: 0 to {(1 << 31) - 1}")
        if len(self.address) % _LOOK_EVERY == 0:
            afford(2 * ACCESS_BYTES * len(self.address), f"{len(self.address)} accesses of a trace")
        self.address.append(address)
        self.size.append(size)
        self.store.append(store)
        self.before.append(self.after)
        self.warp.append(warp)
        self.after = 0

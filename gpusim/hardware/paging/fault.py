"""Faults, and the buffer in which the GPU keeps them for the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import frozen

from gpusim.core.mapping import VPN_MASK
from gpusim.core.request import Translation
from gpusim.core.structures import Dimensions, Storage, bits_for

_MOST_NAMED = 8


def named_pages(tags: Iterable[int]) -> str:
    """Pages for people: their numbers, of many the first ones."""
    pages = [f"{tag & VPN_MASK:#x}" for tag in dict.fromkeys(tags)]
    further = f" and {len(pages) - _MOST_NAMED} more" if len(pages) > _MOST_NAMED else ""
    return f"{'pages' if len(pages) > 1 else 'page'} {', '.join(pages[:_MOST_NAMED])}{further}"


@frozen
class Fault:
    """A page that was walked, and is not there.

    Attributes:
        tag: the page, tagged with its address space.
        app: index of the application.
        sm, warp_slot: whose access came first.
        cycle: when the walk ended.
    """

    tag: int
    app: int
    sm: int
    warp_slot: int
    cycle: int


class FaultBuffer:
    """Faults in the order in which they came, until the host takes them.

    While it is full, further faults are lost: the translations that caused them wait for the next
    replay.

    Attributes:
        faults: those that the host has not taken.
        lost: how many found no room.
        written: by application, how many found room.
        flushed: by application, how many of these the host has thrown away unseen.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.faults: list[Fault] = []
        self.lost = 0
        self.written: Counter[int] = Counter()
        self.flushed: Counter[int] = Counter()

    @staticmethod
    def storage(dimensions: Dimensions, depth: int, warps: int) -> Storage:
        """The storage that it needs: of each fault the page, and the warp that asked.

        Args:
            dimensions: of the machine.
            depth: faults that it holds.
            warps: warp slots of an SM.
        """
        fields = {"page": dimensions.page_bits, "sm": bits_for(dimensions.sms)}
        return Storage("fault buffer", depth, {**fields, "warp": bits_for(warps)})

    def put(self, translation: Translation, cycle: int) -> bool:
        """Keep the fault of a translation; False: it was lost."""
        if len(self.faults) >= self._depth:
            self.lost += 1
            return False
        one = translation
        self.written[one.app] += 1
        self.faults.append(Fault(one.tag, one.app, one.sm, one.warp_slot, cycle))
        return True

    def flush(self) -> None:
        """Throw away all that the host has not taken."""
        self.flushed.update(fault.app for fault in self.faults)
        self.faults.clear()

    def take(self, most: int) -> list[Fault]:
        """Up to `most` of them, the oldest first."""
        taken, self.faults = self.faults[:most], self.faults[most:]
        return taken

"""The policy slot of forwarding: which far faults go without a walk, or to another GPU's walkers.

Li et al., *Trans-FW: Short Circuiting Page Table Walk in Multi-GPU Systems via Remote Forwarding*,
HPCA 2023.  Its two ideas are from memory, as its text is not at hand: a table in each GPU tells
which pages its page table lacks, and one at the host which GPU has a page, so that a fault which
would queue at the host is walked by that GPU.  Sizes and rules beyond that are our choice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.node.cuckoo_filter import CuckooFilter


@mypyc_attr(allow_interpreted_subclasses=True)
class Forwarding(Policy):
    """Decides which way a page that a GPU's TLBs lack is looked for.

    Args:
        gpus: of the node.
    """

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus

    def entered(self, tag: int, gpu: int) -> None:
        """The table of a GPU has a page from now on."""

    def left(self, tag: int, gpu: int) -> None:
        """The table of a GPU has a page no more."""

    @abstractmethod
    def absent(self, tag: int, gpu: int) -> bool:
        """Whether the host is asked for a page at once, as the GPU's table is taken to lack it.

        Whatever it says, a page that the host has answered for is walked.
        """

    @abstractmethod
    def holder(self, tag: int, gpu: int, queued: int) -> int:
        """The GPU whose walkers look for a page beside those of the host; -1: none does.

        Args:
            tag: the page, which the host's TLB lacks.
            gpu: the one that asks for it.
            queued: walks, this one among them, for which no walker of the host is free.
        """

    def storage(self, dimensions: Dimensions) -> tuple[Sequence[Storage], Sequence[Storage]] | None:
        """The storage that it needs in each GPU, and at the host; None: not stated."""
        return None


open_slot(Slot.FORWARDING, Forwarding, "gpus")

_WAYS = 4


@mypyc_attr(allow_interpreted_subclasses=True)
class FilteredForwarding(Forwarding):
    """Cuckoo filters know what each GPU's table has: one in each GPU, and one at the host.

    Args:
        gpus: see `Forwarding`.
        entries: fingerprints of a GPU's filter, a power of two; 0: there is none.
        host_entries: of the host's filter, whose numbers are of a page and a GPU; 0: there is none.
        bits: of a fingerprint.
        queued: walks that have to wait at the host before a fault is forwarded.

    Raises:
        OptionError: an option cannot be.
    """

    def __init__(
        self,
        gpus: int,
        *,
        entries: int = 1024,
        host_entries: int = 4096,
        bits: int = 13,
        queued: int = 1,
    ) -> None:
        super().__init__(gpus)
        at_least(0, queued=queued)
        at_least(2, bits=bits)
        for name, value in (("entries", entries), ("host_entries", host_entries)):
            if value and (value < _WAYS or value & value - 1):
                raise OptionError(name, f"must be 0, or a power of two of {_WAYS} or more")
        self._bits = bits
        self._queued = queued
        self._entries = entries
        self._host_entries = host_entries
        self._own = [
            CuckooFilter(entries // _WAYS, _WAYS, bits) for _ in range(gpus * (entries > 0))
        ]
        self._host = CuckooFilter(max(host_entries // _WAYS, 1), _WAYS, bits)

    def entered(self, tag: int, gpu: int) -> None:
        if self._own:
            self._own[gpu].add(tag)
        if self._host_entries:
            self._host.add(tag * self.gpus + gpu)

    def left(self, tag: int, gpu: int) -> None:
        if self._own:
            self._own[gpu].remove(tag)
        if self._host_entries:
            self._host.remove(tag * self.gpus + gpu)

    def absent(self, tag: int, gpu: int) -> bool:
        return bool(self._own) and not self._own[gpu].has(tag)

    def holder(self, tag: int, gpu: int, queued: int) -> int:
        if not self._host_entries or queued < self._queued:
            return -1
        for further in range(1, self.gpus):
            other = (gpu + further) % self.gpus
            if self._host.has(tag * self.gpus + other):
                return other
        return -1

    def storage(self, dimensions: Dimensions) -> tuple[Sequence[Storage], Sequence[Storage]]:
        fields = {"fingerprint": self._bits}
        own = (Storage("pages of its table", self._entries, fields),) if self._own else ()
        host = (
            (Storage("pages of GPUs' tables", self._host_entries, fields),)
            if self._host_entries
            else ()
        )
        return own, host


register_policy(Slot.FORWARDING, "filtered", FilteredForwarding)

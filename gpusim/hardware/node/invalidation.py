"""The policy slot of invalidations: which GPUs forget a page that moves, and when it is written.

Li et al., *IDYLL: Enhancing Page Translation in Multi-GPUs via Light Weight PTE Invalidations*,
MICRO 2023.  Its abstract is the source of the two ideas, a directory in page-table entries and
invalidations that are batched; sizes and rules beyond that are from memory, or our choice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.node.invalidation_buffer import InvalidationBuffer


@mypyc_attr(allow_interpreted_subclasses=True)
class Invalidation(Policy):
    """Decides which GPUs are asked to forget a page, and when their tables' entries are written.

    Without such a policy those are asked whose tables have the page, and their tables forget it at
    once.

    Args:
        gpus: of the node.
        table_entries: pages whose entries lie in one table of the last level.
    """

    def __init__(self, gpus: int, table_entries: int) -> None:
        self.gpus = gpus
        self.table_entries = table_entries

    def asked(self, tag: int, holders: int) -> int:
        """The GPUs that get a message; `holders`: those whose tables have the page; a bit each."""
        return holders

    @abstractmethod
    def keeps(self, tag: int, gpu: int) -> bool:
        """A GPU is asked to forget a page: whether it does so before its entry is written.

        Otherwise a walker of the GPU comes to the entry first, and all is forgotten then.
        """

    def due(self, gpu: int, idle: bool) -> Sequence[int]:
        """Pages that were kept, whose entries walkers come to now; `idle`: they have no work."""
        return ()

    def kept(self, tag: int, gpu: int) -> bool:
        """Whether the entry of a page is void and not written: no walk would find it."""
        return False

    def written(self, tag: int, gpu: int) -> None:
        """The entry of a page is written, as the page has come."""

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in each GPU; None: not stated."""
        return None


open_slot(Slot.INVALIDATION, Invalidation, "gpus", "table_entries")


def sharing_bits(holders: int, gpus: int, bits: int) -> int:
    """The GPUs that a directory of few bits names: a bit is set for all that share it.

    Args:
        holders: the GPUs that it is about, a bit each.
        gpus: of the node.
        bits: of the directory, shared by GPUs of equal numbers modulo `bits`; 0: there is none,
            and all are named.
    """
    if not bits:
        return (1 << gpus) - 1
    named = 0
    for gpu in range(gpus):
        if holders >> gpu & 1:
            named |= 1 << gpu % bits
    return sum(1 << gpu for gpu in range(gpus) if named >> gpu % bits & 1)


@mypyc_attr(allow_interpreted_subclasses=True)
class WalkedInvalidation(Invalidation):
    """A walker of each GPU that is asked comes to the entry before the GPU acknowledges.

    Args:
        gpus, table_entries: see `Invalidation`.
        directory_bits: unused bits of the host's page-table entry, which note GPUs that have the
            page; 0: all GPUs are asked.
    """

    def __init__(self, gpus: int, table_entries: int, *, directory_bits: int = 0) -> None:
        super().__init__(gpus, table_entries)
        at_least(0, directory_bits=directory_bits)
        self._bits = directory_bits

    def asked(self, tag: int, holders: int) -> int:
        return sharing_bits(holders, self.gpus, self._bits)

    def keeps(self, tag: int, gpu: int) -> bool:
        return False

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """None: the directory lies in bits of entries that are unused."""
        return ()


register_policy(Slot.INVALIDATION, "walked", WalkedInvalidation)


@mypyc_attr(allow_interpreted_subclasses=True)
class LazyInvalidation(Invalidation):
    """A buffer of each GPU merges invalidations, which its walkers come to when they are idle.

    Args:
        gpus, table_entries: see `Invalidation`.
        directory_bits: as of ``walked``, unused bits of an entry.
        bases: tables of entries that the buffer of a GPU knows at a time.
        offsets: void entries of one of them.
    """

    def __init__(
        self,
        gpus: int,
        table_entries: int,
        *,
        directory_bits: int = 11,
        bases: int = 32,
        offsets: int = 16,
    ) -> None:
        super().__init__(gpus, table_entries)
        at_least(0, directory_bits=directory_bits)
        at_least(1, bases=bases, offsets=offsets)
        self._bits = directory_bits
        self._buffers = [InvalidationBuffer(bases, offsets, table_entries) for _ in range(gpus)]
        self._left: list[list[int]] = [[] for _ in range(gpus)]
        """By GPU, pages that lost their places and wait for a walker."""

    def asked(self, tag: int, holders: int) -> int:
        return sharing_bits(holders, self.gpus, self._bits)

    def keeps(self, tag: int, gpu: int) -> bool:
        self._left[gpu] += self._buffers[gpu].merge(tag)
        return True

    def due(self, gpu: int, idle: bool) -> Sequence[int]:
        left = self._left[gpu]
        if not left:
            return self._buffers[gpu].take_oldest() if idle else ()
        self._left[gpu] = []
        return left

    def kept(self, tag: int, gpu: int) -> bool:
        return self._buffers[gpu].holds(tag)

    def written(self, tag: int, gpu: int) -> None:
        self._buffers[gpu].remove(tag)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return self._buffers[0].storage(dimensions)


register_policy(Slot.INVALIDATION, "lazy", LazyInvalidation)

"""The policy slot of remote pages: which pages move to a GPU that uses them from afar."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage, bits_for


@mypyc_attr(allow_interpreted_subclasses=True)
class RemotePages(Policy):
    """Decides whether a page that lies with another GPU is accessed there, or moves.

    Args:
        gpus: of the node.
        page_bytes: of the smallest pages, in which pages are counted.

    Attributes:
        moves: whether any page ever moves.
        counts: whether `accessed` has an effect; otherwise it is never called.
        counts_own: whether it has one also for a GPU's requests to pages of its own.
        by_faults: whether nothing moves as long as `fault` is not called: GPUs whose table is one
            do not ask for pages.
        copies: whether any page is ever copied; else `copied` and `collapsed` are never called.
    """

    by_faults: ClassVar[bool] = False
    moves: bool = True
    counts: bool = False
    counts_own: bool = False
    copies: ClassVar[bool] = False

    def __init__(self, gpus: int, page_bytes: int) -> None:
        self.gpus = gpus
        self.page_bytes = page_bytes

    def asked(self, tag: int, gpu: int, *, writes: bool) -> None:
        """A GPU asks for a page, its own or another one's, for a store (or atomic) or for a load.

        It is the access whose walk has not found the page, as a GPU's fault names it.
        """

    @abstractmethod
    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        """Whether a page moves to a GPU whose table does not have it; else it is accessed there.

        Args:
            tag: the first page of its mapping.
            gpu: the GPU that asks for it.
            owner: the GPU in whose memory it lies.
        """

    def accessed(self, tag: int, gpu: int, owner: int) -> bool:
        """A request of `gpu` for a page of `owner` is about to leave: whether the page moves there.

        With `counts_own` also called where both are one, without effect, and when a request leaves
        its SM instead of its GPU.
        """
        return False

    def moved(self, tag: int, gpu: int) -> None:
        """A page lies with `gpu` from now on."""

    def copied(self, tag: int, gpu: int, owner: int) -> bool:
        """Whether a GPU gets a copy of a page that its table does not have, and that does not move.

        Copies are read only.  A store of any GPU to the page gives them all up, and the page moves
        there.
        """
        return False

    def collapsed(self, tag: int) -> None:
        """All copies of a page have been given up, as a GPU stored to it."""

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage] | None:
        """The storage that it needs for the pages of a GPU's memory; None: not stated."""
        return None


open_slot(Slot.REMOTE_PAGES, RemotePages, "gpus", "page_bytes")


@mypyc_attr(allow_interpreted_subclasses=True)
class DirectAccess(RemotePages):
    """Pages stay where they were placed."""

    moves = False

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return False

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.REMOTE_PAGES, "direct", DirectAccess)


@mypyc_attr(allow_interpreted_subclasses=True)
class MigrateOnTouch(RemotePages):
    """A page moves to whichever GPU asks for it."""

    by_faults: ClassVar[bool] = True

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return True

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.REMOTE_PAGES, "migrate-on-touch", MigrateOnTouch)


@mypyc_attr(allow_interpreted_subclasses=True)
class CountedAccesses(RemotePages):
    """A page moves to a GPU that has accessed it so often from afar, as since Volta.

    Args:
        gpus, page_bytes: see `RemotePages`.
        threshold: requests of one GPU after which the page moves there; NVIDIA's driver: 256.
    """

    counts = True

    def __init__(self, gpus: int, page_bytes: int, *, threshold: int = 256) -> None:
        super().__init__(gpus, page_bytes)
        at_least(1, threshold=threshold)
        self._threshold = threshold
        self._accesses: dict[tuple[int, int], int] = {}

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return False

    def accessed(self, tag: int, gpu: int, owner: int) -> bool:
        count = self._accesses.get((tag, gpu), 0) + 1
        self._accesses[tag, gpu] = count % self._threshold
        return count == self._threshold

    def moved(self, tag: int, gpu: int) -> None:
        for one in range(self.gpus):
            self._accesses.pop((tag, one), None)

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage]:
        fields = {"accesses": bits_for(self._threshold)}
        return (Storage("accesses of GPUs to pages", pages * self.gpus, fields),)


register_policy(Slot.REMOTE_PAGES, "access-counters", CountedAccesses)


@mypyc_attr(allow_interpreted_subclasses=True)
class ReadDuplication(RemotePages):
    """Each GPU that asks for a page has a copy of it, until one of them stores to it.

    As NVIDIA's driver has it for memory that a program says to be read mostly
    (``cudaMemAdviseSetReadMostly``: CUDA C++ Programming Guide, "Data Usage Hints"), here for all
    pages.

    Args:
        gpus, page_bytes: see `RemotePages`.
        collapses: after which a page is no longer copied, and is accessed where it lies; 0: any
            number.
    """

    by_faults: ClassVar[bool] = True
    copies: ClassVar[bool] = True

    def __init__(self, gpus: int, page_bytes: int, *, collapses: int = 0) -> None:
        super().__init__(gpus, page_bytes)
        at_least(0, collapses=collapses)
        self._most = collapses
        self._collapses: dict[int, int] = {}

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return False

    def copied(self, tag: int, gpu: int, owner: int) -> bool:
        return not self._most or self._collapses.get(tag, 0) < self._most

    def collapsed(self, tag: int) -> None:
        self._collapses[tag] = self._collapses.get(tag, 0) + 1

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage]:
        if not self._most:
            return ()
        fields = {"collapses": bits_for(self._most + 1)}
        return (Storage("collapses of pages", pages, fields),)


register_policy(Slot.REMOTE_PAGES, "read-duplication", ReadDuplication)

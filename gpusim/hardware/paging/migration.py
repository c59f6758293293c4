"""The slot of migration: which pages of a second memory come to the device, because of accesses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.errors import UserError, at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Storage, bits_for
from gpusim.hardware.paging.placement import Placement


@mypyc_attr(allow_interpreted_subclasses=True)
class Migration(Policy):
    """Decides which pages come to the device, one for all of the machine.

    All pages lie in the second memory at first, and are read and written there over the link.
    Pages that have come leave as ``paging.eviction`` says, and are read over the link again.

    Args:
        page_bytes: of the machine's smallest pages, in which tags count.
    """

    def __init__(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes

    @abstractmethod
    def accessed(self, tag: int) -> Iterable[int]:
        """A line of a page was read or written over the link.

        Returns:
            Tags of the pages that come for that, together; pages that are on the device, in no
            array, or stay with the host are left out.
        """

    def storage(self, pages: int) -> Sequence[Storage] | None:
        """The storage that it needs in hardware for `pages` pages; None: not stated."""
        return None


open_slot(Slot.MIGRATION, Migration, "page_bytes")


@mypyc_attr(allow_interpreted_subclasses=True)
class HotPages(Migration):
    """Pages come that were accessed `threshold` times lately: counts are halved again and again.

    Page migration between memory tiers by decaying counts of accesses [our choice: the plainest of
    its kind].

    Args:
        page_bytes: see `Migration`.
        threshold: of a page's count.
        window: accesses of all pages after which the counts are halved.
    """

    def __init__(self, page_bytes: int, *, threshold: int = 64, window: int = 65536) -> None:
        at_least(1, threshold=threshold, window=window)
        super().__init__(page_bytes)
        self._threshold = threshold
        self._window = window
        self._left = window
        self._counts: dict[int, int] = {}

    def accessed(self, tag: int) -> Iterable[int]:
        self._left -= 1
        if not self._left:
            self._left = self._window
            self._counts = {page: n >> 1 for page, n in self._counts.items() if n > 1}
        count = self._counts.get(tag, 0) + 1
        if count < self._threshold:
            self._counts[tag] = count
            return ()
        self._counts.pop(tag, None)
        return (tag,)

    def storage(self, pages: int) -> Sequence[Storage]:
        return [Storage("access counters", pages, {"accesses": bits_for(self._threshold)})]


register_policy(Slot.MIGRATION, "hot-pages", HotPages)


class Mover:
    """Asks a migration policy about each access over the link, and has its pages moved.

    Args:
        policy: the policy.
        placement: knows which pages are remote.
        page_shift: bytes of a page, as a power of two.
        migrate: called with the first of some pages, and the pages.
    """

    def __init__(
        self,
        policy: Migration,
        placement: Placement,
        page_shift: int,
        migrate: Callable[[int, list[int]], None],
    ) -> None:
        self.policy = policy
        self._placement = placement
        self._page_shift = page_shift
        self._migrate = migrate

    def accessed(self, address: int) -> None:
        """An address of the second memory was accessed."""
        placement = self._placement
        tag = placement.host_page(address >> self._page_shift)
        policy: Any = self.policy  # what it gives is checked here, in both forms of gpusim
        wanted = policy.accessed(tag)
        pages = [one for one in dict.fromkeys(wanted) if placement.may_migrate(self._page(one))]
        if pages:
            self._migrate(pages[0], pages)

    def _page(self, tag: object) -> int:
        if type(tag) is not int:
            raise UserError(
                f"paging.mover: {type(self.policy).__qualname__}.accessed gave {tag!r}; allowed: "
                "tags of pages"
            )
        return tag

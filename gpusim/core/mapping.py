"""A page and the frame that it lies in: what a translation is answered with."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

ASID_SHIFT: Final = 52
"""A *tag* is ``asid << ASID_SHIFT | page or line number``: one int, so that no lookup can forget
the address space."""

VPN_MASK: Final = (1 << ASID_SHIFT) - 1


@mypyc_attr(allow_interpreted_subclasses=True)
class Mapping:
    """A page of one address space, of any size, and its frame.

    Pages are counted in the smallest pages of the machine (``memory.page``): a mapping of a larger
    page covers `pages` of them, side by side, in as many frames side by side.  The page table makes
    each mapping once and hands out that very object, so a hit in a TLB allocates nothing, and
    whether an answer is still right is asked with ``is``.  A mapping never changes: a page that
    moves, grows or gets another permission has a new one.

    Attributes:
        tag: its first page, tagged with the address space (``asid << ASID_SHIFT | vpn``).
        pfn: its first frame, counted in the smallest pages.
        pages: how many of the smallest pages it covers: a power of two; both `tag` and `pfn` are
            multiples of it.
        writable: whether stores to it are allowed.
        delta: what has to be added to the number of any of its pages to have that page's frame.
    """

    __slots__ = ("delta", "pages", "pfn", "tag", "writable")

    def __init__(self, tag: int, pfn: int, pages: int = 1, *, writable: bool = True) -> None:
        self.tag = tag
        self.pfn = pfn
        self.pages = pages
        self.writable = writable
        self.delta = pfn - (tag & VPN_MASK)

    @property
    def asid(self) -> int:
        """The number of the page's address space."""
        return self.tag >> ASID_SHIFT

    @property
    def vpn(self) -> int:
        """Number of its first page."""
        return self.tag & VPN_MASK

    def covers(self, tag: int) -> bool:
        """Whether a tagged page lies in it."""
        return 0 <= tag - self.tag < self.pages

    def frame(self, tag: int) -> int:
        """The frame of one of its pages."""
        return self.pfn + tag - self.tag

    def last_frame(self, tag: int) -> int:
        """The last frame of what an entry for one of its pages holds: the frame of that page."""
        return self.frame(tag)

    def __repr__(self) -> str:
        size = "" if self.pages == 1 else f" of {self.pages} pages"
        only = "" if self.writable else ", read only"
        return f"page {self.vpn:#x}{size} of address space {self.asid} in frame {self.pfn}{only}"


@mypyc_attr(allow_interpreted_subclasses=True)
class Mappings:
    """Where pages lie now: what a page table knows."""

    def find(self, tag: int) -> Mapping | None:
        """The mapping that covers a tagged page now, if one does."""
        raise NotImplementedError


def became_part(given: Mapping, right: Mapping | None, tag: int) -> bool:
    """Whether a page has become a part of a larger one where it lies, and its translation is right.

    Args:
        given: a translation of a page.
        right: what the page table says of it now.
        tag: the page.
    """
    return (
        right is not None
        and given.pages < right.pages
        and given.covers(tag)
        and given.delta == right.delta
        and given.writable == right.writable
    )

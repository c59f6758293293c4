"""Sets of mappings, such as those of a TLB: what their kinds share."""

from __future__ import annotations

from gpusim.core.mapping import Mapping


class MappingSets:
    """Mappings by the names of pages, in sets; a full set lets one go for a new one."""

    __slots__ = ()

    def find(self, index: int, key: int) -> Mapping | None:
        """What covers a page, if that is in a set; it is used."""
        raise NotImplementedError

    def look(self, index: int, key: int) -> Mapping | None:
        """What covers a page, if that is in a set.  No use."""
        raise NotImplementedError

    def insert(
        self, index: int, key: int, mapping: Mapping, spilled: list[dict[int, Mapping]] | None
    ) -> int:
        """Keep a mapping in a set.

        Args:
            index: number of the set.
            key: name of the page.
            mapping: what covers it.
            spilled: takes what goes, by its first page; None: it is forgotten.

        Returns:
            how many went for it.
        """
        raise NotImplementedError

    def remove(self, index: int, key: int) -> bool:
        """Forget a page; returns whether it was there."""
        raise NotImplementedError

    def next_victim(self, index: int) -> Mapping | None:
        """What goes next from a set; None: it has room."""
        raise NotImplementedError

    def first_pages(self, index: int) -> list[int]:
        """First pages of what is in a set, the first to go first."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything."""
        raise NotImplementedError


def first_page(key: int, mapping: Mapping) -> int:
    """The first page of an entry, whose key is the page itself where it is a small one."""
    return key if mapping.pages == 1 else mapping.tag

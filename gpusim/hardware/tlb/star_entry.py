"""Entries whose sub-entries several base addresses share (STAR §V-A)."""

from __future__ import annotations

from attrs import field, frozen

from gpusim.core.mapping import Mapping


@frozen(eq=False, repr=False)
class Layout:
    """How up to `bases` bases share the sub-entries of an entry.

    Base *k* keeps the page with index *i* in sub-entry *i* with the bits `replaced` set to *k*;
    what they were in *i* are the address identify bits (AIB) of the page.  So pages of one base
    that differ in these bits only, its *aliases*, contend for one sub-entry.

    Attributes:
        bases: 1 (private), 2 or 4.
        position: of the lowest bit replaced.
        quota: sub-entries of one base.
        replaced: mask of the bits.
        aliases: what changes the index of a page into those of its aliases, by exclusive or.
    """

    bases: int
    position: int
    quota: int
    replaced: int = field(init=False)
    aliases: tuple[int, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        aliases = tuple(other << self.position for other in range(1, self.bases))
        object.__setattr__(self, "aliases", aliases)
        object.__setattr__(self, "replaced", aliases[-1] if aliases else 0)


class Base:
    """A base address in an entry, and those of its pages that are there.

    Attributes:
        vpb: page number without the index of the sub-entry, tagged with the address space.
        entry: where it is.
        number: which of the bases of the entry it is; they are compared in this order.
        pages: mappings by tag, the least recently used first.
    """

    __slots__ = ("entry", "number", "pages", "vpb")

    def __init__(self, vpb: int, entry: SharedEntry, number: int) -> None:
        self.vpb = vpb
        self.entry = entry
        self.number = number
        self.pages: dict[int, Mapping] = {}


class SharedEntry:
    """One way of a set: a private entry of one base, or one that several share.

    Attributes:
        layout: how they do.
        number: that no other entry of the TLB has or had.
        bases: by their numbers, lowest first.
    """

    __slots__ = ("bases", "layout", "number")

    def __init__(self, layout: Layout, number: int) -> None:
        self.layout = layout
        self.number = number
        self.bases: list[Base] = []

    @property
    def used(self) -> int:
        """Valid sub-entries."""
        return sum(len(base.pages) for base in self.bases)

    def join(self, vpb: int) -> Base:
        """A new base, under the lowest number that is free."""
        number = 0
        for base in self.bases:
            number += base.number == number
        base = Base(vpb, self, number)
        self.bases.insert(number, base)
        return base

    def arrange(self, layout: Layout, gone: dict[int, Mapping]) -> int:
        """Move all pages to where a layout keeps them; returns how many are lost (`gone`).

        Of aliases the one used last stays.
        """
        self.layout = layout
        lost = 0
        for number, base in enumerate(self.bases):
            base.number = number
            latest = {tag & ~layout.replaced: tag for tag in base.pages}
            if len(latest) < len(base.pages):
                lost += len(base.pages) - len(latest)
                stay = set(latest.values())
                gone.update({tag: one for tag, one in base.pages.items() if tag not in stay})
                base.pages = {tag: one for tag, one in base.pages.items() if tag in stay}
        return lost

    def place(self, base: Base, tag: int, mapping: Mapping, gone: dict[int, Mapping]) -> int:
        """Put a page where its base keeps it; returns how many pages it replaced (`gone`)."""
        pages = base.pages
        replaced = 0
        if pages.pop(tag, None) is None:
            for alias in self.layout.aliases:
                other = pages.pop(tag ^ alias, None)
                if other is not None:
                    gone[tag ^ alias] = other
                    replaced += 1
        pages[tag] = mapping
        return replaced

    def remove(self, base: Base, tag: int) -> bool:
        """Forget a page; returns whether it was there."""
        return base.pages.pop(tag, None) is not None


class LazyEntry(SharedEntry):
    """An entry of at most two bases in which pages move only when their place is needed.

    When the second base comes, pages of the first one stay where they are.  Those in sub-entries
    of the second one are *strays*: one that is in the way of a page moves to where its base would
    keep it now, or is lost if that place is taken (STAR §V-B, Algorithm 2, lines 25 to 28).

    Attributes:
        strays: their tags.
    """

    __slots__ = ("strays",)

    def __init__(self, layout: Layout, number: int) -> None:
        super().__init__(layout, number)
        self.strays: set[int] = set()

    def arrange(self, layout: Layout, gone: dict[int, Mapping]) -> int:
        if layout.bases == 1:
            return super().arrange(layout, gone)
        self.layout = layout
        self.strays = {tag for tag in self.bases[0].pages if tag & layout.replaced}
        return 0

    def place(self, base: Base, tag: int, mapping: Mapping, gone: dict[int, Mapping]) -> int:
        pages = base.pages
        bit = self.layout.replaced
        replaced = 0
        if bit and tag not in pages:
            if tag ^ bit in pages and tag ^ bit not in self.strays:
                gone[tag ^ bit] = pages.pop(tag ^ bit)
                replaced = 1
            if base.number:
                replaced += self._move_stray(tag | bit, gone)
        pages.pop(tag, None)
        pages[tag] = mapping
        return replaced

    def remove(self, base: Base, tag: int) -> bool:
        self.strays.discard(tag)
        return super().remove(base, tag)

    def _move_stray(self, place: int, gone: dict[int, Mapping]) -> int:
        """Move the stray from the sub-entry of a page, if there is one; returns 1 if it is lost."""
        first = self.bases[0]
        size = self.layout.quota * 2
        stray = first.vpb * size + place % size
        if stray not in self.strays:
            return 0
        self.strays.discard(stray)
        if stray ^ self.layout.replaced not in first.pages:
            return 0
        gone[stray] = first.pages.pop(stray)
        return 1

"""Policies of the driver written as straightforwardly as can be: they look at all that happened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

Event = tuple[str, int]
"""What happened to a block: ``"came"``, ``"accessed"`` or ``"left"``."""


def stay(events: Sequence[Event], block: int) -> list[int]:
    """When something happened to a block since it came to stay; the first is when it came."""
    mine = [(at, what) for at, (what, of) in enumerate(events) if of == block]
    left = max((at for at, what in mine if what == "left"), default=-1)
    came = min((at for at, what in mine if what == "came" and at > left), default=None)
    return [] if came is None else [at for at, _ in mine if at >= came]


def last_came(events: Sequence[Event], block: int, most: int) -> int:
    return max(at for at in stay(events, block) if events[at][0] == "came")


def last_used(events: Sequence[Event], block: int, most: int) -> int:
    return stay(events, block)[-1]


def accesses(events: Sequence[Event], block: int, most: int) -> int:
    """Counted from the beginning, all counters halved whenever one is full."""
    counts: dict[int, int] = {}
    for what, of in events:
        if what == "came":
            counts.setdefault(of, 0)
        elif what == "left":
            counts.pop(of, None)
        elif of in counts:
            counts[of] += 1
            if counts[of] == most:
                counts = {one: number // 2 for one, number in counts.items()}
    return counts[block]


RANK: dict[str, Callable[[Sequence[Event], int, int], int]] = {
    "lru": last_came,
    "lru-accesses": last_used,
    "access-counter": accesses,
}
"""By policy: the block with the least of it goes, of equals the one that has been there longest."""


def victim(policy: str, events: Sequence[Event], blocks: Collection[int], most: int) -> int:
    rank = RANK[policy]
    return min(blocks, key=lambda one: (rank(events, one, most), stay(events, one)[0]))


def densest(
    page: int, there: Collection[int], array: Collection[int], node: range, per_cent: int, leaf: int
) -> range:
    """The tree of a node, from the root down: the first one on the way to a page that is dense.

    Args:
        page: that was asked for; its leaf comes in any case.
        there: pages that are there.
        array: all that there may be.
        node: pages of the root.
        per_cent: how many must be there, and more.
        leaf: pages of a leaf.
    """
    if len(node) <= leaf:
        return node
    own = range(page // leaf * leaf, page // leaf * leaf + leaf)
    all_ = [one for one in node if one in array]
    full = [one for one in all_ if one in there or one in own]
    if len(full) / len(all_) > per_cent / 100:
        return node
    middle = len(node) // 2
    half = node[:middle] if page in node[:middle] else node[middle:]
    return densest(page, there, array, half, per_cent, leaf)

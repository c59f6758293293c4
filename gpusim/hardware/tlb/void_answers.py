"""Translations that have become void on their way to a TLB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpusim.core.mapping import Mapping
from gpusim.core.request import Purpose, Translation

_PREFETCH: Final = int(Purpose.PREFETCH)
_MOST_IN_VAIN: Final = 100
"""Times that a page may be answered with nothing while it does not change: a translation that
joined one which was void already is such a time, and none of the next ones is."""


class VoidAnswers:
    """Which answers of the stage below a TLB must not be used any more.

    Attributes:
        shot_down: pages that were invalidated while their translations were on their way, and when
            last.
        in_vain: pages answered with nothing, though nothing has changed here, and how often.
    """

    def __init__(self) -> None:
        self.shot_down: dict[int, int] = {}
        self.in_vain: dict[int, int] = {}

    def shoot_down(self, tags: Iterable[int], now: int) -> None:
        """Pages whose translations are on their way are invalidated."""
        self.shot_down.update(dict.fromkeys(tags, now))

    def still_right(self, translation: Translation) -> Mapping | None:
        """The answer of the stage below; None: its page has changed on the way."""
        tag, mapping = translation.tag, translation.mapping
        if tag in self.shot_down and translation.read_at <= self.shot_down[tag]:
            return None
        if mapping is not None or tag in self.shot_down or translation.kind == _PREFETCH:
            self.in_vain.pop(tag, None)
            return mapping
        self.in_vain[tag] = self.in_vain.get(tag, 0) + 1
        return None

    def stuck(self, tag: int) -> bool:
        """Whether there was no answer again and again, while the page did not change."""
        return self.in_vain.get(tag, 0) >= _MOST_IN_VAIN

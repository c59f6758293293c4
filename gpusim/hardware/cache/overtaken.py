"""Pages invalidated while an answer was outstanding, which may therefore be out of date."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

_ALL: Final = -1
"""Stands for all pages."""


class Overtaken:
    """Pages that were invalidated since an answer was asked for, by what names that answer."""

    def __init__(self) -> None:
        self._pages: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """Answers that an invalidation overtook."""
        return len(self._pages)

    def note(self, outstanding: Iterable[int], pages: Set[int] | None) -> None:
        """Pages (None: all) are invalid while these answers are outstanding."""
        for key in outstanding:
            self._pages.setdefault(key, set()).update((_ALL,) if pages is None else pages)

    def any_of(self, key: int, *pages: int) -> bool:
        """Whether one of these pages was invalidated since an answer was asked for."""
        invalid = self._pages.get(key)
        return invalid is not None and (_ALL in invalid or not invalid.isdisjoint(pages))

    def forget(self, key: int) -> None:
        """An answer has come, or was asked for again."""
        self._pages.pop(key, None)

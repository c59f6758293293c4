"""GPUs of a node that have pages of each other's memories in tables of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Sharers(Protocol):
    """What knows the GPUs that have a page in their tables."""

    def brought(self, tag: int, gpu: int, *, asked: bool) -> None:
        """A page has come to a GPU's memory, which may have asked for it."""

    def is_moving(self, tag: int) -> bool:
        """Whether a page moves between GPUs now."""

    def leave(
        self,
        tags: Sequence[int],
        stays: Callable[[int], bool],
        then: Callable[[list[int]], None],
    ) -> None:
        """Let GPUs forget pages of a memory, then call `then` with those that are still there."""

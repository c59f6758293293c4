"""Pages that cross a link between a GPU and the host together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from gpusim.core.mapping import ASID_SHIFT
from gpusim.hardware.paging.link import Link
from gpusim.hardware.paging.prefetch import VA_BLOCK


class Transfers:
    """Gives links what is to move.

    Args:
        links: by GPU.
        page_bytes: of the smallest pages.
        gaps: whether all pages of a block of 2 MiB cross together, and not only runs of pages side
            by side.
    """

    def __init__(self, links: Sequence[Link], page_bytes: int, *, gaps: bool) -> None:
        self._links = links
        self._page_bytes = page_bytes
        self._gaps = gaps

    def send(self, gpu: int, pages: Iterable[int], *, to_host: bool) -> list[tuple[int, list[int]]]:
        """Give the link of a GPU all that is to move: when each piece arrives, and its pages."""
        size, link = self._page_bytes, self._links[gpu]
        return [
            (link.move_pages(run[0] >> ASID_SHIFT, len(run) * size, to_host=to_host), run)
            for run in self._runs(pages)
        ]

    def _runs(self, pages: Iterable[int]) -> Iterator[list[int]]:
        """Pages that cross the link together, in order, none beyond a block of 2 MiB."""
        per_block = max(VA_BLOCK // self._page_bytes, 1)
        run: list[int] = []
        for tag in chain(sorted(pages), (-1,)):
            apart = run and tag // per_block != run[-1] // per_block
            if apart or (run and not self._gaps and tag != run[-1] + 1):
                yield run
                run = []
            run.append(tag)

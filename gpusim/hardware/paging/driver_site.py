"""Where the driver of demand paging stands in a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from gpusim.config.paging import PagingConfig
from gpusim.core.engine import EventLoop
from gpusim.files.units import Hertz


def _stay_small(_tag: int) -> Sequence[int]:
    """Pages stay as they come."""
    return ()


@frozen(eq=False, repr=False)
class DriverSite:
    """Where the driver stands in a machine.

    Attributes:
        env: the environment.
        config: its times and limits.
        clock: of the core.
        page_bytes: of the smallest pages.
        apps: applications that share the machine.
        shootdown: cycles from the request of a shootdown to the cycle in which pages are
            forgotten, and from then to its acknowledgement.
        wholes: sizes of the pages that pages which have come may make around a page, in the
            smallest pages, the smallest size first.
    """

    env: EventLoop
    config: PagingConfig
    clock: Hertz
    page_bytes: int
    apps: int
    shootdown: tuple[int, int] = (0, 0)
    wholes: Callable[[int], Sequence[int]] = _stay_small

"""Pages that GPUs were given and have not used: they do not lose them before."""

from __future__ import annotations

from typing import Final

from gpusim.core.engine import EventLoop, Port
from gpusim.hardware.node.known_pages import KnownPages
from gpusim.hardware.node.page_move import Arrival, Step

_UNUSED: Final = 1000
"""Cycles after which a GPU that has not used a page that it was given may lose it again: the page
was for an access of a side cache, whose accesses are not followed [our choice]."""


class Arrivals:
    """Keeps steps of moves until the GPU that they concern has used its page.

    Args:
        env: the environment.
        steps: where they go then.
        known: which GPUs know which pages.

    Attributes:
        late: pages that GPUs have had for long.
    """

    def __init__(self, env: EventLoop, steps: Port[Step], known: KnownPages) -> None:
        self.late: Port[tuple[tuple[int, int], Arrival]] = Port(env, "pages.unused", _UNUSED)
        self._steps = steps
        self._known = known
        self._arrivals: dict[tuple[int, int], Arrival] = {}
        """By page and GPU."""

    def expect(self, tag: int, gpu: int) -> None:
        """A GPU keeps a page that it is given until an access to it has left an SM."""
        key = tag, gpu
        self._arrivals.setdefault(key, Arrival())
        self._known.gpus[gpu].accesses.expect(tag, lambda: self._used(key))

    def entered(self, tag: int, gpu: int) -> None:
        """The page is in the GPU's table now."""
        key = tag, gpu
        if key in self._arrivals:
            self.late.send((key, self._arrivals[key]))

    def take_late(self) -> None:
        """Let go on what has waited for long."""
        while (late := self.late.take()) is not None:
            if self._arrivals.get(late[0]) is late[1]:
                self._used(late[0])

    def keeps(self, step: Step, gpu: int) -> bool:
        """Whether a GPU has not used the page of a step yet, which then comes later."""
        arrival = self._arrivals.get((step.move.tag, gpu))
        if arrival is not None:
            arrival.later.append(step)
        return arrival is not None

    def _used(self, key: tuple[int, int]) -> None:
        """A GPU has used a page that it was given, or had time to."""
        arrival = self._arrivals.pop(key, None)
        for step in () if arrival is None else arrival.later:
            self._steps.send(step)

"""The watchdog: stops a run in which requests are in flight and nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.engine.loop import NEVER, EventLoop
from gpusim.core.errors import DeadlockError

_LOOKS: Final = 100
"""How often the watchdog looks before its patience is at an end."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Watchdog:
    """Stops a run in which no event is left, or events happen but make no progress.

    It looks every `patience` cycles, and more often from when it has seen no progress.  A timer
    that runs, such as a warp's arithmetic or a fixed walk, is no standstill however long it takes:
    of the time between two looks, the cycles up to the next event do not count.

    Args:
        env: the environment.
        patience: cycles without progress after which the run is stopped, of those that count.
        in_flight: number of requests (or warps) that are not finished.
        progress: any number that changes whenever a request moves on.
        report: returns what waits for what, as text.
    """

    def __init__(
        self,
        env: EventLoop,
        patience: int,
        in_flight: Callable[[], int],
        progress: Callable[[], int],
        report: Callable[[], str],
    ) -> None:
        self.env = env
        self.patience = patience
        self._in_flight = in_flight
        self._progress = progress
        self._report = report
        self.process = env.start(self._watch(), onlooker=True)

    def check_drained(self) -> None:
        """Raise if the simulation ran out of events with requests still in flight."""
        if self._in_flight():
            raise DeadlockError(self._message("no event is left"))

    def _watch(self) -> Generator[int, None, None]:
        step = max(self.patience // _LOOKS, 1)
        seen, counted = -1, 0
        while self._in_flight():
            upcoming = self.env.next_cycle()
            if upcoming == NEVER:
                raise DeadlockError(self._message("no event is left"))
            now = self._progress()
            if now != seen:
                seen, counted, pause = now, 0, self.patience
            elif counted < self.patience:
                counted, pause = counted + step, step
            else:
                raise self._standstill()
            yield upcoming - self.env.now + pause

    def _standstill(self) -> DeadlockError:
        """What a run is stopped with when its patience is at an end."""
        return DeadlockError(self._message(f"nothing moved in {self.patience} cycles"))

    def _message(self, cause: str) -> str:
        return f"deadlock at cycle {self.env.now}: {cause}, and {self._unfinished()}"

    def _unfinished(self) -> str:
        """The end of each message: how much waits, and for what."""
        return (
            f"{self._in_flight()} requests or warps are unfinished. What waits for what:\n"
            f"{self._report()}"
        )

"""The watchdog: stops a run in which requests are in flight and nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Generator

from gpusim.core.engine.environment import Environment


class DeadlockError(RuntimeError):
    """Requests were in flight, but none made progress; the message says who waits for whom."""


class Watchdog:
    """Compares a progress count every `patience` cycles.

    Args:
        env: the environment.
        patience: cycles without progress after which the run is stopped.
        in_flight: number of requests (or warps) that are not finished.
        progress: any number that changes whenever a request moves on.
        report: who waits for whom, as text.
    """

    def __init__(
        self,
        env: Environment,
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
        self.process = env.start(self._watch())

    def check_drained(self) -> None:
        """Raise if the simulation ran out of events with requests still in flight."""
        if self._in_flight():
            raise DeadlockError(self._message("no event is left"))

    def _watch(self) -> Generator[int, None, None]:
        seen = -1
        while self._in_flight():
            now = self._progress()
            if now == seen:
                raise DeadlockError(self._message(f"nothing moved in {self.patience} cycles"))
            seen = now
            yield self.patience

    def _message(self, cause: str) -> str:
        return (
            f"deadlock at cycle {self.env.now}: {cause}, and {self._in_flight()} requests or warps "
            f"are unfinished. Who waits for whom:\n{self._report()}"
        )

"""A run as JSON lines while it runs: a record at fixed intervals of cycles, and a last one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gpusim.core.errors import UserError
from gpusim.runs.monitor import Activity, Progress

if TYPE_CHECKING:
    import structlog

LOG_EVERY = 10_000
"""Simulated cycles between two records, if nothing else is asked for."""


class RunLog:
    """Context manager around a run: writes a record for every report that it gets.

    A record is a JSON object on a line of its own and can be read as soon as it is written
    (``tail -f``).  It has the keys

    * ``event``: ``"sample"``, or ``"end"`` in the last record;
    * ``cycle``, ``warps_done``, ``warps_running``, ``warps_total``, ``in_flight``: see
      `gpusim.runs.monitor.Progress`;
    * ``run`` and ``window``: what happened since the begin of the run, and since the record
      before: ``cycles``, ``instructions``, ``transactions``, ``ipc``, ``tlb_hit_rates`` by level,
      ``stalls`` (shares of warp-cycles by state); null where a ratio is 0/0.

    Nothing of it depends on the wall clock: equal runs write equal bytes.  If a run fails, the
    records until then stay.

    Args:
        path: of the file; one that exists is replaced at once.
        every: simulated cycles between two records.

    Raises:
        UserError: the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], every: int) -> None:
        import structlog

        self.every = every
        self._path = path
        try:
            self._file = Path(path).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115
        except OSError as error:
            raise self._failure(error) from error
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            structlog.WriteLogger(self._file),  # flushes every line
            processors=[structlog.processors.JSONRenderer()],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )
        self._before: Activity | None = None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # a failed write has been reported by then
            self._file.close()

    def write(self, progress: Progress) -> None:
        """Write the record of a report.

        Raises:
            UserError: the file cannot be written.
        """
        run = progress.activity
        window = run if self._before is None else run.since(self._before)
        self._before = run
        try:
            self._logger.info(
                "end" if progress.done else "sample",
                cycle=progress.cycle,
                warps_done=progress.warps_done,
                warps_running=progress.warps_running,
                warps_total=progress.warps_total,
                in_flight=progress.in_flight,
                run=_numbers(run),
                window=_numbers(window),
            )
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> UserError:
        return UserError(f"cannot write {self._path}: {error.strerror}")


def _numbers(activity: Activity) -> dict[str, Any]:
    return {
        "cycles": activity.cycles,
        "instructions": activity.instructions,
        "transactions": activity.transactions,
        "ipc": activity.ipc,
        "tlb_hit_rates": activity.tlb_hit_rates,
        "stalls": activity.shares,
    }

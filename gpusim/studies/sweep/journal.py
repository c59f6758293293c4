"""The journal of a sweep: JSON lines, with times, that are only ever appended.

A record is durable before the sweep goes on: what it says was done is whole, since results are
synced before they get their names.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from gpusim.core.errors import WriteError
from gpusim.files.whole_files import sync_folder

if TYPE_CHECKING:
    import structlog


class Journal:
    """Context manager: appends a record for each `tell`, with the time and the sweep's id.

    Args:
        path: of the file.
        sweep: identifies this execution of the sweep; several may write to one file.

    Raises:
        WriteError: the file cannot be written.
    """

    def __init__(self, path: Path, sweep: str) -> None:
        import structlog

        self._path = path
        try:
            self._file = path.open("a", encoding="utf-8", newline="\n")
            if _ends_inside_a_line(path):
                self._file.write("\n")
            sync_folder(path.parent)
        except OSError as error:
            raise WriteError(f"cannot write {path}: {error.strerror}") from error
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            structlog.WriteLogger(self._file),  # flushes every line
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
            sweep=sweep,
        )

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # a failed write has been reported by then
            self._file.close()

    def tell(self, event: str, **values: object) -> None:
        """Add a record, which stays if power fails from here on."""
        try:
            self._logger.info(event, **values)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise WriteError(f"cannot write {self._path}: {error.strerror}") from error


def _ends_inside_a_line(path: Path) -> bool:
    """The disk was full, or the machine went down."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"

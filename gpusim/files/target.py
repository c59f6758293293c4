"""The target of a result: a file that is whole or absent, or memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.core.errors import WriteError
from gpusim.files.hdf5 import LIBVER
from gpusim.files.interrupts import uninterrupted
from gpusim.files.whole_files import put_in_place, temporary_name

if TYPE_CHECKING:
    import h5py

_CACHE_BYTES = 1 << 20
"""HDF5's cache of a dataset's chunks: small, as ours are written once, in order."""

_MEMORY_NAMES = count()


class Target:
    """An HDF5 file under construction.

    A file is written under a temporary name in its own folder and moved in place by `commit`;
    `discard` removes it.  Without a path it lives in memory.

    Args:
        path: where the result goes; None keeps it in memory.

    Raises:
        WriteError: the folder does not exist or cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "the result in memory" if path is None else str(path)
        self._file: h5py.File | None = None
        self._stream: _Stream | None = None
        if path is not None:
            try:
                with self.writing():
                    self._temporary = temporary_name(path)
                    self._stream = _Stream(self._temporary, "x+")
                    self._file = self._opened(self._stream)
            except BaseException:
                self.discard()
                raise

    @property
    def file(self) -> h5py.File:
        """The file; one in memory begins when it is first asked for."""
        if self._file is None:
            name = f"gpusim result {next(_MEMORY_NAMES)}"
            self._file = self._opened(name, driver="core", backing_store=False)
        return self._file

    def _opened(self, place: str | _Stream, **options: object) -> h5py.File:
        import h5py

        return h5py.File(place, "w", libver=LIBVER, rdcc_nbytes=_CACHE_BYTES, **options)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turns failures of the file system into errors that name the file; delays Ctrl-C.

        Raises:
            WriteError: something inside, or an earlier write, failed.
        """
        try:
            with uninterrupted():
                yield
            if self._stream is not None and self._stream.failure is not None:
                raise self._stream.failure
        except (OSError, RuntimeError) as error:
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number else str(error)
            raise WriteError(f"cannot write {self.name}: {reason}") from error

    def commit(self) -> None:
        """Make a file durable, then visible under its own name; memory stays open."""
        with self.writing():
            self.file.flush()
        if self._stream is None or self.path is None:
            return
        with self.writing():
            self.file.close()
        with self.writing():
            os.fsync(self._stream.fileno())
            self._stream.close()
            put_in_place(self._temporary, self.path)

    def discard(self) -> None:
        """Close what was not committed and remove it."""
        with uninterrupted():
            if self._file is not None:
                with suppress(OSError, RuntimeError):
                    self._file.close()
            self._remove()

    def _remove(self) -> None:
        if self._stream is not None:
            self._stream.close()
            with suppress(FileNotFoundError):
                self._temporary.unlink()


class _Stream(io.FileIO):
    """A file that remembers its first failure and swallows all writes from then on.

    HDF5 cannot close a file whose last writes fail (a full disk): it keeps them and crashes when
    the process ends.  So it never hears of the failure; `Target.writing` does.
    """

    failure: OSError | None = None

    def write(self, data: object) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        done = 0
        try:
            while done < len(view) and self.failure is None:
                done += super().write(view[done:])
        except OSError as error:
            self.failure = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        if self.failure is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self.failure = error
        return size or 0

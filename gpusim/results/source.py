"""An open result file, or one in memory: what can be wrong with it, and reading its columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.files.columns import Table
from gpusim.files.dimensions import is_column
from gpusim.files.hdf5 import (
    check_size,
    get_text,
    read_column,
    read_record,
)
from gpusim.files.opening import open_hdf5
from gpusim.results.datasets import FORMAT, SCHEMA_VERSION

if TYPE_CHECKING:
    import h5py

_TABLES = ("summary", "counters", "applications", "launches", "kernels", "config/origins")
"""Groups whose columns have a row for the same things; so have event tables."""


class Source:
    """A result in HDF5.  Whatever is damaged raises `UserError` when it is read.

    It may be pickled and copied: one in memory as its bytes, a file as its absolute path.  The copy
    opens its file when something is first read of it.

    Attributes:
        name: its path, for messages.
        schema: version of the schema that it has.
        digest: as it was stored.

    Raises:
        UserError: it is no result of gpusim, damaged, or a newer gpusim wrote it.
    """

    def __init__(self, file: h5py.File, name: str) -> None:
        self.name = name
        self._file: h5py.File | None = file
        self._copied: bytes | Path | None = None
        self._checked: set[str] = set()
        with self.reading():
            if get_text(file, "format") != FORMAT:
                raise UserError(f"{name} is not a result of gpusim: it is some other HDF5 file")
            self.schema = int(file.attrs["schema"])
            if self.schema > SCHEMA_VERSION:
                raise UserError(
                    f"{name} has schema {self.schema}, but this gpusim reads schemas up to "
                    f"{SCHEMA_VERSION}: a newer gpusim wrote it"
                )
            self.digest = get_text(file, "digest")

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs.

        Raises:
            ValueError: the file is closed.
        """
        copied = _to_copy(self._opened()) if self._copied is None else self._copied
        facts = {"name": self.name, "schema": self.schema, "digest": self.digest}
        return {**facts, "copied": copied}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.name, self.schema, self.digest = state["name"], state["schema"], state["digest"]
        self._file, self._copied, self._checked = None, state["copied"], set()

    def close(self) -> None:
        """Close the file."""
        self._copied = None
        if self._file is not None:
            self._file.close()

    def _opened(self) -> h5py.File:
        """The file, of a copy from when it is first asked for.

        Raises:
            ValueError: it is closed.
            UserError: the file that a copy is of is gone, or is another result now.
        """
        if self._copied is not None:
            self._file = _open_copied(self._copied, self.digest)
            self._copied = None
        if not self._file:
            raise ValueError(f"{self.name} is closed")
        return self._file

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """The file; what h5py raises on damaged ones becomes an error that names it.

        Raises:
            UserError: the file is damaged.
            ValueError: it is closed.
        """
        file = self._opened()
        with untrusted(self.name):
            yield file

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """What reading columns, and making tables of them, raises names the file.

        Raises:
            UserError: the file is damaged.
            ValueError: it is closed.
        """
        with self.reading():
            yield

    def has(self, group: str) -> bool:
        """Whether it has a group, or a column of one, which older files may lack."""
        with self.reading() as file:
            return group in file

    def column(
        self, group: str, name: str, start: int | None = None, stop: int | None = None
    ) -> NDArray[Any]:
        """Rows ``[start, stop)`` of a column: numbers, or an object array of str."""
        with self.reading() as file:
            self._check_lengths(group)
            return read_column(file[group], name, start, stop)

    def record(self, group: str, table: Table) -> dict[str, Any]:
        """A table that is one record, its lists as tuples."""
        with self.reading() as file:
            return read_record(file[group], table)

    def tables(self) -> dict[str, dict[str, int]]:
        """Rows of each column of each event table."""
        with self.reading() as file:
            if "tables" not in file:
                return {}
            groups = file["tables"]  # .get() would hide damage
            found = {}
            for name, group in groups.items():
                if not name.isidentifier():  # names become names of files
                    raise ValueError(f"{name!r} is no name of a table")
                self._check_lengths(f"tables/{name}")
                columns = {key: one for key, one in group.items() if is_column(one)}
                for column in columns.values():
                    check_size(column, len(column))
                found[name] = {key: len(one) for key, one in columns.items()}
            return found

    def _check_lengths(self, group: str) -> None:
        """A table's columns must be as long as each other; looked at once."""
        if group in self._checked or not (group in _TABLES or group.startswith("tables/")):
            return
        columns = [one for one in self._opened()[group].values() if is_column(one)]
        lengths = {one.shape[:1] for one in columns}
        if len(lengths) != 1 or () in lengths:
            raise ValueError(f"the columns of {group!r} are not of one length")
        self._checked.add(group)


def open_source(path: Path) -> Source:
    """Open a file.

    Raises:
        UserError: as `gpusim.results.open_result`.
    """
    try:
        with untrusted(path, passes=(OSError,)):
            file = open_hdf5(path)
    except PermissionError as error:
        raise UserError(f"cannot open {path}: permission denied") from error
    except OSError as error:
        if not _looks_like_hdf5(path):
            raise UserError(f"{path} is not a result of gpusim: it is no HDF5 file") from error
        raise UserError(f"{path} is damaged or cut short: {error}") from error
    try:
        return Source(file, str(path))
    except BaseException:
        file.close()
        raise


def _looks_like_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(8) == b"\x89HDF\r\n\x1a\n"


def _to_copy(file: h5py.File) -> bytes | Path:
    """What a copy of an open file is opened from: its bytes if it is in memory, else its path."""
    if file.driver != "core":
        return Path(file.filename).absolute()
    file.flush()
    return bytes(file.id.get_file_image())


def _open_copied(copied: bytes | Path, digest: str) -> h5py.File:
    """Open what a copy of a result was made of.

    Raises:
        UserError: the file is gone, damaged, or holds a result of another digest.
    """
    if isinstance(copied, bytes):
        import h5py

        return h5py.File(h5py.h5f.open_file_image(copied))
    if not copied.exists():
        raise UserError(
            f"{copied} is gone: a result of a file is copied, and sent to another process, as its "
            "path; keep the file, or let the result stay in memory (no output)"
        )
    with untrusted(copied):
        file = open_hdf5(copied)
        if get_text(file, "digest") == digest:
            return file
        file.close()
    raise UserError(f"{copied} is another result than when this one was copied")

"""A result that is in memory as the facts of its run; it becomes HDF5 only if it is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gpusim.files.columns import Table
from gpusim.files.hdf5 import Values, as_read, record_of
from gpusim.results.datasets import SCHEMA_VERSION
from gpusim.results.source import Source

if TYPE_CHECKING:
    import h5py

Held = Mapping[str, tuple[Table, Mapping[str, Values]]]
"""By group: its columns, and their values."""

EVENT_TABLE = "tables/"
"""Before the name of an event table, its group."""


class HeldSource(Source):
    """A result whose recorded events fill no chunk; to write it takes a tenth of a second.

    It becomes HDF5 for a copy.

    Args:
        held: all of it.
        digest: of the run.
        write: makes a file of the run, in memory.
    """

    def __init__(self, held: Held, digest: str, write: Callable[[], h5py.File]) -> None:
        self.name = "the result in memory"
        self.schema = SCHEMA_VERSION
        self.digest = digest
        self._file = None
        self._copied = None
        self._checked = set()
        self._held = held
        self._write: Callable[[], h5py.File] | None = write

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._held, self._write = {}, None

    def close(self) -> None:
        self._held, self._write = {}, None
        super().close()

    def _opened(self) -> h5py.File:
        if self._file is None and self._write is not None:
            self._file = self._write()
        return super()._opened()

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        if self._write is None:
            with super().naming_damage():
                yield
        else:
            yield

    def has(self, group: str) -> bool:
        if self._write is None:
            return super().has(group)
        above, _, name = group.rpartition("/")
        return group in self._held or (above in self._held and name in self._held[above][1])

    def column(
        self, group: str, name: str, start: int | None = None, stop: int | None = None
    ) -> NDArray[Any]:
        if self._write is None:
            return super().column(group, name, start, stop)
        table, values = self._held[group]
        column = next(one for one in table.columns if one.name == name)
        return as_read(values[name], column)[start:stop]

    def record(self, group: str, table: Table) -> dict[str, Any]:
        if self._write is None:
            return super().record(group, table)
        columns = {one.name: self.column(group, one.name) for one in table.columns}
        return record_of(table, columns)

    def tables(self) -> dict[str, dict[str, int]]:
        if self._write is None:
            return super().tables()
        return {
            group.removeprefix(EVENT_TABLE): {name: len(one) for name, one in columns.items()}
            for group, (_, columns) in self._held.items()
            if group.startswith(EVENT_TABLE)
        }

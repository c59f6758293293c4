"""A result that is in memory as the facts of its run; it becomes HDF5 only if it has to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


class HeldSource(Source):
    """A result without recorded events; to import h5py and to write takes a tenth of a second.

    Whatever is asked for that is not held, and a copy, comes from HDF5.

    Args:
        held: what is asked for most.
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

    def has(self, group: str) -> bool:
        above, _, name = group.rpartition("/")
        if group in self._held or (above in self._held and name in self._held[above][1]):
            return True
        return super().has(group)

    def column(
        self, group: str, name: str, start: int | None = None, stop: int | None = None
    ) -> NDArray[Any]:
        if group in self._held:
            table, values = self._held[group]
            for column in table.columns:
                if column.name == name:
                    return as_read(values[name], column)[start:stop]
        return super().column(group, name, start, stop)

    def record(self, group: str, table: Table) -> dict[str, Any]:
        if group not in self._held:
            return super().record(group, table)
        columns = {one.name: self.column(group, one.name) for one in table.columns}
        return record_of(table, columns)

    def tables(self) -> dict[str, dict[str, int]]:
        return {}

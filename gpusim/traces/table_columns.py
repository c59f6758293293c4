"""Columns of a tabular trace: their names, what they mean, and reading them from a file.

A row is a coalesced transaction of a wavefront (a warp).  The names are those under which
MGPUSim's memory transactions were logged; any tracer can write them.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import check_unpacked, file_bytes, untrusted
from gpusim.traces.table_csv import CsvColumns, csv_names, is_csv

Array = NDArray[Any]


@frozen(eq=False, repr=False)
class Column:
    """A column: one number a row.

    Attributes:
        name: in the file.
        highest: largest value; the smallest is 0.
        meaning: what it says, and what holds where it is absent.
        required: whether a table must have it.
    """

    name: str
    highest: int
    meaning: str
    required: bool = False


_U8, _U16, _U32 = (1 << 8) - 1, (1 << 16) - 1, (1 << 32) - 2
_ADDRESS = (1 << 57) - 1

TRANSACTIONS = (
    Column("kernel", _U16, "launch, counted from 0", required=True),
    Column("workgroup", _U32, "thread block of the launch, x fastest", required=True),
    Column("wavefront", _U32, "warp; ids increase within a workgroup", required=True),
    Column("vaddr", _ADDRESS, "virtual byte address", required=True),
    Column("is_write", 1, "whether it is a store", required=True),
    Column("order", _U32, "place among the wavefront's rows; absent: the order of the rows"),
    Column(
        "inst",
        _U32,
        "instruction that it belongs to, counted within the wavefront; absent: "
        "each row is an instruction",
    ),
    Column(
        "inst_idx",
        _U32,
        "place of the instruction among all of the wavefront's; absent: no "
        "instructions between those that access memory",
    ),
    Column("bytes", 1 << 12, "bytes from vaddr on; absent: 1"),
    Column("first_byte", _U8, "with last_byte: first byte that is really touched, from vaddr"),
    Column("last_byte", _U8, "last byte that is really touched; both absent: see bytes"),
    Column(
        "pc", _ADDRESS, "address of the instruction, by which warps of a block meet; absent: inst"
    ),
    Column(
        "wait_vm",
        _U8,
        "memory instructions of the wavefront that were outstanding before the instruction, at "
        "most; 15 or more, or absent: no limit",
    ),
    Column(
        "wait_lgkm",
        _U8,
        "0: before the instruction, all were answered (FLAT instructions "
        "count here too); else, or absent: no limit",
    ),
    Column("barriers", _U8, "barriers since the instruction before; absent: none"),
    Column("cu", _U16, "SM that it came from; absent: see wf_cu"),
)
"""One row a transaction."""

TIME = Column(
    "issue_time",
    _ADDRESS,
    'cycle in which it was issued; asked for by workload.pace = "recorded" alone',
    required=True,
)
"""One row a transaction, too."""

SCALARS = (
    Column("s_kernel", _U16, "launch"),
    Column("s_workgroup", _U32, "thread block"),
    Column("s_wavefront", _U32, "warp"),
    Column("s_inst_idx", _U32, "place of the instruction"),
    Column("s_wait_vm", _U8, "as wait_vm"),
    Column("s_wait_lgkm", _U8, "as wait_lgkm"),
    Column("s_barriers", _U8, "as barriers"),
)
"""One row a scalar memory instruction: arithmetic, with what was waited for before it, unless the
machine has a scalar cache and the table `SCALAR_ACCESSES`."""

SCALAR_ACCESSES = (
    Column("s_vaddr", _ADDRESS, "virtual byte address"),
    Column("s_bytes", 1 << 12, "bytes from s_vaddr on"),
    Column("s_issue_time", _ADDRESS, "as issue_time; absent: the first one's of its launch"),
)
"""One row a scalar transaction, beside `SCALARS`; several of one s_inst_idx are an instruction."""

WAVEFRONTS = (
    Column("wf_kernel", _U16, "launch"),
    Column("wf_workgroup", _U32, "thread block"),
    Column("wf_in_wg", _U16, "place in the workgroup; absent: by wavefront id"),
    Column("wf_cu", _U16, "SM that it ran on; absent: see cu"),
    Column("wf_insts", _U32, "its instructions; absent: it ends with its last memory access"),
)
"""One row a wavefront: row n is that of wavefront id n."""

DISPATCH = (
    Column("wf_kernel", _U16, "launch"),
    Column("wf_dispatch_time", _ADDRESS, "cycle in which it began; absent: with its first access"),
)
"""One row a wavefront, too; asked for where times are kept and side caches are fed."""

PAGES = (Column("page_vaddr", _ADDRESS, "virtual addresses of the 4 KiB pages that are mapped"),)
"""One row a page."""

ALL_NAMES = frozenset(
    column.name
    for table in (TRANSACTIONS, (TIME,), SCALARS, SCALAR_ACCESSES, WAVEFRONTS, DISPATCH, PAGES)
    for column in table
)
"""Names of all columns."""

PARQUET = ".parquet"

_INTEGERS = re.compile(r"bool|u?int\d+")
"""Names of types that Arrow has for them."""


class TableFile:
    """A file with columns, each of which is read when it is asked for.

    Args:
        path: .npz (one array a column), .parquet or .csv (transactions only).

    Raises:
        UserError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file_bytes(path)
        with untrusted(f"{path}:", f"no {path.suffix} file, or damaged"):
            self._file = _reader(path)
        self._names = self._file.names

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of columns that no table has."""
        return tuple(name for name in self._names if name not in ALL_NAMES)

    def group(self, columns: Iterable[Column]) -> dict[str, Array]:
        """The given columns, as far as the file has them, all of one length, with values in range.

        Raises:
            UserError: a required column is missing, or one is not what it has to be.
        """
        found: dict[str, Array] = {}
        for column in columns:
            if column.name in self._names:
                found[column.name] = self._column(column)
            elif column.required:
                raise UserError(
                    f"{self.path}: there is no column {column.name!r} ({column.meaning}); it has: "
                    f"{', '.join(sorted(self._names)) or 'none'}"
                )
        self._check_lengths(found)
        return found

    def _column(self, column: Column) -> Array:
        where = f"{self.path}: column {column.name!r}"
        with untrusted(f"{where}:", "damaged"):
            values = self._file.read(column.name)
        if values.shape == (0,):
            return np.zeros(0, dtype=np.int64)
        if values.ndim != 1 or values.dtype.kind not in "biu":
            shape = f"{values.dtype} of shape {values.shape}"
            raise UserError(f"{where}: {shape}; allowed: one integer a row")
        if values.min() < 0 or values.max() > column.highest:
            row = int(np.flatnonzero((values < 0) | (values > column.highest))[0])
            raise UserError(
                f"{where}, row {row}: {values[row]}; allowed: 0 to {column.highest} "
                f"({column.meaning})"
            )
        return values

    def _check_lengths(self, found: Mapping[str, Array]) -> None:
        first = next(iter(found), "")
        for name, values in found.items():
            if len(values) != len(found[first]):
                raise UserError(
                    f"{self.path}: column {name!r} has {len(values)} rows, "
                    f"{first!r} has {len(found[first])}"
                )


class _Columns(Protocol):
    """A file with columns of numbers."""

    names: list[str]

    def read(self, name: str) -> Array:
        """One column."""


def _reader(path: Path) -> _Columns:
    if is_csv(path):
        return CsvColumns(path)
    return _Parquet(path) if path.suffix == PARQUET else _Npz(path)


class _Npz:
    def __init__(self, path: Path) -> None:
        self._path = path
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        check_unpacked(path, sum(member.file_size for member in members))
        self._sizes = {one.filename.removesuffix(".npy"): one.file_size for one in members}
        self.names: list[str] = list(self._sizes)

    def read(self, name: str) -> Array:
        with self._path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            self._check(archive.zip, name)
            values: Array = archive[name]
        return values

    def _check(self, archive: zipfile.ZipFile, name: str) -> None:
        """Refuse an array whose header claims what its file does not have."""
        with archive.open(f"{name}.npy") as stream:
            formats = np.lib.format
            first = formats.read_magic(stream) == (1, 0)
            read = formats.read_array_header_1_0 if first else formats.read_array_header_2_0
            shape, _, dtype = read(stream)
        claimed = dtype.itemsize * prod(shape)
        if claimed > self._sizes[name]:
            raise ValueError(f"claims {claimed} bytes, and has {self._sizes[name]}")


def is_csv_table(path: Path) -> bool:
    """Whether a file is a CSV with all columns that a table of transactions must have.

    Raises:
        UserError: it cannot be read.
    """
    if not is_csv(path):
        return False
    return {column.name for column in TRANSACTIONS if column.required} <= set(csv_names(path))


class _Parquet:
    def __init__(self, path: Path) -> None:
        import pyarrow.parquet

        self._path = path
        self._parquet = pyarrow.parquet
        with path.open("rb") as stream:  # PyArrow opens no file whose name is no text
            about = self._parquet.read_metadata(stream)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        pieces = [one.column(at) for one in groups for at in range(one.num_columns)]
        numbers = 8 * about.num_rows * about.num_columns  # a run of equal values takes no room
        check_unpacked(path, max(numbers, sum(one.total_uncompressed_size for one in pieces)))
        self.names: list[str] = about.schema.names
        self._rows = about.num_rows
        self._types = {one.name: str(one.type) for one in about.schema.to_arrow_schema()}

    def read(self, name: str) -> Array:
        if self._rows and not _INTEGERS.fullmatch(kind := self._types[name]):
            # a text that is stored once may be the value of every row
            raise UserError(f"{self._path}: column {name!r}: {kind}; allowed: one integer a row")
        with self._path.open("rb") as stream:
            values = self._parquet.read_table(stream, columns=[name]).column(0)
        if values.null_count:
            row = values.is_null().to_numpy().argmax()
            raise UserError(f"{self._path}: column {name!r}, row {row}: has no value")
        numbers: Array = values.to_numpy()
        return numbers

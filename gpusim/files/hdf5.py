"""Columns in and out of HDF5: chunked, compressed, with checksums, unit and description.

Strings have a fixed length and files are written in the format of HDF5 1.10, so that every byte
that matters lies under a checksum and equal content gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.untrusted import afford
from gpusim.files.columns import TEXT, Column, Table
from gpusim.files.dimensions import name_rows

if TYPE_CHECKING:
    import h5py

LIBVER = ("v110", "v110")
"""Lowest and highest version of the file format."""

CHUNK_ROWS = 1 << 16
"""Rows of a chunk of an event table."""

_KINDS = "biufS"
_WHOLE = "iu"
"""Whole numbers, which older files may keep in other types."""

_TEXT_BYTES = 57
"""Bytes that a text takes beside its characters, once it is read."""

_SURE_BYTES = 16 << 20
_MOST_TIMES = 1100
"""Deflate packs a run of equal bytes to 1/1032 of it."""

Values = Sequence[str] | Sequence[int] | Sequence[float] | NDArray[Any]

_FILTERS: dict[str, Any] = {
    "compression": "gzip",
    "compression_opts": 1,
    "shuffle": True,
    "fletcher32": True,
    "track_times": False,
}


def write_column(group: h5py.Group, column: Column, values: Values) -> h5py.Dataset:
    """Store `values` as one dataset, and return it.

    Raises:
        OverflowError: a value does not fit the type of the column.
    """
    data = _encode(values) if column.type == TEXT else fit(np.asarray(values), column)
    chunks = tuple(max(1, n) for n in data.shape)
    dataset = group.create_dataset(
        column.name, data=data, chunks=chunks, maxshape=(None,) * data.ndim, **_FILTERS
    )
    _describe(dataset, column)
    return dataset


def write_table(group: h5py.Group, table: Table, rows: Mapping[str, Values]) -> None:
    """Store all columns of `table`; `rows` has the values of each by its name."""
    set_text(group, "description", table.description)
    for column in table.columns:
        write_column(group, column, rows[column.name])
    name_rows(group, [column.name for column in table.columns if column.many])


def create_event_column(group: h5py.Group, column: Column) -> h5py.Dataset:
    """An empty column of numbers that grows."""
    dataset = group.create_dataset(
        column.name,
        shape=(0,),
        dtype=column.type,
        chunks=(CHUNK_ROWS,),
        maxshape=(None,),
        **_FILTERS,
    )
    _describe(dataset, column)
    return dataset


def fit(values: NDArray[Any], column: Column) -> NDArray[Any]:
    """`values` in the type of `column`.

    Raises:
        OverflowError: one of them does not fit.
    """
    wanted = np.dtype(column.type)
    if wanted.kind in "iu" and values.size:
        limits = np.iinfo(wanted)
        low, high = int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            wrong = low if low < limits.min else high
            raise OverflowError(f"{wrong} does not fit the column {column.name!r} ({column.type})")
    return values.astype(wanted)


def set_text(place: h5py.Group | h5py.Dataset, name: str, text: str) -> None:
    """Store a text as an attribute."""
    data = text.encode("utf-8", "backslashreplace")
    place.attrs.create(name, _fixed([data]).reshape(()))


def get_text(place: h5py.Group | h5py.Dataset, name: str) -> str:
    """The text attribute `name`; empty if there is none or it is no text."""
    value = place.attrs.get(name, "")
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value if isinstance(value, str) else ""


def read_column(
    group: h5py.Group, name: str, start: int | None = None, stop: int | None = None
) -> NDArray[Any]:
    """Rows ``[start, stop)`` of a column: numbers, or an object array of str.

    Raises:
        ValueError: it holds something else, or claims rows that the file cannot have.
        UserError: the rows take more memory than they may.
    """
    import h5py

    dataset = group[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in _KINDS:
        raise ValueError(f"{name!r} is no column of numbers or of texts of a fixed length")
    rows = slice(start, stop)
    if dataset.ndim:
        count = len(range(*rows.indices(len(dataset))))
        check_size(dataset, count)
        if (size := _size(dataset, count)) > _SURE_BYTES:
            afford(size, f"{dataset.file.filename}: {dataset.name!r}")
    if dataset.dtype.kind == "S":
        return np.asarray(dataset.asstr("utf-8")[rows], dtype=object)
    return np.asarray(dataset[rows])


def there(group: h5py.Group, table: Table) -> list[Column]:
    """The columns of a table that a file must have, and those of later ones that it has.

    Raises:
        ValueError: a column lies where the table should be; to look for a name in it would read
            all its rows, one by one.
    """
    import h5py

    if not isinstance(group, h5py.Group):
        raise ValueError(f"{group.name!r} is no table")
    return [one for one in table.columns if one.older is None or one.name in group]


def read_table(group: h5py.Group, table: Table) -> dict[str, NDArray[Any]]:
    """All columns of a table.

    Raises:
        ValueError: they are not of one length, or hold something else.
        UserError: as for `read_column`.
    """
    found = {column.name: read_column(group, column.name) for column in there(group, table)}
    shapes = {values.shape for values in found.values()}
    if len(shapes) != 1 or any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"the columns of {group.name!r} are not of one length")
    (rows,) = shapes.pop()
    for column in table.columns:
        if column.name not in found:
            found[column.name] = np.full(rows, column.older)
            continue
        wanted = "O" if column.type == TEXT else np.dtype(column.type).kind
        if found[column.name].dtype.kind not in (_WHOLE if wanted in _WHOLE else wanted):
            raise ValueError(f"the column {column.name!r} of {group.name!r} has other values")
    return found


def check_size(dataset: h5py.Dataset, rows: int) -> None:
    """Refuse rows that take more memory than what is stored can unpack to.

    Raises:
        ValueError: there are too many.
    """
    claimed = rows * prod(dataset.shape[1:]) * dataset.dtype.itemsize
    stored = dataset.id.get_storage_size()
    if claimed > _SURE_BYTES + _MOST_TIMES * stored:
        raise ValueError(
            f"{dataset.name!r} claims {claimed} bytes; the {stored} that are stored cannot be as "
            "many"
        )


def _size(dataset: h5py.Dataset, rows: int) -> int:
    """Bytes of memory that rows take when they are read."""
    text = _TEXT_BYTES if dataset.dtype.kind == "S" else 0
    return int(rows * prod(dataset.shape[1:]) * (dataset.dtype.itemsize + text))


def as_read(values: Values, column: Column) -> NDArray[Any]:
    """What `read_column` gives of values that were written."""
    if column.type != TEXT:
        return fit(np.asarray(values), column)
    found = np.empty(len(values), dtype=object)
    found[:] = [text.decode("utf-8").rstrip("\0") for text in _bytes_of(values)]
    return found


def read_record(group: h5py.Group, table: Table) -> dict[str, Any]:
    """A table that is one record, its lists as tuples."""
    columns = {column.name: read_column(group, column.name) for column in there(group, table)}
    return record_of(table, columns)


def record_of(table: Table, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The record of which these are the columns; older files lack some."""
    found: dict[str, Any] = {}
    for column in table.columns:
        if column.name not in columns:
            found[column.name] = column.older
            continue
        values = columns[column.name].tolist()
        if not column.many and len(values) != 1:
            raise ValueError(f"{column.name!r} has {len(values)} values, must have 1")
        found[column.name] = tuple(values) if column.many else values[0]
    return found


def _bytes_of(values: Values) -> list[bytes]:
    return [str(value).encode("utf-8", "backslashreplace") for value in values]


def _encode(values: Values) -> NDArray[np.bytes_]:
    return _fixed(_bytes_of(values))


def _fixed(texts: Sequence[bytes]) -> NDArray[np.bytes_]:
    """Texts of one length, marked as UTF-8 only where they are more than ASCII.

    HDF5 converts neither to the other, and programs in C (Octave, what R has for netCDF) ask for
    ASCII.
    """
    import h5py

    width = max((len(text) for text in texts), default=1)
    marked = "ascii" if all(text.isascii() for text in texts) else "utf-8"
    return np.array(texts, dtype=h5py.string_dtype(marked, max(1, width)))


def _describe(dataset: h5py.Dataset, column: Column) -> None:
    """Attributes by the names of the CF conventions, so that other programs know them."""
    if column.unit:
        set_text(dataset, "units", column.unit)
    set_text(dataset, "long_name", column.description)
    if column.flags:
        name_flags(dataset, column.flags)


def name_flags(dataset: h5py.Dataset, names: Sequence[str]) -> None:
    """Tell what the numbers of a column mean, from 0 on."""
    dataset.attrs["flag_values"] = np.arange(len(names), dtype=dataset.dtype)
    set_text(dataset, "flag_meanings", " ".join(name.replace(" ", "_") for name in names))

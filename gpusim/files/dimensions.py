"""Named dimensions of datasets, as netCDF-4 and HDF5's dimension scales have them.

xarray, netCDF's own tools and HDFView then show names instead of numbers of axes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py

ENTRY = "entry"
"""The dimension of a table: of all its columns.  None of these has this name."""

_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.  {:10d}"
"""The name by which netCDF-4 knows a dimension without numbers of its own."""


def add_dimension(group: h5py.Group, name: str, length: int) -> h5py.Dataset:
    """A dimension without numbers of its own; it takes no room in the file."""
    scale = group.create_dataset(name, shape=(length,), dtype=">f4", track_times=False)
    scale.make_scale(_NO_VARIABLE.format(length))
    return scale


def as_dimension(dataset: h5py.Dataset) -> h5py.Dataset:
    """A column becomes the coordinate of the dimension that has its name."""
    dataset.make_scale(dataset.name.rpartition("/")[2])
    return dataset


def name_axes(dataset: h5py.Dataset, scales: Sequence[h5py.Dataset]) -> None:
    """Give each axis of a dataset its dimension."""
    for axis, scale in zip(dataset.dims, scales, strict=True):
        axis.attach_scale(scale)
        axis.label = scale.name.rpartition("/")[2]


def name_rows(group: h5py.Group, lists: Collection[str] = ()) -> None:
    """All columns of a table lie along `ENTRY`; of a record, its lists along axes of their own.

    A table within a table has a dimension of another name, as groups hand theirs down.
    """
    import h5py

    columns = {name: one for name, one in group.items() if isinstance(one, h5py.Dataset)}
    along = f"{group.name.rpartition('/')[2]}_{ENTRY}" if ENTRY in group.parent else ENTRY
    row = None
    for name, column in columns.items():
        if name in lists:
            name_axes(column, [add_dimension(group, f"{name}_{ENTRY}", len(column))])
        else:
            row = row or add_dimension(group, along, len(column))
            name_axes(column, [row])


def is_column(dataset: h5py.Dataset) -> bool:
    """Whether a dataset of a table is not its dimension."""
    return not dataset.is_scale

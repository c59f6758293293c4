"""One chunk of gpusim's own traces, read from HDF5 and held against what a chunk can be.

A file may be damaged where it is read last, or be made by another program: what does not fit would
end somewhere in the machine, in an error of numpy or in warps that wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from gpusim.core.code_places import NO_PLACE
from gpusim.core.warp_program import (
    INACTIVE,
    LEAST_SHIFT,
    MEMORY_OPS,
    PASSES,
    SCOREBOARD_OPS,
    SECTOR_BYTES,
    SIDE_OPS,
    Asked,
    LaneChunk,
    Op,
)
from gpusim.files.columns import Column
from gpusim.files.hdf5 import fit, read_column
from gpusim.traces.application import ADDRESS_BITS
from gpusim.traces.recorded_layout import ACCESS_PLACES, ACCESSES, ACTIVE, ADDRESSES, INSTRUCTIONS
from gpusim.traces.recorded_machines import ASKED_FOR, check_arithmetic

INDEXED = (
    ("instructions", "kind"),
    ("active", "warp"),
    ("accesses", "size"),
    ("addresses", "lane"),
)
"""Tables and columns of which the columns of the index of chunks tell, in their order."""

MOST_ARGUMENT = 1 << 36
"""The largest argument of an instruction (our choice): cycles of half a minute."""

_SIDES = frozenset(SIDE_OPS.values())

_SHARED = sorted({Op.SHARED, *SCOREBOARD_OPS})

_RECORDED = frozenset(Op) - ASKED_FOR
"""What a program states that is asked for nothing."""

Span = tuple[int, int]
"""First row, and the row after the last one."""


def index_column(file: h5py.File, table: str, column: Column, rows: int) -> NDArray[np.int64]:
    """A column of an index: where something begins among `rows` rows, and where the last one ends.

    Raises:
        ValueError: it goes back, or ends elsewhere.
    """
    index = _whole(table, column, read_column(file[table], column.name))
    if index.ndim != 1 or not index.size:
        raise ValueError(f"{table}/{column.name} is no index")
    if index[0] < 0 or index[-1] != rows or (np.diff(index) < 0).any():
        raise ValueError(
            f"{table}/{column.name} is no index of {rows} rows: it must rise from 0 or more to "
            f"{rows}"
        )
    return index


def read_chunk(
    file: h5py.File,
    spans: Sequence[Span],
    warps: int,
    numbers: NDArray[np.int64],
    made_for: Asked,
) -> LaneChunk:
    """The chunk that lies in these rows.

    Args:
        file: the trace.
        spans: of instructions, active, accesses and addresses.
        warps: of its block.
        numbers: by row of the table of places in the code, their numbers; empty: not asked for.
        made_for: what was asked of its program.

    Raises:
        ValueError: it is none that a program can have.
    """
    instructions, active, accesses, addresses = spans
    kind = _rows(file, "instructions", INSTRUCTIONS.columns[0], instructions)
    count = accesses[1] - accesses[0]
    memory = np.isin(kind, sorted(MEMORY_OPS | _SIDES))
    recorded = sorted(_RECORDED | made_for.kinds)
    if not np.isin(kind, recorded).all() or int(memory.sum()) != count:
        raise ValueError("it does not have the instructions of its index")
    elements = addresses[1] - addresses[0]
    lanes = elements // (count * warps) if count and warps else 0
    if elements != count * warps * lanes or (count and not lanes):
        raise ValueError(f"{elements} addresses of {count} accesses of {warps} warps")
    if active[1] - active[0] != len(kind) * warps:
        raise ValueError(f"{len(kind)} instructions of {warps} warps do not fit its index")
    argument = _rows(file, "instructions", INSTRUCTIONS.columns[1], instructions)
    _check_range("argument", argument[~memory], 0, MOST_ARGUMENT)
    _check_passes(argument[np.isin(kind, _SHARED)])
    size = _rows(file, "accesses", ACCESSES.columns[0], accesses)
    _check_range("size", size, 1, SECTOR_BYTES)
    lane = _rows(file, "addresses", ADDRESSES.columns[0], addresses).reshape(count, warps, lanes)
    _check_range("address", lane, INACTIVE, (1 << ADDRESS_BITS) - 1)
    crossing = (lane & SECTOR_BYTES - 1) + size[:, None, None] > SECTOR_BYTES
    if (crossing & (lane != INACTIVE)).any():
        raise ValueError(f"a lane crosses a sector of {SECTOR_BYTES} bytes")
    executes = _rows(file, "active", ACTIVE.columns[0], active)
    _check_range("active", executes, 0, 1)
    place = _places(file, accesses, numbers) if numbers.size else None
    chunk = LaneChunk(kind, argument, executes.astype(bool).reshape(-1, warps), lane, size, place)
    check_arithmetic(chunk)
    return chunk


def _places(file: h5py.File, accesses: Span, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of accesses in the code."""
    found = _rows(file, "access_places", ACCESS_PLACES.columns[0], accesses)
    _check_range("place", found, NO_PLACE, len(numbers) - 1)
    return np.where(found < 0, NO_PLACE, numbers[found])


def _rows(file: h5py.File, table: str, column: Column, span: Span) -> NDArray[Any]:
    """Some rows of a column of whole numbers."""
    values = read_column(file[table], column.name, *span)
    if values.shape != (span[1] - span[0],):
        raise ValueError(f"{table}/{column.name} has no rows {span[0]} to {span[1]}")
    return _whole(table, column, values)


def _whole(table: str, column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Values in the type of their column."""
    if values.dtype.kind not in "iu":
        raise ValueError(f"{table}/{column.name} holds {values.dtype}; whole numbers are allowed")
    try:
        return values if values.dtype == column.type else fit(values, column)
    except OverflowError as error:
        raise ValueError(f"{table}/{column.name}: {error}") from error


def _check_passes(argument: NDArray[Any]) -> None:
    """Refuse accesses to shared memory that pass fewer times than they must."""
    passes, least = argument & PASSES, argument >> LEAST_SHIFT
    if (wrong := least > passes).any():
        raise ValueError(
            f"a shared-memory access of {passes[wrong][0]} passes, at least {least[wrong][0]}"
        )


def _check_range(what: str, values: NDArray[Any], least: int, most: int) -> None:
    if values.size and not least <= int(values.min()) <= int(values.max()) <= most:
        wrong = values[(values < least) | (values > most)][0]
        raise ValueError(f"{what} {wrong}; allowed: {least} to {most}")

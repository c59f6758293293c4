"""Calls that map and unmap pieces of arrays, in gpusim's own traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import h5py

from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import StreamUse
from gpusim.files.columns import Table
from gpusim.files.hdf5 import write_table
from gpusim.traces.recorded_layout import CALL_PIECES, MAPPING_CALLS
from gpusim.traces.recorded_tables import Row

_MOST_PIECE = 1 << 34
"""Bytes of a piece (our choice)."""


def write_calls(file: h5py.File, calls: Sequence[tuple[int, MappingCall]]) -> None:
    """Store calls, each with the row of its launch."""
    write_table(
        file.create_group("mapping_calls"),
        MAPPING_CALLS,
        {
            "launch": [row for row, _ in calls],
            "maps": [call.maps for _, call in calls],
            "bytes": [call.piece_bytes for _, call in calls],
        },
    )
    pieces = [(number, at) for number, (_, call) in enumerate(calls) for at in call.pieces]
    write_table(
        file.create_group("call_pieces"),
        CALL_PIECES,
        {"call": [number for number, _ in pieces], "address": [at for _, at in pieces]},
    )


def read_calls(
    rows: Callable[[str, Table], Sequence[Row]],
    launches: Sequence[Row],
    buffers: Sequence[Row],
    uses: Sequence[StreamUse],
) -> Mapping[int, MappingCall]:
    """The calls of all applications, by the rows of their launches.

    Args:
        rows: reads a table of the file.
        launches: rows of that table.
        buffers: rows of that table.
        uses: how launches use streams.

    Raises:
        ValueError: a call is none of its launch, or its pieces are none of an array.
    """
    own = rows("mapping_calls", MAPPING_CALLS)
    pieces: list[list[int]] = [[] for _ in own]
    for row in rows("call_pieces", CALL_PIECES):
        if not 0 <= row["call"] < len(own):
            raise ValueError(f"a piece of call {row['call']}; there are {len(own)}, from 0")
        pieces[row["call"]].append(row["address"])
    found = {}
    for call, addresses in zip(own, pieces, strict=True):
        number = call["launch"]
        if not 0 <= number < len(launches) or launches[number]["blocks"]:
            raise ValueError(f"launch {number} maps or unmaps, and is none, or has thread blocks")
        launch = launches[number]
        for address in addresses:
            _check_piece(address, call["bytes"], launch["application"], buffers)
        found[number] = MappingCall(
            launch["name"], bool(call["maps"]), tuple(addresses), call["bytes"], uses[number]
        )
    return found


def _check_piece(address: int, size: int, application: int, buffers: Sequence[Row]) -> None:
    for buffer in buffers:
        inside = address - buffer["base"]
        if buffer["application"] == application and 0 <= inside < buffer["bytes"]:
            if size == buffer["piece"] and inside % size == 0:
                return
            break
    raise ValueError(f"a piece of {size} bytes at {address:#x}, where no array has one")


def check_piece_sizes(buffers: Sequence[Row]) -> None:
    """Refuse arrays in pieces that there cannot be.

    Raises:
        ValueError: says which.
    """
    for number, row in enumerate(buffers):
        if not 0 <= row["piece"] <= _MOST_PIECE or row["piece"] & (row["piece"] - 1):
            raise ValueError(f"row {number} of buffers has pieces of {row['piece']} bytes")

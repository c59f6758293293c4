"""gpusim's own traces: HDF5 files from which any block can be read on its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray

from gpusim.core.code_places import NO_PLACE, CodePlace
from gpusim.core.copies import Copy
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.untrusted import MOST_SEED, untrusted
from gpusim.core.warp_program import NOTHING_ASKED, Asked, Buffer, LaneChunk
from gpusim.files.columns import Table
from gpusim.files.hdf5 import get_text, read_table
from gpusim.files.opening import open_hdf5
from gpusim.traces.application import (
    TraceApplication,
    TraceFile,
    TraceLaunch,
    made_buffer,
)
from gpusim.traces.recorded_attributes import parsed, read_notices, whole_number
from gpusim.traces.recorded_calls import check_piece_sizes, read_calls
from gpusim.traces.recorded_chunk import INDEXED, index_column, read_chunk
from gpusim.traces.recorded_layout import (
    APPLICATIONS,
    BLOCKS,
    BUFFERS,
    CHUNKS,
    CODE,
    COPIES,
    FORMAT,
    LAUNCHES,
    MOST_SCHEMA,
    NO_GPU,
    SCHEMA_VERSION,
    STREAMS,
)
from gpusim.traces.recorded_machines import BlockAsAsked, read_machines
from gpusim.traces.recorded_tables import (
    MOST_WARP,
    Row,
    check_applications,
    check_copy,
    check_gpus,
    check_owners,
    check_recorded_launch,
)

_Rows = list[dict[str, Any]]

_CACHE_BYTES = 32 << 20
"""Cache of a dataset: neighbouring blocks lie in one piece of compressed data."""

_WITHOUT_ARRAYS = frozenset({"trace", "array"})
"""Scales of what may touch more than its arrays: traces of other tools, and addresses."""


def open_recorded(path: Path) -> TraceFile:
    """Open a file that `record_trace` has written.

    Raises:
        UserError: it is no trace of gpusim, is damaged, or a newer gpusim wrote it.
    """
    source = _Source(path)
    with source.reading():
        source.check()
        file = source.file
        applications, buffers, made = _checked_tables(source)
        launches = list(enumerate(made))
        warp_size = whole_number(file, "warp_size", 1, MOST_WARP)
        uses = _uses(source, made)
        copies = _copies(source, len(launches))
        calls = read_calls(source.rows, made, buffers, uses) if "mapping_calls" in file else {}
        by_thread = "by_thread" not in file.attrs or bool(whole_number(file, "by_thread", 0, 1))
        scale = get_text(file, "scale")
        code = _code(source)
        notices = read_notices(file, len(applications))
        made_for = _machines(source, len(applications))
        first_block = np.cumsum([0, *(row["blocks"] for _, row in launches)]).tolist()
        if (indexed := len(file["blocks/chunk"]) - 1) != first_block[-1]:
            raise ValueError(f"an index of {indexed} blocks; its launches have {first_block[-1]}")
        return TraceFile(
            path=path,
            format=FORMAT,
            files=(path,),
            name=get_text(file, "workload"),
            scale=scale,
            seed=whole_number(file, "seed", 0, MOST_SEED),
            relaunch=bool(whole_number(file, "relaunch", 0, 1)),
            warp_size=warp_size,
            by_thread=by_thread,
            applications=tuple(
                RecordedApplication(
                    name=row["name"],
                    share=None if math.isnan(row["share"]) else row["share"],
                    instance=row["instance"] or None,
                    gpu=_gpu(row),
                    buffers=_arrays_of(index, buffers),
                    names_all_arrays=scale not in _WITHOUT_ARRAYS,
                    notices=tuple(text for application, text in notices if application == index),
                    path=path,
                    code=[place if of == index else None for of, place in zip(*code, strict=True)],
                    warp_size=warp_size,
                    by_thread=by_thread,
                    made_for=made_for[index],
                    rows=[
                        (number, launch, first_block[number], uses[number], copies.get(number))
                        for number, launch in launches
                        if launch["application"] == index
                    ],
                    calls=calls,
                )
                for index, row in enumerate(applications)
            ),
        )


def _checked_tables(source: _Source) -> tuple[_Rows, _Rows, _Rows]:
    """Rows of applications, of their arrays and of their launches.

    Raises:
        ValueError: one of them cannot be right.
    """
    applications = source.rows("applications", APPLICATIONS)
    buffers = source.rows("buffers", BUFFERS)
    launches = source.rows("launches", LAUNCHES)
    check_applications(applications)
    check_gpus({"applications": applications, "buffers": buffers, "launches": launches})
    check_owners("buffers", buffers, len(applications))
    check_piece_sizes(buffers)
    check_owners("launches", launches, len(applications))
    for number, row in enumerate(launches):
        check_recorded_launch(number, row)
    return applications, buffers, launches


def _arrays_of(application: int, buffers: _Rows) -> tuple[Buffer, ...]:
    """The arrays of one application, of those of all."""
    return tuple(
        made_buffer(buffer["name"], buffer["base"], buffer["bytes"], _gpu(buffer), buffer["piece"])
        for buffer in buffers
        if buffer["application"] == application
    )


def _machines(source: _Source, applications: int) -> list[Asked]:
    """By application, what its program was asked for when it was recorded."""
    if "machines" not in source.file.attrs:
        return [NOTHING_ASKED] * applications
    return read_machines(parsed(source.file, "machines"), applications)


def _code(source: _Source) -> tuple[list[int], list[CodePlace]]:
    """Places in the code: of each row its application, and the place."""
    if "access_places" not in source.file:
        return [], []
    columns = ("kernel", "file", "line", "pc", "text")
    rows = source.rows("code", CODE)
    places = [CodePlace(*(row[column] for column in columns)) for row in rows]
    return [row["application"] for row in rows], places


def _gpu(row: Row) -> int | None:
    """The GPU that a row names."""
    gpu: int = row["gpu"]
    return None if gpu == NO_GPU else gpu


def _copies(source: _Source, launches: int) -> dict[int, Copy]:
    """What launches copy, by their rows; a trace has no values that are moved."""
    if "copies" not in source.file:
        return {}
    found = {}
    for row in source.rows("copies", COPIES):
        check_copy(row, launches)
        found[row["launch"]] = Copy(
            row["source"], row["target"], row["bytes"], bool(row["adds"]), _no_values
        )
    return found


def _no_values() -> None:
    """Move no values."""


def _uses(source: _Source, launches: Sequence[Row]) -> list[StreamUse]:
    """How launches use streams."""
    if "streams" not in source.file:
        for number, launch in enumerate(launches):
            if _gpu(launch) is not None:
                raise ValueError(f"launch {number} is of GPU {launch['gpu']}, without its stream")
        return [IN_TURN] * len(launches)
    rows = source.rows("streams", STREAMS)
    if len(rows) != len(launches):
        raise ValueError(f"streams of {len(rows)} launches of {len(launches)}")
    uses: list[StreamUse] = []
    for row, launch in zip(rows, launches, strict=True):
        before = [int(number) for number in row["after"].split()]
        if row["stream"] < 0 or not all(0 <= number < len(uses) for number in before):
            raise ValueError(f"launch {len(uses)} of stream {row['stream']} after {row['after']!r}")
        after = tuple(uses[number] for number in before)
        uses.append(StreamUse(row["stream"], after, bool(row["host_waits"]), _gpu(launch)))
    return uses


@define(kw_only=True, eq=False)
class RecordedApplication(TraceApplication):
    """An application of a recorded workload.

    Attributes:
        path: the file.
        warp_size: threads of a warp.
        by_thread: as in `TraceLaunch`.
        made_for: what its program was asked for.
        rows: of its launches: number and row of the table of launches, row of the index of blocks,
            how they use streams, and what they copy.
        code: by row of the table of places in the code, those of this application.
        calls: of all applications, by their numbers in the table of launches.
    """

    path: Path
    warp_size: int
    by_thread: bool
    made_for: Asked
    rows: list[tuple[int, dict[str, Any], int, StreamUse, Copy | None]]
    code: list[CodePlace | None]
    calls: Mapping[int, MappingCall]

    def read_launches(self) -> Iterator[TraceLaunch | MappingCall]:
        source = _Source(self.path)
        numbers = np.array(
            [NO_PLACE if one is None else self.places.number(one) for one in self.code], np.int64
        )
        for number, row, first_block, use, copy in self.rows:
            if number in self.calls:
                yield self.calls[number]
                continue
            yield RecordedLaunch(
                name=row["name"],
                blocks=row["blocks"],
                threads_per_block=row["threads_per_block"],
                warp_size=self.warp_size,
                registers_per_thread=row["registers_per_thread"],
                shared_bytes=row["shared_bytes"],
                by_thread=self.by_thread,
                stream_use=use,
                copy=copy,
                source=source,
                first_block=first_block,
                numbers=numbers,
                made_for=self.made_for,
            )


@define(kw_only=True, eq=False)
class RecordedLaunch(TraceLaunch):
    """A launch of a recorded workload.

    Attributes:
        source: the open file.
        first_block: row of its first block in the index of blocks.
        numbers: by row of the table of places in the code, their numbers.
        made_for: what its program was asked for.
    """

    source: _Source
    first_block: int
    numbers: NDArray[np.int64]
    made_for: Asked

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        numbers = self.numbers if asked.places else self.numbers[:0]
        warps = self.warps_per_block
        as_asked = BlockAsAsked(self.made_for, asked, warps, self.unread)
        for number in self.source.chunks_of(self.first_block + block):
            yield as_asked.chunk(self.source.chunk(number, warps, numbers, self.made_for))


class _Source:
    """An open trace file; what h5py raises on damaged ones becomes an error that names it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.file = open_hdf5(path, rdcc_nbytes=_CACHE_BYTES)
        except OSError as error:
            raise UserError(f"{path} is no HDF5 file, damaged or cut short: {error}") from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises `UserError` for damage that shows inside."""
        with untrusted(self._path):
            yield

    def check(self) -> None:
        """Whether it is a trace that this gpusim can read."""
        if get_text(self.file, "format") != FORMAT:
            found = get_text(self.file, "format") or "some other HDF5 file"
            raise UserError(f"{self._path} is not a trace of gpusim: it is a {found}")
        schema = whole_number(self.file, "schema", 1, MOST_SCHEMA)
        if schema > SCHEMA_VERSION:
            raise UserError(
                f"{self._path} has schema {schema}, but this gpusim reads schemas up to "
                f"{SCHEMA_VERSION}: a newer gpusim wrote it"
            )

    def rows(self, group: str, table: Table) -> _Rows:
        """All rows of a table, as plain values by column."""
        found = read_table(self.file[group], table)
        values = (column.tolist() for column in found.values())
        return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]

    def chunks_of(self, block: int) -> range:
        """The chunks of a block, counted over all launches."""
        with self.reading():
            first, last = self._blocks[block : block + 2].tolist()
            return range(first, last)

    @cached_property
    def _blocks(self) -> NDArray[np.int64]:
        """(blocks + 1,) first chunk of each block."""
        rows = len(self.file["chunks"][CHUNKS.columns[0].name]) - 1
        return index_column(self.file, "blocks", BLOCKS.columns[0], rows)

    @cached_property
    def _chunks(self) -> NDArray[np.int64]:
        """(chunks + 1, 4) where each chunk begins: instruction, active, access, address."""
        columns = [
            index_column(self.file, "chunks", column, len(self.file[table][name]))
            for column, (table, name) in zip(CHUNKS.columns, INDEXED, strict=True)
        ]
        return np.stack(columns, axis=1)

    def chunk(
        self, number: int, warps: int, numbers: NDArray[np.int64], made_for: Asked
    ) -> LaneChunk:
        """Chunk `number` of a block of `warps` warps; the others as of `read_chunk`."""
        with self.reading():
            begins, ends = self._chunks[number : number + 2].tolist()
            try:
                spans = list(zip(begins, ends, strict=True))
                return read_chunk(self.file, spans, warps, numbers, made_for)
            except ValueError as error:
                raise ValueError(f"chunk {number}: {error}") from error

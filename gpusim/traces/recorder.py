"""Records a workload, or imports another trace: into one HDF5 file that is whole or absent."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import h5py
import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.code_places import NO_PLACE, CodePlace
from gpusim.core.copies import Copy
from gpusim.core.errors import UserError, own_code_errors, own_modules
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import DEFAULT_STREAM, StreamUse
from gpusim.core.warp_program import (
    NOTHING_ASKED,
    Application,
    Asked,
    Buffer,
    LaneChunk,
    Launch,
    execute_block,
)
from gpusim.files.columns import Column
from gpusim.files.hdf5 import CHUNK_ROWS, create_event_column, fit, set_text, write_table
from gpusim.files.target import Target
from gpusim.programs.kernel import maker_of
from gpusim.traces.application import TraceApplication, TraceFile
from gpusim.traces.recorded import RecordedApplication
from gpusim.traces.recorded_calls import write_calls
from gpusim.traces.recorded_layout import (
    ACCESS_PLACES,
    APPLICATIONS,
    BUFFERS,
    CODE,
    COPIES,
    FORMAT,
    GROWING,
    LAUNCHES,
    NO_GPU,
    SCHEMA_VERSION,
    STREAMS,
    WITHOUT_GPUS,
    WITHOUT_MACHINES,
    WITHOUT_STREAMS,
)
from gpusim.traces.recorded_machines import ANY_MACHINE, ASKED_FOR, written_machines
from gpusim.traces.recorded_tables import MOST_WARP


class Startable(Protocol):
    """An application that can be started."""

    @property
    def name(self) -> str:
        """Unique in its workload."""

    @property
    def share(self) -> float | None:
        """Share of the SMs that it asks for; None: an equal one."""

    @property
    def instance(self) -> int | None:
        """Slices of its MIG instance, in a workload for multi-instance GPUs."""

    @property
    def gpu(self) -> int | None:
        """The GPU of a node that it runs on; None: all."""

    def start(self) -> Application:
        """A fresh application, with freshly initialised arrays."""


class Recordable(Protocol):
    """A workload, or an opened trace file."""

    @property
    def name(self) -> str:
        """The name of the workload."""

    @property
    def scale(self) -> str:
        """Size of the programs."""

    @property
    def seed(self) -> int:
        """Seed of their random input."""

    @property
    def relaunch(self) -> bool:
        """Whether an application that has ended starts again until all have run once."""

    @property
    def applications(self) -> Sequence[Startable]:
        """In the order of their address spaces."""


def record_trace(
    workload: Recordable,
    path: str | os.PathLike[str],
    warp_size: int = 32,
    progress: Callable[[str, int], None] | None = None,
    machine: Asked = NOTHING_ASKED,
) -> tuple[str, ...]:
    """Run all blocks of a workload, one after the other, without a machine, and store their chunks.

    Args:
        workload: each of its applications is started once.
        path: HDF5 file; it gets its name when it is complete.
        warp_size: threads of a warp of the machines that shall run it.
        progress: called with the application's name and the number of blocks so far.
        machine: what traces and compiled kernels among the applications are asked for, as by
            `gpusim.config.asked.asked_of`; programs are recorded for all machines.

    Returns:
        what a user should know of traces that were read: the recording tells it, too.

    Raises:
        UserError: the file cannot be written, or the workload cannot be run.
    """
    if not 1 <= warp_size <= MOST_WARP:
        raise UserError(f"warps of {warp_size} threads; allowed: 1 to {MOST_WARP}")
    target = Target(Path(os.path.realpath(path)))
    try:
        recorder = _Recorder(target, warp_size, machine)
        for spec in workload.applications:
            application = spec.start()
            with own_code_errors(own_modules([maker_of(application)])):
                for blocks in recorder.add(application):
                    if progress is not None:
                        progress(spec.name, blocks)
        recorder.finish(workload)
        target.commit()
        return tuple(text for _, text in recorder.warnings)
    except BaseException:
        target.discard()
        raise


class _Recorder:
    """A trace file under construction.

    Attributes:
        warnings: of the applications that are traces: number of the application, and text.
    """

    def __init__(self, target: Target, warp_size: int, machine: Asked) -> None:
        self._target = target
        self._warp_size = warp_size
        self._machine = machine
        self._made_for: list[Asked] = []
        """By application, what it was asked for."""
        self._buffers: list[tuple[int, Buffer]] = []
        self._launches: list[tuple[int, Launch]] = []
        self._copies: list[tuple[int, Copy]] = []
        """Of launches that are copies, with their rows."""
        self._calls: list[tuple[int, MappingCall]] = []
        """Launches that map or unmap pieces of arrays, with their rows."""
        self.warnings: list[tuple[int, str]] = []
        self._code: list[tuple[int, CodePlace]] = []
        """Places in the code of the applications that have ended, with their numbers."""
        self._blocks = 0
        self._holds_more = False
        """It has operations that only some machines ask for."""
        self._columns: dict[tuple[str, str], _GrowingColumn] = {}
        with target.writing():
            for name, table in GROWING.items():
                group = target.file.create_group(name)
                set_text(group, "description", table.description)
                for column in table.columns:
                    self._columns[name, column.name] = _GrowingColumn(group, column)

    def add(self, application: Application) -> Iterator[int]:
        """Store a complete run; yields the number of blocks so far."""
        number = len(self._made_for)
        asked = self._asked(application)
        self._made_for.append(asked)
        asked = evolve(asked, places=True)
        self._buffers += [(number, buffer) for buffer in application.buffers]
        for launch in application.launches():
            if (copy := launch.copy) is not None:
                self._copies.append((len(self._launches), copy))
            if isinstance(launch, MappingCall):
                self._calls.append((len(self._launches), launch))
            self._launches.append((number, launch))
            for block in range(launch.blocks):
                chunks = execute_block(launch, block, self._warp_size, asked)
                with self._target.writing():
                    self._append("blocks", "chunk", [len(self._columns["chunks", "instruction"])])
                for chunk in chunks:
                    with self._target.writing():
                        self._chunk(chunk)
                self._blocks += 1
                yield self._blocks
        if isinstance(application, TraceApplication):
            self._code += [(number, place) for place in application.places]
            self.warnings += [(number, text) for text in application.warnings()]

    def _asked(self, application: Application) -> Asked:
        """What an application is asked for.

        Raises:
            UserError: it is a recording that was not made for the machine.
        """
        if not isinstance(application, TraceApplication):
            return ANY_MACHINE
        if not isinstance(application, RecordedApplication):
            return self._machine
        if self._machine not in (NOTHING_ASKED, application.made_for) and (
            application.made_for != ANY_MACHINE
        ):
            raise UserError(
                f"{application.path} is a recording, which holds no more than it was recorded "
                "with: record for a machine what it was made of"
            )
        return application.made_for

    def _append(self, table: str, column: str, values: NDArray[np.generic] | list[int]) -> None:
        self._columns[table, column].append(np.ravel(values))

    def _chunk(self, chunk: LaneChunk) -> None:
        self._mark()
        self._holds_more |= bool(np.isin(chunk.kind, sorted(ASKED_FOR)).any())
        self._append("instructions", "kind", chunk.kind)
        self._append("instructions", "argument", chunk.arg)
        self._append("active", "warp", chunk.active)
        self._places(chunk, len(self._columns["accesses", "size"]))
        self._append("accesses", "size", chunk.size)
        self._append("addresses", "lane", chunk.address)

    def _places(self, chunk: LaneChunk, before: int) -> None:
        """Places in the code of a chunk's accesses, of which `before` came earlier.

        The column begins when the first are known; numbers are counted over all applications.
        """
        column = self._columns.get(("access_places", "place"))
        place = np.full(len(chunk.size), NO_PLACE) if chunk.place is None else chunk.place
        if column is None and not (place >= 0).any():
            return
        if column is None:
            group = self._target.file.create_group("access_places")
            set_text(group, "description", ACCESS_PLACES.description)
            column = _GrowingColumn(group, ACCESS_PLACES.columns[0])
            self._columns["access_places", "place"] = column
            column.append(np.full(before, NO_PLACE))
        column.append(np.where(place < 0, NO_PLACE, place + len(self._code)))

    def _mark(self) -> None:
        """Where the next chunk begins."""
        for begin, table, column in (
            ("instruction", "instructions", "kind"),
            ("active", "active", "warp"),
            ("access", "accesses", "size"),
            ("address", "addresses", "lane"),
        ):
            self._append("chunks", begin, [len(self._columns[table, column])])

    def finish(self, workload: Recordable) -> None:
        """Store the rest: ends of the indices, and what the workload is."""
        with self._target.writing():
            self._append("blocks", "chunk", [len(self._columns["chunks", "instruction"])])
            self._mark()
            for column in self._columns.values():
                column.flush()
            self._describe(workload)

    def _describe(self, workload: Recordable) -> None:
        """Write what is known of the workload, its arrays and launches."""
        file = self._target.file
        set_text(file, "format", FORMAT)
        uses = [launch.stream_use for _, launch in self._launches]
        in_streams = any(use.stream != DEFAULT_STREAM or use.gpu is not None for use in uses)
        file.attrs["schema"] = np.int64(self._schema(workload, in_streams))
        set_text(file, "workload", workload.name)
        set_text(file, "scale", workload.scale)
        file.attrs["seed"] = np.int64(workload.seed)
        file.attrs["relaunch"] = np.int64(workload.relaunch)
        file.attrs["warp_size"] = np.int64(self._warp_size)
        set_text(file, "machines", written_machines(self._made_for))
        if self.warnings:
            set_text(file, "warnings", json.dumps(self.warnings))
        by_thread = not isinstance(workload, TraceFile) or workload.by_thread
        file.attrs["by_thread"] = np.int64(by_thread)
        specs = workload.applications
        write_table(
            file.create_group("applications"),
            APPLICATIONS,
            {
                "name": [spec.name for spec in specs],
                "share": [math.nan if spec.share is None else spec.share for spec in specs],
                "instance": [spec.instance or 0 for spec in specs],
                "gpu": [_number(spec.gpu) for spec in specs],
            },
        )
        write_table(
            file.create_group("buffers"),
            BUFFERS,
            {
                "application": [application for application, _ in self._buffers],
                "name": [buffer.name for _, buffer in self._buffers],
                "base": [buffer.base for _, buffer in self._buffers],
                "bytes": [buffer.bytes for _, buffer in self._buffers],
                "gpu": [_number(buffer.gpu) for _, buffer in self._buffers],
                "piece": [buffer.piece for _, buffer in self._buffers],
            },
        )
        self._describe_launches(file)
        if self._code:
            _write_code(file.create_group("code"), self._code)
        if in_streams:
            _write_streams(file.create_group("streams"), uses)
        if self._copies:
            _write_copies(file.create_group("copies"), self._copies)
        if self._calls:
            write_calls(file, self._calls)

    def _schema(self, workload: Recordable, in_streams: bool) -> int:
        """The oldest schema that says all of it."""
        gpus = [
            *(spec.gpu for spec in workload.applications),
            *(buffer.gpu for _, buffer in self._buffers),
            *(launch.stream_use.gpu for _, launch in self._launches),
        ]
        if self._holds_more or any(buffer.piece for _, buffer in self._buffers):
            return SCHEMA_VERSION
        if self._copies or any(gpu is not None for gpu in gpus):
            return WITHOUT_MACHINES
        return WITHOUT_GPUS if in_streams else WITHOUT_STREAMS

    def _describe_launches(self, file: h5py.File) -> None:
        geometry = ("name", "blocks", "threads_per_block", "registers_per_thread", "shared_bytes")
        write_table(
            file.create_group("launches"),
            LAUNCHES,
            {
                "application": [application for application, _ in self._launches],
                **{
                    name: [getattr(launch, name) for _, launch in self._launches]
                    for name in geometry
                },
                "gpu": [_number(launch.stream_use.gpu) for _, launch in self._launches],
            },
        )


def _number(gpu: int | None) -> int:
    return NO_GPU if gpu is None else gpu


def _write_copies(group: h5py.Group, copies: Sequence[tuple[int, Copy]]) -> None:
    """What launches copy, each with the row of its launch."""
    names = ("source", "target", "bytes", "adds")
    columns = {name: [getattr(copy, name) for _, copy in copies] for name in names}
    write_table(group, COPIES, {"launch": [row for row, _ in copies], **columns})


def _write_streams(group: h5py.Group, uses: Sequence[StreamUse]) -> None:
    """The stream of each launch, and the launches that it waits for, by their rows."""
    rows = {use: str(row) for row, use in enumerate(uses)}
    write_table(
        group,
        STREAMS,
        {
            "stream": [use.stream for use in uses],
            "host_waits": [use.host_waits for use in uses],
            "after": [" ".join(rows[other] for other in use.after) for use in uses],
        },
    )


def _write_code(group: h5py.Group, code: Sequence[tuple[int, CodePlace]]) -> None:
    write_table(
        group,
        CODE,
        {
            "application": [application for application, _ in code],
            **{
                name: [getattr(place, name) for _, place in code]
                for name in ("kernel", "file", "line", "pc", "text")
            },
        },
    )


class _GrowingColumn:
    """A column whose values are gathered and go to HDF5 in large pieces."""

    def __init__(self, group: h5py.Group, column: Column) -> None:
        self._column = column
        self._dataset = create_event_column(group, column)
        self._gathered: list[NDArray[np.generic]] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, values: NDArray[np.generic]) -> None:
        """Add (n,) values."""
        self._gathered.append(fit(values, self._column))
        self._length += len(values)
        if self._length - len(self._dataset) >= CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Move what is gathered to HDF5."""
        if self._gathered:
            start = len(self._dataset)
            self._dataset.resize(self._length, axis=0)
            self._dataset[start:] = np.concatenate(self._gathered)
            self._gathered.clear()

"""Writes a result: into one HDF5 file that is whole or absent, or into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.cut import Piece
from gpusim.files.columns import Column, Table
from gpusim.files.dimensions import (
    ENTRY,
    add_dimension,
    as_dimension,
    name_axes,
    name_rows,
)
from gpusim.files.hdf5 import (
    CHUNK_ROWS,
    Values,
    create_event_column,
    fit,
    name_flags,
    set_text,
    write_column,
    write_table,
)
from gpusim.files.interrupts import uninterrupted
from gpusim.files.target import Target
from gpusim.results.datasets import (
    APPLICATION_SMS,
    APPLICATIONS,
    ARRAYS,
    CODE,
    CONFIG,
    CONVENTIONS,
    COUNTERS,
    ESTIMATES,
    FORMAT,
    KERNELS,
    LAUNCH_NUMBERS,
    LAUNCHES,
    OF_KERNELS,
    OF_LAUNCHES,
    ORIGINS,
    PROVENANCE,
    SCHEMA_VERSION,
    SMS,
    STALL_APPLICATIONS,
    STATE_FAMILIES,
    STATE_SUMS,
    STATES,
    STOPS,
    SUMMARY,
    WALL,
    WARNINGS,
    WINDOWS,
    WORKLOAD,
)
from gpusim.results.digest import digest
from gpusim.results.event_tables import EVENTS
from gpusim.results.held_source import EVENT_TABLE, Held, HeldSource
from gpusim.results.result import Result, open_result
from gpusim.results.run_data import ByLaunch, Provenance, RunData, WallClock
from gpusim.results.source import Source

if TYPE_CHECKING:
    import h5py


class TableWriter:
    """One event table: rows are gathered as packed bytes and go to HDF5 a chunk at a time.

    All values are whole numbers.  They are packed at once, while they are in the processor's
    caches: thousands of Python's ints, gathered and converted later, cost more time and memory.

    Args:
        name: of the table.
        table: its columns.
        target: where it goes.
    """

    __slots__ = (
        "_datasets",
        "_full",
        "_group",
        "_pack",
        "_rows",
        "_target",
        "name",
        "rows_written",
        "table",
    )

    def __init__(self, name: str, table: Table, target: Target) -> None:
        self.name = name
        self.table = table
        self._target = target
        self._group: h5py.Group | None = None
        self._datasets: list[h5py.Dataset] = []
        row = Struct(f"{len(table.columns)}q")
        self._pack = row.pack
        self._full = CHUNK_ROWS * row.size
        self._rows = bytearray()
        self.rows_written = 0

    def __len__(self) -> int:
        return self.rows_written + len(self._rows) // (8 * len(self.table.columns))

    def append(self, *values: int) -> None:
        """Add one row: one value for each column, in order.

        Raises:
            struct.error: there are too few or too many.
            UserError, OverflowError: as `flush`.
        """
        rows = self._rows
        rows += self._pack(*values)
        if len(rows) >= self._full:
            self.flush()

    def append_pieces(self, number: int, pieces: Sequence[Piece]) -> None:
        """Add a row ``number, state, begin, end`` for each piece; otherwise as `append`."""
        rows, pack = self._rows, self._pack
        for state, begin, end in pieces:
            rows += pack(number, state, begin, end)
        if len(rows) >= self._full:
            self.flush()

    def flush(self) -> None:
        """Move all gathered rows to HDF5.

        Raises:
            UserError: the file cannot be written.
            OverflowError: a value does not fit its column.
        """
        rows = self.gathered()
        self._rows = bytearray()
        with self._target.writing():
            if self._group is None:
                self._create()
            start, stop = self.rows_written, self.rows_written + len(next(iter(rows.values())))
            for dataset, values in zip(self._datasets, rows.values(), strict=True):
                dataset.resize(stop, axis=0)
                dataset[start:stop] = values
        self.rows_written = stop

    def gathered(self) -> dict[str, Values]:
        """The columns of the rows that have not gone to HDF5.

        Raises:
            OverflowError: a value does not fit its column.
        """
        columns = self.table.columns
        rows = np.frombuffer(self._rows, np.int64).reshape(-1, len(columns))
        return {one.name: fit(rows[:, place], one) for place, one in enumerate(columns)}

    def _create(self) -> None:
        tables = self._target.file.require_group("tables")
        self._group = tables.create_group(self.name, track_order=True)
        set_text(self._group, "description", self.table.description)
        self._datasets = [create_event_column(self._group, one) for one in self.table.columns]

    def name_axes(self, states: Sequence[str]) -> None:
        """When all rows are there: name their axis, and what numbers of states mean."""
        name_rows(self._group)
        for column, dataset in zip(self.table.columns, self._datasets, strict=True):
            if column.name == "state":
                name_flags(dataset, states)


class ResultWriter:
    """Context manager around a run, which ends with `finish`.

    The file is written under a temporary name in the folder of `path` and moved in place by
    `finish`; when the run fails or is interrupted before, the temporary file is removed and an
    older file at `path` stays as it was.

    Args:
        path: where the result goes; None keeps it in memory.

    Raises:
        UserError: (on entry) the folder does not exist or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(os.path.realpath(path))
        self._target: Target | None = None
        self._tables: list[TableWriter] = []

    def __enter__(self) -> ResultWriter:
        try:
            with uninterrupted():
                self._target = Target(self._path)
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._discard()

    def _discard(self) -> None:
        if self._target is not None:
            self._target.discard()
            self._target = None

    def table(self, name: str, columns: Sequence[Column], description: str = "") -> TableWriter:
        """A new event table, stored under ``tables/<name>``."""
        table = TableWriter(name, Table(description, tuple(columns)), self._open_target())
        self._tables.append(table)
        return table

    def event_table(self, name: str) -> TableWriter:
        """A new event table as `gpusim.results.event_tables.EVENTS` describes it."""
        return self.table(name, EVENTS[name].columns, EVENTS[name].description)

    def finish(self, run: RunData) -> Result:
        """Store the rest, move the file in place, and open it as a result.

        Raises:
            UserError: the file cannot be written.
            OverflowError: a value of an event table does not fit its column.
        """
        target = self._open_target()
        found = digest(run)
        write = partial(_write, target, self._tables, run, found)
        if target.path is None and not any(table.rows_written for table in self._tables):
            held = _held(run, self._tables)
            self._target = None
            return Result(HeldSource(held, found, write))
        write()
        self._target = None
        if target.path is None:
            return Result(Source(target.file, target.name))
        return open_result(target.path)

    def _open_target(self) -> Target:
        if self._target is None:
            raise ValueError("the writer is not open")
        return self._target


_STALLS = Table(
    "Where the cycles of all warps went.",
    (SMS, STALL_APPLICATIONS, STATES, STATE_FAMILIES, STATE_SUMS),
)


def _held(run: RunData, tables: Sequence[TableWriter]) -> Held:
    """All of a run, by the groups of a file."""
    found: dict[str, tuple[Table, dict[str, Values]]] = {
        "provenance": (PROVENANCE, _columns_of_record(PROVENANCE, run.provenance)),
        "config": (CONFIG, {"toml": [run.config_toml]}),
        "config/origins": (ORIGINS, _origins(run)),
        "workload": (WORKLOAD, {"toml": [run.workload_toml]}),
        "summary": (SUMMARY, _summary(run)),
        "counters": (COUNTERS, _counters(run)),
        "stalls": (_STALLS, _stalls(run)),
        "applications": (
            Table("", (*APPLICATIONS.columns, APPLICATION_SMS)),
            {**_columns_of_rows(APPLICATIONS, run.applications), APPLICATION_SMS.name: _sms(run)},
        ),
        "warnings": (WARNINGS, {"text": run.warnings}),
        "wall": (WALL, _columns_of_record(WALL, run.wall)),
        **{EVENT_TABLE + one.name: (one.table, one.gathered()) for one in tables},
    }
    for name, (table, rows) in _rows(run).items():
        found[name] = table, _columns_of_rows(table, rows)
    if (launches := run.by_launch) is not None:
        table, columns = found["launch_numbers"]
        columns |= {OF_LAUNCHES.name: launches.of_launches, OF_KERNELS.name: launches.of_kernels}
        found["launch_numbers"] = Table("", (*table.columns, OF_LAUNCHES, OF_KERNELS)), columns
    return found


def _rows(run: RunData) -> dict[str, tuple[Table, Sequence[Any]]]:
    """The tables of which a run has rows as objects, but for its applications, by their groups."""
    found: dict[str, tuple[Table, Sequence[Any]]] = {
        "launches": (LAUNCHES, run.launches),
        "arrays": (ARRAYS, run.arrays),
    }
    if run.code:
        found["code"] = CODE, run.code
    if run.by_launch is not None:
        found["kernels"] = KERNELS, run.by_launch.kernels
        found["launch_numbers"] = LAUNCH_NUMBERS, run.by_launch.numbers
    if run.stops:
        found["stops"] = STOPS, run.stops
    if run.windows:
        found["estimates"] = ESTIMATES, run.estimates
        found["windows"] = WINDOWS, run.windows
    return found


def _write(target: Target, tables: Sequence[TableWriter], run: RunData, found: str) -> h5py.File:
    """Put all of a run into its target; returns the target's file."""
    for table in tables:
        table.flush()
    with target.writing():
        for table in tables:
            table.name_axes(run.states)
        _write_run(target.file, run, found)
    target.commit()
    return target.file


def _write_run(file: h5py.File, run: RunData, found: str) -> None:
    """Everything but the event tables; the wall-clock group comes last."""
    set_text(file, "format", FORMAT)
    set_text(file, "Conventions", CONVENTIONS)
    file.attrs["schema"] = np.int64(SCHEMA_VERSION)
    set_text(file, "digest", found)
    record = _columns_of_record(PROVENANCE, run.provenance)
    write_table(file.create_group("provenance"), PROVENANCE, record)
    config = file.create_group("config")
    write_table(config, CONFIG, {"toml": [run.config_toml]})
    write_table(config.create_group("origins"), ORIGINS, _origins(run))
    write_table(file.create_group("workload"), WORKLOAD, {"toml": [run.workload_toml]})
    write_table(file.create_group("summary"), SUMMARY, _summary(run))
    write_table(file.create_group("counters"), COUNTERS, _counters(run))
    _write_stalls(file.create_group("stalls"), run)
    _write_rows(file.create_group("applications"), APPLICATIONS, run.applications)
    group, sms = file["applications"], _sms(run)
    shared = write_column(group, APPLICATION_SMS, sms)
    name_axes(shared, [group[ENTRY], add_dimension(group, "sm", sms.shape[1])])
    for name, (table, rows) in _rows(run).items():
        _write_rows(file.create_group(name), table, rows)
    if run.by_launch is not None:
        _write_numbers(file["launch_numbers"], run.by_launch)
    write_table(file.create_group("warnings"), WARNINGS, {"text": run.warnings})
    write_table(file.create_group("wall"), WALL, _columns_of_record(WALL, run.wall))


def _write_numbers(group: h5py.Group, launches: ByLaunch) -> None:
    """Write what the launches, and the kernels, have of each number."""
    for column, what, values in (
        (OF_LAUNCHES, "launch", launches.of_launches),
        (OF_KERNELS, "kernel", launches.of_kernels),
    ):
        axes = [add_dimension(group, what, len(values)), group[ENTRY]]
        name_axes(write_column(group, column, values), axes)


def _write_stalls(group: h5py.Group, run: RunData) -> None:
    set_text(group, "description", _STALLS.description)
    columns = _stalls(run)
    sms, applications, states, families, sums = (
        write_column(group, column, columns[column.name]) for column in _STALLS.columns
    )
    axes = [as_dimension(one) for one in (sms, applications, states)]
    name_axes(families, axes[2:])
    name_axes(sums, axes)


def _origins(run: RunData) -> dict[str, Values]:
    origins = sorted(run.origins.items())
    return {"key": [key for key, _ in origins], "origin": [origin for _, origin in origins]}


def _sms(run: RunData) -> NDArray[np.uint8]:
    """By application and SM, whether it is one of the application's."""
    sms = np.zeros((len(run.applications), run.state_sums.shape[0]), np.uint8)
    for i, app in enumerate(run.applications):
        sms[i, list(app.sms)] = 1
    return sms


def _stalls(run: RunData) -> dict[str, Values]:
    return {
        SMS.name: np.arange(run.state_sums.shape[0]),
        STALL_APPLICATIONS.name: [one.name for one in run.applications],
        STATES.name: list(run.states),
        STATE_FAMILIES.name: list(run.families),
        STATE_SUMS.name: run.state_sums,
    }


def _summary(run: RunData) -> dict[str, Values]:
    whole = [isinstance(value.value, int) for value in run.summary]
    return _columns_of_rows(SUMMARY, run.summary, whole=np.array(whole, "u1"))


def _counters(run: RunData) -> dict[str, Values]:
    return _columns_of_rows(COUNTERS, run.counters, counter=[row.name for row in run.counters])


def _write_rows(group: h5py.Group, table: Table, rows: Sequence[Any]) -> None:
    write_table(group, table, _columns_of_rows(table, rows))


def _columns_of_rows(table: Table, rows: Sequence[Any], **made: Any) -> dict[str, Values]:
    """Columns that are attributes of `rows`, but for those that are handed over."""
    return {
        column.name: made[column.name]
        if column.name in made
        else [getattr(row, column.name) for row in rows]
        for column in table.columns
    }


def _columns_of_record(table: Table, record: Provenance | WallClock) -> dict[str, Values]:
    """Columns of a table of one row, in which lists take several."""
    columns: dict[str, Values] = {}
    for column in table.columns:
        value = getattr(record, column.name)
        columns[column.name] = value if isinstance(value, tuple) else [value]
    return columns

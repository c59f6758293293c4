"""Checkpoints as files: written whole or not at all, and read as untrusted files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.request import Kind
from gpusim.core.untrusted import afford, untrusted
from gpusim.core.warp_program import BYTES_SHIFT
from gpusim.files.columns import Column, Table
from gpusim.files.hdf5 import (
    create_event_column,
    fit,
    get_text,
    read_column,
    read_record,
    set_text,
    there,
    write_table,
)
from gpusim.files.opening import open_hdf5
from gpusim.files.target import Target
from gpusim.hardware.sm.untimed.partial_launch import PIECE_ROWS
from gpusim.runs.checkpoint import Checkpoint
from gpusim.runs.checkpoint.changes import Changes
from gpusim.runs.checkpoint.file_layout import (
    APPLICATIONS,
    FACTS,
    FORMAT,
    LAUNCHES,
    REQUIRES,
    SCHEMA_VERSION,
    STREAMS,
)
from gpusim.runs.checkpoint.state import (
    AGAIN,
    ENDED,
    PAGE_SHIFT,
    Accesses,
    LastAccesses,
    Shape,
    SkippedApplication,
    SkippedLaunch,
)

if TYPE_CHECKING:
    import h5py

_MOST_ADDRESS = (1 << 57) - 1
"""Bits of virtual addresses, as in traces."""

_MOST_EACH = 64
"""Transactions of an instruction of a thread, at most; programs make one or a few [our choice]."""

Columns = Mapping[str, NDArray[Any]]


def write_checkpoint(path: str | os.PathLike[str], kept: Checkpoint) -> None:
    """Write a file that is whole or absent.

    Raises:
        UserError: it cannot be written.
    """
    target = Target(Path(os.path.realpath(path)))
    try:
        with target.writing():
            _write(target.file, kept)
        target.commit()
    except BaseException:
        target.discard()
        raise


def _write(file: h5py.File, kept: Checkpoint) -> None:
    set_text(file, "format", FORMAT)
    file.attrs["schema"] = np.int64(SCHEMA_VERSION)
    facts = {column.name: [getattr(kept, column.name)] for column in FACTS.columns}
    write_table(file.create_group("facts"), FACTS, facts)
    requires = {"key": list(kept.requires), "value": list(kept.requires.values())}
    write_table(file.create_group("requires"), REQUIRES, requires)
    applications = {
        column.name: [getattr(one, column.name) for one in kept.applications]
        for column in APPLICATIONS.columns
    }
    write_table(file.create_group("applications"), APPLICATIONS, applications)
    rows = [(number, one) for number, app in enumerate(kept.applications) for one in app.launches]
    write_table(
        file.create_group("launches"),
        LAUNCHES,
        {name: [_launch_row(*row)[name] for row in rows] for name in _names(LAUNCHES)},
    )
    for number, app in enumerate(kept.applications):
        group = file.create_group(str(number))
        for name, columns in _streams(app).items():
            _write_stream(group.create_group(name), STREAMS[name], columns)


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _launch_row(app: int, launch: SkippedLaunch) -> dict[str, Any]:
    shape, changes = launch.shape, launch.changes
    return {
        "app": app,
        "kernel": shape.kernel,
        "blocks": shape.blocks,
        "threads_per_block": shape.threads_per_block,
        "registers_per_thread": shape.registers_per_thread,
        "shared_bytes": shape.shared_bytes,
        "begun": launch.begun,
        "instructions": launch.instructions,
        "pieces": len(launch.pieces),
        "pages": len(launch.pages),
        "changes": len(changes.arrays),
        "values": len(changes.values),
    }


def _streams(app: SkippedApplication) -> dict[str, Columns]:
    """The long tables of an application."""
    changes = [one.changes for one in app.launches]
    whole, last = app.whole, app.last
    return {
        "pieces": {"transactions": _joined([one.pieces for one in app.launches])},
        "pages": {
            "page": _joined([one.pages for one in app.launches]),
            "home": _joined([one.homes for one in app.launches]),
        },
        "changes": {
            "array": _joined([one.arrays for one in changes]),
            "start": _joined([one.starts for one in changes]),
            "count": _joined([one.counts for one in changes]),
        },
        "values": {"value": _joined([one.values for one in changes])},
        "whole": {
            "line": np.diff(whole.lines, prepend=0),
            "sectors": whole.sectors,
            "kind": whole.kinds,
        },
        "last": {
            "line": last.lines,
            "sectors": last.sectors,
            "kind": last.kinds,
            "home": last.homes,
            "slot": last.slots,
        },
    }


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _write_stream(group: h5py.Group, table: Table, columns: Columns) -> None:
    set_text(group, "description", table.description)
    for column in table.columns:
        values = columns[column.name]
        dataset = create_event_column(group, column)
        dataset.resize(len(values), axis=0)
        dataset[:] = fit(values, column)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a file, and check that it can be what it claims.

    Raises:
        UserError: it is no checkpoint, damaged, too large, or a newer gpusim wrote it.
    """
    name = os.fspath(path)
    with untrusted(name), open_hdf5(Path(path)) as file:
        if get_text(file, "format") != FORMAT:
            raise UserError(f"{name} is not a checkpoint of gpusim: make one, gpusim checkpoint")
        schema = int(file.attrs["schema"])
        if schema > SCHEMA_VERSION:
            raise UserError(
                f"{name} has schema {schema}, but this gpusim reads schemas up to "
                f"{SCHEMA_VERSION}: a newer gpusim wrote it"
            )
        afford(_size(file), f"what {name} holds")
        return _read(file)


def _size(file: h5py.File) -> int:
    """Bytes of the long tables in memory, where all numbers are long, and once more as parts."""
    streams = (
        file[f"{number}/{name}/{column.name}"]
        for number in range(len(file["applications/name"]))
        for name, table in STREAMS.items()
        for column in there(file[f"{number}/{name}"], table)
    )
    return sum(16 * int(one.size) for one in streams)


def _read(file: h5py.File) -> Checkpoint:
    facts = read_record(file["facts"], FACTS)
    requires = _columns(file["requires"], REQUIRES)
    rows = _columns(file["applications"], APPLICATIONS)
    launches = _columns(file["launches"], LAUNCHES)
    line_bytes = int(dict(zip(*requires.values(), strict=True))["l1.line"])
    applications = []
    for number in range(len(rows["name"])):
        mine = {name: column[launches["app"] == number] for name, column in launches.items()}
        streams = {
            name: _columns(file[str(number)][name], table) for name, table in STREAMS.items()
        }
        facts_of_app = {name: column[number] for name, column in rows.items()}
        applications.append(_application(facts_of_app, mine, streams, line_bytes))
    return Checkpoint(
        **facts,
        requires=dict(zip(*requires.values(), strict=True)),
        applications=tuple(applications),
    )


def _columns(group: h5py.Group, table: Table) -> dict[str, NDArray[Any]]:
    """The columns of a table, of one length."""
    found = {column.name: _column(group, column) for column in there(group, table)}
    rows = max(map(len, found.values()))
    for column in table.columns:
        if column.name not in found:
            found[column.name] = np.full(rows, column.older)
    if len({len(column) for column in found.values()}) != 1:
        raise ValueError(f"the columns of {group.name!r} are not of one length")
    return found


def _column(group: h5py.Group, column: Column) -> NDArray[Any]:
    values = read_column(group, column.name)
    if values.ndim != 1:
        raise ValueError(f"{column.name!r} is no column")
    if column.type == "text":
        return values
    if values.dtype.kind not in "iu" or (len(values) and int(values.max()) >= 1 << 62):
        raise ValueError(f"{column.name!r} does not hold whole numbers of 62 bits")
    return values if column.type == "u1" else values.astype(np.int64)


def _application(
    facts: Mapping[str, Any], rows: Columns, streams: Mapping[str, Columns], line_bytes: int
) -> SkippedApplication:
    """One application, with its tables cut into launches.

    Raises:
        ValueError: they do not fit each other.
    """
    pieces, pages = streams["pieces"]["transactions"], streams["pages"]["page"]
    homes = streams["pages"]["home"]
    changes, values = streams["changes"], streams["values"]["value"]
    cuts = {
        "pieces": _cuts(rows["pieces"], len(pieces)),
        "pages": _cuts(rows["pages"], len(pages)),
        "changes": _cuts(rows["changes"], len(changes["array"])),
        "values": _cuts(rows["values"], len(values)),
    }
    launches = tuple(
        SkippedLaunch(
            Shape(rows["kernel"][number], *(int(rows[name][number]) for name in _GEOMETRY)),
            int(rows["begun"][number]),
            int(rows["instructions"][number]),
            pieces[cuts["pieces"][number]],
            pages[cuts["pages"][number]],
            homes[cuts["pages"][number]],
            _changes(changes, cuts["changes"][number], values[cuts["values"][number]]),
        )
        for number in range(len(rows["kernel"]))
    )
    whole, last = streams["whole"], streams["last"]
    found = SkippedApplication(
        facts["name"],
        int(facts["sms"]),
        facts["arrays"],
        launches,
        LastAccesses(last["line"], last["sectors"], last["kind"], last["home"], last["slot"]),
        Accesses(np.cumsum(whole["line"]), whole["sectors"], whole["kind"]),
    )
    _check(found, line_bytes)
    return found


_GEOMETRY = ("blocks", "threads_per_block", "registers_per_thread", "shared_bytes")


def _changes(table: Columns, rows: slice, values: NDArray[np.uint8]) -> Changes:
    return Changes(table["array"][rows], table["start"][rows], table["count"][rows], values)


def _cuts(lengths: NDArray[np.int64], rows: int) -> list[slice]:
    """Where the parts of a table are that have these lengths."""
    if (lengths < 0).any() or (lengths > rows).any() or int(lengths.sum()) != rows:
        raise ValueError("its launches do not have as many rows as its tables")
    ends = np.cumsum(lengths)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, lengths, strict=True)]


def _check(app: SkippedApplication, line_bytes: int) -> None:
    """Refuse what no program does.

    Raises:
        ValueError: it does.
    """
    for accesses in (app.whole, app.last):
        kinds, lines = accesses.kinds, accesses.lines
        if not np.isin(kinds, (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.REDUCE)).all():
            raise ValueError("it has transactions of an unknown kind")
        if (accesses.sectors < 0).any() or (accesses.sectors >> BYTES_SHIFT).any():
            raise ValueError("it has transactions of sectors that no line has")
        if (lines < 0).any() or (lines > _MOST_ADDRESS // line_bytes).any():
            raise ValueError("it has transactions at addresses of more than 57 bits")
    for launch in app.launches:
        pages, threads = launch.pages, launch.shape.threads_per_block
        if (launch.pieces > 2 * PIECE_ROWS * threads * _MOST_EACH).any():
            raise ValueError("it has more transactions than its threads can make")
        if (launch.pieces < AGAIN).any() or (pages < 0).any():
            raise ValueError("it has negative numbers of transactions or of pages")
        pieces = np.pad(launch.pieces, 1, constant_values=ENDED)
        again = np.flatnonzero(pieces == AGAIN)
        if (pieces[again - 1] < 0).any() or (pieces[again + 1] < 0).any():
            raise ValueError("it has turns that go on where no piece is")
        if (pages > _MOST_ADDRESS >> PAGE_SHIFT).any():
            raise ValueError("it has pages at addresses of more than 57 bits")
    if app.before < 0:
        raise ValueError("it keeps more transactions than there are")

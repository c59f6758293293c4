"""A result in other formats: tables as CSV or Parquet, numbers as JSON, all of it as netCDF."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpusim.core.errors import UserError, WriteError, nearest
from gpusim.core.untrusted import file_bytes
from gpusim.files.whole_files import whole_file
from gpusim.results.dram_trace import DRAM_FORMATS, write_dram_trace
from gpusim.results.inconsistent_file import misread
from gpusim.results.result import Result, open_result

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "parquet", "netcdf", "json", *DRAM_FORMATS)

_SUFFIXES = {
    "csv": "",
    "parquet": "",
    "netcdf": ".nc",
    "json": ".json",
    **{name: f".{name}.trace" for name in DRAM_FORMATS},
}
"""By format, the ending of its file; empty: a folder."""

_NETCDF = 2
"""The first schema that is netCDF-4, too."""


def default_place(result: str | os.PathLike[str], to: str) -> Path:
    """The default place of an export: beside the result, ``run.nc`` or ``run-csv/``.

    Raises:
        UserError: there is no such result.
    """
    path = Path(result)
    file_bytes(path)
    suffix = _SUFFIXES.get(to, "")
    return path.with_suffix(suffix) if suffix else path.with_name(f"{path.stem}-{to}")


def export(path: str | os.PathLike[str], to: str, output: str | os.PathLike[str]) -> list[Path]:
    """Write a result in another format.

    Args:
        path: of a result.
        to: ``"csv"`` or ``"parquet"``: a file a table, with names of states and applications
            instead of their numbers; ``"json"``: all numbers, without recorded tables;
            ``"netcdf"``: the file as it is, which is netCDF-4; ``"ramulator"``, ``"ramulator2"`` or
            ``"dramsim3"``: the recorded requests to DRAM as a trace of that simulator.
        output: a file, or for tables a folder, which is made if it is new.

    Returns:
        the files that were written.

    Raises:
        UserError: there is no such format or result, the result is too old to be netCDF, is
            damaged or would be replaced, or something cannot be written; files that are written are
            whole.
    """
    if to not in FORMATS:
        raise UserError(
            f"there is no format {to!r}{nearest(to, FORMATS)}; allowed: {', '.join(FORMATS)}"
        )
    if os.path.realpath(output) == os.path.realpath(path):
        raise UserError(f"the export would replace the result {path}: name another place")
    with open_result(path) as result, misread(result):
        if to in ("csv", "parquet"):
            return list(_tables(result, Path(output), to))
        with whole_file(Path(output)) as stream:
            if to in DRAM_FORMATS:
                write_dram_trace(result, to, stream)
            elif to == "json":
                stream.write(json.dumps(result.to_json(), indent=1).encode())
            elif result.schema < _NETCDF:
                raise UserError(
                    f"{path} has schema {result.schema}, which names no axes: run it again"
                )
            else:
                with Path(path).open("rb") as source:
                    shutil.copyfileobj(source, stream)
    return [Path(output)]


def _tables(result: Result, folder: Path, to: str) -> Iterator[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error.strerror}") from error
    write = _write_csv if to == "csv" else _write_parquet
    for name, parts in _frames(result):
        path = folder / f"{name}.{to}"
        with whole_file(path) as stream:
            write(stream, parts)
        yield path


def _frames(result: Result) -> Iterator[tuple[str, Iterator[pd.DataFrame]]]:
    """All tables of a result by name, each in parts."""
    import pandas as pd

    numbers = {
        "name": list(result.summary),
        "value": list(result.summary.values()),
        "unit": list(result.summary_units.values()),
        "description": list(result.summary_descriptions.values()),
    }
    applications = result.applications
    applications["sms"] = [" ".join(map(str, one)) for one in applications["sms"]]
    small = {
        "summary": pd.DataFrame(numbers),
        "counters": result.counters,
        "stalls": result.stalls,
        "launches": result.launches,
        "kernels": result.kernels,
        "applications": applications,
    }
    for name, frame in small.items():
        yield name, iter([frame])
    for name in result.tables:
        yield name, (_named(result, part) for part in result.chunks(name))


def _named(result: Result, frame: pd.DataFrame) -> pd.DataFrame:
    """With names instead of numbers."""
    names = {"state": result.states, "app": tuple(result.applications["name"])}
    there = {column: of for column, of in names.items() if column in frame}
    return frame.assign(
        **{column: [of[number] for number in frame[column]] for column, of in there.items()}
    )


def _write_csv(stream: BinaryIO, parts: Iterator[pd.DataFrame]) -> None:
    for number, part in enumerate(parts):
        part.to_csv(stream, index=False, header=not number, lineterminator="\n")


def _write_parquet(stream: BinaryIO, parts: Iterator[pd.DataFrame]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = pa.Table.from_pandas(next(parts), preserve_index=False)
    with pq.ParquetWriter(stream, first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(pa.Table.from_pandas(part, first.schema, preserve_index=False))

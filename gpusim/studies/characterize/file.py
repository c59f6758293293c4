"""Characterizations in HDF5: written whole or not at all, and read back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import h5py
import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.files.hdf5 import (
    Values,
    get_text,
    read_record,
    read_table,
    set_text,
    write_table,
)
from gpusim.files.opening import open_hdf5
from gpusim.files.target import Target
from gpusim.results.run_data import Provenance
from gpusim.studies.characterize.characterization import (
    DISTRIBUTIONS,
    ApplicationCharacterization,
    ArrayFootprint,
    Characterization,
    KernelCounts,
)
from gpusim.studies.characterize.datasets import FORMAT, SCHEMA_VERSION, TABLES
from gpusim.studies.characterize.distribution import Distribution
from gpusim.studies.characterize.intensity import BINS

Row = TypeVar("Row")


@contextmanager
def characterization_file(
    path: str | os.PathLike[str],
) -> Iterator[Callable[[Characterization], None]]:
    """Open a file under a temporary name; the function that it gives fills and moves it in place.

    Raises:
        UserError: the file cannot be written; nothing is left behind.
    """
    target = Target(Path(os.path.realpath(path)))

    def write(found: Characterization) -> None:
        with target.writing():
            set_text(target.file, "format", FORMAT)
            target.file.attrs["schema"] = np.int64(SCHEMA_VERSION)
            for name, columns in _columns(found).items():
                write_table(target.file.create_group(name), TABLES[name], columns)
        target.commit()

    try:
        yield write
    except BaseException:
        target.discard()
        raise


def read_characterization(path: str | os.PathLike[str]) -> Characterization:
    """Read a file that `characterization_file` made.

    Raises:
        UserError: it is not there, no such file, damaged, or a newer gpusim wrote it.
    """
    with (
        untrusted(path, "is not a readable characterization"),
        open_hdf5(Path(path)) as file,
    ):
        if get_text(file, "format") != FORMAT:
            raise UserError(f"{path} is not a characterization: it is some other HDF5 file")
        schema = int(file.attrs["schema"])
        if schema > SCHEMA_VERSION:
            raise UserError(
                f"{path} has schema {schema}, but this gpusim reads schemas up to "
                f"{SCHEMA_VERSION}: a newer gpusim wrote it"
            )
        return _read(file)


def _columns(found: Characterization) -> dict[str, dict[str, Values]]:
    """The columns of all groups."""
    apps = found.applications
    bins = [(app, number) for app in range(len(apps)) for number in range(BINS)]
    provenance: dict[str, Values] = {
        name: value if isinstance(value, tuple) else [value]
        for name, value in attrs.asdict(found.provenance).items()
    }
    return {
        "provenance": provenance,
        "geometry": {c.name: [getattr(found, c.name)] for c in TABLES["geometry"].columns},
        "applications": {
            c.name: [getattr(one, c.name) for one in apps] for c in TABLES["applications"].columns
        },
        "kernels": _rows(apps, "kernels", lambda one: one.kernels),
        "arrays": _rows(apps, "arrays", lambda one: one.arrays),
        "reuse_intensity": {
            "app": [app for app, _ in bins],
            "bin": [number + 1 for _, number in bins],
            "blocks": [int(apps[app].intra_bins[number]) for app, number in bins],
            "pairs": [int(apps[app].inter_bins[number]) for app, number in bins],
        },
        "summary": _summary(found),
        **{f"distributions/{name}": _distribution(apps, name) for name in DISTRIBUTIONS},
    }


def _rows(
    apps: Sequence[ApplicationCharacterization],
    group: str,
    records: Callable[[ApplicationCharacterization], Sequence[Any]],
) -> dict[str, Values]:
    """A table with a row for each record of each application."""
    rows = [(app, record) for app, one in enumerate(apps) for record in records(one)]
    columns: dict[str, Values] = {"app": [app for app, _ in rows]}
    for column in TABLES[group].columns[1:]:
        columns[column.name] = [getattr(record, column.name) for _, record in rows]
    return columns


def _summary(found: Characterization) -> dict[str, Values]:
    rows = [
        (app, name, float(value), unit)
        for app, one in enumerate(found.applications)
        for name, (value, unit) in one.summary(found.page_bytes).items()
    ]
    return {
        "app": [row[0] for row in rows],
        "name": [row[1] for row in rows],
        "value": [row[2] for row in rows],
        "unit": [row[3] for row in rows],
    }


def _distribution(apps: Sequence[ApplicationCharacterization], name: str) -> dict[str, Values]:
    parts = [one.distributions[name] for one in apps]
    return {
        "app": np.repeat(np.arange(len(parts)), [len(part.value) for part in parts]),
        "value": np.concatenate([part.value for part in parts]),
        "count": np.concatenate([part.count for part in parts]),
    }


def _read(file: h5py.File) -> Characterization:
    provenance = read_record(file["provenance"], TABLES["provenance"])
    tables = {
        name: read_table(file[name], table)
        for name, table in TABLES.items()
        if name != "provenance"
    }
    geometry = {name: int(values[0]) for name, values in tables["geometry"].items()}
    apps = tuple(
        _application(tables, app, name) for app, name in enumerate(tables["applications"]["name"])
    )
    return Characterization(Provenance(**provenance), **geometry, applications=apps)


def _application(
    tables: Mapping[str, Mapping[str, Any]], app: int, name: str
) -> ApplicationCharacterization:
    head = tables["applications"]
    intensity = tables["reuse_intensity"]
    mine = intensity["app"] == app
    distributions = {}
    for measure in DISTRIBUTIONS:
        table = tables[f"distributions/{measure}"]
        rows = table["app"] == app
        distributions[measure] = Distribution(table["value"][rows], table["count"][rows])
    return ApplicationCharacterization(
        name,
        int(head["sms"][app]),
        tuple(_records(tables["kernels"], app, KernelCounts)),
        tuple(_records(tables["arrays"], app, ArrayFootprint)),
        int(head["pages"][app]),
        intensity["blocks"][mine],
        intensity["pairs"][mine],
        int(head["pairs"][app]),
        distributions,
    )


def _records(table: Mapping[str, Any], app: int, kind: Callable[..., Row]) -> Iterator[Row]:
    """The records of an application in a table."""
    columns = [
        values[table["app"] == app].tolist() for name, values in table.items() if name != "app"
    ]
    for values in zip(*columns, strict=True):
        yield kind(*values)

"""The folder of a study: one file a run, and small ones about them.

::

    gpusim-runs.json        makes it such a folder
    runs/KEY.h5             whole results, by content key; shared by all sweeps
    failures/KEY.json       why a run has none
    claims/                 who is running what
    NAME.toml               a sweep, as it was last run here
    NAME.parquet            its table: every combination, its run, its headline numbers
    NAME.jsonl              what happened, when
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import tomli_w
from attrs import frozen

from gpusim.errors import UserError, WriteError
from gpusim.storage.files import whole_file
from gpusim.sweep.claims import held
from gpusim.sweep.spec import Sweep, to_plain
from gpusim.sweep.worker import Facts, Failure, facts_of

if TYPE_CHECKING:
    import pandas as pd

MARK = "gpusim-runs.json"
VERSION = 1

RUN_COLUMNS = ("key", "state", "cause", "digest", "seconds", "size", "modified_ns")
"""Of a table, between what tells a point from others and the headline numbers."""


@frozen
class FailedRun:
    """A failure, and what it was about.

    Attributes:
        key, label: of the run.
        failure: the last one.
        attempts: how often it was tried.
    """

    key: str
    label: str
    failure: Failure
    attempts: int


class RunFolder:
    """A folder of runs.

    Args:
        path: of the folder.
        create: make one if there is nothing, or an empty folder.

    Raises:
        UserError: there is none, it holds something else, a newer gpusim made it, or it cannot be
            written.
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = False) -> None:
        self.path = Path(path).absolute()
        self._runs = self.path / "runs"
        self._failures = self.path / "failures"
        self.claims = self.path / "claims"
        if create:
            self._create()
        self._check()

    # -- runs ------------------------------------------------------------------------------------

    def result_path(self, key: str) -> Path:
        """Where the result of a run is, or will be."""
        return self._runs / f"{key}.h5"

    def trace_path(self, key: str, attempt: str) -> Path:
        """Where an attempt tells where it hangs."""
        return self.claims / f"{key}.{attempt}.trace"

    def facts(self, key: str, known: Mapping[str, Facts]) -> Facts | None:
        """The facts of a run whose result is here and whole.

        A file of which facts are known and that has not changed since is not opened.
        """
        path = self.result_path(key)
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        facts = known.get(key)
        if facts and (facts.size, facts.modified_ns) == (found.st_size, found.st_mtime_ns):
            return facts
        try:
            return facts_of(path)
        except UserError:  # damaged: it is run again
            return None

    def remove_remains(self) -> None:
        """Remove unfinished files of runs that nobody is running."""
        running = held(self.claims)
        for path in (*self._runs.glob(".*.partial"), *self.claims.glob("*.trace")):
            if path.name.removeprefix(".").partition(".")[0] not in running:
                path.unlink(missing_ok=True)

    # -- failures --------------------------------------------------------------------------------

    def failed(self, key: str) -> FailedRun | None:
        """Why a run has no result, if it failed."""
        path = self._failures / f"{key}.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return FailedRun(
                data["key"], data["label"], Failure(**data["failure"]), data["attempts"]
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path} is damaged ({error}); remove it, and the run is tried again"
            ) from error

    def record_failure(self, failed: FailedRun) -> None:
        """Keep a failure."""
        self._write(
            self._failures / f"{failed.key}.json", json.dumps(attrs.asdict(failed), indent=1)
        )

    def forget_failure(self, key: str) -> None:
        """The run is to be tried again, or has succeeded."""
        (self._failures / f"{key}.json").unlink(missing_ok=True)

    # -- sweeps ----------------------------------------------------------------------------------

    def sweeps(self) -> list[str]:
        """Names of the sweeps that were run here."""
        return sorted(path.stem for path in self.path.glob("*.toml"))

    def sweep_path(self, name: str) -> Path:
        """A sweep, as it was last run here."""
        return self.path / f"{name}.toml"

    def journal_path(self, name: str) -> Path:
        """What happened in a sweep."""
        return self.path / f"{name}.jsonl"

    def table_path(self, name: str) -> Path:
        """The table of a sweep."""
        return self.path / f"{name}.parquet"

    def keep_sweep(self, sweep: Sweep) -> None:
        """Keep a sweep's definition."""
        self._write(self.sweep_path(sweep.name), tomli_w.dumps(to_plain(sweep)))

    def keep_table(self, name: str, table: pd.DataFrame) -> None:
        """Keep a sweep's table."""
        with whole_file(self.table_path(name)) as stream:
            table.to_parquet(stream)

    def table(self, name: str) -> pd.DataFrame:
        """The table of a sweep.

        Raises:
            UserError: there is none, or it is damaged.
        """
        import pandas as pd

        path = self.table_path(name)
        try:
            return pd.read_parquet(path)
        except FileNotFoundError as error:
            raise UserError(f"there is no table of a sweep {name!r} in {self.path}") from error
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is damaged: {error}") from error

    def known_facts(self) -> dict[str, Facts]:
        """Facts of runs from the tables of all sweeps, by key."""
        known: dict[str, Facts] = {}
        for name in self.sweeps():
            if self.table_path(name).exists():
                known.update(facts_in(self.table(name)))
        return known

    # -- the folder itself -----------------------------------------------------------------------

    def _create(self) -> None:
        if (self.path / MARK).exists():
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            there = sorted(path.name for path in self.path.iterdir())
        except OSError as error:
            raise WriteError(f"cannot write {self.path}: {error.strerror}") from error
        if there:
            raise UserError(
                f"{self.path} is no folder of runs: it holds {', '.join(there[:3])}"
                f"{', …' if len(there) > 3 else ''}; name a new or empty folder"
            )
        self._write(self.path / MARK, json.dumps({"format": "gpusim runs", "version": VERSION}))

    def _check(self) -> None:
        mark = self.path / MARK
        try:
            about: Any = json.loads(mark.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UserError(f"{self.path} is no folder of runs: it has no {MARK}") from error
        except (OSError, ValueError) as error:
            raise UserError(f"{mark} is damaged: {error}") from error
        version = about.get("version") if isinstance(about, dict) else None
        if version != VERSION:
            raise UserError(f"{self.path} has version {version}; this gpusim knows {VERSION}")
        for folder in (self._runs, self._failures, self.claims):
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise WriteError(f"cannot write {folder}: {error.strerror}") from error

    def _write(self, path: Path, text: str) -> None:
        with whole_file(path) as stream:
            stream.write(text.encode())


def table_of(
    rows: Iterable[tuple[Mapping[str, object], str, Facts | FailedRun | None]],
) -> pd.DataFrame:
    """A sweep's table.

    Args:
        rows: of each combination, what tells it from others, the key of its run, and what became
            of it (None: nothing yet).

    Returns:
        a row each: that, `RUN_COLUMNS`, and the headline numbers (NaN where there is none);
        ``attrs["units"]`` has the units of these.
    """
    import pandas as pd

    records, units = [], {"seconds": "s", "size": "B", "modified_ns": "ns"}
    for values, key, found in rows:
        record: dict[str, object] = {**values, **dict.fromkeys(RUN_COLUMNS), "key": key}
        if isinstance(found, Facts):
            record |= {"state": "done", **attrs.asdict(found, recurse=False)}
            record |= {k: v for k, v in found.summary.items() if k not in record}
            units |= found.units
            del record["summary"], record["units"]
        elif found is not None:
            record |= {"state": "failed", "cause": found.failure.cause}
        else:
            record["state"] = "missing"
        records.append(record)
    table = pd.DataFrame.from_records(records)
    for name in ("size", "modified_ns"):
        table[name] = table[name].astype("Int64")
    for column in table.columns:  # an axis may mix numbers and names; a file cannot
        if table[column].dtype == object:
            table[column] = table[column].map(lambda value: value if value is None else str(value))
    table.attrs["units"] = {name: unit for name, unit in units.items() if name in table}
    return table


def facts_in(table: pd.DataFrame) -> dict[str, Facts]:
    """The facts that a table holds, by key."""
    units = table.attrs.get("units", {})
    names = list(table.columns)
    numbers = names[names.index(RUN_COLUMNS[-1]) + 1 :]
    found = {}
    for row in table[table["state"] == "done"].to_dict("records"):
        summary = {str(name): row[name] for name in numbers if row[name] == row[name]}
        found[str(row["key"])] = Facts(
            row["digest"], row["seconds"], int(row["size"]), int(row["modified_ns"]), summary,
            {name: units[name] for name in summary},
        )  # fmt: skip
    return found

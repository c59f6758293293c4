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
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import tomli_w
from attrs import frozen

from gpusim.core.errors import UserError, WriteError
from gpusim.core.untrusted import file_bytes, memory_bound, small_text, untrusted
from gpusim.files.contents import while_unchanged
from gpusim.files.whole_files import PARTIAL, remove, whole_file
from gpusim.studies.sweep.folder_marker import check_folder, make_folder
from gpusim.studies.sweep.point import Point, as_text
from gpusim.studies.sweep.run_claims import LEASE_SECONDS, age, held, living
from gpusim.studies.sweep.spec import Sweep, read_sweep, to_plain
from gpusim.studies.sweep.worker import Facts, Failure, facts_of

if TYPE_CHECKING:
    import pandas as pd

RUN_COLUMNS = ("key", "state", "cause", "digest", "seconds", "size", "modified_ns")
"""Columns of a table between the coordinates of a point and its headline numbers."""

_POINT_COLUMNS = ("model", "variant", "workload", "scale", "seed", "role", "application")


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
            make_folder(self.path)
        check_folder(self.path)
        if create:
            for folder in (self._runs, self._failures, self.claims):
                _make(folder)

    # -- runs ------------------------------------------------------------------------------------

    def result_path(self, key: str) -> Path:
        """Where the result of a run is, or will be."""
        return self._runs / f"{key}.h5"

    def trace_path(self, key: str, attempt: str) -> Path:
        """The file into which an attempt writes its stack if it hangs."""
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
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        facts = known.get(key)
        if facts and (facts.size, facts.modified_ns) == (found.st_size, found.st_mtime_ns):
            return facts
        try:
            return facts_of(path)
        except UserError:  # damaged: it is run again
            return None

    def remove_remains(self) -> None:
        """Remove unfinished files of runs that no sweep is running."""
        remains = [*self._runs.glob(PARTIAL), *self.claims.glob("*.trace")]
        running = held(self.claims)  # after that, or files of a run that begins now would go
        for path in remains:
            if path.name.removeprefix(".").partition(".")[0] not in running:
                remove(path)

    def remove_partial_tables(self, sweep: str) -> None:
        """Remove unfinished tables of sweeps that were killed while they wrote them.

        A file does not name its sweep: with another sweep in this folder, only old ones go.

        Args:
            sweep: id of the one that asks, which writes none now.
        """
        remains = [*self.path.glob(PARTIAL), *self._failures.glob(PARTIAL)]
        alone = not living(self.claims) - {sweep}  # after the files are listed
        for path in remains:
            with suppress(FileNotFoundError):
                if alone or age(path) > LEASE_SECONDS:
                    remove(path)

    # -- failures --------------------------------------------------------------------------------

    def failed(self, key: str) -> FailedRun | None:
        """Why a run has no result, if it failed."""
        path = self._failures / f"{key}.json"
        try:
            return _failed_run(json.loads(small_text(path)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
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
        remove(self._failures / f"{key}.json")

    # -- sweeps ----------------------------------------------------------------------------------

    def sweeps(self) -> list[str]:
        """Names of the sweeps that were run here."""
        names = sorted(path.stem for path in self.path.glob("*.parquet"))
        return [name for name in names if self.sweep_path(name).exists()]

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
        """Keep a sweep's definition; a file that says the same, perhaps with comments, stays."""
        path, plain = self.sweep_path(sweep.name), to_plain(sweep)
        with suppress(UserError):
            if to_plain(read_sweep(path)) == plain:
                return
        self._write(path, _text(plain))

    def keep_table(self, name: str, table: pd.DataFrame) -> None:
        """Keep a sweep's table."""
        with whole_file(self.table_path(name)) as stream:
            table.to_parquet(stream)

    def table(self, name: str) -> pd.DataFrame:
        """The table of a sweep.

        Raises:
            UserError: there is none, or it is damaged.
        """
        path = self.table_path(name)
        try:
            return _read_table(path)
        except FileNotFoundError as error:
            raise UserError(f"there is no table of a sweep {name!r} in {self.path}") from error

    def known_facts(self) -> dict[str, Facts]:
        """Facts of runs from the tables of all sweeps, by key."""
        return {key: facts for _, key, facts in self._known()}

    def known_points(self) -> dict[str, tuple[Point, Facts]]:
        """Points and facts of runs from the tables of all sweeps, by key."""
        return {key: (point, facts) for point, key, facts in self._known()}

    def _known(self) -> Iterator[tuple[Point, str, Facts]]:
        for name in self.sweeps():
            path = self.table_path(name)
            with suppress(OSError, UserError):  # a damaged one is made anew by its sweep
                yield from _runs_of(path)

    def _write(self, path: Path, text: str) -> None:
        with whole_file(path) as stream:
            stream.write(text.encode())


def _failed_run(stored: Any) -> FailedRun:
    """The failed run that a file of a failure describes.

    Raises:
        LookupError, TypeError: it is something else.
    """
    failure = Failure(**stored["failure"])
    texts = [stored["key"], stored["label"], *attrs.astuple(failure)[:-1]]
    if not all(isinstance(text, str) for text in texts) or type(stored["attempts"]) is not int:
        raise TypeError("its values are of other types")
    return FailedRun(stored["key"], stored["label"], failure, stored["attempts"])


def _text(sweep: Mapping[str, Any]) -> str:
    """A sweep as its file has it.

    Raises:
        UserError: a name in it is no text.
    """
    text = tomli_w.dumps(sweep)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text[: error.start].count("\n")
        raise UserError(
            f"the sweep names a file with bytes that are no text: {text.splitlines()[line].strip()}"
        ) from error
    return text


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error.strerror}") from error


def _read_table(path: Path) -> pd.DataFrame:
    import pandas as pd

    path.stat()  # one that is not there is no damage
    with _damaged_table(path), memory_bound():
        file_bytes(path)
        with path.open("rb") as stream:  # PyArrow opens no file whose name is no text
            table = pd.read_parquet(stream)
        if not {*_POINT_COLUMNS, *RUN_COLUMNS} <= {*table.columns}:
            raise UserError(f"{path} is no table of a sweep")
        _check_numbers(table)
    return table


def _check_numbers(table: pd.DataFrame) -> None:
    """Numbers have to be numbers, of which the table tells units.

    Raises:
        ValueError: they are not.
    """
    numbers, units = headline_columns(table), table.attrs.get("units")
    if not isinstance(units, dict) or not all(isinstance(units.get(one), str) for one in numbers):
        raise ValueError("it tells no units of its numbers")
    for name in ("seconds", *numbers):
        if table[name].dtype.kind not in "iuf":
            raise ValueError(f"the column {name!r} has other values than numbers")


def _damaged_table(path: Path) -> AbstractContextManager[None]:
    """Inside, whatever a table of a sweep makes its readers raise becomes a user's error."""
    remedy = "run the sweep again, and it is made anew from the results that are there"
    return untrusted(path, f"is damaged; {remedy}")


@while_unchanged(1024)
def _runs_of(path: Path) -> tuple[tuple[Point, str, Facts], ...]:
    """The finished runs of a table; a study looks again and again."""
    table = _read_table(path)
    with _damaged_table(path):
        return tuple(runs_in(table))


def table_of(
    rows: Iterable[tuple[Mapping[str, object], str, Facts | FailedRun | None]],
) -> pd.DataFrame:
    """A sweep's table.

    Args:
        rows: of each combination, what tells it from others (what others alone have is empty),
            the key of its run, and what became of it (None: nothing yet).

    Returns:
        a row each: that, `RUN_COLUMNS`, and the headline numbers, all of them floats (NaN where
        there is none); ``attrs["units"]`` has their units.
    """
    import pandas as pd

    rows = list(rows)
    axes = dict.fromkeys((name for values, _, _ in rows for name in values), "")
    records, units = [], {"seconds": "s", "size": "B", "modified_ns": "ns"}
    for values, key, found in rows:
        nothing = (key, "missing", "", "", math.nan, 0, 0)
        record = {**axes, **values, **dict(zip(RUN_COLUMNS, nothing, strict=True))}
        if isinstance(found, Facts):
            record |= {"state": "done", **attrs.asdict(found, recurse=False)}
            record |= {k: v for k, v in found.summary.items() if k not in record}
            units |= found.units
            del record["summary"], record["units"]
        elif found is not None:
            record |= {"state": "failed", "cause": found.failure.cause}
        records.append(record)
    table = pd.DataFrame.from_records(records)
    numbers = ("seconds", *headline_columns(table))
    table = table.astype(dict.fromkeys(numbers, float))
    for column in table.columns:  # an axis may mix numbers and names; a file cannot
        if table[column].dtype == object:
            table[column] = table[column].map(as_text)
    table.attrs["units"] = {name: unit for name, unit in units.items() if name in table}
    return table


def headline_columns(table: pd.DataFrame) -> list[str]:
    """Headline numbers that a sweep's table has."""
    names = [str(name) for name in table.columns]
    return names[names.index(RUN_COLUMNS[-1]) + 1 :]


def runs_in(table: pd.DataFrame) -> Iterator[tuple[Point, str, Facts]]:
    """The finished runs of a sweep's table: what they are (without settings), keys, and facts."""
    units = table.attrs["units"]
    numbers = headline_columns(table)
    done = table[table["state"] == "done"]
    done.attrs = {}  # pandas copies them for every row
    for row in done.to_dict("records"):
        summary = {name: row[name] for name in numbers if not math.isnan(row[name])}
        facts = Facts(
            row["digest"],
            row["seconds"],
            int(row["size"]),
            int(row["modified_ns"]),
            summary,
            {name: units[name] for name in summary},
        )
        point = Point(**{name: row[name] for name in _POINT_COLUMNS})
        yield point, row["key"], facts

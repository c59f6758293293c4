"""A run, read back: from its file, or from memory right after it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.states import families
from gpusim.files.columns import Table
from gpusim.results.datasets import (
    ACTS,
    APPLICATIONS,
    ARRAYS,
    CODE,
    COUNTERS,
    ESTIMATES,
    PROVENANCE,
    STOPS,
    WALL,
    WINDOWS,
)
from gpusim.results.inconsistent_file import misread
from gpusim.results.launch_tables import kernel_frame, launch_frame, number_facts
from gpusim.results.run_data import Provenance, WallClock
from gpusim.results.source import Source, open_source
from gpusim.results.views import find_view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Numbers(dict[str, int | float]):
    """Headline numbers by name.  One that is not there raises a `KeyError` with the nearest."""

    def __missing__(self, name: str) -> int | float:
        raise KeyError(f"there is no headline number {name!r}{nearest(str(name), self)}")


CHUNK_ROWS = 1 << 18
"""Rows of an event table that `Result.chunks` reads at once."""

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


def open_result(path: str | os.PathLike[str]) -> Result:
    """Open a result file; nothing big is read until it is asked for.

    Raises:
        UserError: there is no such file, it is damaged or cut short, it is no result of gpusim,
            or a newer gpusim wrote it.
    """
    return Result(open_source(Path(path)))


class Result:
    """One run.  Tables are read when they are asked for; damaged ones raise `UserError`.

    Use it as a context manager, or `close` it.  It may be copied, pickled, and returned by a worker
    process: one in memory travels as its bytes, one of a file as the file's path, which is opened
    again when something is read.

    Attributes:
        name: its path, for messages.
        digest: SHA-256 over all simulated results (`gpusim.results.digest`).
        schema: version of the schema that the file has.
    """

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.digest = source.digest
        self.schema = source.schema
        self._source = source

    def __reduce__(self) -> tuple[type[Result], tuple[Source]]:
        """What was read is not copied: a copy reads it anew."""
        return Result, (self._source,)

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was read before stays."""
        self._source.close()

    # -- what was run ----------------------------------------------------------------------------

    @cached_property
    def provenance(self) -> Provenance:
        """What was run with what."""
        return Provenance(**self._source.record("provenance", PROVENANCE))

    @cached_property
    def wall(self) -> WallClock:
        """The run as an event of the real world."""
        return WallClock(**self._source.record("wall", WALL))

    @cached_property
    def config_toml(self) -> str:
        """The fully resolved model."""
        return str(self._source.column("config", "toml")[0])

    @cached_property
    def workload_toml(self) -> str:
        """The fully resolved workload; empty in files of versions that did not keep it."""
        if not self._source.has("workload"):
            return ""
        return str(self._source.column("workload", "toml")[0])

    @cached_property
    def origins(self) -> dict[str, str]:
        """Where each value of the model came from, by dotted key."""
        keys, origins = (self._source.column("config/origins", name) for name in ("key", "origin"))
        return dict(zip(keys.tolist(), origins.tolist(), strict=True))

    # -- numbers ---------------------------------------------------------------------------------

    @cached_property
    def summary(self) -> dict[str, int | float]:
        """Headline numbers by name, counts as ints."""
        names, values, whole = (
            self._source.column("summary", column).tolist() for column in ("name", "value", "whole")
        )
        rows = zip(names, values, whole, strict=True)
        return Numbers({name: int(value) if is_whole else value for name, value, is_whole in rows})

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know, such as a policy that never came to act; a sentence each."""
        if not self._source.has("warnings"):
            return ()
        return tuple(self._source.column("warnings", "text").tolist())

    @property
    def summary_units(self) -> dict[str, str]:
        """Units of the headline numbers."""
        return self._of_summary("unit")

    @property
    def summary_descriptions(self) -> dict[str, str]:
        """What the headline numbers are."""
        return self._of_summary("description")

    @property
    def counters(self) -> pd.DataFrame:
        """All counters: component, instance, app, counter, value, unit."""
        return self._frame("counters", COUNTERS, leave_out=("description",))

    @property
    def acts(self) -> Counter[str]:
        """How often policies acted, of those that say it, by ``"KEY OF THE MODEL/CLASS"``."""
        rows = self.counters
        rows = rows[rows["component"].str.startswith(ACTS)]
        names = rows["component"].str.removeprefix(ACTS)
        return Counter(dict(zip(names, map(int, rows["value"]), strict=True)))

    def counter_tree(self) -> dict[str, Any]:
        """Counters as nested dicts: ``tree["tlb"]["L2"][instance][app][counter]``."""
        tree: dict[str, Any] = {}
        columns = ("component", "instance", "app", "counter", "value")
        rows = zip(
            *(self._source.column("counters", name).tolist() for name in columns), strict=True
        )
        for component, instance, app, counter, value in rows:
            branch = tree
            for key in (*component.split("/"), instance, app):
                branch = branch.setdefault(key, {})
            branch[counter] = value
        return tree

    @property
    def launches(self) -> pd.DataFrame:
        """Kernel launches: app, launch, kernel, begin, end, blocks, work_begin, stream, overlaps.

        After these come headline numbers.  `work_begin` is the cycle of the first block, after what
        a launch takes; `overlaps` is how many other launches of the application had blocks from
        then to `end`.  The numbers, from `cycles` on, are of what the application counted
        meanwhile, these others included, NaN where one does not exist.  Files of earlier versions
        have no `work_begin`, `stream`, `overlaps` and numbers.
        """
        return launch_frame(self._source)

    @property
    def kernels(self) -> pd.DataFrame:
        """Kernels: app, kernel, launches, blocks, headline numbers of all their launches together.

        Counts are of the cycles in which any of the launches had blocks, rates are made of them.
        """
        return kernel_frame(self._source)

    @cached_property
    def launch_numbers(self) -> dict[str, tuple[str, str]]:
        """Unit and description of each headline number of launches; empty in older files."""
        return number_facts(self._source)

    @property
    def stops(self) -> pd.DataFrame:
        """Stop rules: app, rule, met, cycle, instructions, warps; empty if there were none."""
        return self._frame_if_any("stops", STOPS)

    @property
    def estimates(self) -> pd.DataFrame:
        """Estimates of a sampled run: name, value, low, high, windows, refused; else empty."""
        return self._frame_if_any("estimates", ESTIMATES)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % interval of each number that a sampled run estimates; else empty."""
        if not self._source.has("estimates"):
            return {}
        with self._source.naming_damage():
            names, *ends = (
                self._source.column("estimates", end).tolist() for end in ("name", "low", "high")
            )
            return dict(zip(names, zip(*ends, strict=True), strict=True))

    @property
    def windows(self) -> pd.DataFrame:
        """A sampled run's windows: window, app, place, launch, cycles, instructions; else empty."""
        return self._frame_if_any("windows", WINDOWS)

    @property
    def applications(self) -> pd.DataFrame:
        """Applications: name, asid, launches, blocks, warps, end, sms (a tuple of indices)."""
        frame = self._frame("applications", APPLICATIONS)
        frame["sms"] = [tuple(np.flatnonzero(row).tolist()) for row in self._application_sms()]
        return frame

    @property
    def arrays(self) -> pd.DataFrame:
        """Arrays, in the order of their allocation: app, name, base, bytes; older files: none."""
        return self._frame_if_any("arrays", ARRAYS)

    @property
    def code(self) -> pd.DataFrame:
        """Places in the code: app, kernel, file, line, pc, text; there with the record `blame`."""
        return self._frame_if_any("code", CODE)

    # -- where the cycles went -------------------------------------------------------------------

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the states of a warp; event tables name them by their position here."""
        return tuple(self._source.column("stalls", "state").tolist())

    @cached_property
    def families(self) -> tuple[str, ...]:
        """What each state has in common with others, see `gpusim.core.states.FAMILIES`."""
        if not self._source.has("stalls/family"):
            return families(self.states)
        return tuple(self._source.column("stalls", "family").tolist())

    @property
    def translation_states(self) -> list[int]:
        """The numbers of the states in which a warp waits for translation."""
        return [state for state, name in enumerate(self.families) if name == "translation"]

    @property
    def stall_sums(self) -> xr.DataArray:
        """Warp-cycles, dimensions ``sm``, ``app`` and ``state``."""
        import xarray as xr

        sums = self._state_sums()
        return xr.DataArray(
            sums,
            dims=("sm", "app", "state"),
            coords={
                "sm": np.arange(len(sums)),
                "app": self._application_names(),
                "state": list(self.states),
            },
            name="warp_cycles",
            attrs={"units": "warp-cycles", "long_name": "cycles of warps in each state"},
        )

    @property
    def stalls(self) -> pd.DataFrame:
        """Per application and state: app, state, warp_cycles, share of the application's."""
        import pandas as pd

        rows = [
            (app, state, cycles, cycles / total if total else 0.0)
            for app, sums in self.state_cycles.items()
            for total in (sum(sums.values()),)
            for state, cycles in sums.items()
        ]
        return pd.DataFrame(rows, columns=["app", "state", "warp_cycles", "share"])

    @property
    def state_cycles(self) -> dict[str, dict[str, int]]:
        """Warp-cycles in each state, by the name of the application: `stalls` without shares."""
        sums = self._state_sums().sum(axis=0).tolist()
        apps = zip(self._application_names(), sums, strict=True)
        return {app: dict(zip(self.states, row, strict=True)) for app, row in apps}

    # -- recorded events -------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> dict[str, dict[str, int]]:
        return self._source.tables()

    @property
    def tables(self) -> dict[str, int]:
        """Recorded event tables and their numbers of rows."""
        return {name: next(iter(rows.values())) for name, rows in self._columns.items()}

    def table(
        self,
        name: str,
        start: int | None = None,
        stop: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Rows ``[start, stop)`` of an event table; negative numbers count from the end.

        Raises:
            UserError: there is no such table or column.
        """
        import pandas as pd

        self._expect("table", name, self._columns)
        present = self._columns[name]
        for column in columns or ():
            self._expect(f"column of {name}", column, present)
        begin = slice(start, stop).indices(self.tables[name])[0]
        with self._source.naming_damage():
            frame = pd.DataFrame(
                {
                    column: self._source.column(f"tables/{name}", column, start, stop)
                    for column in columns or present
                }
            )
        frame.index = pd.RangeIndex(begin, begin + len(frame))
        return frame

    def chunks(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """An event table in order, `CHUNK_ROWS` rows at a time (one empty frame if it has none).

        Raises:
            UserError: there is no such table or column.
        """
        self._expect("table", name, self._columns)
        for start in range(0, max(self.tables[name], 1), CHUNK_ROWS):
            yield self.table(name, start, start + CHUNK_ROWS, columns)

    # -- to look into ----------------------------------------------------------------------------

    def explore(self, *others: Result, begin: int = 0, end: int | None = None) -> Any:
        """A page on which the run can be looked into, as `gpusim.views.explore.explore` makes it.

        The last expression of a notebook's cell shows it.

        Args:
            others: at most one, beside it.
            begin: only what reaches into the cycles from here,
            end: to here; default: all.

        Raises:
            UserError: intervals were not recorded, or there is too much to hold.
        """
        return find_view("explore")(self, *others, begin=begin, end=end)

    def _repr_html_(self) -> str:
        """The answer, a bar of stalls and the first numbers, as notebooks show them."""
        return str(find_view("notebook")(self))

    # -- for other programs ----------------------------------------------------------------------

    def to_json(self) -> dict[str, JsonValue]:
        """Warnings, summary, units, counters, stalls, digest and provenance in plain JSON types."""
        with misread(self):
            return self._json()

    def _json(self) -> dict[str, JsonValue]:
        record = self._source.record("provenance", PROVENANCE)
        provenance: dict[str, JsonValue] = {
            key: list(value) if isinstance(value, tuple) else value for key, value in record.items()
        }
        return {
            "schema": self.schema,
            "digest": self.digest,
            "provenance": provenance,
            "warnings": list(self.warnings),
            "summary": dict(self.summary),
            "units": dict(self.summary_units),
            "stalls": {app: dict(sums) for app, sums in self.state_cycles.items()},
            "counters": _with_text_keys(self.counter_tree()),
        }

    # -- reading ---------------------------------------------------------------------------------

    def _frame(self, group: str, table: Table, leave_out: Sequence[str] = ()) -> pd.DataFrame:
        import pandas as pd

        names = [column.name for column in table.columns if column.name not in leave_out]
        with self._source.naming_damage():  # columns of an untrusted file may be no rows of values
            return pd.DataFrame({name: self._source.column(group, name) for name in names})

    def _frame_if_any(self, group: str, table: Table) -> pd.DataFrame:
        if self._source.has(group):
            return self._frame(group, table)
        import pandas as pd

        return pd.DataFrame(columns=[column.name for column in table.columns])

    def _of_summary(self, column: str) -> dict[str, str]:
        names, texts = (self._source.column("summary", one).tolist() for one in ("name", column))
        return dict(zip(names, texts, strict=True))

    def _state_sums(self) -> NDArray[np.int64]:
        return self._source.column("stalls", "warp_cycles")

    def _application_names(self) -> list[str]:
        names: list[str] = self._source.column("applications", "name").tolist()
        return names

    def _application_sms(self) -> NDArray[np.uint8]:
        return self._source.column("applications", "sms")

    def _expect(self, what: str, name: str, present: Iterable[str]) -> None:
        if name not in present:
            names = few(present, name) or "none was recorded"
            raise UserError(
                f"{self.name} has no {what} {name!r}{nearest(name, present)}; there is: {names}"
            )


def _with_text_keys(tree: dict[Any, Any]) -> dict[str, JsonValue]:
    return {
        str(key): _with_text_keys(value) if isinstance(value, dict) else value
        for key, value in tree.items()
    }

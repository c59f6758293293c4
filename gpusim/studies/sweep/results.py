"""Results of a sweep: one table, arrays over its axes, and the runs themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.core.errors import UserError, few, nearest
from gpusim.files.whole_files import whole_file
from gpusim.results.folder import Results, open_results
from gpusim.results.repeated_runs import COLUMNS, bands_of
from gpusim.results.result import Result, open_result
from gpusim.studies.sweep.folder import RUN_COLUMNS, FailedRun, RunFolder, headline_columns
from gpusim.studies.sweep.point import split_keys
from gpusim.studies.sweep.spec import Sweep, read_sweep

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def open_sweep(folder: str | os.PathLike[str], name: str | None = None) -> SweepResults:
    """The results of a sweep.

    Args:
        folder: of runs.
        name: of the sweep, if several were run there.

    Raises:
        UserError: there is no such folder or sweep, or there are several.
    """
    runs = RunFolder(folder)
    names = runs.sweeps()
    if name is None:
        if len(names) != 1:
            there = ", ".join(names) or "none"
            raise UserError(f"{runs.path}: which sweep? There is: {there}")
        (name,) = names
    if name not in names:
        raise UserError(
            f"{runs.path}: there is no sweep {name!r}{nearest(name, names)}; "
            f"there is: {few(names, name) or 'none'}"
        )
    return SweepResults(runs, name)


class SweepResults:
    """The results of a sweep, from its table; no run is opened for it.

    Attributes:
        name: of the sweep.
        folder: where its runs are.
        refused: pairs of variants that do not make one machine, by model and pair, and why; known
            where this process has run the sweep, empty where it opens a folder.
    """

    def __init__(
        self, runs: RunFolder, name: str, refused: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self.name = name
        self.refused = refused or {}
        self.folder = runs.path
        self._runs = runs

    def __repr__(self) -> str:
        states = self.table["state"].value_counts()
        counts = ", ".join(f"{count} {state}" for state, count in states.items())
        return f"<sweep {self.name}: {counts}>"

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a combination: its coordinates, `RUN_COLUMNS`, headline numbers.

        ``attrs["units"]`` has their units.
        """
        return self._runs.table(self.name)

    @cached_property
    def sweep(self) -> Sweep:
        """What was asked for."""
        return read_sweep(self._runs.sweep_path(self.name))

    @property
    def coordinates(self) -> list[str]:
        """Columns that identify a combination: those with several values."""
        names = list(self.table.columns)
        chosen = names[: names.index(RUN_COLUMNS[0])]
        return [name for name in chosen if self.table[name].nunique(dropna=False) > 1]

    def bands(self, numbers: Sequence[str] | None = None) -> pd.DataFrame:
        """Mean and 95 % interval (bootstrap) over the seeds, of runs that are done.

        Args:
            numbers: headline numbers; default: all.

        Returns:
            a row a combination and number: `coordinates` but the seed, number, mean, low, high,
            runs (which have it).
        """
        import pandas as pd

        names = [name for name in self.coordinates if name != "seed"]
        done = self.table[self.table["state"] == "done"]
        wanted = list(headline_columns(self.table) if numbers is None else numbers)
        groups = done.groupby(names, sort=False, dropna=False) if names else [((), done)]
        found = []
        for place, rows in groups:
            where: dict[str, Any] = dict(zip(names, place, strict=True))
            table = bands_of(rows[wanted]).reset_index().assign(**where)
            found.append(table[table["runs"] > 0])
        columns = [*names, "number", *COLUMNS]
        bands = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)
        return bands[columns]

    def write_bands(self) -> Path:
        """Write `bands` as ``NAME.bands.parquet`` beside the table."""
        path = self.folder / f"{self.name}.bands.parquet"
        with whole_file(path) as stream:
            self.bands().to_parquet(stream)
        return path

    @property
    def failures(self) -> list[FailedRun]:
        """Runs that failed, each once."""
        keys = dict.fromkeys(self.table.loc[self.table["state"] == "failed", "key"])
        found = (self._runs.failed(key) for key in keys)
        return [failed for failed in found if failed is not None]

    def array(self, number: str, table: pd.DataFrame | None = None) -> xr.DataArray:
        """A headline number over the axes of the sweep; NaN where there is no run.

        Of keys that change together, one is a dimension and the others are coordinates along it.

        Args:
            number: its name.
            table: only these rows of `table`.

        Raises:
            UserError: there is no such number, or several rows have the same place.
        """
        import xarray as xr

        rows = self.table if table is None else table
        numbers = ("seconds", *headline_columns(self.table))
        if number not in numbers:
            raise UserError(
                f"sweep {self.name!r} has no number {number!r}{nearest(number, numbers)}; "
                f"there is: {few(numbers, number)}"
            )
        several = [name for name in self.coordinates if rows[name].nunique(dropna=False) > 1]
        leaders = self._leaders(rows, several)
        axes = [name for name in several if name not in leaders]
        if axes:
            values = rows.set_index(axes)[number]
            if not values.index.is_unique:
                raise UserError(
                    f"sweep {self.name!r}: several rows have the same {', '.join(axes)}"
                )
            order = {name: list(dict.fromkeys(rows[name])) for name in axes}
            array = values.to_xarray().reindex(order)
        elif len(rows) == 1:
            array = xr.DataArray(rows[number].iloc[0], name=number)
        else:
            raise UserError(f"sweep {self.name!r}: {len(rows)} rows make no array")
        for name, leader in leaders.items():
            beside = dict(zip(rows[leader], rows[name], strict=True))
            array = array.assign_coords({name: (leader, [beside[one] for one in order[leader]])})
        array.attrs.update(units=self.table.attrs["units"].get(number, ""), long_name=number)
        return array

    def _leaders(self, rows: pd.DataFrame, names: list[str]) -> dict[str, str]:
        """By key that changes together with others: the leader, whose value decides its value."""
        leaders: dict[str, str] = {}
        for joined in self.sweep.set:
            keys = [key for key in split_keys(joined) if key in names]
            count = len(rows[keys].drop_duplicates())
            leader = next((key for key in keys if rows[key].nunique() == count), None)
            leaders |= {key: leader for key in keys if leader and key != leader}
        return leaders

    def open(self, key: str) -> Result:
        """Open the run with a key of the table.

        Raises:
            UserError: it has no result.
        """
        return open_result(self._runs.result_path(key))

    @property
    def runs(self) -> Results:
        """All results of the sweep, each once.

        Raises:
            UserError: there is none yet.
        """
        done = dict.fromkeys(self.table.loc[self.table["state"] == "done", "key"])
        paths: list[Path] = [self._runs.result_path(key) for key in done]
        if not paths:
            raise UserError(f"sweep {self.name!r} has no result yet")
        return open_results(paths)

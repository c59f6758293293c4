"""Many results at once: a folder of runs as one table, each run opened only while it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from attrs import frozen

from gpusim.core.errors import UserError, few, nearest
from gpusim.results.result import Result, open_result

if TYPE_CHECKING:
    import pandas as pd

Place = str | os.PathLike[str]

_PATTERN = "*.h5"
_IDENTIFYING = ("model", "variants", "overrides", "workload", "scale", "seed", "file")


@frozen
class _Run:
    """One run, as the summary tells it.

    Attributes:
        path: its file.
        values: identifying values and headline numbers, by the columns of the summary.
    """

    path: Path
    values: Mapping[str, object]


def open_results(places: Place | Iterable[Place], *, skip_bad: bool = False) -> Results:
    """The results in a folder and its subfolders (``*.h5``), or in several folders and files.

    Each file is opened once, for what was run and its headline numbers, and closed again.
    Temporary files of runs under way are not looked at.

    Args:
        places: a folder, a file, or any number of them.
        skip_bad: leave out files that cannot be read and list them in `Results.bad`.

    Raises:
        UserError: there is no such place, there is no result in it, or (without `skip_bad`) a
            file is damaged, no result of gpusim, or written by a newer one; it names the file.
    """
    runs, bad = [], {}
    for path in _paths([places] if isinstance(places, str | os.PathLike) else places):
        try:
            runs.append(_read(path))
        except UserError as error:
            if not skip_bad:
                raise
            bad[path] = str(error)
    return Results(runs, bad)


class Results:
    """Runs in the order of their paths.

    ``results[i]`` opens a run, which is then yours to close; a loop opens one run after the other
    and closes each when it asks for the next::

        for result in results.where(workload="atax", seed=0):
            print(result.name, result.stalls)

    Attributes:
        paths: files of the runs.
        bad: files that were skipped, and why.
    """

    def __init__(self, runs: Sequence[_Run], bad: Mapping[Path, str]) -> None:
        self._runs = tuple(runs)
        self.paths = tuple(run.path for run in runs)
        self.bad = dict(bad)

        values = (name for run in self._runs for name in run.values)
        self._columns = list(dict.fromkeys((*_IDENTIFYING, *values)))

    def __repr__(self) -> str:
        skipped = f", {len(self.bad)} files skipped" if self.bad else ""
        return f"<{len(self)} results{skipped}>"

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: int | slice) -> Result | Results:
        if isinstance(index, slice):
            return Results(self._runs[index], self.bad)
        return open_result(self.paths[index])

    def __iter__(self) -> Iterator[Result]:
        for path in self.paths:
            with open_result(path) as result:
                yield result

    # -- tables ----------------------------------------------------------------------------------

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row a run: model, variants, overrides, workload, scale, seed, file, headline numbers.

        A headline number that a run does not have is NaN.  Several variants are joined with
        ``+``, several overrides with ``, ``.
        """
        import pandas as pd

        frame = pd.DataFrame([run.values for run in self._runs], columns=self._columns)
        frame.index.name = "run"
        return frame

    @property
    def counters(self) -> pd.DataFrame:
        """All counters: run, component, instance, app, counter, value, unit; read anew each time.

        The column `run` is the index of `summary`.
        """
        return self.collect(lambda result: result.counters)

    @property
    def stalls(self) -> pd.DataFrame:
        """Where the cycles went: run, app, state, warp_cycles, share; read anew each time."""
        return self.collect(lambda result: result.stalls)

    def collect(self, table: Callable[[Result], pd.DataFrame]) -> pd.DataFrame:
        """The rows that `table` makes of each run, one below the other, the column `run` in front.

        Only one run is open at a time: ``results.collect(lambda result: result.launches)``.
        """
        import pandas as pd

        frames = [table(result) for result in self]
        if not frames:
            return pd.DataFrame({"run": []}, dtype="int64")
        return (
            pd.concat(frames, keys=range(len(frames)), names=["run", None])
            .reset_index(level="run")
            .reset_index(drop=True)
        )

    # -- choosing --------------------------------------------------------------------------------

    def where(
        self, chosen: Callable[[pd.Series[Any]], bool] | None = None, **values: object
    ) -> Results:
        """The runs with these values, such as ``where(workload="atax", seed=range(3))``.

        Args:
            chosen: tells of a run, given as its row of `summary`, whether it is wanted, such as
                ``lambda run: run.cycles > 1e6``.
            values: column of `summary` → value, or several (list, tuple, set, range) to choose
                from.

        Raises:
            UserError: no run has such a column.
        """
        for name in values:
            if self._runs and name not in self._columns:
                raise UserError(
                    f"the results have no column {name!r}{nearest(name, self._columns)}; "
                    f"there is: {few(self._columns, name)}"
                )
        rows = self.summary.iterrows()
        runs = [
            run
            for run, (_, row) in zip(self._runs, rows, strict=True)
            if all(_matches(run.values.get(name), wanted) for name, wanted in values.items())
            and (chosen is None or chosen(row))
        ]
        return Results(runs, self.bad)


def _matches(value: object, wanted: object) -> bool:
    if isinstance(wanted, Collection) and not isinstance(wanted, str):
        return value in wanted
    return value == wanted


def _read(path: Path) -> _Run:
    with open_result(path) as result:
        run = result.provenance
        identifying = (
            run.model,
            "+".join(run.variants),
            ", ".join(run.overrides),
            run.workload,
            run.scale,
            run.seed,
            str(path),
        )
        return _Run(path, {**dict(zip(_IDENTIFYING, identifying, strict=True)), **result.summary})


def _paths(places: Iterable[Place]) -> list[Path]:
    """The files of all places in order, each once."""
    found: set[Path] = set()
    for place in map(Path, places):
        if not place.exists():
            raise UserError(f"cannot open {place}: there is no such file or folder")
        files = [path for path in place.rglob(_PATTERN) if path.is_file()]
        if place.is_dir() and not files:
            raise UserError(f"there is no result ({_PATTERN}) in the folder {place}")
        found.update(files if place.is_dir() else [place])
    return sorted(found)

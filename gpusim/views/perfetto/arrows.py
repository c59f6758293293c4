"""Arrows from page walks to the warps that waited for them, from the recorded events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.states import State
from gpusim.results import Result
from gpusim.results.transactions import line_and_page
from gpusim.results.walk_waits import read_walks, with_walks
from gpusim.views.perfetto.view import View

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[np.int64]

_ON_WALKS = (State.WALKER, State.WALK)


@frozen(eq=False)
class Arrows:
    """Arrows between intervals and page walks; each is a flow of its own.

    Attributes:
        intervals: rows in `intervals`.
        walks: the row in `walks` that each of them is joined with, ascending.
    """

    intervals: Rows
    walks: Rows

    def from_intervals(self, rows: Rows) -> Rows:
        """The flow of each of these intervals; 0 for those without an arrow."""
        return np.where(np.isin(rows, self.intervals), rows + 1, 0)

    def into_walks(self, rows: Rows) -> Iterator[list[int]]:
        """The flows of each of these walks."""
        first, last = (np.searchsorted(self.walks, rows, side) for side in ("left", "right"))
        for begin, end in zip(first.tolist(), last.tolist(), strict=True):
            yield (self.intervals[begin:end] + 1).tolist()


def find_arrows(result: Result, view: View) -> Arrows:
    """Arrows of all intervals of the view in which a warp waited for one page walk for sure.

    The wait of a warp is split by the stages of the transaction that was answered last.  So an
    interval on a walk ends with a stage of the same kind of a transaction of the warp, and begins
    with it or, if the warp began to wait later, after it.  Other transactions of the warp may have
    been in such a stage until the same cycle: where they waited for another walk, there is no
    arrow.

    Without recorded `requests` and `walks` there are none at all: walks serve many SMs, and their
    times alone do not tell which of them a warp waited for.
    """
    import pandas as pd

    none = np.empty(0, np.int64)
    if not {"stages", "walks"} <= result.tables.keys():
        return Arrows(none, none)
    waits = pd.concat(_waits(result, view))
    walks = read_walks(result)
    found = pd.concat(_joined(stages, waits, walks) for stages in _stages(result)).drop_duplicates()
    sure = found[~found.interval.duplicated(keep=False)].sort_values(["walk", "interval"])
    sure = sure[sure.walk.isin(view.touched(walks, "requested", "finished").walk)]
    return Arrows(sure.interval.to_numpy(np.int64), sure.walk.to_numpy(np.int64))


def _waits(result: Result, view: View) -> Iterator[pd.DataFrame]:
    """Intervals in which a warp waited for a walk: interval, warp, state, begin, end."""
    for chunk in result.chunks("intervals", ["sm", "warp", "state", "begin", "end"]):
        chosen = chunk[chunk.state.isin(_ON_WALKS) & chunk.sm.isin(view.sms)]
        kept = view.touched(chosen, "begin", "end").drop(columns="sm")
        yield kept.astype(np.int64).rename_axis("interval").reset_index()


def _stages(result: Result) -> Iterator[pd.DataFrame]:
    """Stages in which a transaction waited for a walk: warp, asid, vpn, state, since, end."""
    _, lines_per_page = line_and_page(result)
    asids = result.applications.asid.to_numpy(np.int64)
    for chunk in result.chunks("stages"):
        chosen = chunk[chunk.state.isin(_ON_WALKS)].astype(np.int64)
        numbers = chosen.request.to_numpy()  # rising
        first, last = (numbers[0], numbers[-1] + 1) if len(numbers) else (0, 0)
        requests = result.table("requests", first, last, ["warp", "app", "vline"]).loc[numbers]
        yield chosen.rename(columns={"begin": "since"})[["state", "since", "end"]].assign(
            warp=requests.warp.to_numpy(),
            asid=asids[requests.app],
            vpn=requests.vline.to_numpy() // lines_per_page,
        )


def _joined(stages: pd.DataFrame, waits: pd.DataFrame, walks: pd.DataFrame) -> pd.DataFrame:
    """Intervals and the walks that they may have waited for: interval, walk."""
    found = waits.merge(stages, on=["warp", "state", "end"])
    found = with_walks(found[found.since <= found.begin], walks, "end")
    return found[["interval", "walk"]].drop_duplicates()

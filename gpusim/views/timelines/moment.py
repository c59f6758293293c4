"""One cycle of a run: what each warp did, and which page walks were under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.states import State
from gpusim.views.timelines.events import require, rows
from gpusim.views.timelines.window import run_cycles

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result


def stalled_on(result: Result, cycle: int) -> pd.DataFrame:
    """The state of every warp that lives in `cycle`.

    Returns:
        sm, warp, app, state (both by name), and the cycles ``[begin, end)`` of its stay in that
        state; by warp.

    Raises:
        UserError: the run has no intervals, or no such cycle.
    """
    found = _spanning(result, "intervals", cycle, "begin", "end")
    found["state"] = _named(result.states, found.state)
    found = found[["sm", "warp", "app", "state", "begin", "end"]]
    return found.sort_values("warp", ignore_index=True)


def walks_at(result: Result, cycle: int) -> pd.DataFrame:
    """The page walks that are under way, or wait for a walker, in `cycle`.

    Returns:
        asid, vpn, sm, app (by name), state (``"walker"`` while it waits for one, ``"walk"`` from
        then on), requested, started, finished, levels; by arrival.

    Raises:
        UserError: the run has no walks, or no such cycle.
    """
    found = _spanning(result, "walks", cycle, "requested", "finished")
    waits, walks = (result.states[state] for state in (State.WALKER, State.WALK))
    found.insert(4, "state", np.where(found.started > cycle, waits, walks))
    return found.sort_values("requested", kind="stable", ignore_index=True)


def _spanning(result: Result, table: str, cycle: int, begin: str, end: str) -> pd.DataFrame:
    """Rows of a table that begin in `cycle` or before, and end after it; applications by name."""
    import pandas as pd

    require(result, table)
    cycles = run_cycles(result)
    if not 0 <= cycle < cycles:
        raise UserError(f"{result.name} has no cycle {cycle}; allowed: 0 to {cycles - 1}")
    none = result.table(table, 0, 0)
    chunks = rows(result, table, none.columns.tolist(), {})
    found = [chunk[(chunk[begin] <= cycle) & (chunk[end] > cycle)] for chunk in chunks]
    frame = pd.concat(found) if found else none
    frame["app"] = _named(result.applications.name.tolist(), frame.app)
    return frame


def _named(names: Sequence[str], numbers: pd.Series[int]) -> list[str]:
    """The names of numbers that are positions in `names`."""
    return [names[number] for number in numbers]

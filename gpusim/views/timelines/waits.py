"""Waits of warps for page walks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpusim.core.states import State
from gpusim.results.transactions import line_and_page
from gpusim.results.walk_waits import read_walks, with_walks
from gpusim.views.timelines.events import Wanted, require, selectable, stages
from gpusim.views.timelines.window import ALL_WARPS, Selection

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result


def walk_waits(result: Result, selection: Selection = ALL_WARPS) -> pd.DataFrame:
    """The waits of warps for page walks, each from the first TLB lookup to the translation.

    A warp waits for a walk if one of its transactions does, whether it asked for the walk or joined
    one that another transaction, warp or SM had asked for.

    Returns:
        A row for each warp and walk: walk (row in `walks`), sm, app (its index), warp, since and
        until (the warp's transactions waited for this translation in cycles ``[since, until)``);
        by walk and warp.

    Raises:
        UserError: the run has no `walks` or no `requests`, or there is no such SM, warp or
            application.
    """
    import pandas as pd

    require(result, "walks")
    require(result, "stages")
    among = selectable(result, selection)["requests"]
    waited = pd.concat(_waits(result, among)).groupby("request", as_index=False)
    waits = waited.agg({"walked": "max", "since": "min", "until": "max"})
    waits = waits[waits.walked & (waits.until > waits.since)].drop(columns="walked")
    found = with_walks(_named(result, waits), read_walks(result), "until")
    each = found.groupby(["walk", "sm", "app", "warp"], as_index=False)
    return each.agg({"since": "min", "until": "max"}).sort_values(
        ["walk", "warp"], ignore_index=True
    )


def _waits(result: Result, among: Wanted) -> Iterator[pd.DataFrame]:
    """Waits for a translation that took a walk: request, walked, since, until.

    Requests at the ends of a chunk are included even if they did not wait for a walk in it.
    """
    for chunk in stages(result, among):
        chosen = chunk[chunk.state.isin(result.translation_states)].astype(np.int64)
        on_walk = chosen.state.isin((State.WALKER, State.WALK))
        each = chosen.assign(walked=on_walk).groupby("request", as_index=False)
        found = each.agg(walked=("walked", "max"), since=("begin", "min"), until=("end", "max"))
        cut = (chunk.request.min(), chunk.request.max())  # may have stages in other chunks, too
        yield found[found.walked | found.request.isin(cut)]


def _named(result: Result, waits: pd.DataFrame) -> pd.DataFrame:
    """With SM, application, warp, and page of each request, as far as it is one of a warp."""
    _, lines_per_page = line_and_page(result)
    asids = result.applications.asid.to_numpy(np.int64)
    requests = result.table("requests", columns=["sm", "app", "warp", "vline"])
    own = requests.loc[waits.request].astype(np.int64).reset_index(drop=True)
    found = waits.reset_index(drop=True).join(own)
    found = found.assign(asid=asids[found.app], vpn=found.vline // lines_per_page)
    return found[found.warp >= 0]

"""The page walk that each wait for a translation was for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result


def read_walks(result: Result) -> pd.DataFrame:
    """Recorded walks in order of their requests: walk (its row), asid, vpn, requested, finished."""
    walks = result.table("walks", columns=["asid", "vpn", "requested", "finished"])
    walks = walks.astype(np.int64).rename_axis("walk").reset_index()
    return walks.sort_values("requested", kind="stable")


def with_walks(waits: pd.DataFrame, walks: pd.DataFrame, until: str) -> pd.DataFrame:
    """Waits with the walk that each of them was for; those that were for none are left out.

    Walks of one page do not overlap: while one is under way, all requests for the page join it.  So
    a wait was for the last walk of its page that was requested before the wait ended, if that
    walk was not finished when the wait began.

    Args:
        waits: with asid, vpn, since and `until`: cycles ``[since, until)``.
        walks: see `read_walks`.
        until: name of that column.

    Returns:
        `waits` by their ends, with the columns of `walks`.
    """
    import pandas as pd

    found = pd.merge_asof(
        waits.sort_values(until, kind="stable"),
        walks,
        by=["asid", "vpn"],
        left_on=until,
        right_on="requested",
        allow_exact_matches=False,
    )
    return found[found.finished > found.since].astype({"walk": np.int64})

"""Reuse distances of the translations that a TLB level is asked for, from a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize.distances import distinct_between, previous

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

_VPN_BITS = 48


def reuse_distances(result: Result, level: int) -> pd.DataFrame:
    """Distinct other translations, of all applications, between two lookups of one (STAR §IV-A).

    Exact, of all TLBs of the level together.  Lookups after the first run of their application lie
    between others, but have no distance.

    Args:
        result: of a run with ``record=["tlb"]``.
        level: of the TLB, 0 next to the SM.

    Returns:
        a row a reuse, in the order of the lookups: app, distance.

    Raises:
        UserError: the lookups were not recorded.
    """
    import pandas as pd

    lookups = result.table("tlb", columns=["level", "asid", "vpn", "cycle"])
    lookups = lookups[lookups["level"] == level]
    asid = lookups["asid"].to_numpy(np.int64)
    tags = asid << _VPN_BITS | lookups["vpn"].to_numpy(np.int64)
    page = np.unique(tags, return_inverse=True)[1].astype(np.int64)
    applications = result.applications
    end = np.full(int(applications["asid"].max()) + 1, -1, dtype=np.int64)
    end[applications["asid"].to_numpy(np.int64)] = applications["end"].to_numpy(np.int64)
    before = previous(page)
    reused = (before >= 0) & (lookups["cycle"].to_numpy(np.int64) <= end[asid])
    second = np.flatnonzero(reused)
    distance = distinct_between(page, before[second], second)
    names = dict(zip(applications["asid"], applications["name"], strict=True))
    return pd.DataFrame({"app": [names[one] for one in asid[second]], "distance": distance})

"""Reuse distances of recorded lookups, against a list that is walked through."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.studies.characterize import reuse_distances

NAMES = ["a", "b"]


def recorded(lookups, ends):
    """Lookups (level, application, page), one a cycle."""
    rows = [(level, app, page, cycle) for cycle, (level, app, page) in enumerate(lookups)]
    tables = {"tlb": pd.DataFrame(rows, columns=["level", "asid", "vpn", "cycle"], dtype=np.int64)}
    applications = pd.DataFrame({"name": NAMES, "asid": [0, 1], "end": ends})
    return SimpleNamespace(
        table=lambda name, columns: tables[name][columns], applications=applications
    )


def walked(lookups, ends):
    """One lookup after the other, looking back at all those before."""
    found, seen = [], []
    for cycle, (level, app, page) in enumerate(lookups):
        if level != 2:
            continue
        if (app, page) in seen and cycle <= ends[app]:
            last = len(seen) - 1 - seen[::-1].index((app, page))
            found.append((NAMES[app], len(set(seen[last + 1 :]) - {(app, page)})))
        seen.append((app, page))
    return found


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 2]), st.integers(0, 1), st.integers(0, 4))),
    st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_as_walked_through(lookups, ends):
    found = reuse_distances(recorded(lookups, ends), 2)
    assert list(found.itertuples(index=False, name=None)) == walked(lookups, ends)


def test_by_hand():
    """Page 1 of a again after page 1 of b, twice, and page 2 of a: two other translations."""
    lookups = [(2, 0, 1), (2, 1, 1), (2, 0, 2), (2, 1, 1), (2, 0, 1)]
    found = reuse_distances(recorded(lookups, [9, 9]), 2)
    assert list(found.itertuples(index=False, name=None)) == [("b", 1), ("a", 2)]


def test_of_a_run():
    model = gpusim.load_model("tiny")
    work = gpusim.load_workload("mvt", "smoke", overrides={"n": 256})
    result = gpusim.simulate(model, work, record=["tlb"])
    table = result.table("tlb")
    table = table[table.level == 1]
    assert len(reuse_distances(result, 1)) == len(table) - table.vpn.nunique()
    with pytest.raises(UserError, match="no table 'tlb'"):
        reuse_distances(gpusim.simulate(model, work), 1)

"""Random programs on random machines: states tile each life, and timelines add up to the sums."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.views.timelines import Selection, stalls, window_of
from tests.examples import examples
from tests.hardware.sm.tiny_machines import machines, programs
from tests.views.timelines.scripted import simulate

thorough = settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@thorough
@given(machines(), programs, programs, st.integers(1, 1000))
def test_states_tile_each_life_and_add_up(
    config: GpuConfig, one: Any, two: Any, bin_cycles: int
) -> None:
    config = attrs.evolve(config, sm=attrs.evolve(config.sm, count=max(2, config.sm.count)))
    with simulate(config, one, two, record=["intervals"]) as result:
        intervals = result.table("intervals")
        for _, life in intervals.sort_values("begin", kind="stable").groupby("warp"):
            pieces = list(zip(life.begin, life.end, strict=True))
            assert all(begin < end for begin, end in pieces)
            assert all(before[1] == after[0] for before, after in pairwise(pieces))
            assert life[["sm", "slot", "app"]].nunique().eq(1).all()
        sums = result.stall_sums
        window = window_of(result, bin_cycles=bin_cycles)
        whole = stalls(result, window)
        assert whole.sum("cycle").equals(sums.sum(["sm", "app"]))
        alive = [
            ((intervals.begin < end) & (intervals.end > begin)).any()
            for begin, end in pairwise(window.edges)
        ]
        assert np.array_equal(whole.sum("state") > 0, alive)
        parts = []
        for sm in sums.sm.values.tolist():
            for app in sums.app.values.tolist():
                part = stalls(result, window, Selection(sm=sm, app=app))
                assert np.array_equal(part.sum("cycle"), sums.sel(sm=sm, app=app))
                parts.append(part)
        assert sum(parts[1:], parts[0]).equals(whole)

"""Arrays of addresses as workloads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError

LANES = np.arange(32)
PAGE = 4096


def tiny() -> gpusim.LoadedModel:
    return gpusim.load_model("tiny")


def test_each_step_of_each_warp_is_an_access() -> None:
    """20 warps of three steps: a page each, a line each, and nothing for half of them."""
    addresses = np.full((20, 3, 32), -1)
    for warp in range(20):
        addresses[warp, 0] = warp * PAGE + 4 * LANES
        addresses[warp, 1] = warp * PAGE + 128 + 4 * LANES
    addresses[:10, 2] = 4 * LANES
    result = gpusim.simulate(tiny(), addresses, record=["requests"])
    found = result.table("requests")
    assert len(found) == 20 * 2 + 10
    assert sorted(set(found.vline // (PAGE // 128))) == list(range(20))
    assert result.provenance.workload == "addresses"
    assert "sha256" in result.workload_toml


def test_stores_arithmetic_and_loads_in_flight() -> None:
    addresses = np.arange(4 * 8 * 32).reshape(4, 8, 32) * 4
    stores = [False, True] * 4
    result = gpusim.simulate(
        tiny(), gpusim.workload_of(addresses, stores=stores, compute=5), record=["requests"]
    )
    assert result.table("requests").kind.value_counts().to_dict() == {0: 16, 1: 16}
    assert result.summary["instructions"] == 4 * 8 * (5 + 1)
    far = np.arange(8 * 32).reshape(1, 8, 32) * PAGE
    waits, overlaps = (
        gpusim.simulate(tiny(), gpusim.workload_of(far, in_flight=number)).summary["cycles"]
        for number in (1, 8)
    )
    assert overlaps < waits


def test_wide_warps_run_on_narrow_machines_and_are_told() -> None:
    addresses = (np.arange(2 * 3 * 64) * 4).reshape(2, 3, 64)
    result = gpusim.simulate(tiny(), addresses, record=["requests"])
    assert result.tables["requests"] == 2 * 3 * 2
    assert "64" in result.warnings[0]


def test_the_same_array_gives_the_same_digest_and_another_one_another() -> None:
    addresses = (np.arange(2 * 3 * 32) * 4).reshape(2, 3, 32)
    digests = [gpusim.simulate(tiny(), one).digest for one in (addresses, addresses, addresses + 4)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (np.zeros((2, 32), int), {}, r"shape \(2, 32\) and type int64: must be"),
        (np.zeros((1, 1, 32)), {}, "type float64"),
        (np.zeros((1, 1, 16), int), {}, "have 16 lanes"),
        (np.full((1, 2, 32), -2), {}, r"addresses\[0, 0, 0\] = -2"),
        (np.full((1, 1, 32), 30), {}, "4 bytes in one sector"),
        (np.zeros((1, 1, 32), int), {"width": 3}, "must be one of 1, 2, 4, 8, 16"),
        (np.zeros((1, 1, 32), int), {"stores": [True, False]}, r"must be \(1,\)"),
        (np.zeros((1, 1, 32), int), {"in_flight": 0}, "in_flight = 0: must be a whole number of 1"),
    ],
)
def test_what_are_no_addresses(array: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gpusim.workload_of(array, **options)

"""What demand paging keeps in hardware."""

from __future__ import annotations

import pytest

from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model

KIB, MIB = 1 << 10, 1 << 20
BUFFER = 1024 * (36 + 4 + 6) / 8
"""Of each fault a page, one of 16 SMs and one of 48 warp slots."""


def added(*recipes: str, **paging: object) -> dict[str, float]:
    overrides = {"memory.size": "2GiB", **{f"paging.{key}": one for key, one in paging.items()}}
    base = load_model("kepler-uvm", (), {"memory.size": "2GiB"})
    return added_bytes(load_model("kepler-uvm", recipes, overrides), base)


def test_a_fault_buffer_is_all_that_the_driver_needs() -> None:
    assert added("demand-paging") == {"paging: fault buffer": BUFFER}


@pytest.mark.parametrize(
    ("policy", "name", "bits"),
    [("access-counter", "counters of blocks", 16), ("lru-accesses", "order of blocks", 10)],
)
def test_what_counts_accesses_of_blocks(policy: str, name: str, bits: int) -> None:
    """2 GiB have 1024 blocks of 2 MiB."""
    assert added("demand-paging", eviction=policy) == {
        "paging: fault buffer": BUFFER,
        f"paging.eviction: {name}": 1024 * bits / 8,
    }


def test_access_counters() -> None:
    assert added("access-counters")["paging: access counters"] == 1024

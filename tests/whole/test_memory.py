"""A longer program takes longer, not more memory; what has run is gone."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from gpusim.core.engine.environment import Environment
from tests.quick import quick
from tests.whole.running import run

MACHINES = [
    *("tiny", "a100", "a100-mig", "v100"),
    *("maxwell-mask mask", "apu-hsa vc-opt", "apu-hsa l1-vc-32"),
]


def peak_bytes(workload: str, **parameters: object) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run("tiny", workload, parameters=parameters).close()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_more_launches() -> None:
    run("tiny", "pagerank").close()  # modules are imported, caches are warm
    assert peak_bytes("pagerank", iterations=4) < 1.1 * peak_bytes("pagerank", iterations=1)


@pytest.mark.long
def test_longer_warps() -> None:
    run("tiny", "atax").close()
    shorter = peak_bytes("atax", n=256, iterations=64)
    assert peak_bytes("atax", n=256, iterations=160) < 1.5 * shorter


@pytest.mark.parametrize(
    "machine",
    quick(MACHINES, "apu-hsa vc-opt"),
)
def test_a_machine_that_has_run_is_gone(machine: str) -> None:
    model, *variants = machine.split()
    gc.collect()
    before = machines()
    run(model, "gups", *variants).close()
    gc.collect()
    assert machines() == before


def machines() -> int:
    """Environments that have not been freed: each machine has one."""
    return sum(isinstance(one, Environment) for one in gc.get_objects())

"""L1 caches that give a place away when a line is missed, not when it arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes
from tests.examples import examples
from tests.machine.bench import SMALL, Run, change

A, B, C = (number * 4 * 128 for number in range(3))
"""Lines of one set of the caches below, which have 4 sets."""


def cache(allocate: str, ways: int = 2, **keys: Any) -> GpuConfig:
    size = Bytes(4 * 128 * ways)
    return change(SMALL, l1={"size": size, "ways": ways, "allocate": allocate, **keys})


def counted(run: Run) -> tuple[int, ...]:
    return tuple(run.count("l1", name) for name in ("hits", "misses", "merged", "fills", "stalls"))


def test_a_line_goes_when_another_is_missed() -> None:
    """While C is fetched, A is still there only if C takes its place on arrival."""
    script = [("load", A), ("wait",), ("load", B), ("wait",), ("load", C), ("load", A), ("wait",)]
    assert counted(Run(cache("on-fill"), script)) == (1, 3, 0, 3, 0)
    assert counted(Run(cache("on-miss"), script)) == (0, 4, 0, 4, 0)


def test_a_line_that_is_on_its_way_is_merged_with() -> None:
    script = [("load", A), ("load", A), ("load", B), ("load", A), ("wait",), ("load", A), ("wait",)]
    for allocate in ("on-fill", "on-miss"):
        assert counted(Run(cache(allocate), script)) == (1, 4, 2, 2, 0)


def test_a_set_that_only_waits_for_lines_lets_nobody_in() -> None:
    """The second load goes out when the first has arrived, which took DRAM's 100 cycles."""
    script = [("load", A), ("load", B), ("wait",), ("load", A), ("wait",)]
    free, held = Run(cache("on-fill", 1), script), Run(cache("on-miss", 1), script)
    assert counted(free)[:4] == counted(held)[:4] == (0, 3, 0, 3)
    assert (free.count("l1", "stalls"), held.count("l1", "stalls")) == (0, 1)
    assert held.latencies[1] > free.latencies[1] + 100


@pytest.mark.parametrize("ways", [1, 2])
def test_sectors_of_one_line_share_its_place(ways: int) -> None:
    """The line of two sectors that are fetched apart may be gone before the second arrives."""
    generator = np.random.default_rng(ways)
    scripts = []
    for _ in range(4):
        script: list[tuple[Any, ...]] = []
        for address in generator.integers(0, 6 * 16, examples(120)).tolist():
            script.append(("load", address * 32))
            if address % 5 == 0:
                script.append(("wait", int(generator.integers(0, 4))))
        scripts.append(script)
    run = Run(cache("on-miss", ways, sector=Bytes(32)), *scripts)
    hits, misses, merged, fills, _ = counted(run)
    assert (hits + misses, misses - merged) == (4 * examples(120), fills)
    for l1 in run.machine.l1s:
        assert all(l1.array.used(line) <= ways for line in l1.array.lines())
        assert l1.reserved is not None
        assert not len(l1.reserved)

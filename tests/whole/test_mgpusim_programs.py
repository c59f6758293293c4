"""Programs of MGPUSim's suite on its GPU: counts beside those of its own runs."""

from __future__ import annotations

import pytest

import gpusim
from gpusim.results.result import Result

pytestmark = pytest.mark.long


def _run(program: str, **parameters: object) -> Result:
    model = gpusim.load_model("r9-nano", ["round-robin"])
    return gpusim.simulate(model, gpusim.load_workload(program, "smoke", overrides=parameters))


def _count(result: Result, component: str) -> dict[str, int]:
    rows = result.counters[result.counters.component == component]
    return {str(name): int(value) for name, value in rows.groupby("counter").value.sum().items()}


def test_kmeans() -> None:
    # `kmeans -points=4096 -max-iter=2`: 122,880 hits and 90,112 misses of the L1 caches.
    with _run("hetero_mark_kmeans", points=4096, iterations=2, clusters=5, features=32) as result:
        l1 = _count(result, "l1")
    assert (l1["hits"], l1["misses"], l1["stores"]) == (122_880, 90_112, 8_704)


def test_matrix_multiplication() -> None:
    # `matrixmultiplication -x=256 -y=256 -z=256`: 65,600 misses, of which 64 are loads of what the
    # launch was told, which are left out here; 4,096 stores; of the L2 cache 4,640 misses that are
    # not merged, with 32 of instructions and the like.
    sizes = {"rows": 256, "inner": 256, "columns": 256, "own_rows": False}
    with _run("matrix_multiplication", **sizes) as result:
        l1, l2 = _count(result, "l1"), _count(result, "l2")
    assert (l1["hits"], l1["misses"], l1["stores"]) == (0, 65_536, 4_096)
    assert l2["misses"] - l2["merged"] - l2["stores"] == 4_608

"""A longer program takes longer, not more memory."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from tests.whole.running import run


def peak_bytes(workload: str, **parameters: object) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run("tiny", workload, parameters=parameters).close()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_more_launches() -> None:
    run("tiny", "pagerank").close()  # modules are imported, caches are warm
    assert peak_bytes("pagerank", iterations=4) < 1.1 * peak_bytes("pagerank", iterations=1)


@pytest.mark.long
def test_longer_warps() -> None:
    run("tiny", "atax").close()
    shorter = peak_bytes("atax", n=256, iterations=64)
    assert peak_bytes("atax", n=256, iterations=160) < 1.5 * shorter

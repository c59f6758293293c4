"""A longer program takes longer, not more memory."""

from __future__ import annotations

import gc
import tracemalloc

from tests.whole.running import run


def peak_bytes(columns: int) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run("tiny", "atax", parameters={"n": 512, "columns": columns}).close()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_length_of_a_program() -> None:
    peak_bytes(8)  # modules are imported, caches are warm
    assert peak_bytes(256) < 1.5 * peak_bytes(32)

"""TLB prefetchers in a machine; latencies worked out by hand, see `test_latency`."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import StageConfig
from gpusim.core.policy import PolicyConfig
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run
from tests.machine.test_latency import WALK
from tests.machine.test_stages import MISS_EVERYWHERE, pages, with_pages


def run(kind: str, *walked: int, of: int = 64, apart: int = 600) -> Run:
    """One warp loads from pages of an array of `of` pages, one after the other, cycles apart."""
    stage: Any = {"prefetch": StageConfig(PolicyConfig(kind))}
    config = attrs.evolve(SMALL, stage=stage, stages=("L1", "L2", "prefetch", "walk"))
    script = [step for page in walked for step in (*pages(page), ("compute", apart))]
    return with_pages(of, script, config=config)


@pytest.mark.parametrize(
    ("kind", "walked", "hits"),
    [
        ("prefetch-next", (0, 1, 2, 3), [False, True, True, True]),
        ("prefetch-next", (9, 3, 4), [False, False, True]),
        ("prefetch-stride", (0, 5, 10, 15, 20, 22), [False, False, False, True, True, False]),
        ("prefetch-stride", (9, 6, 3, 0), [False, False, False, True]),
        ("prefetch-distance", (0, 1, 5, 6, 10, 11), [False, False, False, False, True, True]),
    ],
)
def test_a_page_that_was_foreseen_takes_no_walk(
    kind: str, walked: tuple[int, ...], hits: list[bool]
) -> None:
    found = run(kind, *walked)
    assert found.latencies == [MISS_EVERYWHERE - WALK * hit for hit in hits]
    assert found.count("stage/prefetch", "buffer_hits") == sum(hits)
    assert found.count("stage/prefetch", "demands") == len(walked)
    assert found.count("walk", "walks") == len(walked) - sum(hits)
    asked = found.count("stage/prefetch", "prefetches")
    assert found.count("walk/prefetch", "walks") == asked >= sum(hits)


def test_a_page_that_is_on_its_way_is_waited_for() -> None:
    """The walk of page 2 begins when page 1 is asked for, and is under way when page 2 is."""
    found = run("prefetch-next", 0, 1, 2, apart=1)
    assert found.latencies[:2] == [MISS_EVERYWHERE, MISS_EVERYWHERE - WALK]
    since = found.loads[2][0] - found.loads[1][0]
    assert 0 < since < WALK
    assert found.latencies[2] == MISS_EVERYWHERE - since
    assert found.count("walk", "merged") == 1


def test_pages_behind_the_end_of_an_array_are_not_asked_for() -> None:
    assert run("prefetch-next", 1, of=2).count("stage/prefetch", "prefetches") == 0


def test_what_they_cost() -> None:
    base = load_model("kepler-uvm")
    page, frame = 36, 21
    buffer = {"stage.prefetch: prefetch buffer": 16 * (page + frame) / 8}
    tables = {
        "next": {},
        "stride": {"stage.prefetch: strides": 256 * (16 + 2 * page) / 8},
        "distance": {
            "stage.prefetch: distances": 256 * 3 * page / 8,
            "stage.prefetch: last misses": 256 * (16 + 2 * page) / 8,
        },
    }
    for name, more in tables.items():
        model = load_model("kepler-uvm", [f"tlb-prefetch-{name}"])
        assert added_bytes(model, base) == buffer | more

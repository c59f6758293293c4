"""What a load pays at the L1 cache after it has missed the TLB, by hand."""

from __future__ import annotations

import pytest

from gpusim.files.units import cycles
from tests.machine.bench import SMALL, Run, change

BASE, PAGE = 1 << 32, 4096
ISSUE, L1_TLB, L2_TLB, WALK = 1, 1, 10, 500
BEHIND = 8 + 10 + 100 + 8 + 3
"""Crossbar, L2 cache, DRAM, crossbar: a line in four parts."""


def loads(translation: str, l1_latency: int, *pages: int) -> list[int]:
    """Latencies of loads, one after the other, with 16 entries in the L1 TLB."""
    config = change(SMALL, l1={"translation": translation, "latency": cycles(l1_latency)})
    script = [step for page in pages for step in (("load", BASE + page * (PAGE + 128)), ("wait",))]
    return Run(config, script).latencies


@pytest.mark.parametrize(
    ("translation", "left"), [("before", 40), ("parallel", 40), ("virtually-indexed", 1)]
)
def test_after_a_walk_only_tags_are_compared(translation: str, left: int) -> None:
    (latency,) = loads(translation, 40, 0)
    assert latency == ISSUE + L1_TLB + L2_TLB + WALK + left + BEHIND


@pytest.mark.parametrize(
    ("translation", "hit"),
    [
        ("before", L1_TLB + L2_TLB + 40),
        ("parallel", L1_TLB + L2_TLB + 40),
        ("virtually-indexed", 40),
    ],
)
def test_a_short_miss_hides_beside_the_access(translation: str, hit: int) -> None:
    """The line is there; its translation is in the L2 TLB, whose hit takes 11 of 40 cycles."""
    *_, last = loads(translation, 40, *range(17), 0)
    assert last == ISSUE + hit


def test_a_hit_in_the_tlb_takes_the_longer_of_both() -> None:
    assert loads("virtually-indexed", 40, 0, 0)[-1] == ISSUE + 40

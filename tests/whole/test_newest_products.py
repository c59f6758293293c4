"""Three programs on each of the newest products, whose unloaded latencies are what was measured."""

from __future__ import annotations

from itertools import product

import pytest

from experiments.hardware.measure import MIB, Point, measure
from tests.quick import quick
from tests.whole.running import run

PROGRAMS: dict[str, dict[str, object]] = {
    "atax": {"n": 128, "iterations": 1},
    "bfs": {"graph.vertices": 128},
    "gups": {"log2_words": 14, "threads": 256, "updates": 2},
}
MODELS = ("b200", "l40", "mi300x", "rtx4090")


@pytest.mark.parametrize(
    ("model", "program"),
    quick(product(MODELS, PROGRAMS), ("b200", "atax"), ("mi300x", "bfs")),
)
def test_programs_run_and_a_second_run_is_the_same(model: str, program: str) -> None:
    digests = []
    for _ in range(2):
        with run(model, program, parameters=PROGRAMS[program]) as result:
            assert result.summary["cycles"] > 0
            digests.append(result.digest)
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("model", "variant", "size", "cycles"),
    quick(
        [
            ("b200", "", MIB // 16, 40),
            ("b200", "", MIB, 295),
            ("b200", "", 256 * MIB, 860),
            ("l40", "", MIB // 16, 36),
            ("l40", "", MIB, 279),
            ("mi300x", "", MIB // 64, 118),
            ("mi300x", "", MIB, 213),
            ("mi300x", "", 6 * MIB, 455),
            ("rtx4090", "2235mhz", MIB // 16, 36),
            ("rtx4090", "2235mhz", MIB, 285),
            ("rtx4090", "2235mhz", 250 * MIB, 570),
        ],
        ("rtx4090", "2235mhz", MIB // 16, 36),
    ),
)
def test_what_they_were_calibrated_on_comes_out(
    model: str, variant: str, size: int, cycles: float
) -> None:
    assert measure(model, Point("latency", size, variant=variant)) == pytest.approx(
        cycles, rel=0.01
    )

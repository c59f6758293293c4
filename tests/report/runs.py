"""What is run for the tests of the report."""

from __future__ import annotations

import gpusim
from gpusim.results import Result

NASTY = r'<b id=x>&"{{ 7 * 7 }}</b><script>alert(1)</script>$\x$'
"""A name that is anything but HTML."""

PAIR = f"""
relaunch = "until-all-have-run"

[[applications]]
workload = "mvt"
name = "short"
smoke = {{ n = 64, iterations = 4 }}

[[applications]]
workload = "mvt"
name = '{NASTY}'
smoke = {{ n = 256, iterations = 4 }}
"""


def run(record: list[str], *variants: str) -> Result:
    work = gpusim.load_workload("atax", "smoke", overrides={"n": "256"})
    return gpusim.simulate(gpusim.load_model("tiny", variants), work, record=record)

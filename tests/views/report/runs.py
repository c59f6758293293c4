"""What is run for the tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gpusim
from gpusim.results import Result

NASTY = r'<b id=x>&"{{ 7 * 7 }}</b><script>alert(1)</script>$\x$'
"""A name that is anything but HTML."""

PAIR = """
relaunch = "until-all-have-run"

[[applications]]
workload = "mvt"
name = '{}'
smoke = {{ n = 64, iterations = 4 }}

[[applications]]
workload = "mvt"
name = '{}'
smoke = {{ n = 256, iterations = 4 }}
"""


def run_pair(folder: Path, short: str, long: str, record: Sequence[str] = ()) -> Result:
    """Two applications of these names, of which the short one runs several times."""
    path = folder / "pair.toml"
    path.write_text(PAIR.format(short, long))
    work = gpusim.load_workload(str(path), "smoke")
    return gpusim.simulate(gpusim.load_model("tiny"), work, record=record)


def run(record: list[str], *variants: str) -> Result:
    work = gpusim.load_workload("atax", "smoke", overrides={"n": "256", "iterations": "2"})
    return gpusim.simulate(gpusim.load_model("tiny", variants), work, record=record)

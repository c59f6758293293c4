"""Short ways to run the whole simulator."""

from __future__ import annotations

from functools import cache
from typing import Any

from typer.testing import CliRunner
from typer.testing import Result as Outcome

import gpusim
from gpusim.cli.main import app
from gpusim.results.result import Result

SMALLER: dict[str, dict[str, object]] = {
    "atax": {"iterations": 1},
    "mvt": {"iterations": 1},
    "gups": {"updates": 8},
    "bfs": {"graph.vertices": 128},
}
"""Programs whose smoke scale takes more than a test mostly needs."""


def run(
    model: str,
    workload: str,
    *variants: str,
    overrides: dict[str, object] | None = None,
    parameters: dict[str, object] | None = None,
    **options: Any,
) -> Result:
    """`gpusim.simulate` at smoke scale or less (`SMALLER`).

    `parameters` are the workload's, `options` simulate's.
    """
    sizes = {**SMALLER.get(workload, {}), **(parameters or {})}
    return gpusim.simulate(
        gpusim.load_model(model, variants, overrides),
        gpusim.load_workload(workload, "smoke", overrides=sizes),
        **options,
    )


@cache
def base_run(model: str, workload: str, *variants: str) -> Result:
    """The same, once in a process: for all tests that compare others with it. Do not close it."""
    return run(model, workload, *variants)


def command(*arguments: str, code: int = 0) -> Outcome:
    """`gpusim …` in this process, with its exit code checked."""
    outcome = CliRunner().invoke(app, list(arguments))
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome

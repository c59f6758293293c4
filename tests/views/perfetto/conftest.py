"""Runs with everything recorded, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpusim.results import RECORDS, Result
from gpusim.views.perfetto import export
from tests.quick import quick
from tests.views.perfetto.reader import ReadTrace
from tests.whole.running import run


@pytest.fixture(scope="package", params=quick(["tiny-bfs", "apu-hsa-atax"], "tiny-bfs"))
def recorded(request: pytest.FixtureRequest) -> Iterator[Result]:
    """Runs with few page walks, and with many that queue."""
    model, _, workload = request.param.rpartition("-")
    parameters: dict[str, object] = {"n": 512, "iterations": 4} if workload == "atax" else {}
    with run(model, workload, parameters=parameters, record=tuple(RECORDS)) as result:
        yield result


@pytest.fixture(scope="package")
def trace(recorded: Result, tmp_path_factory: pytest.TempPathFactory) -> ReadTrace:
    """The whole run, exported and read back."""
    path = tmp_path_factory.mktemp("perfetto") / "run.pftrace"
    packets = export(recorded, path)
    found = ReadTrace(path)
    assert packets == found.packets
    return found

"""Perfetto's own trace processor agrees; it is a program of its own, which has to be installed."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

from gpusim.results import Result
from gpusim.views.perfetto import export

SHELL = shutil.which("trace_processor_shell") or shutil.which("trace_processor")

pytestmark = pytest.mark.skipif(
    SHELL is None, reason="no trace_processor_shell on the path; PyPI's perfetto does not ship it"
)


def test_the_trace_processor_finds_every_interval(recorded: Result, tmp_path: Path) -> None:
    path = tmp_path / "run.pftrace"
    export(recorded, path)
    config = TraceProcessorConfig(bin_path=SHELL)
    with TraceProcessor(trace=str(path), config=config) as processor:
        errors = processor.query(
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
        )
        assert [(row.name, row.value) for row in errors] == []
        rows = processor.query(
            "select slice.name as name, ts, dur from slice join track on track_id = track.id "
            "where track.name glob 'warp *'"
        )
        found = Counter((row.name, row.ts, row.ts + row.dur) for row in rows)
        flows = next(iter(processor.query("select count() as arrows from flow"))).arrows
    intervals = recorded.table("intervals")
    assert found == Counter(
        (recorded.states[row.state], row.begin, row.end) for row in intervals.itertuples()
    )
    assert flows > 0

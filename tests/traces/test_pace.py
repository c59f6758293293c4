"""Traces that keep their times: no memory instruction before its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim import characterize, load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.core.request import MemoryRequest
from gpusim.machine import Machine
from gpusim.traces.survey import survey_application
from tests.traces.test_table import Columns, save
from tests.traces.writing import EXIT, block, header, write

TIMED: Columns = {
    "kernel": [0, 0, 0, 1, 1],
    "workgroup": [0, 0, 0, 0, 0],
    "wavefront": [0, 0, 1, 2, 2],
    "vaddr": [0x1000, 0x1040, 0x1000, 0x2000, 0x2040],
    "is_write": [0, 0, 0, 1, 0],
    "inst_idx": [2, 9, 3, 1, 5],
    "issue_time": [100, 5100, 3100, 90_000, 99_000],
}
"""Launches begin at 100 and 90,000; lines of 64 bytes."""

WANTED = {0x1000 // 64: [0, 3000], 0x1040 // 64: [5000], 0x2000 // 64: [0], 0x2040 // 64: [9000]}


def issues(path: Path, pace: str) -> tuple[dict[int, list[int]], int]:
    """Of each line, the cycles since its launch began in which it was asked for."""
    found: list[tuple[int, int]] = []

    def attach(machine: Machine) -> None:
        def note(request: MemoryRequest, issued: int, _answered: int) -> None:
            found.append((request.vline, issued))

        for sm in machine.sms:
            sm.lsu.on_request.listen(note)

    workload = load_workload(str(path), overrides={"pace": pace})
    with simulate(load_model("r9-nano"), workload, attach=attach) as run:
        begins = run.launches["begin"].tolist()
        instructions = int(run.summary["instructions"])
    since: dict[int, list[int]] = {}
    for line, issued in sorted(found):
        since.setdefault(line, []).append(issued - begins[line >= 0x2000 // 64])
    return since, instructions


def test_nothing_is_issued_before_its_time(tmp_path: Path) -> None:
    path = save(tmp_path / "timed.npz", TIMED)
    paced, instructions = issues(path, "recorded")
    assert instructions == 5  # arithmetic is a part of the times
    for line, times in WANTED.items():
        for issued, wanted in zip(paced[line], times, strict=True):
            assert wanted <= issued <= wanted + 16, (line, issued)
    free, instructions = issues(path, "free")
    assert instructions == 10 + 4 + 6
    assert max(max(times) for times in free.values()) < 3000


def test_pace_is_no_instruction(tmp_path: Path) -> None:
    workload = load_workload(
        str(save(tmp_path / "timed.npz", TIMED)), overrides={"pace": "recorded"}
    )
    (spec,) = workload.applications
    assert survey_application(spec.start(), 64).to_json()["warp_instructions"] == 5
    whole = characterize(workload, load_model("r9-nano"))
    assert whole.applications[0].total("warp_instructions") == 5
    assert 'pace = "recorded"' in workload.to_toml()


def test_pace_on_narrow_warps(tmp_path: Path) -> None:
    """One sector each: the second half of each wavefront has nothing to do."""
    workload = load_workload(
        str(save(tmp_path / "timed.npz", TIMED)), overrides={"pace": "recorded"}
    )
    with simulate(load_model("tiny"), workload) as run:
        assert run.summary["transactions"] == 5
        assert run.summary["cycles"] > 5000 + 9000


def test_what_is_refused(tmp_path: Path) -> None:
    table = save(tmp_path / "timed.npz", TIMED)
    with pytest.raises(UserError, match=r"overrides: pace=slow: allowed: free, recorded"):
        load_workload(str(table), overrides={"pace": "slow"})
    with pytest.raises(UserError, match=r"overrides: n: a trace has no parameter but pace, nregs"):
        load_workload(str(table), overrides={"n": 4})
    untimed = {name: values for name, values in TIMED.items() if name != "issue_time"}
    with pytest.raises(UserError, match=r"there is no column 'issue_time'"):
        load_workload(str(save(tmp_path / "untimed.npz", untimed)), overrides={"pace": "recorded"})
    sass = write(tmp_path / "one.traceg", header() + block([[EXIT]]))
    with pytest.raises(UserError, match=r"one\.traceg: has no times to keep to"):
        load_workload(str(sass), overrides={"pace": "recorded"})

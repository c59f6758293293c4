"""Recordings on machines that count arithmetic, shared memory and side caches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import gpusim
from gpusim.config.asked import asked_of
from gpusim.core.errors import UserError
from gpusim.core.warp_program import NOTHING_ASKED, Asked, Op
from gpusim.machine.load import load_model
from gpusim.results.result import Result
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from gpusim.workloads.captured import captured_workload
from gpusim.workloads.workload import Workload
from tests.ptx.tracing import load
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write
from tests.whole.running import SMALLER

BASE = 0x7F1000000000
SMALL: dict[str, dict[str, object]] = {
    "softmax": {"rows": 8},
    "gemm": {"n": 32},
    "spmm": {"width": 8},
    **SMALLER,
}


def simulated(model: str, workload: Workload | Path) -> Result:
    """A run of a workload, or of a trace."""
    work = workload if isinstance(workload, Workload) else gpusim.load_workload(str(workload))
    return gpusim.simulate(model, work)


@pytest.mark.parametrize(
    ("name", "model"),
    quick(
        [
            (name, model)
            for name in ("softmax", "gemm", "spmm", "embedding_bag", "bfs")
            for model in ("tiny", "v100", "h100", "rtx3070")
        ],
        ("softmax", "v100"),
        ("softmax", "tiny"),
        ("gemm", "rtx3070"),
        ("embedding_bag", "h100"),
    ),
)
def test_one_recording_of_a_program_runs_like_it_everywhere(
    tmp_path: Path, name: str, model: str
) -> None:
    workload = gpusim.load_workload(name, "smoke", 0, SMALL.get(name, {}))
    record_trace(workload, tmp_path / "trace.h5")
    with simulated(model, workload) as run, simulated(model, tmp_path / "trace.h5") as again:
        assert again.summary["cycles"] == run.summary["cycles"]
        assert again.digest == run.digest
        assert not again.warnings


@pytest.mark.parametrize("warp_size", [16, 64])
def test_warps_of_another_size_keep_their_arithmetic(tmp_path: Path, warp_size: int) -> None:
    workload = gpusim.load_workload("softmax", "smoke", 0, SMALL["softmax"])
    record_trace(workload, tmp_path / "trace.h5", warp_size)
    (launch, *_) = open_trace(tmp_path / "trace.h5").applications[0].start().launches()
    asked = asked_of(load_model("v100").config)
    kinds = {kind for chunk in launch.run_block_beside(0, 32, asked) for kind in chunk.kind}
    assert {Op.UNITS, Op.DELAY, Op.SHARED_LOAD, Op.SHARED_STORE} <= kinds
    assert {Op.ARITHMETIC, Op.SHARED}.isdisjoint(kinds)


LINES = [
    f"0010 ffffffff 1 R4 LDG.E.CONSTANT 1 R2 4 1 {BASE:#x} 4 0",
    f"0020 ffffffff 1 R5 LDG.E 1 R2 4 1 {BASE + 8192:#x} 4 0",
    "0030 ffffffff 1 R6 LDS 1 R3 4 1 0x7f0700000000 4 0",
    "0040 ffffffff 1 R7 FFMA 2 R4 R4 0 0",
    "0050 ffffffff 1 R7 FFMA 2 R7 R7 0 0",
    "0060 ffffffff 1 R8 DFMA 2 R7 R6 0 0",
    "0070 ffffffff 0 STS 2 R3 R8 4 1 0x7f0700000000 4 0",
    f"0080 ffffffff 0 STG.E 2 R2 R5 4 1 {BASE:#x} 4 0",
    EXIT,
]


def traced(folder: Path) -> Path:
    text = header(grid__dim="(3,1,1)", block__dim="(64,1,1)")
    text += "".join(block([LINES, LINES[1:]], f"{number},0,0") for number in range(3))
    return write(folder / "toy.traceg", text)


def compiled(_folder: Path) -> Workload:
    a = np.zeros((32, 32), np.float32)
    with gpusim.capture() as captured:
        load("matmul").launch((2, 2), (16, 16), a, a.copy(), a.copy(), 32, execute=False)
    return captured_workload(captured)


@pytest.mark.parametrize("made", [traced, compiled])
@pytest.mark.parametrize("model", ["v100", "rtx3070"])
def test_a_trace_or_kernel_recorded_for_a_machine_runs_like_it(
    tmp_path: Path, made: Callable[[Path], Path | Workload], model: str
) -> None:
    source, path = made(tmp_path), tmp_path / "trace.h5"
    recordable = open_trace(source) if isinstance(source, Path) else source
    machine = asked_of(load_model(model).config)
    record_trace(recordable, path, machine=machine)
    with simulated(model, source) as run, simulated(model, path) as again:
        assert again.summary["cycles"] == run.summary["cycles"]
        assert again.digest == run.digest
        assert again.warnings == run.warnings
    record_trace(open_trace(path), tmp_path / "again.h5")
    with simulated(model, tmp_path / "again.h5") as copied:
        assert copied.digest == run.digest


def test_a_recording_says_what_other_machines_ask_in_vain(tmp_path: Path) -> None:
    trace, plain, v100 = open_trace(traced(tmp_path)), tmp_path / "plain.h5", tmp_path / "v100.h5"
    record_trace(trace, plain)
    record_trace(trace, v100, machine=asked_of(load_model("v100").config))
    with simulated("v100", plain) as result:
        (warning,) = result.warnings
    assert "9 COMPUTE: units of arithmetic, which it was not recorded with (--model)" in warning
    assert "SHARED: waited for at once" in warning
    with simulated("h100", v100) as result:
        (warning,) = result.warnings
    assert "COMPUTE: units of arithmetic as of the machine that it was recorded for" in warning
    with simulated("tiny", v100) as result, simulated("tiny", plain) as other:
        (warning,) = result.warnings
        assert result.summary["instructions"] == other.summary["instructions"]
    assert "SHARED_LOAD, 6 SHARED_STORE: recorded for a machine that tells them apart" in warning


def ops(path: Path, asked: Asked) -> list[tuple[Op, int]]:
    """What the first warp of the first block does, as a machine gets it."""
    (launch, *_) = open_trace(path).applications[0].start().launches()
    chunks = launch.run_block_beside(0, 32, asked)
    return [
        (Op(kind), arg)
        for chunk in chunks
        for kind, arg, active in zip(chunk.kind, chunk.arg, chunk.active, strict=True)
        if active[0]
    ]


def test_a_machine_without_a_scoreboard_waits_for_the_loads_that_are_left(tmp_path: Path) -> None:
    """Of three loads the first is needed; without the last, one may be outstanding, not two."""
    path = tmp_path / "v100.h5"
    record_trace(open_trace(traced(tmp_path)), path, machine=asked_of(load_model("v100").config))
    waits = [arg for op, arg in ops(path, asked_of(load_model("v100").config)) if op == Op.WAIT]
    assert waits == [2, 0]
    waits = [arg for op, arg in ops(path, NOTHING_ASKED) if op == Op.WAIT]
    assert waits == [1, 0]
    kinds = {op for op, _ in ops(path, NOTHING_ASKED)}
    assert kinds <= {Op.LOAD, Op.STORE, Op.SHARED, Op.WAIT, Op.COMPUTE}


SIDES = frozenset({int(Op.READ_ONLY), int(Op.FETCH)})


def test_side_accesses_are_recorded_for_machines_that_ask_for_them(tmp_path: Path) -> None:
    path = tmp_path / "sides.h5"
    record_trace(open_trace(traced(tmp_path)), path, machine=Asked(SIDES))
    (launch,) = open_trace(traced(tmp_path)).applications[0].start().launches()
    expected = [
        (chunk.kind.tolist(), chunk.address.tolist(), chunk.size.tolist())
        for chunk in launch.run_block_beside(0, 32, Asked(SIDES))
    ]
    (launch,) = open_trace(path).applications[0].start().launches()
    found = list(launch.run_block_beside(0, 32, Asked(SIDES)))
    assert [(c.kind.tolist(), c.address.tolist(), c.size.tolist()) for c in found] == expected
    assert Op.READ_ONLY in found[0].kind
    (left,) = launch.run_block(1, 32)
    assert {Op.READ_ONLY, Op.FETCH}.isdisjoint(left.kind)
    assert left.address.shape[0] == len(left.size) == int(np.isin(left.kind, (1, 2)).sum())


def test_a_recording_is_not_made_for_another_machine_by_importing_it(tmp_path: Path) -> None:
    path = tmp_path / "plain.h5"
    record_trace(open_trace(traced(tmp_path)), path)
    with pytest.raises(UserError, match=r"plain\.h5 is a recording, which holds no more than"):
        record_trace(open_trace(path), tmp_path / "new.h5", machine=Asked(SIDES))
    assert not (tmp_path / "new.h5").exists()


def test_older_recordings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "plain.h5"
    record_trace(open_trace(traced(tmp_path)), path)
    with h5py.File(path, "a") as file:
        assert file.attrs["schema"] == 1
        del file.attrs["machines"]
    with simulated("tiny", path) as result, simulated("tiny", traced(tmp_path)) as run:
        assert result.digest == run.digest


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "trace.h5"
    record_trace(gpusim.load_workload("softmax", "smoke", 0, SMALL["softmax"]), path)
    return path


ANY = {"kinds": ["SHARED_LOAD", "SHARED_STORE", "ARITHMETIC"], "latency": [], "interval": []}


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ("{", r"attribute machines is no JSON: Expecting property name"),
        ([], r"attribute machines must be a list of 1, by application"),
        ({"kinds": []}, r"attribute machines must be a list of 1"),
        ([7], r"machine 0 must have kinds, latency and interval"),
        ([{"kinds": []}], r"machine 0 must have kinds, latency and interval"),
        ([{**ANY, "kinds": "WAIT"}], r"machine 0: kinds must be names of operations"),
        ([{**ANY, "kinds": ["WAIT"]}], r"machine 0: kind 'WAIT'; allowed: SCALAR, CONSTANT"),
        ([{**ANY, "latency": [1]}], r"machine 0: latency must be a list of 0, by unit"),
        ([{**ANY, "kinds": ["DELAY"]}], r"machine 0: latency must be a list of 5, by unit"),
        (
            [{"kinds": ["DELAY"], "latency": [4, 4, True, 4, 4], "interval": [1] * 5}],
            r"machine 0: latency True; allowed: 0 to 1048576",
        ),
        (
            [{"kinds": ["DELAY"], "latency": [4] * 5, "interval": [1, 1, 1, 1, -1]}],
            r"machine 0: interval -1; allowed: 0 to 1048576",
        ),
    ],
)
def test_machines_that_nothing_has(recording: Path, machines: object, message: str) -> None:
    with h5py.File(recording, "a") as file:
        file.attrs["machines"] = machines if isinstance(machines, str) else json.dumps(machines)
    with pytest.raises(UserError, match=rf"trace\.h5 is damaged: {message}"):
        open_trace(recording)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("argument", 7), r"unit 7; allowed: 0 to 4"),
        (("argument", -1), r"argument -1; allowed: 0 to \d+"),
        (("kind before", int(Op.BARRIER)), r"ARITHMETIC must stand behind the COMPUTE of the same"),
        (("active before", 0), r"ARITHMETIC must stand behind the COMPUTE of the same warps"),
        (("kind", int(Op.UNITS)), r"it does not have the instructions of its index"),
    ],
)
def test_units_that_nothing_has(recording: Path, change: tuple[str, int], message: str) -> None:
    what, value = change
    with h5py.File(recording, "a") as file:
        row = int(np.flatnonzero(file["instructions/kind"][:] == Op.ARITHMETIC)[0])
        if what == "argument":
            file["instructions/argument"][row] = value
        elif what == "active before":
            warps = len(file["active/warp"]) // len(file["instructions/kind"])
            file["active/warp"][(row - 1) * warps] = value
        else:
            file["instructions/kind"][row - ("before" in what)] = value
    with pytest.raises(UserError, match=rf"trace\.h5 is damaged: chunk \d+: {message}"):
        simulated("v100", recording)

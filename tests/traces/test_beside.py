"""What traces tell of scalar loads, constants, read-only loads and code, if they are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.warp_program import SIDE_OPS, Asked, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.traces.application import TraceLaunch
from gpusim.traces.code_lines import CODE_BASE, CodePath
from gpusim.traces.open_trace import open_trace
from gpusim.traces.warps import WarpTrace
from tests.traces.test_table import launches, save
from tests.traces.writing import EXIT, block, header, write

ALL = frozenset(map(int, SIDE_OPS.values()))
ADDRESSED = {Op.LOAD, Op.STORE, *SIDE_OPS.values()}

TABLE: dict[str, Any] = {
    "kernel": [0, 0],
    "workgroup": [0, 0],
    "wavefront": [0, 0],
    "vaddr": [0x8000, 0x9000],
    "is_write": [0, 0],
    "inst_idx": [5, 30],
    "pc": [0x1040, 0x10C0],
    "wait_vm": [15, 1],
    "wait_lgkm": [0, 15],
    "issue_time": [100, 300],
    "s_kernel": [0, 0, 0],
    "s_workgroup": [0, 0, 0],
    "s_wavefront": [0, 0, 0],
    "s_inst_idx": [2, 2, 20],
    "s_wait_vm": [15, 15, 15],
    "s_wait_lgkm": [15, 15, 15],
    "s_barriers": [0, 0, 0],
    "s_vaddr": [0x2020, 0x2040, 0x3000],
    "s_bytes": [32, 32, 4],
    "s_issue_time": [60, 60, 200],
    "wf_kernel": [0],
    "wf_workgroup": [0],
    "wf_insts": [31],
    "wf_dispatch_time": [50],
}


def told(launch: TraceLaunch, kinds: frozenset[int] = ALL) -> list[tuple[str, Any]]:
    """What the first warp of the first block does, with lines of 64 bytes."""
    found: list[tuple[str, Any]] = []
    for chunk in launch.run_block_beside(0, launch.warp_size, Asked(kinds)):
        segment = coalesce(chunk, Coalescing(64))[0]
        at = 0
        for kind, arg in zip(segment.kinds, segment.args, strict=True):
            if kind in ADDRESSED:
                found.append((Op(kind).name, [*segment.lines][at : at + arg]))
                at += arg
            else:
                found.append((Op(kind).name, arg))
    return found


def test_scalar_loads_of_a_table(tmp_path: Path) -> None:
    (launch,) = launches(open_trace(save(tmp_path / "t.npz", TABLE)))
    assert told(launch, frozenset({Op.SCALAR})) == [
        ("COMPUTE", 2),
        ("SCALAR", [0x2020 >> 6, 0x2040 >> 6]),
        ("WAIT", 0),
        ("COMPUTE", 2),
        ("LOAD", [0x8000 >> 6]),
        ("COMPUTE", 14),
        ("SCALAR", [0x3000 >> 6]),
        # One vector instruction, and what came after it, may be outstanding: nothing to wait for.
        ("COMPUTE", 9),
        ("LOAD", [0x9000 >> 6]),
    ]


def test_times_of_a_table_are_counted_from_when_its_launch_began(tmp_path: Path) -> None:
    trace = open_trace(save(tmp_path / "t.npz", TABLE), paced=True)
    (launch,) = launches(trace)
    paces = [arg for name, arg in told(launch, frozenset({Op.SCALAR})) if name == "PACE"]
    assert paces == [10, 50, 150, 250]
    assert [arg for name, arg in told(launch, frozenset()) if name == "PACE"] == [200]


def test_code_of_a_table(tmp_path: Path) -> None:
    (launch,) = launches(open_trace(save(tmp_path / "t.npz", TABLE)))
    code = [lines for name, lines in told(launch, frozenset({Op.FETCH})) if name == "FETCH"]
    # 5 instructions to 0x1040 are half a line; then on to 0x10c0.
    assert code == [[0x1040 >> 6], [0x1080 >> 6, 0x10C0 >> 6]]


def test_a_table_without_addresses_of_scalar_loads_tells_none(tmp_path: Path) -> None:
    columns = {name: values for name, values in TABLE.items() if name != "s_vaddr"}
    (launch,) = launches(open_trace(save(tmp_path / "t.npz", columns)))
    assert "SCALAR" not in dict(told(launch))


def fetched(warp: WarpTrace) -> list[Any]:
    """By access of a warp, its lines of 64 bytes."""
    return [np.frombuffer(access.address, dtype="<i8") // 64 for _, access in warp.steps]


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        ([(0x5080, 100)], [0x140, 0x141, 0x142]),  # no further back than the page
        ([(0x5080, 12)], [0x141, 0x142]),
        ([(0x5080, 1), (0x5090, 9), (0x5000, 9)], [0x142, 0x140]),  # a loop
        ([(0x5000, 1), (0x5400, 30)], [0x140, 0x145, 0x14B, 0x150]),  # jumped over some
    ],
)
def test_lines_between_accesses(steps: list[tuple[int, int]], lines: list[int]) -> None:
    warp = WarpTrace()
    path = CodePath(warp)
    for address, instructions in steps:
        path.jump(address, instructions)
    found = np.concatenate(fetched(warp))
    assert found[::2].tolist() == found[1::2].tolist() == lines


RECORDS = [
    "0000 1 1 R4 LDG.E.CONSTANT.SYS 1 R2 4 1 0x7f1000000000 0",
    "0010 1 1 R5 LDG.E.SYS 1 R2 4 1 0x7f1000000100 0",
    "0040 1 1 R6 IADD3 2 R4 R5 0",
    EXIT,
]


def test_code_after_the_last_access_is_straight_on() -> None:
    warp = WarpTrace()
    path = CodePath(warp)
    path.run_on(100)  # the trace tells no place
    path.jump(0x5038, 1)
    path.run_on(1)
    path.run_on(12)
    assert [lines[0] for lines in fetched(warp)] == [0x140, 0x141]


def test_code_and_read_only_loads_of_accel_sim(tmp_path: Path) -> None:
    path = write(tmp_path / "k.traceg", header() + block([RECORDS]))
    (launch,) = open_trace(path).applications[0].launches()
    exit_line = int(EXIT.split()[0], 16) >> 6
    base = CODE_BASE >> 6
    assert [arg[0] - base for name, arg in told(launch) if name == "FETCH"] == [0, 1] + (
        [exit_line] if exit_line != 1 else []
    )
    (launch,) = open_trace(path).applications[0].launches()
    loads = [name for name, _ in told(launch) if name in ("LOAD", "READ_ONLY")]
    assert loads == ["READ_ONLY", "LOAD"]
    (launch,) = open_trace(path).applications[0].launches()
    assert "READ_ONLY" not in dict(told(launch, frozenset({Op.SCALAR})))


def test_a_machine_with_side_caches_runs_a_table(tmp_path: Path) -> None:
    side = {"size": "1KiB", "ways": 2}
    overrides = {f"{name}.{key}": value for name in SIDE_OPS for key, value in side.items()}
    workload = load_workload(str(save(tmp_path / "t.npz", TABLE)))
    model = load_model("tiny", [], {**overrides, "sm.warp_size": 64})
    with simulate(model, workload) as result:
        assert result.summary["scalar_lookups"] == 3
        assert result.summary["instruction_lookups"] == 3
        assert result.summary["constant_lookups"] == result.summary["read_only_lookups"] == 0
        assert result.summary["transactions"] == 5
    with simulate(load_model("tiny", [], {"sm.warp_size": 64}), workload) as plain:
        assert plain.summary["transactions"] == 2
        assert "scalar_lookups" not in plain.summary

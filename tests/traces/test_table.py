"""Tables of transactions: what their rows become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.core.warp_program import MEMORY_OPS, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.hardware.sm.recorded_placement import RecordedPlacement
from gpusim.traces.application import TraceFile, TraceLaunch
from gpusim.traces.table import open_table
from gpusim.traces.table_index import TableIndex

Columns = dict[str, Any]
Program = list[tuple[str, Any]]
"""Operations of a warp: argument, or for memory operations the sectors by line."""

SMALL: Columns = {
    "kernel": [0, 0, 0, 0, 1],
    "workgroup": [1, 0, 1, 1, 0],
    "wavefront": [7, 3, 7, 9, 5],
    "vaddr": [0x1000, 0x2000, 0x1040, 0x3000, 0x4000],
    "is_write": [False, False, False, True, True],
}


def save(path: Path, columns: Columns, facts: Any = None) -> Path:
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
    np.savez_compressed(path, **arrays)
    if facts is not None:
        path.with_suffix(".json").write_text(json.dumps(facts))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "small.npz"


def launches(trace: TraceFile) -> list[TraceLaunch]:
    (application,) = trace.applications
    return cast("list[TraceLaunch]", list(application.launches()))


def programs(launch: TraceLaunch, block: int) -> list[Program]:
    """What the warps of a block do, seen through the coalescer, with lines of 64 bytes."""
    found: list[Program] = [[] for _ in range(launch.warps_per_block)]
    for chunk in launch.run_block(block, launch.warp_size):
        for program, segment in zip(found, coalesce(chunk, Coalescing(64)), strict=True):
            at = 0
            for kind, arg in zip(segment.kinds, segment.args, strict=True):
                if kind in MEMORY_OPS:
                    pairs = zip(
                        [*segment.lines][at : at + arg], segment.sectors[at : at + arg], strict=True
                    )
                    program.append((Op(kind).name, dict(pairs)))
                    at += arg
                else:
                    program.append((Op(kind).name, arg))
    return found


def test_required_columns_alone(file: Path) -> None:
    trace = open_table(save(file, SMALL))
    first, second = launches(trace)
    assert (trace.name, trace.warp_size, trace.applications[0].buffers) == ("small", 64, ())
    assert [one.name for one in (first, second)] == ["kernel 0", "kernel 1"]
    assert [(one.blocks, one.threads_per_block) for one in (first, second)] == [(2, 128), (1, 64)]
    # Each row is an instruction of one byte; the wavefronts of a workgroup go by their ids.
    assert programs(first, 0) == [[("LOAD", {0x80: 1})], []]
    assert programs(first, 1) == [
        [("LOAD", {0x40: 1}), ("LOAD", {0x41: 1})],
        [("STORE", {0xC0: 1})],
    ]
    assert programs(second, 0) == [[("STORE", {0x100: 1})]]


def test_instructions_bytes_and_arithmetic(file: Path) -> None:
    columns = {
        "kernel": [0] * 4,
        "workgroup": [0] * 4,
        "wavefront": [0] * 4,
        "order": [3, 0, 1, 2],
        "inst": [2, 0, 0, 1],
        "inst_idx": [9, 3, 3, 4],
        "vaddr": [0x80, 0x00, 0x40, 0x200],
        "is_write": [1, 0, 0, 0],
        "first_byte": [0, 32, 0, 0],
        "last_byte": [63, 63, 31, 3],
        "wf_kernel": [0, 0],
        "wf_workgroup": [0, 0],
        "wf_in_wg": [1, 0],
        "wf_insts": [12, 5],
    }
    (launch,) = launches(open_table(save(file, columns)))
    assert programs(launch, 0) == [
        [("COMPUTE", 5)],
        [
            ("COMPUTE", 3),
            ("LOAD", {0: 2, 1: 1}),
            ("LOAD", {8: 1}),
            ("COMPUTE", 4),
            ("STORE", {2: 3}),
            ("COMPUTE", 2),
        ],
    ]


def test_waits_count_loads_among_the_youngest_memory_instructions(file: Path) -> None:
    columns = {
        "kernel": [0] * 6,
        "workgroup": [0] * 6,
        "wavefront": [0] * 6,
        "vaddr": [0, 64, 128, 192, 256, 320],
        "is_write": [0, 1, 0, 0, 0, 0],
        "wait_vm": [0, 255, 2, 15, 1, 255],
        "wait_lgkm": [255, 255, 255, 255, 255, 0],
        "barriers": [0, 0, 0, 1, 0, 2],
    }
    (launch,) = launches(open_table(save(file, columns)))
    (program,) = programs(launch, 0)
    names = [(name, arg) for name, arg in program if name not in ("LOAD", "STORE")]
    # Before the third: both may be outstanding, no wait.  Before the fifth: one may.
    assert names == [("BARRIER", 0), ("WAIT", 1), ("WAIT", 0), ("BARRIER", 0), ("BARRIER", 0)]
    assert [name for name, _ in program][:3] == ["LOAD", "STORE", "LOAD"]
    columns["wait_vm"] = [255, 255, 255, 2, 255, 255]
    columns["wait_lgkm"] = [255] * 6
    (launch,) = launches(open_table(save(file, columns)))
    # Of the two youngest, a store and a load, one is a load.
    assert ("WAIT", 1) in programs(launch, 0)[0]


def test_scalar_loads_are_arithmetic_with_waits_and_barriers(file: Path) -> None:
    columns = {
        "kernel": [0, 0],
        "workgroup": [0, 0],
        "wavefront": [0, 0],
        "vaddr": [0, 64],
        "is_write": [0, 0],
        "inst_idx": [2, 10],
        "inst": [0, 1],
        "s_kernel": [0, 0],
        "s_workgroup": [0, 0],
        "s_wavefront": [0, 0],
        "s_inst_idx": [7, 7],
        "s_wait_vm": [0, 0],
        "s_wait_lgkm": [255, 255],
        "s_barriers": [1, 1],
    }
    (launch,) = launches(open_table(save(file, columns)))
    assert programs(launch, 0) == [
        [
            ("COMPUTE", 2),
            ("LOAD", {0: 1}),
            ("WAIT", 0),
            ("BARRIER", 0),
            ("COMPUTE", 6),
            ("LOAD", {1: 1}),
        ],
    ]


def test_placement_and_pages(file: Path) -> None:
    pages = [0x1000, 0x2000, 0x9000, 0x4000]
    trace = open_table(save(file, {**SMALL, "cu": [1, 4, 1, 1, 2], "page_vaddr": pages}))
    first, second = launches(trace)
    assert isinstance(first, RecordedPlacement)
    assert [first.recorded_sm(block) for block in (0, 1)] == [4, 1]
    assert isinstance(second, RecordedPlacement)
    assert second.recorded_sm(0) == 2
    buffers = trace.applications[0].buffers
    assert [(one.base, one.bytes) for one in buffers] == [
        (0x1000, 0x2000),
        (0x4000, 0x1000),
        (0x9000, 0x1000),
    ]
    (launch, _) = launches(open_table(save(file, SMALL)))
    assert isinstance(launch, RecordedPlacement)
    assert launch.recorded_sm(0) is None


def test_the_json_file_completes_the_launches(file: Path) -> None:
    kernels = [
        {"name": "copy", "grid": [500, 1, 1], "workgroup": [100, 1, 1], "vgprs": 7},
        {"workgroup": [64, 1, 1], "num_workgroups": 9, "lds_bytes": 64},
        {"workgroup": [64, 2, 1], "num_workgroups": 1},
    ]
    trace = open_table(save(file, SMALL, {"name": "app", "kernels": kernels}))
    assert trace.name == trace.applications[0].name == "app"
    assert [
        (one.name, one.blocks, one.threads_per_block, one.registers_per_thread, one.shared_bytes)
        for one in launches(trace)
    ] == [("copy", 5, 100, 7, 0), ("kernel 1", 9, 64, 0, 64), ("kernel 2", 1, 128, 0, 0)]
    assert programs(launches(trace)[0], 4) == [[], []]


def random_table(seed: int) -> Columns:
    """Three kernels; each wavefront's rows are in order, but wavefronts are mixed."""
    rng = np.random.default_rng(seed)
    rows = []
    for wavefront in range(24):
        index = order = 0
        for inst in range(rng.integers(1, 6)):
            index += int(rng.integers(1, 5))
            for _ in range(rng.integers(1, 9)):
                rows.append((wavefront // 8, wavefront % 8 // 2, wavefront, inst, index, order))
                order += 1
    values = np.array(rows)[rng.permutation(len(rows))]
    names = ("kernel", "workgroup", "wavefront", "inst", "inst_idx", "order")
    columns: Columns = {name: values[:, at] for at, name in enumerate(names)}
    key = columns["wavefront"] * 1000 + columns["inst"]
    columns["is_write"] = key % 3 == 0
    columns["wait_vm"] = np.where(key % 5 == 0, key % 2, 255)
    columns["vaddr"] = rng.integers(0, 1 << 14, len(rows)) * 64
    columns["bytes"] = rng.integers(1, 65, len(rows))
    return columns


def naive(columns: Columns, kernel: int, workgroup: int, wavefront: int) -> Program:
    """One wavefront's program, row by row."""
    rows = [
        row
        for row in sorted(range(len(columns["order"])), key=lambda row: columns["order"][row])
        if (columns["kernel"][row], columns["workgroup"][row]) == (kernel, workgroup)
        and columns["wavefront"][row] == wavefront
    ]
    program: Program = []
    loads: list[bool] = []
    last = -1
    for inst in dict.fromkeys(int(columns["inst"][row]) for row in rows):
        mine = [row for row in rows if columns["inst"][row] == inst]
        wait = int(columns["wait_vm"][mine[0]])
        if wait < len(loads):
            program.append(("WAIT", sum(loads[::-1][:wait])))
        if (between := int(columns["inst_idx"][mine[0]]) - last - 1) > 0:
            program.append(("COMPUTE", between))
        lines: dict[int, int] = {}
        for row in mine:
            address = int(columns["vaddr"][row])
            for byte in range(address, address + int(columns["bytes"][row])):
                lines[byte // 64] = lines.get(byte // 64, 0) | 1 << byte % 64 // 32
        write = bool(columns["is_write"][mine[0]])
        program.append(("STORE" if write else "LOAD", lines))
        loads.append(not write)
        last = int(columns["inst_idx"][mine[0]])
    return program


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_against_a_naive_reader(file: Path, seed: int) -> None:
    columns = random_table(seed)
    for kernel, launch in enumerate(launches(open_table(save(file, columns)))):
        for block in range(launch.blocks):
            expected = [
                naive(columns, kernel, block, 8 * kernel + 2 * block + warp) for warp in range(2)
            ]
            assert programs(launch, block) == expected


def test_a_table_runs(file: Path) -> None:
    columns = random_table(1)
    columns["cu"] = columns["workgroup"] * 3
    workload = load_workload(str(save(file, columns)))
    with simulate(load_model("r9-nano"), workload) as run:
        counters = run.counters
        transactions = len(
            {
                (wave, inst, address // 64)
                for wave, inst, vaddr, size in zip(
                    *(columns[name].tolist() for name in ("wavefront", "inst", "vaddr", "bytes")),
                    strict=True,
                )
                for address in range(vaddr, vaddr + size)
            }
        )
        assert run.summary["transactions"] == transactions
        blocks = counters[(counters.component == "sm") & (counters.counter == "blocks")]
        used: NDArray[np.int64] = blocks[blocks.value > 0].instance.to_numpy()
        assert sorted(used.tolist()) == [0, 3, 6, 9]
        digest = run.digest
    with simulate(load_model("r9-nano"), workload) as again:
        assert again.digest == digest


def test_workgroups_may_touch_no_memory(file: Path) -> None:
    columns = {
        "kernel": [0],
        "workgroup": [1],
        "wavefront": [1],
        "vaddr": [64],
        "is_write": [0],
        "inst_idx": [4],
        "wf_kernel": [0, 0],
        "wf_workgroup": [0, 1],
        "wf_insts": [7, 9],
    }
    workload = load_workload(str(save(file, columns)))
    (launch,) = launches(open_table(file))
    assert programs(launch, 0) == [[("COMPUTE", 7)]]
    with simulate(load_model("r9-nano"), workload) as run:
        assert run.summary["instructions"] == 7 + 9
        assert run.summary["transactions"] == 1


def test_arithmetic_may_take_longer_than_the_watchdogs_patience(file: Path) -> None:
    columns = {
        "kernel": [0, 0],
        "workgroup": [0, 0],
        "wavefront": [0, 0],
        "vaddr": [0, 64],
        "is_write": [0, 0],
        "inst_idx": [0, 5_000_000],
    }
    workload = load_workload(str(save(file, columns, {"warp_size": 32})))
    with simulate(load_model("tiny"), workload) as run:
        assert run.summary["instructions"] == 5_000_001
        assert run.summary["cycles"] > 5_000_000


def test_blocks_wait_for_their_recorded_sm(file: Path) -> None:
    columns = random_table(2)
    columns["cu"] = np.full(len(columns["order"]), 5)
    workload = load_workload(str(save(file, columns)))
    model = load_model("r9-nano", (), {"sm.max_blocks": 1})
    with simulate(model, workload) as run:
        counters = run.counters
        blocks = counters[(counters.component == "sm") & (counters.counter == "blocks")]
        assert blocks[blocks.value > 0][["instance", "value"]].to_numpy().tolist() == [[5, 12]]
    with (
        pytest.raises(UserError, match=r"block 0 of kernel 'kernel 0' was recorded on SM 5"),
        simulate(load_model("r9-nano", (), {"sm.count": 4}), workload),
    ):
        pass


def test_narrow_warps(file: Path) -> None:
    narrow = load_workload(str(save(file, SMALL, {"warp_size": 32})))
    with simulate(load_model("tiny"), narrow) as run:
        assert run.summary["memory_instructions"] == 5


def test_parquet_is_read_like_npz(tmp_path: Path) -> None:
    columns = random_table(3)
    path = tmp_path / "small.parquet"
    parquet.write_table(pa.table(columns), path)
    npz = TableIndex(save(tmp_path / "other.npz", columns))
    assert programs(launches(open_table(path))[1], 2) == programs(
        launches(open_table(tmp_path / "other.npz"))[1], 2
    )
    assert len(npz.waves.block) == 24
    parquet.write_table(pa.table({**SMALL, "kernel": [0, 0, None, 0, 1]}), path)
    with pytest.raises(UserError, match=r"small\.parquet: column 'kernel', row 2: has no value"):
        open_table(path)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(UserError, match=r"small\.parquet: no \.parquet file, or damaged"):
        open_table(path)

"""Bad tables: file, column, row and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.core.errors import UserError
from gpusim.traces.table import open_table
from tests.traces.test_table import SMALL, save

NUMBERED = {**SMALL, "order": [0, 0, 1, 0, 0], "inst": [0, 0, 0, 0, 0]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "small.npz"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vaddr": None}, r"no column 'vaddr' \(virtual byte address\); it has: inst, is_write"),
        ({"vaddr": [1.0] * 5}, r"'vaddr': float64 of shape \(5,\); allowed: one integer a row"),
        ({"vaddr": [[1]] * 5}, r"'vaddr': int64 of shape \(5, 1\); allowed: one integer"),
        ({"vaddr": [1, 2, -3, 4, 5]}, r"'vaddr', row 2: -3; allowed: 0 to \d+ \(virtual byte"),
        ({"is_write": [0, 1, 0, 2, 0]}, r"'is_write', row 3: 2; allowed: 0 to 1"),
        ({"vaddr": [1, 2]}, r"'vaddr' has 2 rows, 'kernel' has 5"),
        ({name: [] for name in NUMBERED}, r"there are no rows, no wf_ columns, and no kernels in"),
        ({"order": [1, 0, 1, 0, 0]}, r"'order', row 2: 1; allowed: another value in each row"),
        ({"inst": [1, 0, 0, 0, 0]}, r"'inst', row 2: 0; allowed: increasing with the order"),
        ({"is_write": [0, 0, 1, 0, 0]}, r"'is_write', row 2: 1; allowed: one value for all rows"),
        ({"inst_idx": [1, 0, 2, 0, 0]}, r"'inst_idx', row 2: 2; allowed: one value for all rows"),
        (
            {"inst": [0, 0, 1, 0, 0], "inst_idx": [5, 0, 4, 0, 0]},
            r"'inst_idx', row 2: 4; allowed: increasing with the instruction",
        ),
        (
            {
                "inst_idx": [4] * 5,
                **{
                    f"s_{name}": [1]
                    for name in (
                        "kernel",
                        "workgroup",
                        "wavefront",
                        "inst_idx",
                        "wait_vm",
                        "wait_lgkm",
                        "barriers",
                    )
                },
            },
            "",
        ),
        (
            {
                "inst_idx": [4] * 5,
                "s_kernel": [1],
                "s_workgroup": [0],
                "s_wavefront": [5],
                "s_inst_idx": [4],
                "s_wait_vm": [0],
                "s_wait_lgkm": [0],
                "s_barriers": [0],
            },
            r"'inst_idx' and 's_inst_idx' both have 4 in one wavefront",
        ),
        ({"first_byte": [0] * 5, "last_byte": [0] * 5, "bytes": [0] * 5}, ""),
        ({"bytes": [1, 1, 1, 0, 1]}, r"'bytes', row 3: 0; allowed: 1 or more"),
        (
            {"first_byte": [0, 9, 0, 0, 0], "last_byte": [8] * 5},
            r"'last_byte', row 1: 8; allowed: first_byte or more",
        ),
        ({"wf_kernel": [0] * 9, "wf_workgroup": [1] * 9}, r"'wavefront', row 1: 3; allowed: the"),
        ({"wf_kernel": [0], "wf_workgroup": [0]}, r"'wavefront', row 0: 7; allowed: the wf_ col"),
        (
            {
                "wf_kernel": [0] * 5 + [1] + [0] * 4,
                "wf_workgroup": [0] * 7 + [1, 1, 1],
                "wf_in_wg": [0] * 10,
            },
            r"'wf_in_wg', row 1: 0; allowed: unique in its workgroup",
        ),
    ],
)
def test_bad_columns(file: Path, changes: dict[str, Any], message: str) -> None:
    columns = {**NUMBERED, **changes}
    save(file, {name: values for name, values in columns.items() if values is not None})
    if not message:
        open_table(file)
        return
    with pytest.raises(UserError, match=message) as caught:
        open_table(file)
    assert str(caught.value).startswith(f"{file}: ")


def kernel(**keys: Any) -> dict[str, Any]:
    return {"kernels": [{"workgroup": [128, 1, 1], "num_workgroups": 9, **keys}] * 2}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([], r"small\.json: \[\]; allowed: an object"),
        ({"name": 3}, r"small\.json: name: 3; allowed: a text"),
        ({"warp_size": 48}, r"small\.json: warp_size: 48; allowed: 32, 64"),
        ({"kernels": {}}, r"small\.json: kernels: \{\}; allowed: a list of objects"),
        ({"kernels": [1]}, r"small\.json: kernels\[0\]: 1; allowed: an object"),
        (kernel(name=None), r"kernels\[0\]\.name: null; allowed: a text"),
        (kernel(workgroup=[64, 1]), r"kernels\[0\]\.workgroup: \[64, 1\]; allowed: three numbers"),
        (kernel(grid=[64, 1, 0]), r"kernels\[0\]\.grid: \[64, 1, 0\]; allowed: three numbers"),
        (kernel(vgprs=-1), r"kernels\[0\]\.vgprs: -1; allowed: 0 or more"),
        ({"kernels": kernel()["kernels"][:1]}, r"'kernel' goes up to 1, but .*json has 1 kernels"),
        (kernel(num_workgroups=1), r"'workgroup' goes up to 1 in kernel 0, which has 1 of them"),
        (
            kernel(workgroup=[64, 1, 1]),
            r"kernel 0 has 2 wavefronts, but .*json gives it 64 threads in .* warp_size = 64",
        ),
    ],
)
def test_bad_facts(file: Path, facts: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_table(save(file, SMALL, facts))


def test_damaged_files(file: Path) -> None:
    file.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(UserError, match=r"small\.npz: no \.npz file, or damaged"):
        open_table(file)
    with file.open("wb") as stream:
        np.save(stream, np.arange(3))
    with pytest.raises(UserError, match=r"small\.npz: no \.npz file, or damaged"):
        open_table(file)
    save(file, SMALL)
    data = bytearray(file.read_bytes())
    at = data.index(b"NUMPY") if b"NUMPY" in data else 60
    data[at : at + 20] = bytes(20)
    file.write_bytes(bytes(data))
    with pytest.raises(UserError, match=r"small\.npz: column '\w+': damaged"):
        open_table(file)
    save(file, SMALL).with_suffix(".json").write_text("{")
    with pytest.raises(UserError, match=r"small\.json: damaged"):
        open_table(file)

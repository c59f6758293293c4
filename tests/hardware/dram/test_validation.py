"""The validation command on a small folder of figures that can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.validate_dram import main

TIMING = {
    "nBL": 2,
    "nCL": 20,
    "nCWL": 5,
    "nRCDRD": 20,
    "nRCDWR": 17,
    "nRP": 20,
    "nRAS": 46,
    "nRC": 66,
    "nRTP": 2,
    "nWR": 20,
    "nWTR": 9,
    "nCCDS": 2,
    "nCCDL": 3,
    "nRRD": 9,
    "nFAW": 38,
    "n32AW": 299,
    "nPPD": 2,
    "nRFC": 147,
    "nREFI": 6338,
}
COUNT = 64
MAKESPAN = 21 + 3 * (COUNT - 1) + 22
"""One row: ACT 1, RD 21, then one every tCCD_L, and CL + BL to the end of the data."""


def _folder(path: Path, **run: Any) -> Path:
    np.savez(
        path / "gddr5_1ch_row.npz",
        address=np.arange(COUNT, dtype=np.uint32) * 64,
        is_write=np.zeros(COUNT, np.uint8),
    )
    # 32 are accepted in clock 0, one as the first leaves with its ACT, then one with each RD
    accepted = [0] * 32 + [1] + [21 + 3 * n for n in range(1, COUNT - 32)]
    latencies = [43 + 3 * n - accepted[n] for n in range(COUNT)]
    figures = {
        "simulator": "ramulator1",
        "dram": "gddr5",
        "config": "frfcfs_priorhit",
        "stream": "row",
        "load": "sat",
        "channels": 1,
        "n": COUNT,
        "n_reads": COUNT,
        "bw_frac_overall": COUNT * 2 / MAKESPAN,
        "read_lat_accept_mean": sum(latencies) / COUNT,
        **run,
    }
    micro = {"label": "closed", "arrival": 10, "address": 0, "is_write": 0, "finish": 53}
    data = {
        "configs": {"gddr5": {"timing_cycles": TIMING, "peak_request_interval_cycles": 2}},
        "runs": [figures],
        "micro": {"ramulator1_gddr5_micro_open": [{**micro, "accept": 10, "latency": 43}]},
    }
    (path / "reference.json").write_text(json.dumps(data))
    return path


def test_figures_of_one_row_are_met_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--reference", str(_folder(tmp_path)), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["passed"]
    (run,) = printed["runs"]
    assert run["bandwidth"] == pytest.approx(run["bandwidth_reference"], rel=1e-12)
    assert run["latency"] == pytest.approx(run["latency_reference"], rel=1e-12)


def test_figures_out_of_bounds_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _folder(tmp_path, bw_frac_overall=0.5)
    assert main(["--reference", str(folder)]) == 1
    assert "0 of 1 within bounds" in capsys.readouterr().out


def test_bad_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--reference", str(tmp_path / "none")]) == 2
    assert "none/reference.json: No such file" in capsys.readouterr().err
    (tmp_path / "reference.json").write_text("{")
    assert main(["--reference", str(tmp_path)]) == 2
    assert "damaged" in capsys.readouterr().err
    _folder(tmp_path)
    (tmp_path / "gddr5_1ch_row.npz").write_bytes(b"PK\x03\x04 no archive")
    assert main(["--reference", str(tmp_path)]) == 2
    assert "gddr5_1ch_row.npz: damaged" in capsys.readouterr().err
    (tmp_path / "gddr5_1ch_row.npz").unlink()
    assert main(["--reference", str(tmp_path)]) == 2
    assert "gddr5_1ch_row.npz: No such file" in capsys.readouterr().err

"""The validation command on a small trace whose counts can be worked out by hand."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from experiments.each_trace import Failure, each
from experiments.trace_comparison import emptied_caches
from experiments.trace_counts import LateWatch, measured_figures, read_trace
from experiments.trace_replay import Emptied, Replay, code_between, reverse_instructions
from experiments.validate_traces import main
from gpusim.hardware.cache.array import CacheArray
from gpusim.machine.load import load_model

LINES = 4
"""Lines that each of two wavefronts, on CUs 0 and 1, loads from a page and stores to another."""


def _table() -> dict[str, Any]:
    wavefront, inst, line = np.indices((2, 2, LINES)).reshape(3, -1)
    zero = np.zeros(len(line), dtype=np.int64)
    return {
        "kernel": zero,
        "workgroup": wavefront,
        "wavefront": wavefront,
        "cu": wavefront,
        "order": inst * LINES + line,
        "inst": inst,
        "inst_idx": 4 + 3 * inst,
        "vaddr": (16 + 16 * inst + wavefront) * 4096 + 64 * line,
        "is_write": inst == 1,
        "first_byte": zero,
        "last_byte": zero + 63,
        "used_bytes": zero + 64,
        "bytes": zero + 64,
        "wait_vm": np.where(inst == 1, 0, 255),
        "wait_lgkm": zero + 255,
        "barriers": zero,
        "issue_time": 1000 * inst + line,
        "pc": 64 * 4096 + 96 + 8 * inst,
        "s_kernel": [0],
        "s_workgroup": [0],
        "s_wavefront": [0],
        "s_cu": [0],
        "s_inst_idx": [1],
        "s_wait_vm": [255],
        "s_wait_lgkm": [255],
        "s_barriers": [0],
        "s_issue_time": [0],
        "s_vaddr": [80 * 4096],
        "s_bytes": [16],
        "wf_kernel": [0, 0],
        "wf_workgroup": [0, 1],
        "wf_in_wg": [0, 0],
        "wf_cu": [0, 1],
        "wf_insts": [9, 9],
        "page_vaddr": np.array([16, 17, 32, 33, 64, 80]) * 4096,
        "page_paddr": np.array([16, 17, 32, 33, 64, 80]) * 4096 + (1 << 32),
    }


def _counters() -> dict[str, dict[str, int]]:
    """With code on one line and a page of its own, and so the scalar load."""
    tlb = {"hit": 0, "miss": 1, "mshr-hit": 0}
    cache = {
        "read-hit": 0,
        "read-miss": 1,
        "read-mshr-hit": 0,
        "write-hit": 0,
        "write-miss": 0,
        "write-mshr-hit": 0,
    }
    moved = 2 * LINES
    return {
        "Driver": {"kernel_cycles_1GHz": 2000},
        "L1VTLB": {"hit": 0, "miss": 4, "mshr-hit": 2 * moved - 4},
        "L1STLB": tlb,
        "L1ITLB": tlb,
        "L2TLB": {**tlb, "miss": 4 + 2},
        "L1VCache": {**cache, "read-miss": moved, "write-miss": moved},
        "L1SCache": cache,
        "L1ICache": cache,
        "L2Cache": {**cache, "read-miss": moved + 2, "write-miss": moved},
        "DRAM": {"read_trans_count": moved + 2 + moved, "write_trans_count": moved + moved},
    }


def _folder(path: Path, **changes: dict[str, int]) -> Path:
    np.savez_compressed(path / "toy.npz", **_table())
    counters = _counters()
    for unit, values in changes.items():
        counters[unit] |= values
    (path / "toy.json").write_text(json.dumps({"mgpusim_counters": counters}))
    return path


def _run(folder: Path, capsys: pytest.CaptureFixture[str], code: int) -> dict[str, Any]:
    assert main(["--reference", str(folder), "--json", "-j", "1"]) == code
    printed = json.loads(capsys.readouterr().out)
    assert printed["passed"] == (code == 0)
    (trace,) = printed["traces"]
    return {row["name"]: row for row in trace["rows"]}


def test_counts_worked_out_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _run(_folder(tmp_path), capsys, 0)
    for name in (
        "L1 TLB hits",
        "L1 TLB misses",
        "L1 read hits",
        "L1 read misses",
        "L1 write hits",
        "L1 write misses",
        "L2 write hits",
        "L2 write misses",
    ):
        assert rows[name]["ours"] == rows[name]["reference"], name
        assert rows[name]["verdict"] == "ok"
    for name in (
        "L2 TLB misses",
        "page walks",
        "scalar TLB misses",
        "scalar misses",
        "instruction TLB misses",
        "scalar hits",
    ):
        assert (rows[name]["ours"], rows[name]["verdict"]) == (rows[name]["reference"], "ok"), name
    # The buffer of each wavefront holds four lines, of which MGPUSim's code, as made up, has one.
    code = rows["instruction misses"]
    assert (code["ours"], code["reference"], code["verdict"]) == (4, 1, "explained")
    told = {one["name"]: (one["low"], one["high"]) for one in code["differences"]}
    assert told == {"code ends within instruction buffers": (-3, 0)}
    told = {one["name"]: (one["low"], one["high"]) for one in rows["DRAM reads"]["differences"]}
    assert told == {
        "whole-line stores fetch nothing": (-2 * LINES, -2 * LINES),
        "copies to the host": (0, 6 * 64),
        "code that is not traced": (-3, 0),
    }
    assert rows["DRAM writes"]["ours"] == 0


@pytest.mark.parametrize(
    ("unit", "counter", "value", "name"),
    [
        ("L1VTLB", "miss", 6, "L1 TLB misses"),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in (
                ("DRAM", "read_trans_count", 500, "DRAM reads"),
                ("L2TLB", "miss", 8, "L2 TLB misses"),
                ("L1VCache", "read-hit", 2, "L1 read hits"),
                ("L2Cache", "write-miss", 11, "L2 write misses"),
                ("DRAM", "read_trans_count", 6, "DRAM reads"),
                ("DRAM", "write_trans_count", 12, "DRAM writes"),
            )
        ),
    ],
)
def test_what_nothing_explains_fails(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    unit: str,
    counter: str,
    value: int,
    name: str,
) -> None:
    rows = _run(_folder(tmp_path, **{unit: {counter: value}}), capsys, 1)
    assert rows[name]["verdict"] == "OUT"
    out = sum(row["verdict"] == "OUT" for row in rows.values())
    assert (out, len(rows)) == (1, 22) or name == "L2 TLB misses"


def test_a_table_counts_what_nothing_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _folder(tmp_path, DRAM={"read_trans_count": 500})
    assert main(["--reference", str(tmp_path), "-j", "1"]) == 1
    assert "OUT: 1 of 22" in capsys.readouterr().out


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--reference", str(tmp_path), "-j", "1"]) == 2
    assert "there is no NAME.npz" in capsys.readouterr().err


BAD: dict[str, tuple[dict[str, Any] | None, str | None, str]] = {
    "alone": (_table(), None, "alone.json: No such file"),
    "cut": (None, json.dumps({"mgpusim_counters": _counters()}), "cut.npz: damaged, or without"),
    "few": (
        _table(),
        '{"mgpusim_counters": {"Driver": {"kernel_cycles_1GHz": 1}}}',
        "few.json: mgpusim_counters.L1VTLB has no number",
    ),
    "no_frame": (
        {name: values for name, values in _table().items() if name != "page_paddr"},
        json.dumps({"mgpusim_counters": _counters()}),
        "without a column of MGPUSim's: KeyError: 'page_paddr",
    ),
    "text": (_table(), "{", "text.json: damaged"),
    "wrong": (
        {**_table(), "barriers": np.full(16, 999)},
        json.dumps({"mgpusim_counters": _counters()}),
        "wrong.npz: column 'barriers', row 0: 999; allowed: 0 to 255",
    ),
}
"""Of each the table (None: cut short), the text beside it, and what is said."""


@pytest.mark.long
def test_bad_traces_stop_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _folder(tmp_path)
    for name, (table, text, _) in BAD.items():
        np.savez_compressed(tmp_path / f"{name}.npz", **(table or _table()))
        if table is None:
            path = tmp_path / f"{name}.npz"
            path.write_bytes(path.read_bytes()[:500])
        if text is not None:
            (tmp_path / f"{name}.json").write_text(text)
    assert main(["--reference", str(tmp_path), "--json", "-j", "1"]) == 2
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert ([one["trace"] for one in told["traces"]], told["passed"]) == (["toy"], False)
    assert told["traces"][0]["passed"]
    assert [one["trace"] for one in told["failed"]] == list(BAD)
    for failure, (_, _, message) in zip(told["failed"], BAD.values(), strict=True):
        assert message in failure["message"]
        assert failure["message"] in captured.err


def _find(path: Path) -> str:
    """Work that ends its process, raises, or finds the name."""
    if path.name == "dies":
        os._exit(1)
    if path.name == "raises":
        raise ZeroDivisionError("of nothing")
    return path.name


def test_whatever_a_trace_does_stops_no_other() -> None:
    first, died, raised, *others = each(
        _find, [Path(name) for name in ("a", "dies", "raises", "b")], 2
    )
    assert (first, others) == ("a", ["b"])
    assert isinstance(died, Failure)
    assert died.message == "dies: its process died; was there enough memory?"
    assert isinstance(raised, Failure)
    assert re.match(r"raises: ZeroDivisionError: of nothing \(.*py:\d+\)", raised.message)


def test_replays_differ_where_machines_do() -> None:
    config = load_model("r9-nano").config
    table = {name: np.asarray(values, dtype=np.int64) for name, values in _table().items()}
    later = {
        name: np.concatenate((values, values + (name == "kernel")))
        for name, values in table.items()
        if not name.startswith(("s_", "wf_", "page_"))
    }
    twice = {**table, **later}
    kept = Replay(config, Emptied()).run(twice)
    emptied = Replay(config, Emptied({1}, {1})).run(twice)
    assert (kept.l1_read_misses, emptied.l1_read_misses) == (2 * LINES, 4 * LINES)
    assert (kept.l2_write_misses, emptied.l2_write_misses) == (2 * LINES, 4 * LINES)
    assert (kept.writebacks, kept.dirty) == (0, 2 * LINES)
    assert (emptied.writebacks, emptied.dirty) == (2 * LINES, 2 * LINES)
    assert kept.l1_tlb_misses == emptied.l1_tlb_misses == 4


@pytest.mark.long
def test_copies_of_the_host_empty_the_caches(tmp_path: Path) -> None:
    """Two launches that do the same; the host copied before the second if that was far away."""
    once = _table()
    rows = [name for name in once if not name.startswith(("s_", "wf_", "page_"))]
    again = {name: np.concatenate((once[name], once[name])) for name in rows}
    later = np.arange(32) >= 16
    again["kernel"] = later.astype(int)
    again["wavefront"] = again["wavefront"] + 2 * later
    waves = {name: np.tile(np.asarray(once[name]), 2) for name in once if name.startswith("wf_")}
    waves["wf_kernel"] = np.array([0, 0, 1, 1])
    np.savez_compressed(tmp_path / "toy.npz", **{**once, **again, **waves})
    told = {"mgpusim_counters": _counters(), "kernels": []}
    model = load_model("r9-nano")
    found = []
    for gap in (7000, 9000):
        told["kernels"] = [
            {"first_wg_dispatch_cycle": begin, "last_wavefront_end_cycle": begin + 100}
            for begin in (0, 100 + gap)
        ]
        (tmp_path / "toy.json").write_text(json.dumps(told))
        trace = read_trace(tmp_path / "toy.npz")
        found.append(measured_figures(trace, model, Emptied(trace.copied, trace.copied)))
    kept, emptied = found
    assert (kept.figures["L1 read misses"], kept.figures["L2 write misses"]) == (8, 8)
    assert (emptied.figures["L1 read misses"], emptied.figures["L2 write misses"]) == (16, 16)
    assert (kept.dropped, kept.dirty) == (0, 8)
    assert (emptied.dropped, emptied.dirty) == (8, 8)

    figures = {**emptied.figures, "L2 read misses": 8}
    assert emptied_caches(trace, model, figures) == Emptied({1}, {1})
    near = attrs.evolve(trace, copied=frozenset())
    assert emptied_caches(near, model, figures) == Emptied({1}, frozenset())
    assert emptied_caches(near, model, emptied.figures) == Emptied({1}, {1})
    assert emptied_caches(near, model, kept.figures) == Emptied()


def test_instructions_backward_and_code_between() -> None:
    table = {name: np.asarray(values, dtype=np.int64) for name, values in _table().items()}
    back = reverse_instructions(table)
    assert back["issue_time"].tolist() == 2 * [3, 2, 1, 0, 1003, 1002, 1001, 1000]
    # All accesses are on one line of code: for the group, or for each SM alone.
    assert (code_between(table, 4), code_between(table, 1)) == (1, 2)
    far = {**table, "pc": table["pc"] + 640 * (table["inst"] == 1)}
    assert code_between(far, 4) == 11
    loop = {**table, "pc": table["pc"] + 640 * (table["inst"] == 0)}
    assert code_between(loop, 4) == 2


def test_a_line_that_is_found_because_its_place_is_given_away_late() -> None:
    watch = LateWatch(CacheArray(2, 2))
    for line in (0, 1):
        assert watch.missing(line, 1)
        watch.fill(line, 1)
    assert watch.missing(2, 1), "line 0 would leave now"
    assert not watch.missing(0, 1)
    assert watch.late_hits == 1
    watch.fill(2, 1)
    assert not watch.missing(0, 1), "line 1 has left"
    assert watch.late_hits == 1
    watch.clear()
    assert watch.missing(0, 1)
    assert watch.late_hits == 1

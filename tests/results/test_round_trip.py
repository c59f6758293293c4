"""What is written is read back, from a file and from memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.counters import CounterRow
from gpusim.core.errors import UserError
from gpusim.files.columns import Column
from gpusim.files.hdf5 import CHUNK_ROWS
from gpusim.results import SCHEMA_VERSION, Result, RunData, digest, open_result
from gpusim.runs.writer import ResultWriter
from tests.examples import examples


@pytest.fixture(params=["file", "memory"])
def result(request: pytest.FixtureRequest, run: RunData, tmp_path: Path) -> Result:
    with ResultWriter(tmp_path / "run.h5" if request.param == "file" else None) as writer:
        return writer.finish(run)


def test_what_was_run(result: Result, run: RunData) -> None:
    assert result.provenance == run.provenance
    assert result.wall == run.wall
    assert result.config_toml == run.config_toml
    assert result.origins == run.origins
    assert result.digest == digest(run)
    assert result.schema == SCHEMA_VERSION


def test_summary_keeps_counts_whole(result: Result, run: RunData) -> None:
    assert result.summary == {value.name: value.value for value in run.summary}
    assert type(result.summary["instructions"]) is int
    assert type(result.summary["ipc"]) is float
    assert result.summary_units["ipc"] == "1/cycle"
    assert result.summary_descriptions["cycles"] == "length of the run"


def test_counters(result: Result, run: RunData) -> None:
    frame = result.counters
    assert list(frame.columns) == ["component", "instance", "app", "counter", "value", "unit"]
    assert len(frame) == len(run.counters)
    hits = frame[(frame.component == "tlb/L1") & (frame.counter == "hits")]
    assert hits.value.tolist() == [30, 1]
    tree = result.counter_tree()
    assert tree["tlb"]["L1"][1]["atax"]["misses"] == 9
    assert tree["dram"][0][""] == {"activations": 7}


def test_stalls(result: Result, run: RunData) -> None:
    sums = result.stall_sums
    assert sums.dims == ("sm", "app", "state")
    assert int(sums.sel(sm=1, app="atax", state="walk")) == 30
    assert np.array_equal(sums.values, run.state_sums)
    stalls = result.stalls.set_index("state")
    assert stalls.warp_cycles["tlb_L1"] == 10
    assert stalls.share.sum() == pytest.approx(1)
    assert stalls.share["issuing"] == pytest.approx(0.6)


def test_launches_and_applications(result: Result) -> None:
    assert result.launches.kernel.tolist() == ["atax_kernel1", "atax_kernel2"]
    assert result.launches.end.tolist() == [400, 1000]
    assert result.applications.sms.tolist() == [(0, 1)]
    assert result.applications.end.tolist() == [1000]


def test_json_is_plain_and_complete(result: Result) -> None:
    found = json.loads(json.dumps(result.to_json()))
    assert found["digest"] == result.digest
    assert found["summary"]["cycles"] == 1000
    assert found["counters"]["tlb"]["L1"]["1"]["atax"]["hits"] == 1
    assert found["stalls"]["atax"]["walk"] == 30
    assert found["provenance"]["variants"] == ["l1-tlb-256"]


def test_runs_in_memory_do_not_meet(run: RunData) -> None:
    other = evolve(run, config_toml="[sm]\ncount = 3\n")
    with ResultWriter() as first, ResultWriter() as second:
        one, two = first.finish(run), second.finish(other)
    assert (one.config_toml, two.config_toml) == (run.config_toml, other.config_toml)


def test_empty_run(run: RunData, tmp_path: Path) -> None:
    bare = evolve(run, origins={}, summary=(), counters=(), launches=(), by_launch=None)
    with ResultWriter(tmp_path / "bare.h5") as writer, writer.finish(bare) as result:
        assert result.summary == {}
        assert len(result.counters) == len(result.launches) == 0
        assert result.tables == {}


def test_no_warps_have_no_shares(run: RunData) -> None:
    with ResultWriter() as writer:
        result = writer.finish(evolve(run, state_sums=np.zeros_like(run.state_sums)))
    assert result.stalls.share.sum() == 0


def test_equal_runs_give_equal_bytes(run: RunData, tmp_path: Path) -> None:
    for name in ("a.h5", "b.h5"):
        with ResultWriter(tmp_path / name) as writer:
            table = writer.event_table("walks")
            for i in range(1000):
                table.append(0, i, 1, 0, i, i + 3, i + 9, 4)
            writer.finish(run).close()
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


COORDINATES = ("/stalls/sm", "/stalls/application", "/stalls/state")


def test_every_dataset_tells_unit_and_meaning(run: RunData, tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "run.h5") as writer:
        writer.event_table("tlb").append(0, 0, 0, 5, 1, 3)
        writer.finish(run).close()
    seen = []

    def look(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            if item.is_scale and item.name not in COORDINATES:
                return  # the name of an axis: nothing is stored
            seen.append(name)
            assert "long_name" in item.attrs
            mixed = item.name.endswith(("/value", "/of_launches", "/of_kernels"))
            # A unit in each row, or of each number, is a column of its own.
            assert ("units" in item.attrs) == (item.dtype.kind != "S" and not mixed)
            assert all(len(axis) == 1 for axis in item.dims) or item.is_scale
            assert item.compression == "gzip"
            assert item.shuffle
            assert item.fletcher32

    with h5py.File(tmp_path / "run.h5") as file:
        file.visititems(look)
    assert {"tables/tlb/hit", "stalls/warp_cycles", "counters/value", "wall/seconds"} <= set(seen)


def test_tables_grow_by_chunks_and_are_read_in_parts(run: RunData, tmp_path: Path) -> None:
    rows = 2 * CHUNK_ROWS + 17
    with ResultWriter(tmp_path / "run.h5") as writer:
        table = writer.event_table("intervals")
        for i in range(rows):
            table.append(3, i, 5, 0, i % 15, i, i + 7)
        assert table.rows_written == 2 * CHUNK_ROWS
        assert len(table) == rows
        result = writer.finish(run)
    assert result.tables == {"intervals": rows}
    part = result.table("intervals", CHUNK_ROWS - 2, CHUNK_ROWS + 2)
    assert part.index.tolist() == part.warp.tolist() == list(range(CHUNK_ROWS - 2, CHUNK_ROWS + 2))
    assert list(part.columns) == ["sm", "warp", "slot", "app", "state", "begin", "end"]
    assert result.table("intervals", start=-1).warp.tolist() == [rows - 1]
    ends = result.table("intervals", columns=["end"])
    assert ends.end.to_numpy().sum() == sum(range(7, rows + 7))


def test_columns_of_ones_own(run: RunData) -> None:
    with ResultWriter() as writer:
        columns = (Column("z", "i4", "m", "height"), Column("a", "u1", "1", "count"))
        writer.table("mine", columns, "My own.").append(-5, 200)
        frame = writer.finish(run).table("mine")
    assert list(frame.columns) == ["z", "a"]
    assert frame.iloc[0].tolist() == [-5, 200]


@pytest.mark.parametrize("value", [-1, 1 << 16])
def test_values_never_wrap_around(run: RunData, value: int) -> None:
    with ResultWriter() as writer:
        writer.event_table("walks").append(value, 0, 0, 0, 0, 0, 0, 0)
        with pytest.raises(OverflowError, match="asid"):
            writer.finish(run)


def test_unknown_tables_and_columns(run: RunData) -> None:
    with ResultWriter() as writer:
        writer.event_table("walks")
        result = writer.finish(run)
    with pytest.raises(UserError, match=r"no table 'walk'; did you mean 'walks'\?"):
        result.table("walk")
    with pytest.raises(UserError, match="no column of walks 'vpm'; did you mean 'vpn'"):
        result.table("walks", columns=["vpm"])


def test_launches_and_kernels_have_their_numbers(result: Result) -> None:
    launches = result.launches
    assert launches.work_begin.tolist() == [10, 410]
    assert launches.cycles.tolist() == [390, 590]
    assert launches.cycles.dtype == np.int64
    assert launches.l1_hit_rate.tolist() == [0.5, pytest.approx(math.nan, nan_ok=True)]
    assert result.kernels.to_dict("records")[0] == {
        "app": "atax",
        "kernel": "atax_kernel1",
        "launches": 1,
        "blocks": 4,
        "cycles": 390,
        "l1_hit_rate": 0.5,
    }
    assert result.launch_numbers["l1_hit_rate"] == ("fraction", "L1 cache hit rate")


def test_a_closed_result_says_so(run: RunData, tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "run.h5") as writer, writer.finish(run) as result:
        summary = result.summary
    assert result.summary == summary
    with pytest.raises(ValueError, match="is closed"):
        _ = result.counters


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=examples(120), deadline=None)
@given(
    names=st.lists(texts, max_size=5),
    value=st.integers(-(2**63), 2**63 - 1),
    number=st.floats(allow_nan=False),
)
def test_any_text_and_number_survives(
    make: Callable[..., RunData], names: list[str], value: int, number: float
) -> None:
    run = make(
        counters=[CounterRow(name, i, name, name, value, name, "") for i, name in enumerate(names)]
    )
    run = evolve(run, summary=[evolve(run.summary[0], value=number)])
    with ResultWriter() as writer, writer.finish(run) as result:
        frame = result.counters
        assert frame.component.tolist() == frame.app.tolist() == names
        assert frame.value.tolist() == [value] * len(names)
        found = result.summary["cycles"]
        assert found == number
        assert math.copysign(1, found) == math.copysign(1, number)


def test_a_path_may_be_relative(
    run: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ResultWriter("run.h5") as writer:
        writer.finish(run).close()
    assert open_result("run.h5").digest == digest(run)

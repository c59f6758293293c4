"""Many results at once: order, tables, choosing, and what is wrong with some of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import pandas as pd
import pytest
from attrs import evolve

from gpusim.core.errors import UserError
from gpusim.results import Result, RunData, open_results
from gpusim.runs.writer import ResultWriter

Make = Callable[..., RunData]


@pytest.fixture
def write(make: Make, tmp_path: Path) -> Callable[..., Path]:
    """Writes the small run into ``tmp_path/runs`` under a name, with another provenance."""

    def write(name: str, **provenance: object) -> Path:
        path = tmp_path / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        run = make()
        with ResultWriter(path) as writer:
            writer.finish(evolve(run, provenance=evolve(run.provenance, **provenance))).close()
        return path

    return write


@pytest.fixture
def folder(write: Callable[..., Path], tmp_path: Path) -> Path:
    write("b.h5", workload="bfs", seed=1)
    write("a.h5", variants=("star", "mask"), overrides=("sm.count=4", "l1.ways=2"))
    write("deeper/c.h5", workload="bfs", seed=2, variants=())
    return tmp_path / "runs"


def open_files() -> int:
    return h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)


def test_order_and_summary(folder: Path) -> None:
    results = open_results(folder)
    names = ["a.h5", "b.h5", "deeper/c.h5"]
    assert [path.relative_to(folder).as_posix() for path in results.paths] == names
    assert [Path(result.name) for result in results] == list(results.paths)
    assert repr(results) == "<3 results>"
    summary = results.summary
    assert summary.columns[:8].tolist() == [
        "model",
        "variants",
        "overrides",
        "workload",
        "scale",
        "seed",
        "file",
        "cycles",
    ]
    assert summary.index.name == "run"
    assert summary.variants.tolist() == ["star+mask", "l1-tlb-256", ""]
    assert summary.overrides.tolist() == ["sm.count=4, l1.ways=2", "", ""]
    assert summary.seed.tolist() == [7, 1, 2]
    assert summary.file.tolist() == [str(path) for path in results.paths]
    for i, result in enumerate(results):
        row = summary.loc[i, list(result.summary)]
        assert row.to_dict() == result.summary


def test_numbers_that_a_run_lacks_are_nan(folder: Path, make: Make) -> None:
    run = make()
    with ResultWriter(folder / "a2.h5") as writer:
        writer.finish(evolve(run, summary=run.summary[:3])).close()
    ipc = open_results(folder).summary.ipc
    assert ipc.isna().tolist() == [False, True, False, False]


def test_files_are_open_only_while_they_are_read(folder: Path) -> None:
    before = open_files()
    results = open_results(folder)
    assert open_files() == before
    kept = []
    for result in results:
        assert open_files() == before + 1
        kept.append(result)
    assert open_files() == before
    with pytest.raises(ValueError, match="is closed"):
        kept[0].table("walks")
    with results[1] as second:
        assert second.provenance.workload == "bfs"
    assert open_files() == before


def test_long_tables_name_the_run(folder: Path) -> None:
    results = open_results(folder)
    counters = results.counters
    with results[2] as third:
        expected = third.counters
    assert counters.columns.tolist() == ["run", *expected.columns]
    found = counters[counters.run == 2].drop(columns="run").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)
    assert counters.index.equals(pd.RangeIndex(3 * len(expected)))
    joined = results.stalls.join(results.summary[["workload", "seed"]], on="run")
    cycles = joined[joined.state == "walk"].groupby(["workload", "seed"]).warp_cycles.sum()
    assert cycles.to_dict() == {("atax", 7): 30, ("bfs", 1): 30, ("bfs", 2): 30}
    launches = results.collect(lambda result: result.launches)
    assert launches.groupby("run").end.max().tolist() == [1000, 1000, 1000]


def test_choosing(folder: Path) -> None:
    results = open_results(folder)
    assert results.where(workload="bfs").summary.seed.tolist() == [1, 2]
    assert results.where(workload="bfs", seed=2).paths == results.paths[2:]
    assert results.where(seed=range(1, 8), variants=["", "star+mask"]).summary.seed.tolist() == [
        7,
        2,
    ]
    assert results.where(lambda run: run.seed > 1 and run.cycles == 1000).paths == (
        results.paths[0],
        results.paths[2],
    )
    assert results[1:].paths == results.paths[1:]
    assert results[1:].where(seed=2).summary.index.tolist() == [0]


def test_choosing_nothing(folder: Path) -> None:
    none = open_results(folder).where(workload="mvt")
    assert len(none) == 0
    assert list(none) == []
    assert none.summary.columns.tolist()[:4] == ["model", "variants", "overrides", "workload"]
    assert none.summary.empty
    assert none.counters.empty
    assert none.where(seed=1).paths == ()


def test_a_column_that_no_run_has(folder: Path) -> None:
    with pytest.raises(UserError, match=r"no column 'workloads'; did you mean 'workload'\?"):
        open_results(folder).where(workloads="bfs")


def test_places(folder: Path) -> None:
    one, other = folder / "b.h5", folder / "deeper"
    assert open_results(one).paths == (one,)
    assert open_results([other, str(one), one]).paths == (one, other / "c.h5")
    (folder / ".a.h5.0123abcd.partial").write_bytes(b"half a run")
    assert len(open_results(folder)) == 3


def test_places_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot open .*nowhere: there is no such file or folder"):
        open_results(tmp_path / "nowhere", skip_bad=True)
    with pytest.raises(UserError, match=r"there is no result \(\*\.h5\) in the folder"):
        open_results(tmp_path)


def test_bad_files_are_an_error_or_skipped(folder: Path) -> None:
    good = (folder / "a.h5").read_bytes()
    (folder / "cut.h5").write_bytes(good[: len(good) // 2])
    (folder / "text.h5").write_text("no HDF5")
    with h5py.File(folder / "other.h5", "w") as file:
        file["data"] = [1, 2]
    (folder / "newer.h5").write_bytes(good)
    with h5py.File(folder / "newer.h5", "r+") as file:
        file.attrs["schema"] = 99
    with pytest.raises(UserError, match=r"cut\.h5 is damaged or cut short"):
        open_results(folder)
    results = open_results(folder, skip_bad=True)
    assert len(results) == 3
    reasons = {path.name: reason for path, reason in results.bad.items()}
    assert list(reasons) == ["cut.h5", "newer.h5", "other.h5", "text.h5"]
    assert "a newer gpusim wrote it" in reasons["newer.h5"]
    assert "some other HDF5 file" in reasons["other.h5"]
    assert "it is no HDF5 file" in reasons["text.h5"]
    assert repr(results) == "<3 results, 4 files skipped>"
    assert results.where(seed=1).bad == results.bad


def test_a_file_that_is_gone_when_it_is_read(folder: Path) -> None:
    results = open_results(folder)
    (folder / "b.h5").unlink()
    assert results.summary.seed.tolist() == [7, 1, 2]
    read: list[Result] = []
    with pytest.raises(UserError, match=r"b\.h5: there is no such file"):
        read.extend(results)

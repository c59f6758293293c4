"""What packs well, waits for ever, or stands where gpusim keeps its own small files."""

import lzma
import os
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

import gpusim
from experiments.fuzz.corpus import GOOD_TRACEG, corpus, tracez_of
from gpusim.cli.timeline import whole_cycles
from gpusim.core.errors import UserError
from gpusim.core.untrusted import MEMORY_VARIABLE, MOST_SMALL_BYTES, small_text
from gpusim.core.user_code import trusted_folders
from gpusim.files.hdf5 import read_column
from gpusim.results.export import export
from gpusim.runs.skipping import parse_skip
from gpusim.runs.stopping import parse_rule
from gpusim.studies.sweep.folder import RunFolder
from gpusim.studies.sweep.run_claims import Claims, held
from gpusim.traces.open_trace import open_trace
from tests.hardening.test_bounds import all_chunks
from tests.quick import quick
from tests.whole.running import command

LOAD = "0010 ffffffff 1 R6 LDG.E.128 1 R4 16 1 0x7f8000000000 16\n"
BARRIER = "0010 ffffffff 0 BAR.SYNC 0 0\n"


@pytest.mark.parametrize(
    ("line", "number"), quick([(LOAD, 55_000), (BARRIER, 185_000)], (BARRIER, 185_000))
)
def test_a_block_that_packs_well(tmp_path: Path, monkeypatch, line: str, number: int):
    """Its text, and what is read of it, are bounded: by 32 MiB where there is little memory."""
    monkeypatch.setenv(MEMORY_VARIABLE, "64MiB")
    head = GOOD_TRACEG.partition("#BEGIN_TB")[0].replace("(2,1,1)", "(1,1,1)")
    begin = f"#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = {number}\n"
    path = tmp_path / "k.traceg.xz"
    text = f"{head}{begin}{line * number}\n#END_TB\n"
    path.write_bytes(lzma.compress(text.encode(), preset=0))
    assert path.stat().st_size < 40_000
    with pytest.raises(UserError, match=r"k\.traceg\.xz:\d+: .*thread blocks takes more than 32 M"):
        all_chunks(path)
    if line == LOAD:
        path.with_suffix("").with_suffix(".tracez").write_bytes(tracez_of(text, 2048))
        with pytest.raises(UserError, match=r"k\.tracez:\d+: .*takes more than 32 MiB"):
            all_chunks(path.with_suffix("").with_suffix(".tracez"))


def test_texts_of_a_table_take_more_than_they_are_long(tmp_path: Path, monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "64MiB")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        values = np.full(2_000_000, b"ab", "S2")
        file.create_dataset("name", data=values, chunks=(1 << 16,), compression="gzip")
        with pytest.raises(UserError, match=r"x\.h5: '/name' would take about 113 MiB of memory"):
            read_column(file, "name")
        assert len(read_column(file, "name", 0, 100_000)) == 100_000


def test_a_text_that_is_stored_once_for_all_rows(tmp_path: Path):
    ((_, data),) = (one for one in corpus("table") if one[0].endswith("parquet"))
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    table = pd.read_parquet(path).assign(kernel="x" * 1000)
    table.to_parquet(path)
    with pytest.raises(UserError, match=r"column 'kernel': .*string; allowed: one integer a row"):
        open_trace(path).applications[0].start()


@pytest.mark.skipif(os.name != "posix", reason="pipes have names")
def test_pipes_where_small_files_should_be(tmp_path: Path, monkeypatch):
    """Opening a pipe waits until a process writes into it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (tmp_path / "settings" / "gpusim").mkdir(parents=True)
    os.mkfifo(tmp_path / "settings" / "gpusim" / "trusted.json")
    with pytest.raises(UserError, match=r"trusted\.json is damaged: it is no regular file"):
        trusted_folders()
    folder = RunFolder(tmp_path / "runs", create=True)
    for name in ("k.claim", "a-1-b.sweep", "k.stale"):
        os.mkfifo(folder.claims / name)
    assert held(folder.claims) == {"k"}, "by its age"
    with Claims(folder.claims) as claims:
        assert not claims.take("k")
    os.mkfifo(folder.path / "failures" / "k.json")
    with pytest.raises(UserError, match=r"k\.json is damaged \(it is no regular file\)"):
        folder.failed("k")
    (folder.path / "gpusim-runs.json").unlink()
    (folder.path / "gpusim-runs.json").symlink_to("/dev/zero")
    with pytest.raises(UserError, match=r"gpusim-runs\.json is damaged: it is no regular file"):
        RunFolder(folder.path)


def test_small_files_are_small(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"x" * MOST_SMALL_BYTES)
    assert len(small_text(path)) == MOST_SMALL_BYTES
    path.write_bytes(b"x" * (MOST_SMALL_BYTES + 1))
    with pytest.raises(ValueError, match="more than 1 MiB"):
        small_text(path)


@pytest.mark.parametrize("name", [".", "loop.h5", "gone.h5"])
@pytest.mark.parametrize("words", [("report",), ("explore",), ("export", "--to", "csv")])
def test_places_beside_what_is_no_file(tmp_path: Path, monkeypatch, words, name: str):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.h5").symlink_to("loop.h5")
    assert "cannot open" in command(*words, name, code=2).output


def test_an_export_replaces_no_result_and_names_no_other_folder(tmp_path: Path):
    ((_, data),) = corpus("result")
    path = tmp_path / "run.h5"
    path.write_bytes(data)
    with pytest.raises(UserError, match="would replace the result"):
        export(path, "json", tmp_path / "." / "run.h5")
    with h5py.File(path, "r+") as file:
        file.move("tables/walks", "tables/walks.x")
    with pytest.raises(UserError, match=r"run\.h5 .*'walks\.x' is no name of a table"):
        export(path, "csv", tmp_path / "out")


@pytest.mark.parametrize("count", ["9" * 30, "9" * 5000])
def test_counts_that_nothing_has(count: str):
    for parse, text in (
        (parse_rule, f"{count}cycles"),
        (parse_rule, f"ipc-stable(1 %, {count} windows)"),
        (parse_skip, f"{count}launches"),
        (whole_cycles, count),
    ):
        with pytest.raises(UserError):
            parse(text)


def test_columns_of_a_characterization_that_do_not_fit(tmp_path: Path):
    ((_, data),) = corpus("characterization")
    path = tmp_path / "reuse.h5"
    for name, values in (("value", [[1], [2]]), ("count", [1]), ("value", [1.5, 2.5])):
        path.write_bytes(data)
        with h5py.File(path, "r+") as file:
            del file[f"distributions/stride/{name}"]
            file[f"distributions/stride/{name}"] = values
        with pytest.raises(UserError, match=r"reuse\.h5 is not a readable characterization"):
            gpusim.read_characterization(path)

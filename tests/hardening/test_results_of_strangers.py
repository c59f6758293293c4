"""Result files whose structure is wrong, or that reach for other files."""

import io
import os
import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import h5py
import numpy as np
import pytest

import gpusim
from gpusim.cli.summary import print_summary
from gpusim.core.errors import UserError
from gpusim.results import compare, follow, slowest_requests
from gpusim.traces.recorder import record_trace
from gpusim.views.report import html_report
from tests.whole.running import command

RECORDS = ["intervals", "walks", "requests"]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "run.h5"
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": 32})
    gpusim.simulate(gpusim.load_model("tiny"), workload, record=RECORDS, output=path).close()
    return path.read_bytes()


def shorten(file: h5py.File, name: str) -> None:
    values = file[name][:-1]
    del file[name]
    file[name] = values


def outside(file: h5py.File, name: str) -> None:
    del file[name]
    file.create_dataset(name, (4,), "u1", external=[("/etc/hostname", 0, 4)])


def virtual(file: h5py.File, name: str) -> None:
    del file[name]
    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", (4,))
    file.create_virtual_dataset(name, layout)


def linked(file: h5py.File, name: str) -> None:
    del file[name]
    file[name] = h5py.ExternalLink("/tmp/other.h5", "/x")


def texts(file: h5py.File, name: str) -> None:
    del file[name]
    file.create_dataset(name, data=["a", "b"], dtype=h5py.string_dtype())


def huge(file: h5py.File, name: str) -> None:
    del file[name]
    file.create_dataset(name, (1 << 34,), "u4", chunks=(1 << 16,), compression="gzip")


def squared(file: h5py.File, name: str) -> None:
    values = file[name][:]
    del file[name]
    file[name] = np.stack([values, values], axis=1)


def removed(file: h5py.File, name: str) -> None:
    del file[name]


def changed(good: bytes, path: Path, change: Callable[[h5py.File, str], None], name: str) -> Path:
    stream = io.BytesIO(good)
    with h5py.File(stream, "r+") as file:
        change(file, name)
    path.write_bytes(stream.getvalue())
    return path


def all_views(path: Path) -> None:
    with gpusim.open_result(path) as result:
        result.to_json()
        compare(result, result)
        slowest_requests(result, 1)
        follow(result, 0)
        html_report(result)


@pytest.mark.parametrize("change", [outside, virtual, linked])
def test_no_other_file_is_read(good: bytes, tmp_path: Path, change) -> None:
    path = changed(good, tmp_path / "r.h5", change, "config/toml")
    with pytest.raises(UserError, match=r"lie in another file|link to another file"):
        gpusim.open_result(path)
    assert "refused" in command("report", str(path), code=2).output


@pytest.mark.parametrize("change", [shorten, texts, huge, squared, removed])
@pytest.mark.parametrize(
    "name", ["summary/value", "counters/counter", "tables/requests/begin", "applications/name"]
)
def test_columns_that_do_not_fit_are_told_as_damage(good: bytes, tmp_path: Path, change, name):
    path = changed(good, tmp_path / "r.h5", change, name)
    with pytest.raises(UserError, match=r"r\.h5 (is damaged|has no column)"):
        all_views(path)


@pytest.mark.parametrize("arguments", [("report",), ("follow",), ("timeline",), ("compare", "=")])
def test_commands_give_no_traceback(good: bytes, tmp_path: Path, arguments: tuple[str, ...]):
    needed = {"follow": "tables/requests/begin", "timeline": "tables/intervals/begin"}
    gone = needed.get(arguments[0], "applications/name")
    path = changed(good, tmp_path / "r.h5", removed, gone)
    name, *more = arguments
    outcome = command(name, str(path), *(str(path) for _ in more), code=2)
    assert "r.h5" in outcome.output.replace("\n", "")
    assert "Traceback" not in outcome.output


HOSTILE = "[/b]\x1b[31m[red]:smile:\u202e"


def hostile(file: h5py.File, name: str) -> None:
    length = len(file[name])
    del file[name]
    words = np.array([HOSTILE.encode()] * length, dtype=h5py.string_dtype("utf-8", 60))
    file[name] = words


def test_names_are_shown_not_obeyed(good: bytes, tmp_path: Path) -> None:
    for name in ("provenance/model", "applications/name", "provenance/workload"):
        path = changed(good, tmp_path / "r.h5", hostile, name)
        with gpusim.open_result(path) as result, redirect_stdout(io.StringIO()) as printed:
            print_summary(result)
        text = printed.getvalue()
        shown = name != "applications/name"  # a single application needs no column of its own
        assert ("[/b]␛[31m[red]:smile:" in text) == shown
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "␛" in command("compare", str(path), str(path)).output or name != "provenance/model"


def test_errors_show_what_a_terminal_would_obey() -> None:
    outcome = command("compare", "x\x1b[31m.h5", "y", code=2)
    assert "\x1b" not in outcome.output
    assert "x␛[31m.h5" in outcome.output


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_trace_whose_name_is_no_text_leaves_a_result_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"trace\xff.h5")
    record_trace(gpusim.load_workload("launches", "smoke"), path)
    with gpusim.simulate("tiny", gpusim.load_workload(str(path))) as result:
        applications = tomllib.loads(result.workload_toml)["applications"]
        assert applications[0]["trace"] == r"trace\udcff.h5"
        assert compare(result, result).same

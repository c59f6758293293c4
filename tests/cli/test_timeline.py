"""`gpusim timeline`, from outside."""

import json
import re

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import gpusim.views.perfetto
from gpusim.cli.main import app
from gpusim.results import open_result
from gpusim.results.quantity import percent
from gpusim.views.timelines import Selection, timeline, window_of


def gpusim_command(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One run that recorded all, one with intervals only, one without."""
    folder = tmp_path_factory.mktemp("runs")
    small = ["--scale", "smoke", "--set", "workload.n=512", "--set", "workload.iterations=2"]
    base = ["run", "tiny", "atax", *small]
    everything = "intervals,walks,requests,dram,tlb"
    for name, records in {"all": everything, "intervals": "intervals", "walks": "walks"}.items():
        gpusim_command(*base, "--record", records, "-o", folder / f"{name}.h5")
    return folder


def lines(text):
    """The lines of bins: cycle, warps, bar, states."""
    return re.findall(r"^ *([\d,]+) +([\d.]+)(?:  ([█▓▒░]*)  (.*))?$", text, re.MULTILINE)


def test_a_line_a_bin(runs):
    text = gpusim_command("timeline", runs / "all.h5").stdout
    assert text.startswith(
        "atax (smoke) on tiny + workload.n=512 + workload.iterations=2\ncycles 0 to "
    )
    with open_result(runs / "all.h5") as result:
        found = timeline(result, window_of(result, bins=20))
    shown = lines(text)
    assert len(shown) == found.sizes["cycle"] == 20
    for number, (cycle, warps, bar, states) in enumerate(shown):
        assert int(cycle.replace(",", "")) == found.cycle[number]
        assert float(warps) == pytest.approx(float(found.resident_warps[number]), abs=0.051)
        cycles = found.warp_cycles[number].to_series().sort_values(ascending=False, kind="stable")
        shares = cycles[cycles > 0] / cycles.sum()
        expected = [f"{state} {percent(share)}" for state, share in shares.iloc[:3].items()]
        if len(shares) > 3:
            expected.append(f"other {percent(shares.iloc[3:].sum())}")
        assert re.split(r" *[█▓▒░] ", states)[1:] == expected
        assert len(bar) == 20
        assert bar.count("█") == round(shares.iloc[0] * 20)


def test_a_bin_without_warps_has_no_bar(runs):
    with open_result(runs / "intervals.h5") as result:
        end = int(result.summary["cycles"])
        first = result.table("intervals").query("warp == 0")
    assert first.end.max() < end
    shown = lines(gpusim_command("timeline", runs / "intervals.h5", "--warp", 0).stdout)
    assert shown[-1][1:] == ("0.0", "", "")


@pytest.mark.parametrize("text", ["1000", "1_000", "1,000"])
def test_cycles_may_be_separated(runs, text):
    arguments = ["--from", text, "--to", "1,100", "--bin", "50", "--sm", 1]
    shown = gpusim_command("timeline", runs / "all.h5", *arguments).stdout
    assert "SM 1, cycles 1,000 to 1,100, in bins of 50" in shown
    assert [line[0] for line in lines(shown)] == ["1,000", "1,050"]


def test_json_is_the_dataset(runs):
    arguments = ["--json", "--sm", 1, "--from", 100, "--to", 905, "--bin", 10]
    text = gpusim_command("timeline", runs / "all.h5", *arguments).stdout
    found = xr.Dataset.from_dict(json.loads(text, parse_constant=pytest.fail))
    with open_result(runs / "all.h5") as result:
        expected = timeline(result, window_of(result, 100, 905, 10), Selection(sm=1))
    assert found.attrs == {"bin_cycles": 10, "begin": 100, "end": 905}
    assert list(found) == list(expected)
    for name, variable in expected.items():
        np.testing.assert_array_equal(found[name].astype(float), variable)
        assert found[name].attrs == variable.attrs


def test_json_has_none_where_there_is_no_number(runs):
    text = gpusim_command("timeline", runs / "all.h5", "--json").stdout
    found = json.loads(text, parse_constant=pytest.fail)
    rates = found["data_vars"]["tlb_hit_rate"]
    assert len(found["coords"]["cycle"]["data"]) == len(rates["data"]) > 350
    assert any(None in row for row in rates["data"])


def test_a_picture(runs, tmp_path):
    path = tmp_path / "a.png"
    result = gpusim_command("timeline", runs / "all.h5", "-o", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert result.stdout == f"written to {path}\n"
    assert result.stderr == ""


def test_what_else_could_be_recorded_is_told(runs, tmp_path):
    command = ["timeline", runs / "intervals.h5", "-o", tmp_path / "a.svg"]
    result = gpusim_command(*command)
    assert result.stderr == "gpusim: more would be shown with --record walks,dram,requests,tlb\n"
    assert "DRAM" not in (tmp_path / "a.svg").read_text()
    result = gpusim_command(*command, "--warps", "--to", 200)
    assert result.stderr == "gpusim: more would be shown with --record walks\n"


def test_warps(runs, tmp_path):
    path = tmp_path / "a.svg"
    arguments = ["--warps", "--sm", 1, "--from", "1_000", "--to", "1_200", "-o", path]
    gpusim_command("timeline", runs / "all.h5", *arguments)
    assert "warp on SM 1" in path.read_text()
    assert "page walk" in path.read_text()


def test_a_trace(runs, tmp_path):
    one, other = tmp_path / "a.pftrace", tmp_path / "b.pftrace"
    arguments = ["--sm", 1, "--from", 1000, "--to", 1200, "--perfetto", one]
    result = gpusim_command("timeline", runs / "all.h5", *arguments)
    assert result.stdout == f"written to {one}\n"
    with open_result(runs / "all.h5") as run:
        gpusim.views.perfetto.export(run, other, begin=1000, end=1200, sms=[1])
    assert one.read_bytes() == other.read_bytes()


def test_all_at_once(runs, tmp_path):
    files = tmp_path / "a.png", tmp_path / "a.pftrace"
    result = gpusim_command(
        "timeline", runs / "all.h5", "-o", files[0], "--perfetto", files[1], "--json", "--to", 500
    )
    assert json.loads(result.stdout)["attrs"]["end"] == 500
    assert all(path.stat().st_size for path in files)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.h5"], "cannot open none.h5: there is no such file"),
        (["walks.h5"], "walks.h5 has no 'intervals': run it with --record intervals"),
        (["walks.h5", "-o", "old.png"], "walks.h5 has no 'intervals'"),
        (["walks.h5", "--perfetto", "new.pftrace"], "walks.h5 has no 'intervals'"),
        (["all.h5", "-o", "new.pgn"], "cannot draw new.pgn: its name tells the format"),
        (["all.h5", "-o", "none/new.png"], "there is no folder none"),
        (["all.h5", "--perfetto", "none/new.pftrace"], "there is no folder none"),
        (["all.h5", "--sm", "2"], "has no SM 2; allowed: 0 to 1"),
        (["all.h5", "--warp", "999", "-o", "old.png"], "has no warp 999; allowed: 0 to 31"),
        (["all.h5", "--app", "atx"], "no application 'atx'; did you mean 'atax'"),
        (["all.h5", "--from", "1e3"], "'1e3' is no number of cycles: write it like 12000, 12_000"),
        (["all.h5", "--from", "1,00"], "'1,00' is no number of cycles"),
        (["all.h5", "--from", "-5"], "'-5' is no number of cycles"),
        (["all.h5", "--to", "10,000,000"], "a window from cycle 0 to cycle 10000000"),
        (["all.h5", "--from", "20", "--to", "20"], "a window from cycle 20 to cycle 20"),
        (["all.h5", "--bin", "0"], "bins of 0 cycles"),
        (["all.h5", "--warps"], "--warps draws every cycle into a picture: give -o, and no --bin"),
        (["all.h5", "--warps", "-o", "new.png", "--bin", "5"], "give -o, and no --bin"),
        (["all.h5", "--warp", "1", "--perfetto", "new.pftrace"], "leave out --warp and --app"),
    ],
)
def test_mistakes_are_one_message_and_nothing_is_written(arguments, words, runs, monkeypatch):
    monkeypatch.chdir(runs)
    (runs / "old.png").write_text("old")
    before = sorted(runs.iterdir())
    result = gpusim_command("timeline", *arguments, code=2)
    assert words in result.stderr
    assert result.stderr.startswith("gpusim: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(runs.iterdir()) == before
    assert (runs / "old.png").read_text() == "old"

"""`gpusim trace`, from outside."""

import json

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from tests.traces.writing import EXIT, block, header, write

LOAD = "0010 00000003 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4096 0"
IDLE = "0020 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 0"
LOCAL = "0030 00000001 0 STL 2 R2 R4 4 1 0xfffff0 0 0"
SHARED = "0040 ffffffff 0 STS 2 R2 R4 4 1 0x0 8 0"
BARRIER = "0050 ffffffff 0 BAR.SYNC 0 0 0"


def gpusim(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def kernel(tmp_path):
    warp = [LOAD, IDLE, LOCAL, SHARED, BARRIER, EXIT]
    text = header(block__dim="(64,1,1)") + block([warp, warp])
    return write(tmp_path / "k.traceg", text)


def test_record_then_run_gives_the_digest_of_the_workload(tmp_path):
    path = tmp_path / "atax.h5"
    settings = ("--scale", "smoke", "--seed", "3", "--set", "workload.n=128")
    assert str(path) in gpusim("trace", "record", "atax", "-o", path, *settings).stdout
    digests = [
        json.loads(gpusim("run", "tiny", *arguments, "--json").stdout)["digest"]
        for arguments in (("atax", *settings), (path,))
    ]
    assert digests[0] == digests[1]


def test_info_counts(kernel):
    counts = json.loads(gpusim("trace", "info", kernel, "--json").stdout)
    assert (counts["format"], counts["warp_size"]) == ("Accel-Sim traceg", 32)
    one = counts["applications"]["k"]
    assert one["kernels"] == {"toy": 1}
    assert (one["launches"], one["blocks"], one["warps"]) == (1, 1, 2)
    assert (one["warp_instructions"], one["compute_instructions"], one["barriers"]) == (12, 2, 2)
    assert one["memory_instructions"] == {"global": 4, "local": 2, "shared": 2}
    assert one["without_active_lane"] == {"global": 2, "local": 0, "shared": 0}
    assert one["global"] == {
        "loads": 2,
        "coherent_loads": 0,
        "stores": 0,
        "atomics": 0,
        "reduces": 0,
        "sectors": 4,
        "distinct_sectors": 2,
        "footprint_bytes": 64,
        "pages": {"4 KiB": 2, "64 KiB": 1, "2 MiB": 1},
    }
    assert (one["local"]["stores"], one["local"]["sectors"]) == (2, 2)


def test_info_as_tables(kernel):
    text = gpusim("trace", "info", kernel).stdout
    for part in ("warp instructions", "global: pages: 64 KiB", "toy", "Accel-Sim traceg"):
        assert part in text


def test_import_keeps_what_chunks_tell(tmp_path, kernel):
    path = tmp_path / "k.h5"
    gpusim("trace", "import", kernel, "-o", path)
    one, other = (
        json.loads(gpusim("trace", "info", file, "--json").stdout)["applications"]["k"]
        for file in (kernel, path)
    )
    for name in ("warp_instructions", "global", "local", "kernels", "blocks", "barriers"):
        assert one[name] == other[name], name


def test_import_for_a_machine(tmp_path, kernel):
    path = tmp_path / "k.h5"
    gpusim("trace", "import", kernel, "-o", path, "--model", "v100", "--set", "sm.count=4")
    one, other = (
        json.loads(gpusim("run", "v100", file, "--set", "sm.count=4", "--json").stdout)
        for file in (kernel, path)
    )
    assert other["digest"] == one["digest"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("record", "atax", "-o", "x.h5", "--variant", "gh200"), "--variant gh200: no --model is"),
        (("record", "atax", "-o", "x.h5", "--model", "v10"), "did you mean 'v100'"),
        (("record", "atax", "-o", "x.h5", "--set", "sm.count=2"), "--set sm.count: "),
        (("record", "atax", "-o", "x.h5", "--warp-size", "2048"), "warps of 2048 threads; allowed"),
        (("record", "atex", "-o", "x.h5"), "did you mean 'atax'"),
        (("info", "gone.traceg"), "cannot open gone.traceg"),
        (("import", "gone.traceg", "-o", "x.h5"), "cannot open gone.traceg"),
    ],
)
def test_wrong_input(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in gpusim("trace", *arguments, code=2).stderr
    assert not list(tmp_path.iterdir())

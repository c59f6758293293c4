"""`gpusim run`, from outside."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.core.engine.watchdog import DeadlockError
from gpusim.results.result import open_result
from gpusim.runs.conservation import ConservationError
from gpusim.runs.run import Run

# A parent may ignore SIGINT; the child shall not.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from gpusim.cli.main import main
main()
"""
SMALL = ("tiny", "atax", "--scale", "smoke", "--set", "workload.n=64")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["run", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_summary_and_file(tmp_path):
    path = tmp_path / "run.h5"
    text = run(*SMALL, "--record", "intervals,walks", "-o", str(path))
    with open_result(path) as result:
        assert result.digest in text.stdout
        assert f"{result.summary['cycles']:,}" in text.stdout
        assert {"intervals", "walks"} == set(result.tables)
    assert "warps' cycles went" in text.stdout
    assert str(path) in text.stdout.replace("\n", "")
    assert text.stderr == ""
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_one_object():
    first, second = (json.loads(run(*SMALL, "--json").stdout) for _ in range(2))
    assert set(first) >= {"summary", "counters", "digest"}
    assert len(first["digest"]) == 64
    assert first["digest"] == second["digest"]
    assert first["summary"]["cycles"] > 0


def test_settings_reach_model_and_variants_stack():
    def cycles(*arguments):
        result = run(*SMALL, "--json", *arguments)
        return json.loads(result.stdout)["summary"]["cycles"]

    base = cycles()
    assert cycles("--variant", "ideal-tlb", "--variant", "ideal-dram") < base
    assert cycles("--set", "tlb.L2.latency=100 cycles") > base


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tinny", "atax"], "did you mean 'tiny'"),
        (["tiny", "attax"], "did you mean 'atax'"),
        (["tiny", "atax", "--scale", "huge"], "quick"),
        (["tiny", "atax", "--record", "walk", "-o", "run.h5"], "did you mean 'walks'"),
        (["tiny", "atax", "--record", "walks"], "-o FILE.h5"),
        (["tiny", "atax", "-o", "nowhere/run.h5"], "nowhere"),
        (["tiny", "atax", "-o", "."], "cannot write"),
        (["tiny", "atax", "--set", "workload.nothing=1"], "nothing"),
        (["tiny", "atax", "--set", "sm.cout=1"], "did you mean 'count'"),
    ],
)
def test_mistakes_are_a_message_and_exit_code_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "--scale" not in arguments:
        arguments = [*arguments, "--scale", "smoke"]
    result = run(*arguments, code=2)
    assert words in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [DeadlockError, ConservationError])
def test_errors_of_the_simulator_exit_with_3(error, monkeypatch):
    def fail(*_, **__):
        raise error("who waits for whom")

    monkeypatch.setattr(Run, "execute", fail)
    result = run("tiny", "atax", "--scale", "smoke", code=3)
    assert result.stderr == "gpusim: who waits for whom\n"


def test_a_standstill_is_reported_with_exit_code_3(tmp_path):
    path = tmp_path / "run.h5"
    arguments = ["--scale", "smoke", "-o", str(path), "--set", "watchdog=1 cycles"]
    result = run("tiny", "atax", *arguments, code=3)
    assert "nothing moved in 1 cycles" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_ctrl_c_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-c", PROGRAM, "run", "kepler-uvm", "atax", "--scale", "paper"]
    with subprocess.Popen(
        [*command, "-o", str(tmp_path / "run.h5")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            while not any(tmp_path.iterdir()):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"interrupted" in errors
    assert b"Traceback" not in errors
    assert list(tmp_path.iterdir()) == []

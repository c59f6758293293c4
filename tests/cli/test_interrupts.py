"""Ctrl-C at the very moment when a large package is being imported, late in a command."""

import os
import re
import signal
import subprocess
import sys
import time
from itertools import product

import pandas as pd
import pytest

import gpusim
from tests import ROOT
from tests.quick import quick

# The real one follows, unless the import is broken off; then it cannot be imported once more.
WHILE_IMPORTED = """
import signal
import sys
from pathlib import Path

if hasattr(sys, "pandas_is_half_imported"):
    raise AttributeError("partially initialized module 'pandas'")
sys.pandas_is_half_imported = True
signal.raise_signal(signal.SIGINT)
sys.path.remove(str(Path(__file__).parents[1]))
del sys.modules["pandas"]
import pandas
"""

# As a module in C does it that is half-way through an import of its own.
MADE_AN_ERROR = """
import signal

try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt as error:
    raise ImportError("pandas failed to import") from error
"""

SWEEP = """
models = ["tiny"]
workloads = ["nw"]
scale = "smoke"
[set]
"workload.n" = [32, 48]
"""


# Loky's tracker warns of semaphores of a worker that was killed as it began, now and then.
TRACKER = re.compile(r"^.*UserWarning: resource_tracker: .*\n  warnings\.warn\(.*\n", re.MULTILINE)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs ``gpusim …``, which finds this text for pandas; its last line on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(pandas, *arguments):
        package = tmp_path / "site" / "pandas"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(pandas)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT)]),
        }
        done = subprocess.run(
            [sys.executable, "-m", "gpusim", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == 130, done.stderr
        assert "Traceback" not in done.stderr
        return TRACKER.sub("", done.stderr)

    return run


@pytest.mark.long
def test_a_sweep_keeps_its_table(command, tmp_path):
    (tmp_path / "study.toml").write_text(SWEEP)
    errors = command(WHILE_IMPORTED, "sweep", "study.toml", "-o", "runs", "-j", "1")
    assert errors == "gpusim: interrupted; 0 of 2 runs are finished; the same command goes on\n"
    assert pd.read_parquet(tmp_path / "runs" / "study.parquet")["state"].tolist() == ["missing"] * 2
    assert list((tmp_path / "runs" / "claims").iterdir()) == []


RUN, REPORT = "run tiny nw --scale smoke --seeds 2", "report run.h5"
OTHERS = ("compare run.h5 run.h5", "reproduce orch.table2 --scale smoke")


@pytest.mark.parametrize(
    ("pandas", "arguments"),
    quick(
        product((WHILE_IMPORTED, MADE_AN_ERROR), (RUN, REPORT, *OTHERS)), (MADE_AN_ERROR, REPORT)
    ),
)
def test_other_commands_end_as_ever(command, tmp_path, arguments, pandas):
    if "run.h5" in arguments:
        model, workload = gpusim.load_model("tiny"), gpusim.load_workload("nw", "smoke")
        gpusim.simulate(model, workload, output=tmp_path / "run.h5")
    assert command(pandas, *arguments.split()) == "gpusim: interrupted; nothing was written\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_end_that_the_system_asks_for_leaves_nothing(tmp_path):
    """SIGTERM, sent as soon as there is something that could be left behind."""
    words = ["run", "kepler-uvm", "atax", "--scale", "quick", "-o", "run.h5"]
    running = subprocess.Popen(
        [sys.executable, "-m", "gpusim", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    while running.poll() is None and not list(tmp_path.iterdir()):
        time.sleep(0.01)
    running.terminate()
    _, errors = running.communicate()
    assert running.returncode == 128 + signal.SIGTERM
    assert errors.endswith("gpusim: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="no folder goes while a process is in it")
@pytest.mark.long
def test_a_current_folder_that_is_gone_is_named(tmp_path):
    here = tmp_path / "gone"
    here.mkdir()
    line = f'rmdir ../gone; "{sys.executable}" -m gpusim run tiny launches -o run.h5'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", line], cwd=here, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "gpusim: the current folder is gone: change into one that is there\n"


def test_before_the_commands_are_imported(tmp_path):
    package = tmp_path / "typer"
    package.mkdir()
    (package / "__init__.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "gpusim", "list", "models"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "gpusim: interrupted; nothing was written\n")

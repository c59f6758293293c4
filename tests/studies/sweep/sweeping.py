"""Sweeps as processes of their own, and what must hold in their folder."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import psutil
import tomli_w

from gpusim.studies.sweep.results import open_sweep
from gpusim.studies.sweep.spec import Sweep, to_plain
from tests import ROOT
from tests.studies.sweep.faulty import GATE, Gate

PATIENCE_SECONDS = 60.0

GATED = "tests.studies.sweep.faulty:Gated"
HOLDS_ITS_RESULT = "tests.studies.sweep.faulty:HoldsItsResult"


SEEDS = range(6)


def small_sweep(*arrays: str, seeds: Sequence[int] = SEEDS, name: str = "study") -> Sweep:
    """A sweep of runs that take a moment, with some policies."""
    return Sweep(
        name=name,
        models="tiny",
        workloads="nw",
        scale="smoke",
        seeds=seeds,
        set={"tlb.L2.array": arrays or GATED},
    )


def one_run(array: str) -> Sweep:
    """A sweep of a single run, which takes no time, with a policy."""
    return Sweep(
        name="study",
        models="tiny",
        workloads="atax",
        scale="smoke",
        seeds=[0],
        set={"tlb.L2.array": array, "workload.n": 32},
    )


def write_spec(folder: Path, sweep: Sweep) -> str:
    """The sweep as a file."""
    path = folder / f"{sweep.name}.toml"
    path.write_text(tomli_w.dumps(to_plain(sweep)))
    return str(path)


def environment(gate: Gate) -> dict[str, str]:
    return {**os.environ, GATE: str(gate.folder), "PYTHONPATH": str(ROOT)}


@contextmanager
def started(
    *command: str, gate: Gate, program: Sequence[str] = ("-m", "gpusim", "sweep", "--allow-code")
) -> Iterator[subprocess.Popen[str]]:
    """`gpusim sweep …` in a session of its own; nothing of it is left in the end."""
    process = subprocess.Popen(
        [sys.executable, *program, *command],
        cwd=ROOT,
        env=environment(gate),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        children = workers_of(process.pid)
        process.kill()
        for child in children:
            if child.is_running():
                child.kill()
        process.communicate()


def finish(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """Wait for the end; what it printed, but for lines of progress, which come with time."""
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    errors = re.sub(r"^\d+/\d+ runs \(.*\n", "", errors, flags=re.MULTILINE)
    assert process.returncode == code, errors
    assert "Traceback" not in errors, errors
    return output, errors


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until something holds; a process must not end before."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"ended with {process.returncode}: {process.communicate()}")
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.05)


def workers_of(process: int) -> list[psutil.Process]:
    """The processes in which a sweep's runs are."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(process).children(recursive=True)
        return [child for child in children if "loky.backend.popen" in " ".join(child.cmdline())]
    return []


def unfinished(folder: Path) -> list[Path]:
    """Results that do not have their names yet."""
    return list((folder / "runs").glob(".*.partial"))


def running(folder: Path) -> int:
    """How many runs are under way in processes."""
    return len(list((folder / "claims").glob("*.trace")))


def journal(folder: Path, name: str = "study") -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keys(records: list[dict[str, Any]], event: str) -> Counter[str]:
    """How often something happened to each run."""
    return Counter(record["run"] for record in records if record["event"] == event)


def all_done(folder: Path, runs: int, name: str = "study") -> pd.DataFrame:
    """The table of a sweep that is finished, all of its runs done; its folder is tidy."""
    table = open_sweep(folder, name).table
    assert len(table) == table["key"].nunique() == runs
    assert set(table["state"]) == {"done"}
    assert {path.stem for path in (folder / "runs").glob("*.h5")} >= set(table["key"])
    assert_tidy(folder)
    return table


def assert_done_once(table: pd.DataFrame, records: list[dict[str, Any]]) -> None:
    """Each run of a sweep was done once, as journals tell."""
    done = keys(records, "done")
    assert set(done) >= set(table["key"])
    assert set(done.values()) == {1}


def remains(folder: Path) -> list[Path]:
    """What is left of runs and sweeps that are not any more."""
    unfinished = [path for path in (folder / "runs").iterdir() if path.suffix != ".h5"]
    return [*(folder / "claims").iterdir(), *unfinished]


def assert_tidy(folder: Path) -> None:
    """Nothing is left of runs and sweeps that are not any more."""
    assert remains(folder) == []


def wait_until_tidy(folder: Path) -> None:
    """The same, on a cluster: runs outlive their sweep for some seconds, and tidy up then."""
    wait_for(lambda: not remains(folder))


def assert_same_runs(one: Path, other: Path) -> None:
    """Two folders have the same runs, bit for bit, but for the time they took."""
    names = sorted(path.name for path in (one / "runs").iterdir())
    assert names == sorted(path.name for path in (other / "runs").iterdir())
    for name in names:
        assert content(one / "runs" / name) == content(other / "runs" / name)


_REFERENCES = ("DIMENSION_LIST", "REFERENCE_LIST")
"""Attributes that point to other places of the same file."""


def content(path: Path) -> dict[str, object]:
    """Everything that is in a result, by its place in the file, but for the group `wall`."""
    found: dict[str, object] = {}

    def look(name: str, thing: h5py.Group | h5py.Dataset) -> None:
        if name.partition("/")[0] == "wall":
            return
        attributes = {
            key: _bits(value) for key, value in thing.attrs.items() if key not in _REFERENCES
        }
        data = _bits(thing[()]) if isinstance(thing, h5py.Dataset) else None
        found[name] = (type(thing).__name__, attributes, data)

    with h5py.File(path) as file:
        look("/", file)
        file.visititems(look)
        assert "wall/seconds" in file
    return found


def _bits(value: object) -> object:
    array = np.asarray(value)
    bits = array.tolist() if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, bits


def interrupt(process: subprocess.Popen[str]) -> None:
    """What a terminal does at Ctrl-C: to the sweep and all its workers."""
    os.killpg(process.pid, signal.SIGINT)


SCRIPT = """
import sys
from attrs import evolve
import gpusim
from gpusim.core.registry import Slot, policy
from gpusim.hardware.tlb import SetAssociativeArray

@policy(Slot.TLB_ARRAY, "half")
class Half(SetAssociativeArray):
    def __init__(self, config):
        super().__init__(evolve(config, entries=config.entries // 2))

sweep = gpusim.Sweep(
    name="study", models="tiny", workloads="nw", scale="smoke",
    set={"tlb.L1.array": ["set-associative", "half"]},
)
where = {"dask": sys.argv[2]} if len(sys.argv) > 2 else {"jobs": 2}
results = gpusim.run_sweep(sweep, sys.argv[1], **where)
print(*results.table["cycles"])
"""
"""A study with a policy of its own: ``study.py FOLDER [SCHEDULER]``."""

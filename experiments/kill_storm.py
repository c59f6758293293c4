"""A sweep whose processes are ended again and again, and what must be there all the same.

The ends are spread over the runs: in each of as many equal parts there is one, at a random time, of
a random one of the sweep and its workers, by SIGKILL, SIGTERM or, of the sweep, Ctrl-C; a sweep
that is gone is started anew.  In the end each run must be there once, with the digest that it has
undisturbed, nothing may be left behind, and no sweep may have printed a traceback.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import psutil
from attrs import frozen

import gpusim
from experiments.counts import any_number, positive
from gpusim.files.whole_files import PARTIAL
from gpusim.studies.sweep.folder import RunFolder

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_DELAY = 0.3
"""Seconds from the end of a run to a kill, at most: it may hit any part of the next one."""

_EARLY = 0.2
"""Share of the sweeps that are killed before they have begun."""

_PATIENCE = 600.0
_SIZE = 64


@frozen
class Storm:
    """What came of it.

    Attributes:
        runs: that the sweep has.
        kills: by victim, ``"sweep"`` or ``"worker"``, and signal.
        starts: of the sweep.
        problems: what is wrong, a sentence each.
    """

    runs: int
    kills: Counter[tuple[str, str]]
    starts: int
    problems: tuple[str, ...]


def storm(runs: int, kills: int, folder: Path, seed: int = 0, jobs: int = 2) -> Storm:
    """Run a sweep of tiny runs, kill it so often, let it end, and look.

    Args:
        runs: of the sweep.
        kills: of its processes.
        folder: for all of it; empty.
        seed: of times and victims.
        jobs: workers.
    """
    random = Random(seed)  # noqa: S311  (nothing is secret)
    spec, place, said = folder / "storm.toml", folder / "runs", folder / "said.txt"
    spec.write_text(_sweep(runs), encoding="utf-8")
    done: Counter[tuple[str, str]] = Counter()
    starts = 0
    process: subprocess.Popen[bytes] | None = None
    while done.total() < kills:
        early = False
        if process is None or process.poll() is not None:
            if _whole(place) >= runs:
                break
            process, starts = _start(spec, place, jobs, said), starts + 1
            early = random.random() < _EARLY
        if not early:
            due = int((done.total() + random.random()) * runs / kills)
            _wait_until(partial(_has, place, max(due, _whole(place) + 1)), process)
        time.sleep(random.uniform(0, _DELAY))
        if (victim := _end(random, process)) is not None:
            done[victim] += 1
            if victim[0] == "sweep":
                process.wait(_PATIENCE)
    if process is not None and process.poll() is None:
        process.wait(_PATIENCE)
    last = _start(spec, place, jobs, said)
    last.wait(_PATIENCE)
    problems = list(_problems(place, runs))
    text = said.read_text(encoding="utf-8")
    if last.returncode or "Traceback" in text:
        problems.append(f"the last sweep ended with {last.returncode}; printed: {text[-2000:]}")
    return Storm(runs, done, starts + 1, tuple(problems))


def _sweep(runs: int) -> str:
    seeds = ", ".join(map(str, range(runs)))
    return (
        'models = ["tiny"]\nworkloads = ["atax"]\nscale = "smoke"\n'
        f'seeds = [{seeds}]\n[set]\n"workload.n" = [{_SIZE}]\n'
    )


def _start(spec: Path, place: Path, jobs: int, said: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gpusim", "sweep", str(spec), "-o", str(place)]
    with said.open("ab") as errors:
        return subprocess.Popen(  # noqa: S603  (our own program)
            [*command, "-j", str(jobs)], stdout=subprocess.DEVNULL, stderr=errors
        )


def _wait_until(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until something is there or the process has ended."""
    end = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < end and not there():
        time.sleep(0.05)


_OF_SWEEPS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_OF_WORKERS = (signal.SIGKILL, signal.SIGTERM)
"""Workers end with their sweep, not by Ctrl-C."""

_TRACKER = "resource_tracker"
"""A process of loky's beside the workers; one that is ended makes the next one complain."""


def _end(random: Random, process: subprocess.Popen[bytes]) -> tuple[str, str] | None:
    """End the sweep, or a worker of it; which and how, None if it has just ended by itself."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [one for one in children if _TRACKER not in " ".join(one.cmdline())]
        victim = random.choice([None, *workers])
        number = random.choice(_OF_SWEEPS if victim is None else _OF_WORKERS)
        (victim or psutil.Process(process.pid)).send_signal(number)
    except psutil.NoSuchProcess:
        return None
    return "sweep" if victim is None else "worker", number.name


def _has(place: Path, runs: int) -> bool:
    return _whole(place) >= runs


def _whole(place: Path) -> int:
    return len(list((place / "runs").glob("*.h5")))


def _problems(place: Path, runs: int) -> list[str]:
    """What is not as it has to be in the folder."""
    found = []
    table = RunFolder(place).table("storm")
    if len(table) != runs or set(table["state"]) != {"done"} or _whole(place) != runs:
        states = table["state"].value_counts().to_dict()
        found.append(f"{len(table)} points ({states}), {_whole(place)} results; must be {runs}")
    failed = filter(None, map(RunFolder(place).failed, table["key"]))
    found += [f"{one.label} failed: {one.failure.message}" for one in failed]
    left = [*place.rglob(PARTIAL), *(place / "claims").iterdir(), *(place / "failures").iterdir()]
    found += [f"left behind: {path.name}" for path in left]
    for row in table.sample(min(len(table), _CHECKED), random_state=0).to_dict("records"):
        digest = _undisturbed(int(row["seed"]))
        if row["digest"] != digest:
            found.append(f"seed {row['seed']}: digest {row['digest']}, undisturbed {digest}")
    lines = (place / "storm.jsonl").read_text(encoding="utf-8").splitlines()
    whole = [one for one in map(_record, lines) if one is not None and one["event"] == "done"]
    keys = [one["run"] for one in whole]
    if len(set(keys)) != len(keys):
        found.append(f"{len(keys) - len(set(keys))} runs were reported twice")
    return found


_CHECKED = 20


def _record(line: str) -> dict[str, str] | None:
    """A record; None for a line that a death cut short."""
    try:
        found: dict[str, str] = json.loads(line)
    except ValueError:
        return None
    return found


def _undisturbed(seed: int) -> str:
    workload = gpusim.load_workload("atax", "smoke", seed, {"n": _SIZE})
    with gpusim.simulate(gpusim.load_model("tiny"), workload) as result:
        return result.digest


def main() -> int:
    """Run, report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=positive, default=1000)
    parser.add_argument("--kills", type=any_number, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=positive, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = storm(options.runs, options.kills, Path(folder), options.seed, options.jobs)
    print(f"{found.runs} runs, {found.starts} starts of the sweep")
    for (victim, name), count in sorted(found.kills.items()):
        print(f"{victim}s ended by {name}: {count}")
    print("\n".join(found.problems) or "each run is there once, and nothing is left behind")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())

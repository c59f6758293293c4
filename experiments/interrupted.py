"""Commands that are ended at random times: what they leave is whole, or not there.

Each case starts a command that writes a file (a run, a recorded trace, a checkpoint, a sweep), and
ends it at a random time by Ctrl-C, SIGTERM or SIGKILL.  Its result must be absent or open, with the
digest that it has undisturbed; nothing else may be left, but by SIGKILL a file that names itself
partial; and whatever it prints is no traceback.  A sweep that is started again must have all runs.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import psutil
from attrs import frozen

from experiments.counts import positive
from gpusim.core.errors import UserError
from gpusim.files.whole_files import PARTIAL
from gpusim.results import open_result
from gpusim.studies.sweep.folder import RunFolder
from gpusim.traces.open_trace import open_trace

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_BEYOND = 1.1
"""Times a command's own seconds up to which a signal comes: it may hit any part of it."""

_WORK = ("tiny", "atax", "--scale", "smoke", "--set", "workload.n=64")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_PATIENCE = 600.0
_SWEEP = """\
models = ["tiny"]
workloads = ["atax"]
scale = "smoke"
seeds = [0, 1, 2]
[set]
"workload.n" = [32]
"""


@frozen
class Kind:
    """A command that writes something.

    Attributes:
        name: for the table.
        arguments: of gpusim; ``{}`` is the file or folder that it writes.
        output: its name.
        facts: what a whole one tells, the same each time; raises `UserError` if it is not whole.
    """

    name: str
    arguments: tuple[str, ...]
    output: str
    facts: Callable[[Path], object]


def _digest(path: Path) -> object:
    with open_result(path) as result:
        return result.digest, len(result.counters)


def _blocks(path: Path) -> object:
    return [sum(1 for _ in one.start().launches()) for one in open_trace(path).applications]


def _size(path: Path) -> object:
    import h5py

    with h5py.File(path) as file:
        return sorted(file)


def _runs(path: Path) -> object:
    """The digests of runs that are there: each is one of an undisturbed sweep."""
    found = {}
    for one in sorted((path / "runs").glob("*.h5")):
        with open_result(one) as result:
            found[result.provenance.seed] = result.digest
    return found


KINDS = (
    Kind("run", ("run", *_WORK, "--quiet", "-o", "{}"), "run.h5", _digest),
    Kind(
        "run with records",
        ("run", *_WORK, "--quiet", "--record", "intervals,walks", "-o", "{}"),
        "run.h5",
        _digest,
    ),
    Kind("trace", ("trace", "record", *_WORK[1:], "-o", "{}"), "trace.h5", _blocks),
    Kind("checkpoint", ("checkpoint", *_WORK, "--skip", "1launches", "-o", "{}"), "c.h5", _size),
    Kind("sweep", ("sweep", "sweep.toml", "-j", "1", "-o", "{}"), "runs", _runs),
)


def interrupt(
    kind: Kind, random: Random, folder: Path, expected: object, seconds: float
) -> tuple[str, list[str]]:
    """Start a command, end it, and look.

    Args:
        kind: of command.
        random: of the time and the signal.
        folder: to work in; empty.
        expected: what an undisturbed command leaves.
        seconds: within which the signal comes.

    Returns:
        how it ended, and what is wrong, a sentence each.
    """
    process = _start(kind, folder)
    number = random.choice(_SIGNALS)
    time.sleep(random.uniform(0, seconds))
    workers = _children(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=_PATIENCE)
    psutil.wait_procs(workers, timeout=_PATIENCE)  # workers end with their parent
    problems = []
    if "Traceback" in errors or "Exception ignored" in errors:
        problems.append(f"it printed a traceback: {errors[-500:]}")
    if process.returncode not in (0, 128 + number, -number):
        problems.append(f"after {number.name} it ended with {process.returncode}: {errors[-300:]}")
    problems += _left(kind, folder, expected, killed=number is signal.SIGKILL)
    if kind.name == "sweep":
        problems += _ended(kind, folder, expected)
    end = "ended before" if process.returncode == 0 else number.name
    return end, problems


def _start(kind: Kind, folder: Path) -> subprocess.Popen[str]:
    (folder / "sweep.toml").write_text(_SWEEP, encoding="utf-8")
    arguments = [one.format(folder / kind.output) for one in kind.arguments]
    return subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-P", "-c", "from gpusim.cli.start import main; main()", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _children(pid: int) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def _left(kind: Kind, folder: Path, expected: object, *, killed: bool) -> list[str]:
    """What is wrong with the files that a command has left."""
    output, problems = folder / kind.output, []
    partial = sorted(folder.rglob(PARTIAL))
    if partial and not killed:
        problems.append(f"left behind: {', '.join(path.name for path in partial)}")
    others = {path.name for path in folder.iterdir()} - {"sweep.toml", kind.output}
    others -= {path.name for path in partial}
    if others:
        problems.append(f"left behind: {', '.join(sorted(others))}")
    if output.exists():
        try:
            found = kind.facts(output)
        except UserError as error:
            return [*problems, f"what it left is not whole: {error}"]
        if isinstance(found, dict) and isinstance(expected, dict):
            found = {**expected, **found}
        if found != expected:
            problems.append(f"what it left is {found}, undisturbed it is {expected}")
    return problems


def _ended(kind: Kind, folder: Path, expected: object) -> list[str]:
    """A sweep that is started again has all its runs, and leaves nothing else."""
    process = _start(kind, folder)
    _, errors = process.communicate(timeout=_PATIENCE)
    if process.returncode:
        return [f"started again it ended with {process.returncode}: {errors[-500:]}"]
    problems = _left(kind, folder, expected, killed=False)
    table = RunFolder(folder / kind.output).table("sweep")
    if kind.facts(folder / kind.output) != expected or set(table["state"]) != {"done"}:
        problems.append(f"started again it has {len(table)} runs: {table['state'].tolist()}")
    return problems


def undisturbed(kind: Kind) -> tuple[object, float]:
    """What a command leaves that nothing ends, and the seconds that it takes."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        process = _start(kind, Path(folder))
        _, errors = process.communicate(timeout=_PATIENCE)
        if process.returncode:
            raise UserError(f"{kind.name}: ended with {process.returncode}: {errors[-500:]}")
        seconds = time.monotonic() - began
        return kind.facts(Path(folder) / kind.output), seconds


def main() -> int:
    """Run, report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=positive, default=100, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    options = parser.parse_args()
    random = Random(options.seed)  # noqa: S311  (nothing is secret)
    expected = {kind.name: undisturbed(kind) for kind in KINDS}
    ends: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for case in range(options.cases):
        kind = random.choice(KINDS)
        with tempfile.TemporaryDirectory() as folder:
            facts, seconds = expected[kind.name]
            end, problems = interrupt(kind, random, Path(folder), facts, seconds * _BEYOND)
        ends[kind.name, end] += 1
        print(f"{case + 1} of {options.cases}: {kind.name}, {end}", file=sys.stderr, flush=True)
        wrong += bool(problems)
        for line in problems:
            print(f"case {case}, {kind.name}, {end}: {line}", flush=True)
    for (name, end), count in sorted(ends.items()):
        print(f"{name}, {end}: {count}")
    print(f"{options.cases} commands, {wrong} with something wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

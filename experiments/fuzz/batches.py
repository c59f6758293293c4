"""Cases in processes of their own, which may die: their memory is limited and watched."""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
from attrs import frozen

from experiments.fuzz.cases import HANG, Outcome

MEMORY_BYTES = 2 << 30
"""That no case may take."""

DIED, MEMORY = "died", "memory"
"""Further ends of a case: of its process, and of more than `MEMORY_BYTES`."""


@frozen
class Subject:
    """What cases are of.

    Attributes:
        name: on the command line.
        run_case: makes and judges the case of a seed and a number, in a folder of its own.
        batch: cases of a process: what one leaves behind does not add up.
        patience: seconds of real time for a case that does not even compute; the machine may have
            others to do.
        folder: of what failures leave, a folder a case; None: they leave nothing.
    """

    name: str
    run_case: Callable[[int, int, Path], Outcome]
    batch: int
    patience: float
    folder: Path | None = None


def outcomes(
    subject: Subject, seed: int, first: int, cases: int, seconds: float
) -> Iterator[Outcome]:
    """Run cases until there are enough, or time is over.

    Args:
        subject: what they are of.
        seed: of all cases.
        first: number of the first one.
        cases: how many at most.
        seconds: of real time.
    """
    end = time.monotonic() + seconds
    number = first
    while number < first + cases and time.monotonic() < end:
        for outcome in _batch(subject, seed, number, min(subject.batch, first + cases - number)):
            number = outcome.number + 1
            yield outcome
            if time.monotonic() > end:
                break


def _batch(subject: Subject, seed: int, first: int, cases: int) -> Iterator[Outcome]:
    """The cases of a process, up to its last one or its death."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _work(subject, seed, range(first, first + cases), write)
    os.close(write)
    number = first
    try:
        for line in _printed(read, subject.patience):
            outcome = Outcome(**json.loads(line))
            number = outcome.number + 1
            yield outcome
    except TimeoutError:
        yield Outcome(number, "", "", HANG, subject.patience, "no answer from its process")
        return
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if number < first + cases:
        yield Outcome(number, "", "", DIED, 0.0, f"the process ended with {status}")


def _printed(place: int, patience: float) -> Iterator[str]:
    """The lines that a process tells, each within its time."""
    rest = b""
    while True:
        ready, _, _ = select.select([place], [], [], patience)
        if not ready:
            raise TimeoutError
        piece = os.read(place, 1 << 16)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)


def _work(subject: Subject, seed: int, numbers: range, write: int) -> None:
    """In the process: never returns."""
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (taken + 2 * MEMORY_BYTES, resource.RLIM_INFINITY))
    before = _peak()
    gc.freeze()  # or each collection looks at all modules again
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            place = Path(folder) / "case"
            if subject.folder is not None:
                place = subject.folder / f"{seed}-{number}"
            outcome = subject.run_case(seed, number, place)
            if _peak() > max(MEMORY_BYTES, before):
                detail = f"{_peak() >> 20} MiB\n{outcome.detail}"
                outcome = attrs.evolve(outcome, what=MEMORY, detail=detail)
                before = _peak()
            os.write(write, json.dumps(attrs.asdict(outcome)).encode() + b"\n")
    os._exit(0)


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

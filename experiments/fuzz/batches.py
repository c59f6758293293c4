"""Cases in processes of their own, which may die: their memory is limited and watched."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

from experiments.fuzz.cases import CASE_SECONDS, HANG, Outcome, run_case

MEMORY_BYTES = 2 << 30
"""That no case may take."""

DIED, MEMORY = "died", "memory"
"""Further ends of a case: of its process, and of more than `MEMORY_BYTES`."""

BATCH = 500
"""Cases of a process: what one leaves behind does not add up."""

_PATIENCE = 6 * CASE_SECONDS
"""Seconds of real time for one that does not even compute; the machine may have others to do."""


def outcomes(seed: int, first: int, cases: int, seconds: float) -> Iterator[Outcome]:
    """Run cases until there are enough, or time is over.

    Args:
        seed: of all cases.
        first: number of the first one.
        cases: how many at most.
        seconds: of real time.
    """
    end = time.monotonic() + seconds
    number = first
    while number < first + cases and time.monotonic() < end:
        for outcome in _batch(seed, number, min(BATCH, first + cases - number)):
            number = outcome.number + 1
            yield outcome
            if time.monotonic() > end:
                break


def _batch(seed: int, first: int, cases: int) -> Iterator[Outcome]:
    """The cases of a process, up to its last one or its death."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _work(seed, range(first, first + cases), write)
    os.close(write)
    number = first
    try:
        for line in _printed(read):
            outcome = Outcome(**json.loads(line))
            number = outcome.number + 1
            yield outcome
    except TimeoutError:
        yield Outcome(number, "", "", HANG, _PATIENCE, "no answer from its process")
        return
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if number < first + cases:
        yield Outcome(number, "", "", DIED, 0.0, f"the process ended with {status}")


def _printed(place: int) -> Iterator[str]:
    """The lines that a process tells, each within its time."""
    rest = b""
    while True:
        ready, _, _ = select.select([place], [], [], _PATIENCE)
        if not ready:
            raise TimeoutError
        piece = os.read(place, 1 << 16)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)


def _work(seed: int, numbers: range, write: int) -> None:
    """In the process: never returns."""
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (taken + 2 * MEMORY_BYTES, resource.RLIM_INFINITY))
    before = _peak()
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            outcome = run_case(seed, number, Path(folder) / "case")
            if _peak() > max(MEMORY_BYTES, before):
                detail = f"{_peak() >> 20} MiB\n{outcome.detail}"
                outcome = attrs.evolve(outcome, what=MEMORY, detail=detail)
                before = _peak()
            os.write(write, json.dumps(attrs.asdict(outcome)).encode() + b"\n")
    os._exit(0)


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

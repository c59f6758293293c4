"""One case: a mutated file, read; and what came of it."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import NoReturn

from attrs import frozen

from experiments.fuzz.corpus import corpus
from experiments.fuzz.mutate import mutated
from experiments.fuzz.readers import READERS
from gpusim.core.errors import SimulatorError, UserError
from gpusim.core.user_code import Imports, importing

READ, REFUSED, TRACEBACK, HANG = "read", "refused", "traceback", "hang"
WRONG = "wrong"
"""What may come of a case; the last three must not.  A machine that is read has run, too."""

CASE_SECONDS = 20.0
"""Processor time that a case may take."""

WEIGHTS = {
    "model": 20,
    "recipe": 10,
    "workload": 20,
    "sweep": 10,
    "events": 20,
    "graph": 50,
    "traceg": 60,
    "kernelslist": 10,
    "tracez": 30,
    "nvbit": 40,
    "macsim": 20,
    "memory trace": 40,
    "table": 20,
    "facts": 10,
    "recorded trace": 20,
    "result": 10,
    "characterization": 20,
    "claims": 10,
    "folder": 10,
    "table of a sweep": 10,
    "settings": 20,
    "limits": 20,
    "trusted": 4,
    "checkpoint": 10,
}
"""How often each kind comes: the cheap ones more often."""


@frozen
class Outcome:
    """The outcome of a case.

    Attributes:
        number: of the case.
        kind, name: of its file.
        what: `READ`, `REFUSED`, `TRACEBACK`, `HANG` or `WRONG`.
        seconds: of a processor that it took.
        detail: the traceback, if there is one.
        tags: what else a table counts it under.
    """

    number: int
    kind: str
    name: str
    what: str
    seconds: float
    detail: str = ""
    tags: Sequence[str] = ()


class HangError(BaseException):
    """A case takes longer than it may."""


def run_case(seed: int, number: int, folder: Path, kinds: tuple[str, ...] = ()) -> Outcome:
    """Make a file, and read it.

    Args:
        seed: of all cases.
        number: of this one; the same seed and number make the same file.
        folder: to work in; emptied before.
        kinds: of files to choose from; empty: all, by their `WEIGHTS`.
    """
    random = Random(f"{seed}/{number}")
    names = kinds or tuple(WEIGHTS)
    (kind,) = random.choices(names, [WEIGHTS[name] for name in names])
    name, data = random.choice(corpus(kind))
    for old in folder.rglob("*"):
        if not old.is_dir():  # folders stay: taking them away takes longer than most cases
            old.unlink()
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mutated(random, name, data))
    what, detail, began = READ, "", time.process_time()
    try:
        with importing(Imports.NOTHING), limited(CASE_SECONDS):
            READERS[kind](random, path)
    except (UserError, SimulatorError):
        what = REFUSED
    except HangError:
        what, detail = HANG, traceback.format_exc()
    except BaseException:  # noqa: BLE001  (that is what is looked for)
        what, detail = TRACEBACK, traceback.format_exc()
    return Outcome(number, kind, name, what, time.process_time() - began, detail)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End a case, inside, after `seconds` of processor time, where signals can do that.

    A case that waits instead of computing is ended by the parent of its process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _ring(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise HangError

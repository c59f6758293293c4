"""Where a run happens: in some process, which may be killed, hang, or be far away."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from gpusim.config.load import LoadedModel
from gpusim.errors import UserError, WriteError
from gpusim.monitor import Progress
from gpusim.programs.catalog import ProgramKind
from gpusim.results.result import Result, open_result
from gpusim.simulate import simulate
from gpusim.sweep.code import OwnPolicy, adopt, semantics
from gpusim.sweep.point import WorkloadChoice

HANG = "Hang"
"""Cause of a run that was ended because nothing moved in it."""

TIME_LIMIT = "TimeLimit"
"""Cause of a run that was ended because it took too long."""

WORKER_LOST = "WorkerLost"
"""Cause of a run whose process was killed, again and again."""

_GRACE_SECONDS = 10.0
_PARENT_SECONDS = 1.0
_ONE_AT_A_TIME = threading.Lock()
"""A process has one timer, and two runs in one process would only share its time."""


@frozen
class Limits:
    """When a run is given up.

    Attributes:
        wall_seconds: of real time; None: never.
        hang_seconds: of real time in which it reports no progress.
    """

    wall_seconds: float | None = None
    hang_seconds: float = 1800.0


@frozen(eq=False)
class Task:
    """What a worker needs for a run.

    Attributes:
        key: of the run.
        model, workload, record: what to simulate.
        output: file of the result, in a folder that all workers see.
        trace: file beside it, for where a run hung; a new one for each attempt.
        limits: when to give up.
        semantics: of the code that is to run it.
        command_line: the same run as a command, for the result.
        policies, programs: those of the user.
    """

    key: str
    model: LoadedModel
    workload: WorkloadChoice
    record: tuple[str, ...]
    output: Path
    trace: Path
    limits: Limits
    semantics: str
    command_line: tuple[str, ...]
    policies: tuple[OwnPolicy, ...]
    programs: tuple[ProgramKind, ...]


@frozen
class Facts:
    """What is known of a whole run without opening its file.

    Attributes:
        digest: of its results.
        seconds: of real time that it took.
        size, modified_ns: of its file.
        summary: headline numbers.
        units: theirs.
    """

    digest: str
    seconds: float
    size: int
    modified_ns: int
    summary: Mapping[str, int | float]
    units: Mapping[str, str]


@frozen
class Failure:
    """Why a run has no result.

    Attributes:
        cause: class of the error, or `HANG`, `TIME_LIMIT`, `WORKER_LOST`.
        message: for people.
        traceback: where, if it is known.
        where: host and process.
        stop: whether no other run could do better: the folder cannot be written.
    """

    cause: str
    message: str
    traceback: str = ""
    where: str = ""
    stop: bool = False


Outcome = Facts | Failure


class TimeLimitError(Exception):
    """A run takes longer than it may."""


def perform(task: Task) -> Outcome:
    """Run a task in this process; whatever goes wrong in it comes back as a failure.

    A process that hangs for too long writes where to the task's trace file and ends itself.
    """
    with _ONE_AT_A_TIME:
        try:
            if hung := hang(task.trace):
                return hung  # the engine gave the task to a second worker
            _check_version(task)
            adopt(list(task.policies), list(task.programs))
            return _perform(task)
        except TimeLimitError as error:
            return Failure(TIME_LIMIT, str(error), where=_here())
        except Exception as error:  # noqa: BLE001  the sweep goes on without this run
            return Failure(
                type(error).__name__, str(error) or repr(error), traceback.format_exc(), _here(),
                stop=isinstance(error, WriteError),
            )  # fmt: skip


def _check_version(task: Task) -> None:
    if semantics() != task.semantics:
        raise UserError("this worker has another gpusim than the sweep; install the same")


def facts_of(path: Path) -> Facts:
    """The facts of a result.

    Raises:
        UserError: it is damaged, no result, or cannot be read.
    """
    with open_result(path) as result:
        return _facts(result, path)


def hang(trace: Path) -> Failure | None:
    """The failure that a trace file tells of, if it does."""
    try:
        text = trace.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    if not text:
        return None
    timeout, _, frames = text.partition("\n")
    return Failure(HANG, f"nothing moved: {timeout}", frames)


def start_worker(parent: int) -> None:
    """Prepare a worker process of this machine: its parent tells it when to end, not Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(1)


def _perform(task: Task) -> Facts:
    with _watched(task) as report:
        workload = task.workload.load()
        result = simulate(
            task.model, workload, record=task.record, output=task.output, progress=report,
            command_line=task.command_line,
        )  # fmt: skip
    with result:
        return _facts(result, task.output)


def _facts(result: Result, path: Path) -> Facts:
    found = path.stat()
    return Facts(
        digest=result.digest,
        seconds=result.wall.seconds,
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        summary=dict(result.summary),
        units=result.summary_units,
    )


@contextmanager
def _watched(task: Task) -> Iterator[Callable[[Progress], None]]:
    """A listener for progress; without progress for too long, the process ends itself."""
    limits = task.limits
    began = time.monotonic()

    def left() -> float:
        if limits.wall_seconds is None:
            return float("inf")
        return limits.wall_seconds - (time.monotonic() - began)

    def arm() -> None:
        seconds = min(limits.hang_seconds, left() + _GRACE_SECONDS)
        faulthandler.dump_traceback_later(seconds, exit=True, file=trace)

    def report(_: Progress) -> None:
        if left() < 0:
            raise TimeLimitError(f"longer than {limits.wall_seconds:g} s of real time")
        arm()

    try:
        trace = task.trace.open("w", encoding="utf-8")
    except OSError as error:
        raise WriteError(f"cannot write {task.trace}: {error.strerror}") from error
    with trace:
        arm()
        try:
            yield report
        finally:
            faulthandler.cancel_dump_traceback_later()
            task.trace.unlink(missing_ok=True)


def _here() -> str:
    return f"{socket.gethostname()}, process {os.getpid()}"

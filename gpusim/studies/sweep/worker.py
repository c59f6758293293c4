"""A run of a sweep in a worker process, which may be killed, hang, or be on another machine."""

from __future__ import annotations

import faulthandler
import os
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, WriteError
from gpusim.files.whole_files import remove
from gpusim.programs.catalog import ProgramKind
from gpusim.results.result import Result, open_result
from gpusim.runs.monitor import Progress
from gpusim.runs.options import RunOptions
from gpusim.runs.run import Observers, Run
from gpusim.studies.sweep.code import OwnPolicy, adopt, semantics
from gpusim.studies.sweep.point import WorkloadChoice
from gpusim.studies.sweep.run_claims import is_claimed_by

HANG = "Hang"
"""Cause of a run that was ended because nothing moved in it."""

TIME_LIMIT = "TimeLimit"
"""Cause of a run that was ended because it took too long."""

WORKER_LOST = "WorkerLost"
"""Cause of a run whose process was killed, again and again."""

OTHER_VERSION = "OtherVersion"
"""Cause of a run that a worker with another gpusim was given."""

_GRACE_SECONDS = 10.0
_CLAIM_SECONDS = 5.0
_ONE_AT_A_TIME = threading.Lock()
"""A process has one timer, and two runs in one process would only share its time."""


@frozen
class Limits:
    """When a run is given up.

    Attributes:
        wall_seconds: of real time; None: never.
        hang_seconds: of real time in which it reports no progress.

    Raises:
        UserError: one of them is not above 0.
    """

    wall_seconds: float | None = None
    hang_seconds: float = 1800.0

    def __attrs_post_init__(self) -> None:
        for name, seconds in (("time", self.wall_seconds), ("hang", self.hang_seconds)):
            if seconds is not None and not seconds > 0:
                raise UserError(f"a {name} limit of {seconds:g} s: must be above 0")


@frozen(eq=False)
class Task:
    """What a worker needs for a run.

    Attributes:
        key: of the run.
        model, workload, options: what to simulate; its output is in a folder that all workers see.
        trace: file for where it hangs; a new one for each attempt.
        claim, sweep: file of the run's claim, and the sweep that has it.
        limits: when to give up.
        semantics: of the code that is to run it.
        command_line: the same run as a command, for the result.
        own: policies and programs of the user, as `pack` packs them.
    """

    key: str
    model: LoadedModel
    workload: WorkloadChoice
    options: RunOptions
    trace: Path
    claim: Path
    sweep: str
    limits: Limits
    semantics: str
    command_line: tuple[str, ...]
    own: bytes

    @property
    def output(self) -> Path:
        """File of the result."""
        assert self.options.output is not None
        return self.options.output


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
        cause: class of the error, or `HANG`, `TIME_LIMIT`, `WORKER_LOST`, `OTHER_VERSION`.
        message: for people.
        traceback: where, if it is known.
        where: host and process.
        stop: whether no other run could do better: the folder cannot be written, say.
    """

    cause: str
    message: str
    traceback: str = ""
    where: str = ""
    stop: bool = False


@frozen
class ClaimLost:
    """A run was given up because it is no longer its sweep's: that ended, or seemed to."""


Outcome = Facts | Failure | ClaimLost


class TimeLimitError(Exception):
    """A run takes longer than it may."""


class ClaimLostError(Exception):
    """A run is no longer its sweep's."""


def pack(policies: list[OwnPolicy], programs: list[ProgramKind]) -> bytes:
    """Policies and programs of the user, for another process: what its modules lack goes along.

    Raises:
        UserError: one of them cannot be packed.
    """
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps((policies, programs)))
    except Exception as error:
        names = ", ".join((*(name for _, name, _ in policies), *(kind.name for kind in programs)))
        raise UserError(f"cannot hand {names} to other processes: {error}") from error


def perform(task: Task) -> Outcome:
    """Run a task in this process; whatever goes wrong in it comes back as a failure.

    A process that hangs for too long writes where to the task's trace file and ends itself.
    """
    with _ONE_AT_A_TIME:
        try:
            if earlier := outcome_of_earlier(task):
                return earlier
            if semantics() != task.semantics:
                message = "this worker has another gpusim than the sweep; install the same"
                return Failure(OTHER_VERSION, message, where=_here(), stop=True)
            adopt(*pickle.loads(task.own))  # noqa: S301  by our own sweep
            return _perform(task)
        except ClaimLostError:
            return ClaimLost()
        except TimeLimitError as error:
            return Failure(TIME_LIMIT, str(error), where=_here())
        except BaseException as error:  # noqa: BLE001  own code may do anything, even sys.exit()
            return _failure(error)


def _failure(error: BaseException) -> Failure:
    """The failure of a run; an error of the user's code keeps the place of `own_code_errors`."""
    cause = error.__cause__ if isinstance(error, UserError) and error.__cause__ else error
    return Failure(
        type(cause).__name__,
        str(error) or repr(error),
        traceback.format_exc(),
        _here(),
        stop=isinstance(error, WriteError),
    )


def facts_of(path: Path) -> Facts:
    """The facts of a result.

    Raises:
        UserError: it is damaged, no result, or cannot be read.
    """
    with open_result(path) as result:
        return _facts(result, path)


def outcome_of_earlier(task: Task) -> Failure | Facts | None:
    """What became of a task that another worker was given before: it hung, or left its result."""
    if (hung := hang(task.trace)) is not None:
        return hung
    try:
        return facts_of(task.output) if task.output.exists() else None
    except UserError:  # damaged: it is run again
        return None


def hang(trace: Path) -> Failure | None:
    """The failure of a run that hung, from the stack in its trace file; None: it has none."""
    try:
        text = trace.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    if not text:
        return None
    timeout, _, frames = text.partition("\n")
    return Failure(HANG, f"nothing moved: {timeout}", frames)


def _perform(task: Task) -> Facts:
    with _watched(task) as report:
        observers = Observers(progress=report, command_line=task.command_line)
        result = Run(task.model, task.workload.load(), task.options, observers).execute()
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
    claim_due = began

    def left() -> float:
        if limits.wall_seconds is None:
            return float("inf")
        return limits.wall_seconds - (time.monotonic() - began)

    def arm() -> None:
        seconds = min(limits.hang_seconds, left() + _GRACE_SECONDS, threading.TIMEOUT_MAX)
        faulthandler.dump_traceback_later(seconds, exit=True, file=trace)

    def report(_: Progress) -> None:
        nonlocal claim_due
        if left() < 0:
            raise TimeLimitError(f"longer than {limits.wall_seconds:g} s of real time")
        if (now := time.monotonic()) > claim_due:
            claim_due = now + _CLAIM_SECONDS
            if not is_claimed_by(task.claim, task.sweep):
                raise ClaimLostError
        arm()

    try:
        trace = task.trace.open("w", encoding="utf-8")
    except OSError as error:
        raise WriteError(f"cannot write {task.trace}: {error.strerror}") from error
    try:
        with trace:
            arm()
            try:
                yield report
            finally:
                faulthandler.cancel_dump_traceback_later()
    finally:
        remove(task.trace)  # closed: Windows removes no open file


def _here() -> str:
    return f"{socket.gethostname()}, process {os.getpid()}"

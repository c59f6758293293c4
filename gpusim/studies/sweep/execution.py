"""One execution of a sweep: whatever happens, its folder stays good."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait

from attrs import define, evolve

from gpusim.core.errors import UserError
from gpusim.files.interrupts import uninterrupted
from gpusim.files.whole_files import remove
from gpusim.studies.sweep.code import own_policies, semantics
from gpusim.studies.sweep.estimate import Estimates
from gpusim.studies.sweep.executors import Executor, WorkerLostError
from gpusim.studies.sweep.folder import FailedRun, RunFolder, table_of
from gpusim.studies.sweep.journal import Journal
from gpusim.studies.sweep.options import SweepOptions
from gpusim.studies.sweep.plan import Plan, Run
from gpusim.studies.sweep.point import Point
from gpusim.studies.sweep.progress import SweepProgress
from gpusim.studies.sweep.run_claims import Claims, claim_file
from gpusim.studies.sweep.worker import (
    WORKER_LOST,
    ClaimLost,
    Facts,
    Failure,
    Outcome,
    Task,
    hang,
    pack,
)

ATTEMPTS = 3
"""How often a run is tried whose worker dies."""

_TICK_SECONDS = 0.25
_TABLE_SECONDS = 15.0


@define
class _Attempt:
    """A run under way.

    Attributes:
        key: of the run.
        task: as it was submitted.
        since: when, by `time.monotonic`.
    """

    key: str
    task: Task
    since: float


class Execution:
    """What a sweep does until nothing is left: hands out, takes back, keeps the table, tells.

    Args:
        plan: what is to be run.
        folder: where.
        executor: of it.
        claims: of this sweep.
        journal: of it.
        options: when to give a run up, what to report to, and the brake, which is asked before a
            run begins.
    """

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        executor: Executor,
        claims: Claims,
        journal: Journal,
        options: SweepOptions,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._executor = executor
        self._claims = claims
        self._journal = journal
        self._limits = options.limits
        self._report = options.progress
        self._brake = options.brake
        self._found: dict[str, Facts | FailedRun] = {}
        self._todo: list[str] = []
        self._running: dict[Future[Outcome], _Attempt] = {}
        self._attempts: Counter[str] = Counter()
        self._estimates = Estimates()
        self._reused = 0
        self._table_due = 0.0

    def begin(self, retry_failed: bool) -> None:
        """Look for what is there already, and how long runs of other sweeps took."""
        known = self._folder.known_points()
        facts = {key: facts for key, (_, facts) in known.items()}
        for key in known.keys() - self._plan.runs.keys():
            point, other = known[key]
            self._estimates.add(point, other.seconds)
        for key, run in self._plan.runs.items():
            found = self._folder.facts(key, facts) or self._earlier_failure(key, retry_failed)
            if found is None:
                self._todo.append(key)
            else:
                self._note(run, found)
        self._reused = sum(isinstance(found, Facts) for found in self._found.values())
        self._todo.sort(key=self._longest_first)
        self._journal.tell("begin", runs=len(self._plan.runs), whole=self._reused)

    def run(self) -> None:
        """Run all that is left; the table is up to date when this ends, however it does."""
        how = "stopped"
        try:
            while self._todo or self._running:
                self._hand_out()
                self._keep_table()
                self._collect()
                self._tell()
            how = "end"
        except KeyboardInterrupt as error:
            how = "interrupted"
            whole = sum(isinstance(found, Facts) for found in self._found.values())
            raise KeyboardInterrupt(
                f"{whole} of {len(self._plan.runs)} runs are finished; the same command goes on"
            ) from error
        finally:
            self._journal.tell(how, left=len(self._plan.runs) - len(self._found))
            self._table_due = 0.0
            self._keep_table()

    # -- handing out -----------------------------------------------------------------------------

    def _hand_out(self) -> None:
        room = self._brake.room(self._executor.room()) if self._todo else 0
        later = []
        while room > 0 and self._todo:
            key = self._todo.pop(0)
            if not self._claims.take(key):
                later.append(key)
                continue
            elsewhere = self._folder.facts(key, {}) or self._folder.failed(key)
            if elsewhere is None:
                self._submit(key)
                self._brake.began()
                room -= 1
            else:
                self._journal.tell("found", run=key)
                self._claims.give_back(key)
                self._note(self._plan.runs[key], elsewhere)
        self._todo[:0] = later

    def _submit(self, key: str) -> None:
        run = self._plan.runs[key]
        self._attempts[key] += 1
        number = self._attempts[key]
        task = Task(
            key=key,
            model=run.model,
            workload=run.workload,
            options=evolve(run.options, output=self._folder.result_path(key)),
            trace=self._folder.trace_path(key, f"{self._claims.id}-{number}"),
            claim=claim_file(self._folder.claims, key),
            sweep=self._claims.id,
            limits=self._limits,
            semantics=semantics(),
            command_line=_command_line(run),
            own=pack(own_policies(run.model), list(run.programs)),
        )
        self._journal.tell("started", run=key, label=run.point.label, attempt=number)
        self._running[self._executor.submit(task)] = _Attempt(key, task, time.monotonic())

    # -- taking back -----------------------------------------------------------------------------

    def _collect(self) -> None:
        if not self._running:  # what is left is held back, claimed by others, or finds no room
            time.sleep(_TICK_SECONDS)
            return
        done, _ = wait(self._running, _TICK_SECONDS, FIRST_COMPLETED)
        for future in done:
            attempt = self._running.pop(future)
            error = future.exception()
            if isinstance(error, WorkerLostError):
                self._lost(attempt, str(error))
            elif error is not None:
                raise error
            else:
                self._take(attempt, future.result())

    def _lost(self, attempt: _Attempt, message: str) -> None:
        self._journal.tell("worker lost", run=attempt.key, message=message)
        hung = hang(attempt.task.trace)
        if hung is None and self._attempts[attempt.key] < ATTEMPTS:
            self._again(attempt)
        else:
            self._take(attempt, hung or Failure(WORKER_LOST, message))

    def _take(self, attempt: _Attempt, outcome: Outcome) -> None:
        key = attempt.key
        if isinstance(outcome, ClaimLost):
            self._journal.tell("claim lost", run=key)
            self._again(attempt)
            return
        remove(attempt.task.trace)
        if isinstance(outcome, Facts):
            self._finish(key, outcome)
        elif outcome.stop:
            raise UserError(f"{outcome.message} ({outcome.where})")
        else:
            label = self._plan.runs[key].point.label
            self._finish(key, FailedRun(key, label, outcome, self._attempts[key]))

    def _again(self, attempt: _Attempt) -> None:
        """After all others: what killed its process, such as too little memory, may be over."""
        remove(attempt.task.trace)
        self._claims.give_back(attempt.key)
        self._todo.append(attempt.key)

    def _finish(self, key: str, found: Facts | FailedRun) -> None:
        if isinstance(found, Facts):
            self._folder.forget_failure(key)
            self._journal.tell("done", run=key, seconds=found.seconds, digest=found.digest)
        else:
            self._folder.record_failure(found)
            self._journal.tell("failed", run=key, cause=found.failure.cause)
        self._claims.give_back(key)
        self._note(self._plan.runs[key], found)

    def _note(self, run: Run, found: Facts | FailedRun) -> None:
        self._found[run.key] = found
        if isinstance(found, Facts):
            self._estimates.add(run.point, found.seconds)

    # -- telling ---------------------------------------------------------------------------------

    def _tell(self) -> None:
        if self._report is None:
            return
        now = time.monotonic()
        failed = [found for found in self._found.values() if isinstance(found, FailedRun)]
        running = [
            (self._plan.runs[attempt.key].point.label, now - attempt.since)
            for attempt in self._running.values()
        ]
        self._report(
            SweepProgress(
                total=len(self._plan.runs),
                reused=self._reused,
                done=len(self._found) - len(failed) - self._reused,
                failed=len(failed),
                running=tuple(sorted(running, key=lambda one: -one[1])),
                seconds_left=self._seconds_left(now),
                failures=tuple((one.label, one.failure.message) for one in failed),
            )
        )

    def _seconds_left(self, now: float) -> float | None:
        ahead = self._estimates.total(self._points(self._todo))
        if ahead is None:
            return None
        for attempt in self._running.values():
            expected = self._estimates.seconds(self._plan.runs[attempt.key].point)
            if expected is None:
                return None
            ahead += max(expected - (now - attempt.since), 0.0)
        return ahead / max(len(self._running), 1)

    def _keep_table(self) -> None:
        if time.monotonic() < self._table_due:
            return
        rows = ((point.values, key, self._found.get(key)) for point, key in self._plan.points)
        with uninterrupted():  # it imports pandas: half imported, that could not make the last one
            self._folder.keep_table(self._plan.sweep.name, table_of(rows))
        self._table_due = time.monotonic() + _TABLE_SECONDS

    # -- small things ----------------------------------------------------------------------------

    def _earlier_failure(self, key: str, forget: bool) -> FailedRun | None:
        if forget:
            self._folder.forget_failure(key)
        return self._folder.failed(key)

    def _longest_first(self, key: str) -> float:
        return -(self._estimates.seconds(self._plan.runs[key].point) or 0.0)

    def _points(self, keys: Iterable[str]) -> list[Point]:
        return [self._plan.runs[key].point for key in keys]


def _command_line(run: Run) -> tuple[str, ...]:
    """The run as a command."""
    point = run.point
    given = (*point.settings, *point.shift)
    options = [
        *(part for name in point.variants for part in ("--variant", name)),
        *(part for key, value in given for part in ("--set", f"{key}={value}")),
        *run.options.arguments(),
    ]
    seed = ("--seed", str(point.seed))
    return ("gpusim", "run", point.model, point.workload, "--scale", point.scale, *seed, *options)

"""Executors of tasks: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol

from gpusim.core.errors import UserError
from gpusim.files.interrupts import uninterrupted
from gpusim.studies.sweep.pools import Pool
from gpusim.studies.sweep.worker import (
    WORKER_LOST,
    Failure,
    Outcome,
    Task,
    outcome_of_earlier,
    perform,
)

_CONNECT_SECONDS = 10
"""For a scheduler to answer."""


class WorkerLostError(Exception):
    """The process that did a task is gone."""


class Executor(Protocol):
    """Carries out tasks.

    A future has an outcome; or ends with `WorkerLostError`, and the task may be tried again; or
    with `UserError`, and nothing can be carried out any more.
    """

    def room(self) -> int:
        """How many more tasks it can take now.

        Raises:
            UserError: nothing can be carried out any more.
        """

    def submit(self, task: Task) -> Future[Outcome]:
        """Carry out a task."""

    def close(self) -> None:
        """Give up what is under way."""


class LocalExecutor:
    """Runs tasks in processes of this machine, each in its own pool, so none dies with another.

    Args:
        jobs: how many processes.
    """

    def __init__(self, jobs: int) -> None:
        self._slots = [_Slot() for _ in range(jobs)]

    def room(self) -> int:
        return sum(slot.idle for slot in self._slots)

    def submit(self, task: Task) -> Future[Outcome]:
        return next(slot for slot in self._slots if slot.idle).submit(task)

    def close(self) -> None:
        with uninterrupted():
            for slot in self._slots:
                slot.close()


class _Slot:
    """One process, started when it is needed, and again after its death."""

    def __init__(self) -> None:
        self.idle = True
        self._pool: Pool | None = None

    def submit(self, task: Task) -> Future[Outcome]:
        from loky import BrokenProcessPool

        self.idle = False
        done: Future[Outcome] = Future()
        try:
            running = self._begin(task)
        except BrokenProcessPool:  # the process has died since its last task
            self._pool = None
            running = self._begin(task)
        running.add_done_callback(lambda future: self._hand_on(future, done))
        return done

    def _begin(self, task: Task) -> Future[Outcome]:
        if self._pool is None:
            self._pool = Pool(1)
        return self._pool.submit(perform, task)

    def _hand_on(self, running: Future[Outcome], done: Future[Outcome]) -> None:
        from loky import BrokenProcessPool

        error = running.exception()
        if isinstance(error, BrokenProcessPool):
            self._pool = None
            error = WorkerLostError(str(error))
        self.idle = True
        if error is None:
            done.set_result(running.result())
        else:
            done.set_exception(error)

    def close(self) -> None:
        pool = self._pool
        if pool is not None:
            pool.close()


class DaskExecutor:
    """Workers of a Dask cluster, each of which has one run at a time, however many threads.

    Workers may come and go.  The scheduler gives a lost worker's task to another one, a bounded
    number of times (its setting ``distributed.scheduler.allowed-failures``).

    Args:
        address: of the scheduler, such as ``tcp://host:8786``.

    Raises:
        UserError: Dask is not installed, or there is no scheduler.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise UserError("a sweep on Dask needs Dask: pip install 'gpusim[cluster]'") from error
        with ExitStack() as until_closed:
            until_closed.enter_context(_quiet_connection())
            try:
                self._client = distributed.Client(
                    address, timeout=_CONNECT_SECONDS, set_as_default=False
                )
            except (OSError, ValueError, TimeoutError) as error:
                raise UserError(f"--dask {address}: no scheduler answers: {error}") from error
            self._until_closed = until_closed.pop_all()
        self._address = address
        self._pool = self._client.get_executor(pure=False)
        self._futures: set[Future[Outcome]] = set()

    def room(self) -> int:
        """Two for each worker, so that it need not wait for us, and an adaptive cluster grows."""
        try:
            workers = len(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise self._gone() from error
        return 2 * max(workers, 1) - len(self._futures)

    def submit(self, task: Task) -> Future[Outcome]:
        done: Future[Outcome] = Future()
        running = self._pool.submit(perform, task)
        self._futures.add(running)
        running.add_done_callback(lambda future: self._hand_on(future, done, task))
        return done

    def _hand_on(self, running: Future[Outcome], done: Future[Outcome], task: Task) -> None:
        from distributed import KilledWorker

        self._futures.discard(running)
        if running.cancelled():
            done.set_exception(self._gone())
            return
        error = running.exception()
        if error is None:
            done.set_result(running.result())
        elif isinstance(error, KilledWorker):  # after as many attempts as the scheduler allows
            if earlier := outcome_of_earlier(task):  # its result was lost with its last worker
                done.set_result(earlier)
            elif task.trace.exists():
                done.set_result(Failure(WORKER_LOST, str(error)))
            else:  # it never began, but waited behind one that killed its workers
                done.set_exception(WorkerLostError(str(error)))
        else:
            done.set_exception(UserError(f"Dask cannot run this here: {error}"))

    def close(self) -> None:
        with self._until_closed, suppress(OSError, TimeoutError):
            self._pool.shutdown(wait=False)
            self._client.close()

    def _gone(self) -> UserError:
        return UserError(
            f"the Dask scheduler {self._address} is gone; the same command goes on from here"
        )


@contextmanager
def _quiet_connection() -> Iterator[None]:
    """Silence Dask's tracebacks about a lost scheduler, which `DaskExecutor` reports itself."""
    loggers = [logging.getLogger(f"distributed.{part}") for part in ("client", "batched")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

"""What carries out tasks: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Any, Protocol

from gpusim.errors import UserError
from gpusim.sweep.worker import WORKER_LOST, Failure, Outcome, Task, perform, start_worker

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""A run uses one core; so do the libraries in it."""


class WorkerLostError(Exception):
    """The process that did a task is gone."""


class Executor(Protocol):
    """Carries out tasks.

    A future has an outcome; ends with `WorkerLostError`, and the task may be tried again; or is
    cancelled, and nothing can be carried out any more.
    """

    def room(self) -> int:
        """How many more tasks it can take now."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Carry out a task."""

    def close(self) -> None:
        """Give up what is under way."""


class LocalExecutor:
    """So many processes of this machine; each has its own pool, so none dies with another.

    Args:
        jobs: how many.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._slots = [_Slot() for _ in range(jobs)]

    def room(self) -> int:
        return sum(slot.idle for slot in self._slots)

    def submit(self, task: Task) -> Future[Outcome]:
        return next(slot for slot in self._slots if slot.idle).submit(task)

    def close(self) -> None:
        for slot in self._slots:
            slot.close()


class _Slot:
    """One process, started when it is needed, and again after its death."""

    def __init__(self) -> None:
        self.idle = True
        self._pool: Any = None

    def submit(self, task: Task) -> Future[Outcome]:
        import loky

        self.idle = False
        if self._pool is None:
            self._pool = loky.ProcessPoolExecutor(
                1, initializer=start_worker, initargs=(os.getpid(),), env=_ONE_THREAD
            )
        done: Future[Outcome] = Future()
        running = self._pool.submit(perform, task)
        running.add_done_callback(lambda future: self._hand_on(future, done))
        return done

    def _hand_on(self, running: Future[Outcome], done: Future[Outcome]) -> None:
        error = running.exception()
        if error is not None:
            self._pool = None
        self.idle = True
        if error is None:
            done.set_result(running.result())
        else:
            done.set_exception(WorkerLostError(str(error)))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)


class DaskExecutor:
    """Workers of a Dask cluster, each of which should have one thread.

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
        try:
            self._client = distributed.Client(address, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UserError(f"--dask {address}: no scheduler answers: {error}") from error
        self._pool = self._client.get_executor(pure=False)
        self._futures: set[Future[Outcome]] = set()

    def room(self) -> int:
        """As many as there are threads, and one more for each worker: it need not wait for us."""
        threads = self._client.nthreads().values()
        return int(sum(threads)) + len(threads) - len(self._futures)

    def submit(self, task: Task) -> Future[Outcome]:
        done: Future[Outcome] = Future()
        running = self._pool.submit(perform, task)
        self._futures.add(running)
        running.add_done_callback(lambda future: self._hand_on(future, done))
        return done

    def _hand_on(self, running: Future[Outcome], done: Future[Outcome]) -> None:
        from distributed import KilledWorker

        self._futures.discard(running)
        if running.cancelled():
            done.cancel()
            done.set_running_or_notify_cancel()
            return
        error = running.exception()
        if error is None:
            done.set_result(running.result())
        elif isinstance(error, KilledWorker):  # after as many attempts as the scheduler allows
            done.set_result(Failure(WORKER_LOST, str(error)))
        else:
            done.set_exception(WorkerLostError(str(error)))

    def close(self) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()

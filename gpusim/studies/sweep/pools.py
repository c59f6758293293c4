"""Processes of this machine that carry out calls: they end when their parent does, however."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import ParamSpec, TypeVar

from gpusim.core.import_path import SAFE_PATH
from gpusim.files.children import no_interrupts, start_child
from gpusim.files.interrupts import uninterrupted

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

_ENVIRONMENT = {
    # A run uses one core; so do the libraries in it.
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    ),
    # Loky takes a run that needs more memory than the first one for a leak, and says so.
    "LOKY_MAX_MEMORY_LEAK_SIZE": str(1 << 60),
    **SAFE_PATH,
}
"""Environment of a worker process of this machine."""


class Pool:
    """Processes that start when they are needed; all calls fail when one of them dies.

    Args:
        processes: how many.
    """

    def __init__(self, processes: int) -> None:
        import loky
        from loky.backend import resource_tracker as tracker_of_loky

        with _safe_path():  # when a tracker starts, it lets interrupts through
            if os.name == "posix":  # elsewhere, processes share nothing that has to be tracked
                resource_tracker.ensure_running()
            tracker_of_loky.ensure_running()
        self._pool = loky.ProcessPoolExecutor(
            processes, initializer=start_child, initargs=(os.getpid(),), env=_ENVIRONMENT
        )

    def submit(
        self,
        call: Callable[Arguments, Answer],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Future[Answer]:
        """Carry out a call, in a process that has none to carry out.

        Raises:
            BrokenProcessPool: (of loky; also by the future) a process has died.
        """
        with no_interrupts():
            running: Future[Answer] = self._pool.submit(call, *arguments, **options)
        return running

    def close(self) -> None:
        """End the processes, and give up what is under way."""
        with uninterrupted():
            self._pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Inside, processes start with `SAFE_PATH` though a library starts them that takes no such."""
    before = dict(os.environ)
    os.environ.update(SAFE_PATH)
    try:
        yield
    finally:
        for name in SAFE_PATH.keys() - before.keys():
            del os.environ[name]

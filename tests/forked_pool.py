"""Workers of a sweep as forks of a process that has imported gpusim: they begin at once.

For tests of which the start of a worker is not the subject: the fixture `forked_workers`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["gpusim.cli.main", "gpusim.studies.sweep.worker"])


def fork_workers(patch: pytest.MonkeyPatch) -> None:
    """Sweeps and surveys have such workers."""
    for user in ("sweep.executors", "reproduce.surveys"):
        patch.setattr(f"gpusim.studies.{user}.Pool", ForkedPool)


class ForkedPool:
    """Takes the place of `gpusim.studies.sweep.pools.Pool`; its processes outlive no call to it."""

    def __init__(self, processes: int) -> None:
        from gpusim.studies.sweep.code import semantics

        inherited = (dict(os.environ), Path.cwd(), semantics())
        self._pool = ProcessPoolExecutor(processes, FORKS, _begin, inherited)

    def submit(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Future[Any]:
        return self._pool.submit(call, *arguments, **options)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _begin(environment: dict[str, str], folder: Path, known: str) -> None:
    """A worker has the environment and the folder of this test, not those of the first one.

    It is of the same code, of which it need not parse each file to see that.
    """
    from gpusim.studies.sweep import worker

    worker.semantics = lambda: known
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

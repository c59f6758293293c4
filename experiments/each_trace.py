"""Something done with each of many traces, in processes; one that fails stops no other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from attrs import frozen

from gpusim.core.errors import UserError

Found = TypeVar("Found")


@frozen
class Failure:
    """A trace with which nothing could be done.

    Attributes:
        trace: its name.
        message: why; names the file, and the line, column or record where that is known.
    """

    trace: str
    message: str


def each(
    work: Callable[[Path], Found], paths: Sequence[Path], processes: int
) -> Iterator[Found | Failure]:
    """What `work` finds in each trace, in their order.

    A process that dies takes those with it that wait in the same pool: they are done again, each in
    a process of its own.
    """
    with ProcessPoolExecutor(max(min(processes, len(paths)), 1)) as pool:
        futures: list[Future[Found | Failure] | None] = []
        for path in paths:
            try:
                futures.append(pool.submit(_attempt, work, path))
            except BrokenProcessPool:
                futures.append(None)
        for path, future in zip(paths, futures, strict=True):
            try:
                yield _alone(work, path) if future is None else future.result()
            except BrokenProcessPool:
                yield _alone(work, path)


def _attempt(work: Callable[[Path], Found], path: Path) -> Found | Failure:
    """What `work` finds in a trace; whatever it raises becomes a `Failure`."""
    try:
        return work(path)
    except UserError as error:
        return Failure(path.stem, str(error))
    except Exception as error:  # noqa: BLE001  (gpusim's own mistake; other traces may go well)
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = type(error).__name__
        return Failure(path.stem, f"{path}: {kind}: {error} ({place.filename}:{place.lineno})")


def _alone(work: Callable[[Path], Found], path: Path) -> Found | Failure:
    """One trace in a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        try:
            return pool.submit(_attempt, work, path).result()
        except BrokenProcessPool:
            return Failure(path.stem, f"{path}: its process died; was there enough memory?")

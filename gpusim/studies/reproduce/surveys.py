"""Characterizations that figures need: made once, kept in the folder of runs by their content."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from pathlib import Path

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, WriteError
from gpusim.machine.load import load_model
from gpusim.studies.characterize import (
    ApplicationCharacterization,
    Characterization,
    characterize,
    read_characterization,
)
from gpusim.studies.characterize.file import characterization_file
from gpusim.studies.reproduce.figure import Survey
from gpusim.studies.sweep.key import content_key
from gpusim.studies.sweep.pools import Pool
from gpusim.studies.sweep.progress import Report, SweepProgress
from gpusim.workloads.workload import Workload, load_workload

FOLDER = "characterizations"
_TICK_SECONDS = 0.25
_ROOM = Path(str(sys.modules[Characterization.__module__].__file__)).parent


SurveyKeys = dict[tuple[object, ...], str]
"""Content keys of surveys' programs that were worked out before: that builds the programs."""


def run_survey(
    survey: Survey,
    scale: str,
    folder: Path,
    *,
    jobs: int,
    progress: Report | None = None,
    keys: SurveyKeys | None = None,
) -> dict[str, ApplicationCharacterization]:
    """Characterize the programs of a survey, or read what an earlier one left.

    Args:
        survey: what to characterize.
        scale: of the workloads.
        folder: of runs; it exists.
        jobs: processes.
        progress: called a few times a second.
        keys: of surveys before, with the same files of models and workloads; those of this one are
            put there.

    Returns:
        of each workload, that of its only application.

    Raises:
        UserError: a name or setting is wrong, or the folder cannot be written.
    """
    cache = folder / FOLDER
    try:
        cache.mkdir(exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {cache}: {error.strerror}") from error
    keys = {} if keys is None else keys
    paths = {name: cache / f"{_key(survey, name, scale, keys)}.h5" for name in survey.workloads}
    todo = [name for name, path in paths.items() if _read(path) is None]
    if todo:
        workers = min(jobs, len(todo))
        with closing(Pool(workers)) as pool:
            futures = {
                pool.submit(_characterize, survey, name, scale, paths[name]): name for name in todo
            }
            _follow(futures, workers, len(paths), progress)
    return {name: _only(path) for name, path in paths.items()}


def _follow(
    futures: Mapping[Future[None], str], workers: int, total: int, progress: Report | None
) -> None:
    """Wait for all; the first that failed ends it.

    The pool calls a future running as soon as it lies in the queue of its workers, so that no more
    than the first of them, one a worker, are shown as running.
    """
    left, began = set(futures), time.monotonic()
    while left:
        done, left = wait(left, _TICK_SECONDS, FIRST_COMPLETED)
        for future in done:
            future.result()
        if progress:
            seconds = time.monotonic() - began
            running = [(name, seconds) for one, name in futures.items() if one.running()][:workers]
            finished = len(futures) - len(left)
            progress(
                SweepProgress(
                    total, total - len(futures), finished, 0, tuple(running), seconds_left=None
                )
            )


def _load(survey: Survey, name: str, scale: str) -> tuple[LoadedModel, Workload]:
    model = load_model(survey.model, survey.variants, dict(survey.settings))
    return model, load_workload(name, scale)


def _characterize(survey: Survey, name: str, scale: str, path: Path) -> None:
    """In a process that may be killed at any time: there is no file before there is all of it."""
    model, workload = _load(survey, name, scale)
    found = characterize(workload, model)
    with characterization_file(path) as write:
        write(found)


def _key(survey: Survey, name: str, scale: str, keys: SurveyKeys) -> str:
    """The content key of a program of a survey, which is worked out once."""
    place = survey.model, survey.variants, *sorted(survey.settings.items()), name, scale
    if place not in keys:
        keys[place] = _content_key(survey, name, scale)
    return keys[place]


def _content_key(survey: Survey, name: str, scale: str) -> str:
    """That of its run, and the code that characterizes."""
    model, workload = _load(survey, name, scale)
    digest = hashlib.sha256(content_key(model, workload).encode())
    for path in sorted(_ROOM.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _read(path: Path) -> ApplicationCharacterization | None:
    """What is there; a damaged file is made again."""
    try:
        return _only(path)
    except UserError:
        return None


def _only(path: Path) -> ApplicationCharacterization:
    (application,) = read_characterization(path).applications
    return application

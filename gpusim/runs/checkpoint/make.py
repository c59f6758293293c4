"""`checkpoint`: the begin of a workload into a file, from which many runs start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, own_code_errors
from gpusim.core.untrusted import brief
from gpusim.core.version import __version__
from gpusim.files.apart import keep_apart
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.runs.checkpoint import Checkpoint, RecordFirst
from gpusim.runs.checkpoint.file import write_checkpoint
from gpusim.runs.checkpoint.recording import RecordingScheduler
from gpusim.runs.checkpoint.state import requirements
from gpusim.runs.run import run_machine
from gpusim.runs.run_length import SCALES
from gpusim.runs.skipping import SkipFirst, parse_skip
from gpusim.runs.tenants import assign_sms, own_modules_of
from gpusim.runs.warming import prepare_warming
from gpusim.workloads.workload import Workload, load_workload

KEEP = "1M"
"""Default for the transactions of each application that are kept in full [our choice]."""

MOST_KEPT = 1 << 27
"""Transactions of each application that can be kept, at most: 40 bytes of memory each."""

ALL = "all"
"""In place of a number of them."""

_NUMBER = re.compile(r"([0-9]{1,18})\s*([kMG]?)")


@frozen
class Kept:
    """What a checkpoint holds, in numbers.

    Attributes:
        skipped: of each application, in words.
        launches: that are skipped, as a whole or in part.
        instructions: of warps.
        transactions: all.
        whole: those that are kept in full.
        bytes: of the file.
    """

    skipped: str
    launches: int
    instructions: int
    transactions: int
    whole: int
    bytes: int


def checkpoint(
    model: LoadedModel | str,
    workload: Workload | str,
    output: str | os.PathLike[str],
    *,
    skip: str | None = None,
    keep: str = KEEP,
    progress: Callable[[str, int], None] | None = None,
) -> Kept:
    """Execute the begin of a workload, without a clock, and write what it leaves behind.

    Args:
        model: from `gpusim.load_model`, or a name or file that it would load: any with the SMs of
            those that shall start from the file.
        workload: from `gpusim.load_workload`, or a name that it would load at its defaults.
        output: the file.
        skip: launches or blocks of each application, as in `gpusim.runs.skipping.parse_skip`;
            None: nothing, so that runs from the file are whole.
        keep: how many transactions of each application are kept in full, the last ones, such as
            ``"10M"``; or ``"all"``.
        progress: called with an application and its number of blocks that are skipped so far.

    Returns:
        what is in the file.

    Raises:
        UserError: impossible input, an application has nothing left to start with, or the file
            cannot be written.
    """
    what, most = _what(skip), _most(keep)
    if isinstance(model, str):
        model = load_model(model)
    if not isinstance(workload, Workload):
        workload = load_workload(workload)
    keep_apart({"output": output}, [model.path, *workload.inputs])
    tenants = assign_sms(model, workload)
    pace = RecordFirst(what.count, what.unit, most, int(model.config.l1.line), progress)
    with own_code_errors(own_modules_of(model, tenants)):
        machine = Machine(model.config, tenants, workload.seed, pace)
        prepare_warming(machine)
        run_machine(machine)
    schedulers = [one for one in machine.schedulers if isinstance(one, RecordingScheduler)]
    kept = Checkpoint(
        gpusim=__version__,
        model=model.name,
        workload=workload.name,
        scale=workload.scale,
        seed=workload.seed,
        parameters=workload.to_toml(),
        skipped=str(what),
        requires=requirements(model.config),
        applications=tuple(scheduler.recorded() for scheduler in schedulers),
    )
    write_checkpoint(output, kept)
    return _numbers(kept, Path(output).stat().st_size)


def _what(skip: str | None) -> SkipFirst:
    """What is skipped.

    Raises:
        UserError: it ends inside of blocks.
    """
    what = SkipFirst(0, "launches") if skip is None else parse_skip(skip)
    if what.unit == "instructions":
        raise UserError(
            f"--skip {skip}: a checkpoint cannot end inside of thread blocks, as a program in the "
            "middle of its work cannot be kept; skip launches or blocks"
        )
    return what


def _most(keep: str) -> int:
    """How many transactions are kept in full.

    Raises:
        UserError: it is no number, or too large.
    """
    if keep == ALL:
        return MOST_KEPT
    found = _NUMBER.fullmatch(keep.strip())
    if found is None:
        raise UserError(f"--keep {keep}: write a number of transactions such as 10M, or {ALL}")
    if (number := int(found[1]) * SCALES[found[2]]) > MOST_KEPT:
        raise UserError(f"--keep {keep}: {brief(number)} are too many; at most {MOST_KEPT:,}")
    return number


def _numbers(kept: Checkpoint, size: int) -> Kept:
    launches = [launch for app in kept.applications for launch in app.launches]
    return Kept(
        skipped=kept.skipped,
        launches=len(launches),
        instructions=sum(launch.instructions for launch in launches),
        transactions=sum(app.accesses for app in kept.applications),
        whole=sum(len(app.whole) for app in kept.applications),
        bytes=size,
    )

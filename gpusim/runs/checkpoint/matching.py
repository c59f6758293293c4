"""A run that starts from a checkpoint: whether it may."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.files.contents import hash_file
from gpusim.machine import Machine, Tenant
from gpusim.runs.checkpoint import Checkpoint, Replay
from gpusim.runs.checkpoint.file import read_checkpoint
from gpusim.runs.checkpoint.state import requirements
from gpusim.runs.skipping import Skipped
from gpusim.workloads.workload import Workload

_DIGITS = 12
"""Letters of the hash of a file in the name of a run [our choice]."""

_PLACES = ("share", "trace", "graph")
"""Keys of an application that may differ: contents of files are compared by their arrays."""


def replay_of(
    path: str | os.PathLike[str], model: LoadedModel, workload: Workload, tenants: Sequence[Tenant]
) -> Replayed:
    """What a run skips that starts from a file.

    Raises:
        UserError: the file cannot be read, or is of another workload or another kind of machine.
    """
    kept = read_checkpoint(path)
    name = Path(path).name
    with untrusted(os.fspath(path)):  # its parameters are untrusted text
        different = list(_differences(kept, model, workload, tenants))
    for what, there, here in different:
        raise UserError(
            f"--from {os.fspath(path)}: {what} is {here}, and was {there} when the checkpoint was "
            "made; they must be the same"
        )
    with untrusted(os.fspath(path), "cannot be read"):
        digest = hash_file(Path(path))
    return Replayed(Replay(kept, name), f"from={name}:{digest[:_DIGITS]}")


class Replayed(Skipped):
    """What a checkpoint holds is skipped.

    Args:
        pace: says what is done instead.
        setting: the option as results state it, with the digest of the file.
    """

    pace: Replay

    def machine(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> Machine:
        machine = super().machine(config, tenants, seed)
        self.pace.prepare(machine)
        return machine


def _differences(
    kept: Checkpoint, model: LoadedModel, workload: Workload, tenants: Sequence[Tenant]
) -> Iterator[tuple[str, object, object]]:
    """What is not the same: its name, how it was, and how it is."""
    yield from _unequal("the workload", kept.workload, workload.name)
    yield from _unequal("its scale", kept.scale, workload.scale)
    yield from _unequal("its seed", kept.seed, workload.seed)
    before = [(one.name, one.sms) for one in kept.applications]
    now = [(one.name, len(one.sms)) for one in tenants]
    yield from _unequal("the list of applications", _named(before), _named(now))
    then, today = (_parameters(text) for text in (kept.parameters, workload.to_toml()))
    for key in then | today:
        yield from _unequal(f"workload.{key}", then.get(key, "none"), today.get(key, "none"))
    for key, value in requirements(model.config).items():
        yield from _unequal(key, kept.requires.get(key, "unknown"), value)


def _unequal(what: str, there: object, here: object) -> Iterator[tuple[str, object, object]]:
    if there != here:
        yield what, there, here


def _named(applications: Sequence[tuple[str, int]]) -> str:
    return " + ".join(f"{name} on {sms} SMs" for name, sms in applications)


def _parameters(text: str) -> dict[str, Any]:
    """Parameters by dotted key."""
    found: dict[str, Any] = {}
    for app in tomllib.loads(text).get("applications", []):
        for key, value in app.items():
            if key not in _PLACES or not isinstance(value, str | float):
                found.update(_flat(f"{app.get('name')}.{key}", value))
    return found


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}", inner)
    else:
        yield key, value

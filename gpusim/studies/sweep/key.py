"""The content key of a run: runs that must have the same result have the same one."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.files.contents import content_of
from gpusim.results.datasets import SCHEMA_VERSION
from gpusim.results.digest import Plain, encode
from gpusim.runs.options import RunOptions, facts_of
from gpusim.runs.tenants import sm_counts
from gpusim.studies.sweep.code import semantics
from gpusim.studies.sweep.user_sources import own_code
from gpusim.workloads.workload import Workload

DEFAULTS = RunOptions()
"""Options of a run for which none are given."""

KEY_LENGTH = 32
"""Hexadecimal digits."""


def content_key(model: LoadedModel, workload: Workload, options: RunOptions = DEFAULTS) -> str:
    """Hash of all that decides a run's file: two equal keys need only one run.

    The resolved machine and workload (not the variants and overrides that led to them), the SMs
    of each application, the content of input files (not their paths), the seed, the options that
    decide what is simulated or kept, the version of the result schema, and the code of the
    simulator and of the user's policies and programs.

    Raises:
        UserError: an input file cannot be read, or the source of the user's code not be found.
    """
    plain: dict[str, Plain] = {
        "model": tomllib.loads(model.to_toml()),
        **_workload(workload),
        "options": _deciding(options),
        "schema": SCHEMA_VERSION,
        "semantics": semantics(),
        "own code": own_code(model, workload),
    }
    sms = sm_counts(model, workload)
    if sms != [model.config.sms]:
        plain["sms"] = sms
    return hashlib.sha256(encode(plain)).hexdigest()[:KEY_LENGTH]


def _deciding(options: RunOptions) -> dict[str, Plain]:
    """The options that decide a run's file; of files that it reads, the content."""
    return {
        name: _content(value) if isinstance(value, Path) else _plain(value)
        for name, value in options.chosen.items()
        if facts_of(name).decides
    }


def _plain(value: Plain) -> Plain:
    """The order of names does not matter."""
    return sorted(map(str, set(value))) if isinstance(value, tuple) else value


def workload_digest(workload: Workload) -> str:
    """Hash of what a workload contributes to a key.

    Raises:
        UserError: an input file cannot be read.
    """
    return hashlib.sha256(encode(_workload(workload))).hexdigest()


def _workload(workload: Workload) -> dict[str, Plain]:
    """A resolved workload; shares of SMs and paths of inputs are known better."""
    plain = tomllib.loads(workload.to_toml())
    for application in plain["applications"]:
        for name in ("share", "trace"):
            application.pop(name, None)
        if isinstance(application.get("graph"), str):
            del application["graph"]
    inputs = [_content(path) for spec in workload.applications for path in spec.inputs]
    if workload.timed.start:
        plain["timed"]["start"] = _content(Path(workload.timed.start))
    return {"workload": plain, "inputs": inputs}


def _content(path: Path) -> Plain:
    """Hashes of a file, or of all files of a folder by name."""
    try:
        return [list(one) for one in content_of(path)]
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error

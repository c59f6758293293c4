"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated

import typer

from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, importing


def begins(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of a word by a shell, from names that are found when it asks."""

    def found(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return found


def _models() -> Iterable[str]:
    from gpusim.files.shipped import data_names

    return data_names("models")


def _workloads() -> Iterable[str]:
    from gpusim.workloads.library import paper_names, paper_workloads, workload_names

    papers = (entry.name for paper in paper_names() for entry in paper_workloads(paper))
    return (*workload_names(), *papers)


def _recipes() -> Iterable[str]:
    from gpusim.config.recipe import recipe_names

    return recipe_names()


def _sweeps() -> Iterable[str]:
    from gpusim.files.shipped import data_names

    return data_names("experiments")


def _scales() -> Iterable[str]:
    from gpusim.workloads.tables import SCALES

    return SCALES


def _setting_begins(context: typer.Context, incomplete: str) -> list[str]:
    """Keys of the model that stands before it on the command line."""
    from gpusim.machine.load import load_model

    given = context.params.get("model") if "model" in context.params else ""
    model = next(iter(context.args), "") if given is None else given  # arguments are not parsed yet
    try:
        with importing(Imports.NOTHING):
            keys = load_model(model).origins
    except UserError:  # a shell shows what is said on completion as if it were typed
        return []
    return [f"{key}=" for key in keys if key.startswith(incomplete)]


def _record_begins(incomplete: str) -> list[str]:
    """The last one of what is to be recorded."""
    from gpusim.results.event_tables import RECORDS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in RECORDS if name.startswith(last)]


Model = Annotated[
    str,
    typer.Argument(
        help="Name of a shipped model, or path of a .toml file.", autocompletion=begins(_models)
    ),
]
RecordedFor = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="Model that runs the recording: a trace or a compiled kernel is then recorded with "
        "the arithmetic, shared memory and side caches that this machine asks for.",
        autocompletion=begins(_models),
    ),
]
WORKLOADS, SWEEPS = begins(_workloads), begins(_sweeps)
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        "-v",
        help="Variant of the model, name of a recipe, or path of one; applied in their order.",
        autocompletion=begins(_recipes),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set a key, such as tlb.L2.entries=1024; may be repeated.",
        autocompletion=_setting_begins,
    ),
]
SCALES, RECORDS = begins(_scales), _record_begins
Scale = Annotated[
    str, typer.Option(help="Size of the inputs: smoke, quick or paper.", autocompletion=SCALES)
]


class PictureKind(StrEnum):
    """Formats of pictures whose names a command makes."""

    PNG = "png"
    SVG = "svg"


Picture = Annotated[
    PictureKind,
    typer.Option("--format", help="Format of pictures: png (300 dots per inch) or svg."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Print all headline numbers and states, by group.")
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        min=1,
        metavar="N",
        help="Run with N seeds, one after another; print means and 95 % intervals.",
    ),
]
Shift = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="With --seeds: change this key by 0, +1, -1, +2, … run by run, such as l2.latency.",
    ),
]

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Number of processes (default: one per core)."),
]
Dask = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler to run on: tcp://host:8786.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run again what has failed.")]

AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code", help="Import the code (package.module:Class) that the files name."
    ),
]

_WORKLOAD = "workload."


def refuse_options(reason: str, **given: object) -> None:
    """Refuse options that would say nothing here.

    Args:
        reason: why, for the message.
        **given: by their names, with ``_`` for ``-``; None, False and no value: not given.

    Raises:
        UserError: the first one that is given.
    """
    for name, value in given.items():
        if value is not None and value is not False and value != []:
            raise UserError(f"--{name.replace('_', '-')}: {reason}")


def parse_settings(settings: list[str] | None) -> dict[str, str]:
    """``["tlb.L2.entries=1024"]`` as a mapping; the last one of a key counts.

    Raises:
        UserError: not of the form KEY=VALUE.
    """
    parsed = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not key.strip() or not equals:
            raise UserError(f"--set {setting}: write it like --set tlb.L2.entries=1024")
        parsed[key.strip()] = value.strip()
    return parsed


def split_settings(settings: list[str] | None) -> tuple[dict[str, str], dict[str, str]]:
    """Overrides of the model, and those of the workload (``workload.KEY=VALUE``) by KEY."""
    parsed = parse_settings(settings)
    workload = {
        key.removeprefix(_WORKLOAD): value
        for key, value in parsed.items()
        if key.startswith(_WORKLOAD)
    }
    model = {key: value for key, value in parsed.items() if not key.startswith(_WORKLOAD)}
    return model, workload

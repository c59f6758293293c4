"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from types import FrameType
from typing import Annotated, NoReturn

import typer

from gpusim.core.errors import UserError


def begins(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of a word by a shell, from names that are found when it asks."""

    def found(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return found


def _models() -> Iterable[str]:
    from gpusim.core.datafiles import data_names

    return data_names("models")


def _workloads() -> Iterable[str]:
    from gpusim.programs.library import paper_names, paper_workloads, workload_names

    papers = (entry.name for paper in paper_names() for entry in paper_workloads(paper))
    return (*workload_names(), *papers)


def _recipes() -> Iterable[str]:
    from gpusim.config.recipe import recipe_names

    return recipe_names()


def _sweeps() -> Iterable[str]:
    from gpusim.core.datafiles import data_names

    return data_names("experiments")


Model = Annotated[
    str,
    typer.Argument(
        help="Name of a shipped model, or path of a .toml file.", autocompletion=begins(_models)
    ),
]
WORKLOADS, SWEEPS = begins(_workloads), begins(_sweeps)
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant", "-v", help="Variant of the model, recipe, or a recipe's file; they stack.",
        autocompletion=begins(_recipes),
    ),
]  # fmt: skip
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="KEY=VALUE, such as tlb.L2.entries=1024; may be repeated."),
]


class PictureKind(StrEnum):
    """Formats of pictures whose names a command makes."""

    PNG = "png"
    SVG = "svg"


Picture = Annotated[
    PictureKind, typer.Option("--format", help="Of pictures: png (300 dots an inch) or svg.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=1, metavar="N",
        help="Run with so many seeds, one after the other; tell means and 95 % intervals.",
    ),
]  # fmt: skip
Shift = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="With --seeds: shift this key by 0, +1, -1, +2, … run by run, such as l2.latency.",
    ),
]  # fmt: skip

AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code", help="Import the code (package.module:Class) that the files name."
    ),
]

_WORKLOAD = "workload."


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


def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """A batch system ends a job: for commands that can go on later, the same as Ctrl-C."""
    raise KeyboardInterrupt

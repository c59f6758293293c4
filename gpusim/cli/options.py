"""Options that several commands share."""

from __future__ import annotations

from types import FrameType
from typing import Annotated, NoReturn

import typer

from gpusim.core.errors import UserError

Model = Annotated[str, typer.Argument(help="Name of a shipped model, or path of a .toml file.")]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant", "-v", help="Variant of the model, recipe, or a recipe's file; they stack."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="KEY=VALUE, such as tlb.L2.entries=1024; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]

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

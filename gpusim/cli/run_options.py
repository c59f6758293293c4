"""The options of a run on the command line: one parameter for each field of `RunOptions`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from gpusim.cli.options import RECORDS
from gpusim.runs.options import RunOptions, facts_of, flag_of, option_fields, run_options

Command = TypeVar("Command", bound=Callable[..., None])

_TYPES: dict[type, Any] = {
    str: str | None,
    int: int | None,
    bool: bool | None,
    Path: Path | None,
    list: list[str] | None,
}

_COMPLETIONS: dict[str, Callable[[str], list[str]]] = {"record": RECORDS}


def with_run_options(command: Command) -> Command:
    """Decorator: the command's parameter `options` is a `RunOptions` made of flags.

    The flags take its place on the command line.
    """
    signature = inspect.signature(command, eval_str=True)
    flags = [_parameter(one.name) for one in option_fields()]
    names = {one.name for one in flags}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += flags if parameter.name == "options" else [parameter]

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in names}
        command(options=options_of(chosen), **given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return cast("Command", run)


def options_of(given: dict[str, Any]) -> RunOptions:
    """The options of flags; one that is not given has its default."""
    return run_options({name: value for name, value in given.items() if value is not None})


def _parameter(name: str) -> inspect.Parameter:
    facts = facts_of(name)
    flags = [flag_of(name), *([facts.short] if facts.short else [])]
    info = typer.Option(*flags, help=facts.help, autocompletion=_COMPLETIONS.get(name))
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_TYPES[facts.kind], info],
    )

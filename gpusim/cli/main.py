"""The `gpusim` program: its commands, and the messages and exit codes of their errors."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from gpusim.cli.commands import COMMANDS
from gpusim.cli.quick_command import take_as_typed
from gpusim.cli.standard_streams import open_standard_streams
from gpusim.core.errors import SimulatorError, UserError, on_command_line
from gpusim.core.import_path import SAFE_PATH, leave_out_current_folder
from gpusim.core.process_memory import MORE_MEMORY, lacks_memory
from gpusim.core.terminal_text import shown
from gpusim.core.user_code import Imports, importing
from gpusim.files.interrupts import interrupted_by

EXIT_USER_ERROR = 2
EXIT_SIMULATOR_ERROR = 3
_EXIT_SIGNALLED = 128
"""With the signal's number, the exit code that shells expect: 130 of Ctrl-C."""

_received: int = signal.SIGINT
"""The signal that has ended the work."""


class _Commands(TyperGroup):
    """Turns errors into messages and exit codes, for the program and for tests that call it."""

    def get_params(self, ctx: Any) -> list[Any]:
        return take_as_typed(super().get_params(ctx))

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _explained():  # --help and --version print while they are parsed
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with on_command_line(), _explained(), importing(Imports.TRUSTED):
            return super().invoke(ctx)


@contextmanager
def _explained() -> Iterator[None]:
    """Errors end with message and exit code; what cannot be printed shows here, not at the end."""
    try:
        try:
            yield
        except typer.Exit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        explained = _explain(error)
        if explained is None:
            raise
        code, message = explained
        print(f"gpusim: {shown(message)}", file=sys.stderr)
        _print_no_more(error)
        raise typer.Exit(code) from error


def _explain(error: BaseException) -> tuple[int, str] | None:
    """Exit code and message; None for what is no business of a user."""
    interrupt = interrupted_by(error)
    if interrupt is not None:
        return _EXIT_SIGNALLED + _received, f"interrupted; {interrupt or 'nothing was written'}"
    if isinstance(error, UserError):
        return EXIT_USER_ERROR, str(error)
    if isinstance(error, SimulatorError):
        return EXIT_SIMULATOR_ERROR, str(error)
    return _of_the_system(error)


def _of_the_system(error: BaseException) -> tuple[int, str] | None:
    """Errors of the system, not of gpusim: of memory, of files, of the terminal."""
    if lacks_memory(error):
        reason = f" ({error})" if str(error) else ""
        return EXIT_USER_ERROR, f"there is not enough memory for this{reason}: {MORE_MEMORY}"
    if isinstance(error, RecursionError):
        return EXIT_USER_ERROR, "something in the input is nested too deeply"
    if isinstance(error, BrokenPipeError):
        return EXIT_USER_ERROR, "the output cannot be printed: its reader has ended"
    if isinstance(error, FileNotFoundError) and not error.filename:
        return EXIT_USER_ERROR, "the current folder is gone: change into one that is there"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else "cannot print: "
        return EXIT_USER_ERROR, f"{where}{error.strerror or error}"
    return None


def _print_no_more(error: BaseException) -> None:
    """After a failure to print, the process must not try to print the rest at its end."""
    if isinstance(error, OSError) and error.filename is None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version(wanted: bool) -> None:
    if wanted:
        from gpusim.core.version import __version__, form

        print(f"gpusim {__version__} ({form()})")
        raise typer.Exit


@cache
def command_line(command: str = "") -> typer.Typer:
    """The program with all its commands, or with one of them: to make all takes 0.1 s.

    Args:
        command: the one that is needed; all are if it is none.
    """
    app = typer.Typer(
        cls=_Commands,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        help="What does address translation cost this GPU on this program?",
    )
    app.callback()(_options)
    for name in [command] if command in COMMANDS else COMMANDS:
        COMMANDS[name](app)
    return app


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print version and form."
    ),
) -> None:
    """Options of gpusim itself."""


def __getattr__(name: str) -> typer.Typer:
    """``app``: the program with all its commands, for tests and for pages that show it."""
    if name == "app":
        return command_line()
    raise AttributeError(name)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Ctrl-C or SIGTERM: what is torn down half-way from now on keeps its complaints to itself."""
    global _received  # noqa: PLW0603  (a process ends once)
    _received = number
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def main() -> None:
    """Run the command of this process; `gpusim.cli.start` calls it."""
    open_standard_streams()
    leave_out_current_folder()
    os.environ.update(SAFE_PATH)
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    command = typer.main.get_command(
        command_line(named)
    )  # until it is there, `gpusim.cli.start` answers Ctrl-C
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    command(prog_name="gpusim")

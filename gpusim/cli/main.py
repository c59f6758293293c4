"""The `gpusim` program: its commands, and what becomes of their errors."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from gpusim.core.errors import SimulatorError, UserError
from gpusim.results.storage.interrupts import interrupted_by

EXIT_USER_ERROR = 2
EXIT_SIMULATOR_ERROR = 3
EXIT_INTERRUPTED = 130


class _Commands(TyperGroup):
    """Turns errors into messages and exit codes, whoever calls the commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            told = _explain(error)
            if told is None:
                raise
            code, message = told
            print(f"gpusim: {message}", file=sys.stderr)
            raise typer.Exit(code) from error


def _explain(error: BaseException) -> tuple[int, str] | None:
    """Exit code and message; None for what is no business of a user."""
    interrupt = interrupted_by(error)
    if interrupt is not None:
        return EXIT_INTERRUPTED, f"interrupted; {interrupt or 'nothing was written'}"
    if isinstance(error, UserError):
        return EXIT_USER_ERROR, str(error)
    if isinstance(error, SimulatorError):
        return EXIT_SIMULATOR_ERROR, str(error)
    return None


def _version(wanted: bool) -> None:
    if wanted:
        from gpusim.core.version import __version__, form

        print(f"gpusim {__version__} ({form()})")
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="What does address translation cost this GPU on this program?",
)


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print version and form."
    ),
) -> None:
    """Options of gpusim itself."""


def _add_commands() -> None:
    from gpusim.cli import (
        characterize,
        compare,
        cost,
        explore,
        export,
        follow,
        listing,
        report,
        reproduce,
        run,
        schema,
        show,
        study,
        sweep,
        timeline,
        trace,
    )

    app.command("run")(run.run)
    app.command("characterize")(characterize.characterize)
    app.command("compare")(compare.compare)
    app.command("cost")(cost.cost)
    app.command("explore")(explore.explore)
    app.command("export")(export.export)
    app.command("follow")(follow.follow)
    app.command("list")(listing.list_things)
    app.command("report")(report.report)
    app.command("reproduce")(reproduce.reproduce)
    app.command("schema")(schema.schema)
    app.command("show")(show.show)
    app.command("study", context_settings=study.STOPS_AT_THE_NAME)(study.study)
    app.command("sweep")(sweep.sweep)
    app.command("timeline")(timeline.timeline)
    app.add_typer(trace.app, name="trace")


_add_commands()


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Ctrl-C: what is torn down half-way from now on keeps its complaints to itself."""
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `gpusim` script; modules in the current folder can be named in models."""
    signal.signal(signal.SIGINT, _interrupt)
    sys.path.append(str(Path.cwd()))
    app(prog_name="gpusim")

"""The `gpusim` program: its commands, and what becomes of their errors."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from gpusim.core.errors import UserError

EXIT_USER_ERROR = 2
EXIT_SIMULATOR_ERROR = 3
EXIT_INTERRUPTED = 130


class _Commands(TyperGroup):
    """Turns errors into messages and exit codes, whoever calls the commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            _tell(str(error))
            raise typer.Exit(EXIT_USER_ERROR) from error
        except KeyboardInterrupt as error:
            _tell(f"interrupted; {str(error) or 'nothing was written'}")
            raise typer.Exit(EXIT_INTERRUPTED) from error
        except (AssertionError, RuntimeError) as error:
            if not _is_simulator_error(error):
                raise
            _tell(str(error))
            raise typer.Exit(EXIT_SIMULATOR_ERROR) from error


def _tell(message: str) -> None:
    print(f"gpusim: {message}", file=sys.stderr)


def _is_simulator_error(error: Exception) -> bool:
    from gpusim.core.engine.watchdog import DeadlockError
    from gpusim.machine.conservation import ConservationError

    return isinstance(error, ConservationError | DeadlockError)


def _version(wanted: bool) -> None:
    if wanted:
        from gpusim.core.version import __version__

        print(f"gpusim {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What does address translation cost this GPU on this program?",
)


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of gpusim itself."""


def _add_commands() -> None:
    from gpusim.cli import (
        characterize,
        compare,
        cost,
        follow,
        listing,
        report,
        reproduce,
        run,
        show,
        sweep,
        timeline,
        trace,
    )

    app.command("run")(run.run)
    app.command("characterize")(characterize.characterize)
    app.command("compare")(compare.compare)
    app.command("cost")(cost.cost)
    app.command("follow")(follow.follow)
    app.command("list")(listing.list_things)
    app.command("report")(report.report)
    app.command("reproduce")(reproduce.reproduce)
    app.command("show")(show.show)
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

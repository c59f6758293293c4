"""The commands of the program: each is imported when it is added."""

from __future__ import annotations

from collections.abc import Callable

import typer

from gpusim.cli.quick_command import QuickCommand


def _run(app: typer.Typer) -> None:
    from gpusim.cli.run import run

    app.command("run", cls=QuickCommand)(run)


def _blame(app: typer.Typer) -> None:
    from gpusim.cli.blame import blame

    app.command("blame")(blame)


def _characterize(app: typer.Typer) -> None:
    from gpusim.cli.characterize import characterize

    app.command("characterize")(characterize)


def _checkpoint(app: typer.Typer) -> None:
    from gpusim.cli.checkpoint import checkpoint

    app.command("checkpoint")(checkpoint)


def _compare(app: typer.Typer) -> None:
    from gpusim.cli.compare import compare

    app.command("compare")(compare)


def _cost(app: typer.Typer) -> None:
    from gpusim.cli.cost import cost

    app.command("cost")(cost)


def _explore(app: typer.Typer) -> None:
    from gpusim.cli.explore import explore

    app.command("explore")(explore)


def _export(app: typer.Typer) -> None:
    from gpusim.cli.export import export

    app.command("export")(export)


def _follow(app: typer.Typer) -> None:
    from gpusim.cli.follow import follow

    app.command("follow")(follow)


def _list(app: typer.Typer) -> None:
    from gpusim.cli.listing import list_things

    app.command("list")(list_things)


def _report(app: typer.Typer) -> None:
    from gpusim.cli.report import report

    app.command("report")(report)


def _reproduce(app: typer.Typer) -> None:
    from gpusim.cli.reproduce import reproduce

    app.command("reproduce")(reproduce)


def _schema(app: typer.Typer) -> None:
    from gpusim.cli.schema import schema

    app.command("schema")(schema)


def _show(app: typer.Typer) -> None:
    from gpusim.cli.show import show

    app.command("show")(show)


def _study(app: typer.Typer) -> None:
    from gpusim.cli.study import STOPS_AT_THE_NAME, study

    app.command("study", context_settings=STOPS_AT_THE_NAME)(study)


def _sweep(app: typer.Typer) -> None:
    from gpusim.cli.sweep import sweep

    app.command("sweep")(sweep)


def _timeline(app: typer.Typer) -> None:
    from gpusim.cli.timeline import timeline

    app.command("timeline")(timeline)


def _trust(app: typer.Typer) -> None:
    from gpusim.cli.trust import trust

    app.command("trust")(trust)


def _trace(app: typer.Typer) -> None:
    from gpusim.cli.trace import app as trace

    app.add_typer(trace, name="trace")


COMMANDS: dict[str, Callable[[typer.Typer], None]] = {
    "run": _run,
    "blame": _blame,
    "characterize": _characterize,
    "checkpoint": _checkpoint,
    "compare": _compare,
    "cost": _cost,
    "explore": _explore,
    "export": _export,
    "follow": _follow,
    "list": _list,
    "report": _report,
    "reproduce": _reproduce,
    "schema": _schema,
    "show": _show,
    "study": _study,
    "sweep": _sweep,
    "timeline": _timeline,
    "trust": _trust,
    "trace": _trace,
}
"""By name, in the order in which help shows them: what adds it to the program."""

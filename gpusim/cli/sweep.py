"""`gpusim sweep`: many runs, in a folder that other sweeps may share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from attrs import evolve

from gpusim.cli.options import (
    SWEEPS,
    AllowCode,
    Dask,
    Jobs,
    Json,
    Picture,
    PictureKind,
    RetryFailed,
    Seeds,
    Shift,
    refuse_options,
)
from gpusim.cli.serving import Serve, ServeAddress, serving
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, permit

if TYPE_CHECKING:
    from gpusim.studies.sweep.results import SweepResults
    from gpusim.studies.sweep.spec import Sweep
    from gpusim.studies.sweep.worker import Limits

_Spec = Annotated[
    str | None,
    typer.Argument(help="Name of a shipped sweep, or path of a .toml file.", autocompletion=SWEEPS),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder of runs, which several sweeps can share."),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would be run, and how long it will take.")
]
_Scale = Annotated[str | None, typer.Option(help="Size of the inputs, instead of the sweep's own.")]
_Status = Annotated[
    Path | None, typer.Option(help="Only show how far the sweeps in this folder are.")
]
_TimeLimit = Annotated[
    float | None, typer.Option(min=0, help="Minutes after which a run is ended as failed.")
]
_HangLimit = Annotated[
    float | None,
    typer.Option(
        min=0, help="Minutes without progress after which a run is ended as failed (default 30)."
    ),
]


def sweep(
    spec: _Spec = None,
    output: _Output = None,
    jobs: Jobs = None,
    dask: Dask = None,
    scale: _Scale = None,
    dry_run: _DryRun = False,
    retry_failed: RetryFailed = False,
    time_limit: _TimeLimit = None,
    hang_limit: _HangLimit = None,
    status: _Status = None,
    seeds: Seeds = None,
    shift: Shift = None,
    kind: Picture = PictureKind.PNG,
    serve: Serve = None,
    serve_address: ServeAddress = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Run all combinations of a sweep that have not been run yet."""
    if allow_code:
        permit(Imports.ALL)
    of_running = {
        "dask": dask,
        "time_limit": time_limit,
        "hang_limit": hang_limit,
        "serve": serve,
        "serve_address": serve_address,
    }
    if status is not None:
        if spec is not None or output is not None:
            raise UserError("--status DIR tells of all sweeps in a folder: without SPEC and -o")
        refuse_options(
            "--status only shows how far sweeps are",
            jobs=jobs,
            scale=scale,
            dry_run=dry_run,
            retry_failed=retry_failed,
            seeds=seeds,
            shift=shift,
            **of_running,
        )
        _show_status(status, as_json)
        return
    if spec is None or output is None:
        raise UserError("needs a sweep and a folder: gpusim sweep SPEC -o DIR, or --status DIR")
    if dry_run and not allow_code:
        permit(Imports.NOTHING)
    from gpusim.studies.sweep.spec import read_sweep

    wanted = _repeated(read_sweep(spec, scale), seeds, shift)
    if dry_run:
        refuse_options("--dry-run runs nothing", **of_running)
        _show_plan(wanted, output, retry_failed, jobs, as_json)
        return
    from gpusim.cli.sweep_view import WatchedSweep, sweep_progress
    from gpusim.studies.sweep.run import run_sweep

    watched = WatchedSweep(wanted.title or wanted.name)
    with (
        serving(serve, serve_address, watched.state, watched.brake.command),
        sweep_progress(wanted.title or wanted.name) as progress,
    ):
        results = run_sweep(
            wanted,
            output,
            jobs=jobs,
            dask=dask,
            retry_failed=retry_failed,
            limits=_limits(time_limit, hang_limit),
            progress=watched.also(progress),
            brake=watched.brake,
        )
    _show_results(results, wanted, kind, as_json)


def _show_status(folder: Path, as_json: bool) -> None:
    """How far all sweeps in a folder are."""
    from gpusim.cli.sweep_tables import print_status
    from gpusim.studies.sweep.status import sweep_status

    print_status(sweep_status(folder), as_json)


def _show_plan(
    sweep: Sweep, output: Path, retry_failed: bool, jobs: int | None, as_json: bool
) -> None:
    """What would be run, and how long it would take."""
    from gpusim.cli.sweep_tables import print_look_ahead
    from gpusim.studies.sweep.status import look_ahead

    print_look_ahead(look_ahead(sweep, output, retry_failed), jobs, as_json)


def _show_results(results: SweepResults, sweep: Sweep, kind: PictureKind, as_json: bool) -> None:
    """The table of a sweep that has ended, and its picture.

    Raises:
        Exit: with status 1, where runs have failed.
        UserError: its picture cannot be drawn; the table has been printed.
    """
    from gpusim.cli.sweep_tables import print_refusals, print_results
    from gpusim.studies.sweep.picture import draw_sweep

    if len(sweep.seeds) > 1:
        results.write_bands()
    try:
        picture = draw_sweep(results, sweep, kind) if sweep.plot else None
    except UserError:
        print_results(results, None, as_json)
        raise
    print_results(results, picture, as_json)
    if not as_json:
        print_refusals(results.refused)
    if results.failures:
        raise typer.Exit(1)


def _repeated(sweep: Sweep, seeds: int | None, shift: str | None) -> Sweep:
    """The sweep with `seeds` seeds, from its first one on, and with a shifted key."""
    if seeds is not None:
        sweep = evolve(sweep, seeds=range(sweep.seeds[0], sweep.seeds[0] + seeds))
    if shift is not None:
        if len(sweep.seeds) == 1:
            raise UserError(f"--shift {shift}: needs several runs, --seeds N")
        sweep = evolve(sweep, shift=shift)
    return sweep


def _limits(time_limit: float | None, hang_limit: float | None) -> Limits:
    from gpusim.studies.sweep.worker import Limits

    limits = Limits() if hang_limit is None else Limits(hang_seconds=hang_limit * 60)
    return limits if time_limit is None else Limits(time_limit * 60, limits.hang_seconds)

"""`gpusim run`: one GPU, one program, one result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import (
    RECORDS,
    WORKLOADS,
    AllowCode,
    Json,
    Model,
    Scale,
    Seeds,
    Settings,
    Shift,
    Variants,
    split_settings,
)
from gpusim.cli.saved_result import kept
from gpusim.cli.serving import Serve, ServeAddress, served_run
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, permit


def run(
    model: Model,
    workload: Annotated[
        str,
        typer.Argument(
            help="Name of a shipped workload, or path of a .toml file.", autocompletion=WORKLOADS
        ),
    ],
    variant: Variants = None,
    settings: Settings = None,
    scale: Scale = "quick",
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    record: Annotated[
        list[str] | None,
        typer.Option(
            help="Event tables to keep, comma-separated; see gpusim list records.",
            autocompletion=RECORDS,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HDF5 file of the result.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="File of JSON lines that tell of the run while it runs.")
    ] = None,
    log_every: Annotated[
        int | None, typer.Option(help="Simulated cycles between two of them (default 10_000).")
    ] = None,
    events: Annotated[
        Path | None, typer.Option(help="File of what happens to pages: shootdowns, probes, …")
    ] = None,
    seeds: Seeds = None,
    shift: Shift = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            help="Stop before the end: 2Mcycles, 500kinstructions, ipc-stable(2 %, 20 windows); "
            "NAME=RULE is for one application."
        ),
    ] = None,
    skip: Annotated[
        str | None,
        typer.Option(
            help="What is executed first without a clock, while caches are kept warm: 3launches, "
            "1kblocks, 5Minstructions."
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            help="Time windows only, and estimate the whole: "
            "windows=30,length=100kinstructions,warm=50kinstructions[,by=launch][,seed=0], "
            "or whole launches: windows=10,length=launch[,seed=0]."
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option("--from", help="Start from a checkpoint: a file of gpusim checkpoint."),
    ] = None,
    serve: Serve = None,
    serve_address: ServeAddress = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Run a workload on a model (--set workload.KEY=VALUE sets a key of the workload)."""
    if allow_code:
        permit(Imports.ALL)
    from gpusim.cli.progress import live_progress
    from gpusim.cli.seeds import Repeated, run_seeds
    from gpusim.cli.summary import print_summary
    from gpusim.machine.load import load_model
    from gpusim.runs.run_log import LOG_EVERY
    from gpusim.runs.simulate import simulate
    from gpusim.workloads.workload import load_workload

    records = [name.strip() for names in record or () for name in names.split(",")]
    if records and output is None:
        raise UserError(f"--record {','.join(records)}: needs a file to keep them in, -o FILE.h5")
    of_model, of_workload = split_settings(settings)
    if seeds is not None:
        _refuse_with_seeds(
            log=log,
            log_every=log_every,
            events=events,
            serve=serve,
            serve_address=serve_address,
            sample=sample,
            **{"from": start},
        )
        run_seeds(
            Repeated(
                model,
                variant or (),
                of_model,
                workload,
                scale,
                of_workload,
                range(seed, seed + seeds),
                shift or "",
                records,
                output,
                until or (),
                skip,
            ),
            as_json,
        )
        return
    if shift is not None:
        raise UserError(f"--shift {shift}: needs several runs, --seeds N")
    machine = load_model(model, variant or (), of_model)
    program = load_workload(workload, scale, seed, of_workload)
    if log is None and log_every is not None:
        raise UserError(f"--log-every {log_every}: needs a file to write to, --log FILE.jsonl")
    title = f"{machine.name} · {program.name}"
    with served_run(title, serve, serve_address) as live, live_progress(title) as progress:
        result = simulate(
            machine,
            program,
            record=records,
            output=output,
            progress=progress,
            log=log,
            log_every=LOG_EVERY if log_every is None else log_every,
            events=events,
            attach=None if live is None else live.attach,
            until=until or (),
            skip=skip,
            sample=sample,
            start=start,
        )
    with result, kept(output):
        if as_json:
            print(json.dumps(result.to_json()))
        else:
            print_summary(result, output)


def _refuse_with_seeds(**options: object) -> None:
    """What tells of one run only."""
    for name, given in options.items():
        if given is not None:
            option = name.replace("_", "-")
            raise UserError(f"--{option} is of one run: leave out --seeds, or use a sweep")

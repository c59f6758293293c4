"""`gpusim checkpoint`: the begin of a workload into a file, from which many runs start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from attrs import asdict

from gpusim.cli.options import (
    WORKLOADS,
    AllowCode,
    Json,
    Model,
    Settings,
    Variants,
    split_settings,
)
from gpusim.core.terminal_text import shown
from gpusim.core.untrusted import format_memory
from gpusim.core.user_code import Imports, permit


def checkpoint(
    model: Model,
    workload: Annotated[
        str,
        typer.Argument(
            help="Name of a shipped workload, or path of a .toml file.", autocompletion=WORKLOADS
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HDF5 file of the checkpoint.")],
    skip: Annotated[
        str | None, typer.Option(help="What is executed: 3launches, 1kblocks (default: nothing).")
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            help="Accesses of each application that are kept in full, the last ones: 10M, all."
        ),
    ] = "1M",
    variant: Variants = None,
    settings: Settings = None,
    scale: Annotated[
        str, typer.Option(help="Size of the inputs: smoke, quick or paper.")
    ] = "quick",
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Execute the beginning of a workload once, for runs that start there: gpusim run --from."""
    if allow_code:
        permit(Imports.ALL)
    from gpusim.cli.progress import block_progress
    from gpusim.machine.load import load_model
    from gpusim.runs.checkpoint.make import checkpoint
    from gpusim.workloads.workload import load_workload

    of_model, of_workload = split_settings(settings)
    machine = load_model(model, variant or (), of_model)
    program = load_workload(workload, scale, seed, of_workload)
    with block_progress(f"{program.name}") as progress:
        kept = checkpoint(machine, program, output, skip=skip, keep=keep, progress=progress)
    if as_json:
        print(json.dumps({"file": str(output), **asdict(kept)}))
        return
    print(
        shown(
            f"wrote {output}: {format_memory(kept.bytes)}, {kept.launches} launches, "
            f"{kept.instructions:,} warp instructions, {kept.transactions:,} accesses, of which "
            f"{kept.whole:,} in full"
        )
    )

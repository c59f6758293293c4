"""`gpusim characterize`: what a program's blocks and SMs access, without timing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.characterize_tlbs import Asked, print_tlbs
from gpusim.cli.options import (
    WORKLOADS,
    AllowCode,
    Json,
    Scale,
    Settings,
    Variants,
    split_settings,
)
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, permit
from gpusim.files.apart import keep_apart
from gpusim.results.quantity import percent

if TYPE_CHECKING:
    from rich.table import Table

    from gpusim.studies.characterize import ApplicationCharacterization, Characterization

_MODEL = "kepler-uvm"
"""The model where none is named."""


def characterize(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[{model}] {workload}",
            help="A model, as --model names it, and a shipped workload, a .toml file or a trace.",
            autocompletion=WORKLOADS,
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help=f"SMs, occupancy, line and page size count; else {_MODEL}."
        ),
    ] = None,
    variant: Variants = None,
    settings: Settings = None,
    scale: Scale = "quick",
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    tlbs: Annotated[
        str | None,
        typer.Option(
            metavar="DESIGNS",
            help="Pass lookups through TLBs: base, recipes, names of them, or keys with values, "
            'as "L2.entries=512,1024 L2.ways=8,16".',
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HDF5 file of all numbers.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture to draw, such as reuse.png or reuse.pdf.")
    ] = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Measure reuse, reuse distances and footprint of a workload, or how TLB designs do on it."""
    if allow_code:
        permit(Imports.ALL)
    if plot is not None:
        from gpusim.views.plots import check_picture

        check_picture(plot)
    machine, program = _two(names, model)
    keep_apart({"output": output, "plot": plot}, [machine, program])
    of_model, of_workload = split_settings(settings)
    asked = Asked(machine, tuple(variant or ()), of_model, program, scale, seed, of_workload)
    if tlbs is not None:
        if output is not None:
            raise UserError("with --tlbs there is no HDF5 file: --json prints all numbers")
        print_tlbs(asked, tlbs, plot, as_json=as_json)
        return
    _characterize(asked, output, plot, as_json=as_json)


def _two(names: list[str], model: str | None) -> tuple[str, str]:
    """The model and the workload that words of the command line name."""
    if len(names) > 2:
        raise UserError(f"{len(names)} names; allowed: a workload, or a model and a workload")
    if len(names) == 2 and model is not None:
        raise UserError(f"two models: {names[0]!r} and --model {model}")
    return (model or _MODEL, names[0]) if len(names) == 1 else (names[0], names[1])


def _characterize(asked: Asked, output: Path | None, plot: Path | None, *, as_json: bool) -> None:
    from gpusim.cli.progress import block_progress
    from gpusim.studies.characterize import characterize as characterize_workload

    machine, program = asked.model(), asked.workload()
    with block_progress() as progress:
        found = characterize_workload(program, machine, output=output, progress=progress)
    if plot is not None:
        from gpusim.studies.characterize.plot import plot_characterization

        plot_characterization(found, plot)
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        _print(found, [path for path in (output, plot) if path is not None])


def _print(found: Characterization, written: list[Path]) -> None:
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    console = stdout_console()
    console.print(_summary(found))
    for app in found.applications:
        console.print(_intensity(app))
        console.print(_kernels(app))
        console.print(_arrays(app))
        if app.pairs_counted < app.pairs:
            console.print(
                Text(
                    f"{app.name}: reuse between blocks was counted for {app.pairs_counted:,} of "
                    f"{app.pairs:,} ordered pairs, of blocks that were drawn"
                )
            )
    for path in written:
        console.print(Text(f"written to {path}"))


def _summary(found: Characterization) -> Table:
    from rich.table import Table
    from rich.text import Text

    run = found.provenance
    title = f"{' + '.join((run.model, *run.variants))} · {run.workload} · {run.scale}"
    table = Table(title=title, header_style="bold")
    table.add_column("what")
    for app in found.applications:
        table.add_column(Text(app.name), justify="right")
    table.add_column("unit")
    summaries = [app.summary(found.page_bytes) for app in found.applications]
    for name, (_, unit) in summaries[0].items():
        values = [_value(summary[name][0]) for summary in summaries]
        table.add_row(name.replace("_", " "), *values, "" if unit == "1" else unit)
    return table


def _intensity(app: ApplicationCharacterization) -> Table:
    from rich.table import Table

    from gpusim.studies.characterize.intensity import BIN_NAMES

    table = Table(title=f"{app.name}: reuse intensity", header_style="bold")
    table.add_column("share of")
    for name in BIN_NAMES:
        table.add_column(name, justify="right")
    for what, shares in (
        ("blocks, by reuse within", app.intra_shares),
        ("pairs of blocks, by reuse between", app.inter_shares),
    ):
        table.add_row(what, *(percent(share, 1) for share in shares.tolist()))
    return table


def _kernels(app: ApplicationCharacterization) -> Table:
    import attrs
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{app.name}: kernels", header_style="bold")
    table.add_column("kernel", overflow="fold")
    for name in ("launches", "blocks", "warps", "warp instr.", "memory instr.", "transactions"):
        table.add_column(name, justify="right", no_wrap=name == "transactions")
    for kernel in app.kernels:
        name, *counts = attrs.astuple(kernel)
        table.add_row(Text(name), *(f"{count:,}" for count in counts))
    return table


def _arrays(app: ApplicationCharacterization) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{app.name}: arrays", header_style="bold")
    table.add_column("array", overflow="fold")
    for name in ("bytes", "pages", "pages touched"):
        table.add_column(name, justify="right")
    for array in app.arrays:
        table.add_row(
            Text(array.name), f"{array.bytes:,}", f"{array.pages:,}", f"{array.touched:,}"
        )
    return table


def _value(value: int | float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if math.isnan(value) else f"{value:.4g}"

"""`gpusim trace`: record a workload, import another tool's trace, show what a trace holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.options import (
    WORKLOADS,
    AllowCode,
    Json,
    RecordedFor,
    Scale,
    Settings,
    Variants,
    split_settings,
)
from gpusim.core.errors import UserError
from gpusim.core.terminal_text import shown
from gpusim.core.user_code import Imports, permit
from gpusim.files.apart import keep_apart

if TYPE_CHECKING:
    from gpusim.cli.recording import Recording
    from gpusim.ptx.capture import Capture
    from gpusim.traces.application import TraceFile

app = typer.Typer(no_args_is_help=True, help="Record, import and examine trace files.")

Output = Annotated[Path, typer.Option("--output", "-o", help="HDF5 file of the trace.")]
File = Annotated[Path, typer.Argument(help="Trace file; see docs/traces.md for the formats.")]


@app.command()
def record(
    workload: Annotated[
        str,
        typer.Argument(
            help="Name of a shipped workload, or path of a .toml file.", autocompletion=WORKLOADS
        ),
    ],
    output: Output,
    scale: Scale = "quick",
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    settings: Settings = None,
    warp_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads of a warp of the models that shall run it; default: 32, or MODEL's.",
        ),
    ] = None,
    model: RecordedFor = None,
    variant: Variants = None,
    allow_code: AllowCode = False,
) -> None:
    """Run a workload's programs without a machine, and keep what their warps do."""
    if allow_code:
        permit(Imports.ALL)
    from gpusim.cli.progress import block_progress
    from gpusim.cli.recording import recording_for
    from gpusim.traces.recorder import record_trace
    from gpusim.workloads.workload import load_workload

    of_model, of_workload = split_settings(settings)
    made = recording_for(output, model, variant, of_model)
    program = load_workload(workload, scale, seed, of_workload)
    keep_apart({"output": output}, [workload, model, *program.inputs])
    warp_size = warp_size or made.warp_size
    with block_progress(f"recording {program.name}") as progress:
        warnings = record_trace(program, output, warp_size, progress, made.machine)
    print(shown(f"wrote {output}"))
    _warn(warnings)


@app.command("import")
def import_trace(
    file: File,
    output: Output,
    settings: Settings = None,
    model: RecordedFor = None,
    variant: Variants = None,
) -> None:
    """Turn a trace of another tool into gpusim's own HDF5, of which any block is read quickly."""
    from gpusim.cli.progress import block_progress
    from gpusim.cli.recording import recording_for
    from gpusim.traces.recorder import record_trace

    of_model, of_workload = split_settings(settings)
    made = recording_for(output, model, variant, of_model)
    with block_progress(f"importing {file.name}") as progress:
        trace = _opened(file, of_workload)
        keep_apart({"output": output}, [file, *trace.files])
        warnings = record_trace(trace, output, trace.warp_size, progress, made.machine)
    print(shown(f"wrote {output}"))
    _warn(warnings)


LaunchFile = Annotated[
    Path,
    typer.Option(
        "--launch", help="Python file that defines launch(kernel); it runs: see docs/kernels.md."
    ),
]
Registers = Annotated[
    int | None,
    typer.Option(min=1, max=255, help="32-bit registers of a thread; default: estimated."),
]

Capability = Annotated[int, typer.Option(help="Compute capability that kernels are compiled for.")]
Execute = Annotated[bool, typer.Option(help="Compute results, not only what addresses depend on.")]


@app.command()
def cuda(
    kernel: Annotated[str, typer.Argument(help="File of CUDA C++, FILE.cu or FILE.cu:KERNEL.")],
    launch: LaunchFile,
    output: Output,
    registers: Registers = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of NVRTC, such as -DN=64; may be repeated.")
    ] = None,
    model: RecordedFor = None,
    variant: Variants = None,
) -> None:
    """Compile a CUDA kernel (NVRTC; no GPU), launch it, and keep what its warps do."""
    from gpusim.cli.recording import recording_for

    made = recording_for(output, model, variant)
    _record_kernel(kernel, (".cu", ".cuh", ".cpp", ".cc"), launch, made, registers, option or ())


@app.command()
def ptx(
    kernel: Annotated[str, typer.Argument(help="File of PTX, FILE.ptx or FILE.ptx:KERNEL.")],
    launch: LaunchFile,
    output: Output,
    registers: Registers = None,
    model: RecordedFor = None,
    variant: Variants = None,
) -> None:
    """Launch a kernel in PTX, executed here, and keep what its warps do."""
    from gpusim.cli.recording import recording_for

    made = recording_for(output, model, variant)
    _record_kernel(kernel, (".ptx",), launch, made, registers, ())


@app.command()
def triton(
    file: Annotated[
        str,
        typer.Argument(help="Python file that launches kernels in Triton, FILE.py:FUNCTION; runs."),
    ],
    output: Output,
    capability: Capability = 80,
    execute: Execute = True,
    model: RecordedFor = None,
    variant: Variants = None,
) -> None:
    """Run a function that launches kernels in Triton (no GPU), and keep what their warps do."""
    from gpusim.cli.kernel_trace import record_python
    from gpusim.cli.recording import recording_for
    from gpusim.ptx.triton_kernel import capture_triton

    made = recording_for(output, model, variant)
    _report(record_python(capture_triton, file, made, capability, execute), output)


@app.command()
def numba(
    file: Annotated[
        str,
        typer.Argument(help="Python file that launches kernels in Numba, FILE.py:FUNCTION; runs."),
    ],
    output: Output,
    capability: Capability = 80,
    execute: Execute = True,
    model: RecordedFor = None,
    variant: Variants = None,
) -> None:
    """Run a function that launches kernels in Numba (no GPU), and keep what their warps do."""
    from gpusim.cli.kernel_trace import record_python
    from gpusim.cli.recording import recording_for
    from gpusim.ptx.numba_kernel import capture_numba

    made = recording_for(output, model, variant)
    _report(record_python(capture_numba, file, made, capability, execute), output)


def _record_kernel(
    kernel: str,
    suffixes: Sequence[str],
    launch: Path,
    made: Recording,
    registers: int | None,
    options: Sequence[str],
) -> None:
    from gpusim.cli.kernel_trace import record_kernel

    if Path(kernel).suffix.partition(":")[0] not in suffixes:
        raise UserError(f"{kernel}: its name must end with {' or '.join(suffixes)}")
    _report(record_kernel(kernel, launch, made, registers, options), made.output)


def _report(captured: Capture, output: Path) -> None:
    """What was written, and what a user should know of it."""
    print(shown(f"wrote {output}"))
    _warn(captured.application().warnings())


@app.command()
def info(file: File, as_json: Json = False, settings: Settings = None) -> None:
    """Count the instructions of a trace, and the memory that they touch."""
    from gpusim.cli.progress import block_progress
    from gpusim.traces.survey import survey_application

    of_model, of_workload = split_settings(settings)
    if of_model:
        raise UserError(
            f"--set {next(iter(of_model))}: a trace has no model; allowed: workload.KEY=VALUE"
        )
    counts: dict[str, dict[str, Any]] = {}
    warnings: list[str] = []
    with block_progress(f"reading {file.name}") as progress:
        trace = _opened(file, of_workload)
        for one in trace.applications:
            application = one.start()
            counts[one.name] = survey_application(application, trace.warp_size, progress).to_json()
            warnings += application.warnings()
    if as_json:
        print(json.dumps({**_head(trace), "applications": counts, "warnings": warnings}))
    else:
        _print_counts(trace, counts)
        _warn(warnings)


def _opened(file: Path, settings: dict[str, str]) -> TraceFile:
    """A trace with what ``--set workload.KEY=VALUE`` says of it, by KEY."""
    from gpusim.traces.open_trace import open_trace
    from gpusim.traces.options import trace_options

    return open_trace(file, options=trace_options(settings))


def _warn(warnings: Iterable[str]) -> None:
    for text in warnings:
        print(shown(f"warning: {text}"), file=sys.stderr)


def _head(trace: TraceFile) -> dict[str, object]:
    return {
        "file": str(trace.path),
        "format": trace.format,
        "workload": trace.name,
        "scale": trace.scale,
        "seed": trace.seed,
        "warp_size": trace.warp_size,
    }


def _print_counts(trace: TraceFile, counts: dict[str, dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    console = stdout_console()
    for name, value in _head(trace).items():
        console.print(Text(f"{name.replace('_', ' ')}: {value}"))
    table = Table(header_style="bold")
    table.add_column("application")
    for application in counts:
        table.add_column(Text(application), justify="right")
    for row in zip(*(_flat(count) for count in counts.values()), strict=True):
        table.add_row(row[0][0], *(f"{value:,}" for _, value in row))
    console.print(table)
    kernels = Table(header_style="bold")
    for column in ("application", "kernel"):
        kernels.add_column(column, overflow="fold")
    kernels.add_column("launches", justify="right")
    for application, count in counts.items():
        for kernel, launches in count["kernels"].items():
            kernels.add_row(Text(application), Text(kernel), f"{launches:,}")
    console.print(kernels)


def _flat(counts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Nested counts by their names in a row; the kernels have a table of their own."""
    for name, value in counts.items():
        if name == "kernels":
            continue
        title = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _flat(value, f"{title}: ")
        else:
            yield title, value

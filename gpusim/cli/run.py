"""`gpusim run`: one GPU, one program, one result; or, with `--seeds`, one result for each seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer
from attrs import frozen

from gpusim.cli.options import (
    WORKLOADS,
    AllowCode,
    Everything,
    Json,
    Model,
    Quiet,
    Scale,
    Seeds,
    Settings,
    Shift,
    Variants,
    split_settings,
)
from gpusim.cli.run_options import with_run_options
from gpusim.cli.saved_result import kept
from gpusim.cli.serving import Serve, ServeAddress, served_runs
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, permit
from gpusim.runs.options import RunOptions

if TYPE_CHECKING:
    from gpusim.config.load import LoadedModel
    from gpusim.results.result import Result
    from gpusim.views.live import LiveRun


@with_run_options
def run(
    *,
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
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    options: RunOptions,
    seeds: Seeds = None,
    shift: Shift = None,
    serve: Serve = None,
    serve_address: ServeAddress = None,
    allow_code: AllowCode = False,
    everything: Everything = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a workload on a model (--set workload.KEY=VALUE sets a key of the workload)."""
    if allow_code:
        permit(Imports.ALL)
    if options.record and options.output is None:
        names = ",".join(options.record)
        raise UserError(f"--record {names}: needs a file to keep them in, -o FILE.h5")
    if shift is not None and seeds is None:
        raise UserError(f"--shift {shift}: needs several runs, --seeds N")
    if seeds is not None and options.start is not None:
        raise UserError("--from: a checkpoint is of one seed: leave out --seeds")
    of_model, of_workload = split_settings(settings)
    chosen = Chosen(
        model, tuple(variant or ()), of_model, workload, scale, of_workload, quiet=quiet
    )
    if seeds is None:
        planned = [Planned(seed, options, "")]
    else:
        numbers = range(seed, seed + seeds)
        planned = [
            Planned(
                number, options.of_run(f"seed-{number}"), f" · seed {number} ({index} of {seeds})"
            )
            for index, number in enumerate(numbers, 1)
        ]
    with served_runs(serve, serve_address) as begin:
        results = [
            _simulate(chosen, one, chosen.shifted(shift, number), begin)
            for number, one in enumerate(planned)
        ]
    if seeds is None:
        _show(results[0], options, everything=everything, as_json=as_json)
    else:
        from gpusim.cli.seeds import Repeated, show_repeated

        what = Repeated(range(seed, seed + seeds), shift, options)
        show_repeated(results, what, everything=everything, as_json=as_json)


@frozen(eq=False, repr=False)
class Chosen:
    """The machine and the program of a command line.

    Attributes:
        model, variants, settings: as for `gpusim.load_model`.
        workload, scale, parameters: as for `gpusim.load_workload`.
        quiet: whether progress is not shown.
    """

    model: str
    variants: Sequence[str]
    settings: Mapping[str, str]
    workload: str
    scale: str
    parameters: Mapping[str, str]
    quiet: bool = False

    def shifted(self, key: str | None, number: int) -> LoadedModel:
        """The model, with a key shifted as in run `number`; None: nothing is shifted."""
        from gpusim.machine.load import load_model
        from gpusim.studies.sweep.shift import shifted_value

        model = load_model(self.model, self.variants, self.settings)
        if key is None or not number:
            return model
        shifted = {**self.settings, key: shifted_value(model, key, number)}
        return load_model(self.model, self.variants, shifted)


@frozen(eq=False, repr=False)
class Planned:
    """One run of a command line.

    Attributes:
        seed: of everything random.
        options: of the run.
        title_end: end of its title: which of several runs it is.
    """

    seed: int
    options: RunOptions
    title_end: str


def _simulate(
    chosen: Chosen, run: Planned, model: LoadedModel, begin: Callable[[str], LiveRun | None]
) -> Result:
    from gpusim.cli.progress import live_progress
    from gpusim.runs.run import Observers, Run
    from gpusim.workloads.sizes import expected_transactions
    from gpusim.workloads.workload import load_workload

    workload = load_workload(chosen.workload, chosen.scale, run.seed, chosen.parameters)
    title = f"{model.name} · {workload.name}{run.title_end}"
    live = begin(title)
    expected = None if run.options.stops_or_skips else expected_transactions(workload)
    with nullcontext() if chosen.quiet else live_progress(title, expected) as progress:
        observers = Observers(progress, None if live is None else live.attach)
        return Run(model, workload, run.options, observers).execute()


def _show(result: Result, options: RunOptions, *, everything: bool, as_json: bool) -> None:
    with result, kept(options.output):
        if as_json:
            print(json.dumps(result.to_json()))
        else:
            from gpusim.cli.summary import print_summary

            print_summary(result, options.output, everything=everything)

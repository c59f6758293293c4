"""The page: all parts of the report, put into its template."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.files.whole_files import whole_file
from gpusim.results.answer import answer
from gpusim.results.blame import answers
from gpusim.results.inconsistent_file import misread
from gpusim.views.report.blame import blame_table
from gpusim.views.report.counters import counter_tables
from gpusim.views.report.events import page_table, walk_table
from gpusim.views.report.headline import headline_table, tiles
from gpusim.views.report.launches import kernel_numbers, kernel_table, launch_table
from gpusim.views.report.machine import machine_facts
from gpusim.views.report.node import gpu_table, remote_table
from gpusim.views.report.picture import missing_records, timeline_picture
from gpusim.views.report.stalls import stall_bars, stall_table

if TYPE_CHECKING:
    from jinja2 import Template

    from gpusim.results import Result


def write_report(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the report of a run; the file is whole or absent.

    Raises:
        UserError: it cannot be written, or the result is damaged.
    """
    with whole_file(Path(path)) as stream:
        stream.write(html_report(result).encode())


def html_report(result: Result) -> str:
    """The report of a run: one page that needs nothing else, neither files nor network nor scripts.

    Event tables are read in chunks; memory grows with the number of pages that the run touched,
    not with that of its events.

    Raises:
        UserError: the result is damaged.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gpusim.views.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    with misread(result):
        return _rendered(result, environment.get_template("report.html.j2"))


def _rendered(result: Result, template: Template) -> str:
    run = result.provenance
    return template.render(
        run=run,
        machine=" + ".join((run.model, *run.variants)),
        command=_command(result),
        digest=result.digest,
        wall=result.wall,
        several=len(result.applications) > 1,
        answer=answer(result),
        warnings=result.warnings,
        tiles=tiles(result),
        bars=stall_bars(result),
        stalls=stall_table(result),
        picture=timeline_picture(result),
        missing=missing_records(result),
        sentences=answers(result),
        blamed=blame_table(result),
        pages=page_table(result),
        walks=walk_table(result),
        gpus=gpu_table(result),
        remote=remote_table(result),
        headline=headline_table(result),
        kernels=kernel_table(result),
        kernel_numbers=kernel_numbers(result),
        launches=launch_table(result),
        facts=machine_facts(result.config_toml),
        config=result.config_toml,
        workload=result.workload_toml,
        counters=counter_tables(result),
    )


def _command(result: Result) -> str:
    """The command that runs the same once more."""
    run = result.provenance
    words = ["gpusim", "run", run.model, run.workload]
    words += ["--scale", run.scale, "--seed", str(run.seed)]
    words += [word for variant in run.variants for word in ("--variant", variant)]
    words += [word for override in run.overrides for word in ("--set", override)]
    return shlex.join(words)

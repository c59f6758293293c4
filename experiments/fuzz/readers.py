"""What is done with a mutated file of each kind: everything that a command would do with it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from experiments.fuzz.corpus import GOOD_PAIR, GOOD_TRACEG, KINDS, corpus, raw_record
from gpusim.core.errors import UserError
from gpusim.results import open_result

if TYPE_CHECKING:
    from gpusim.traces.application import TraceFile

_BLOCKS, _LAUNCHES = 3, 2

Reader = Callable[[Random, Path], None]
"""Takes a file, and the folder around it; raises `UserError` or nothing."""


def _model(random: Random, path: Path) -> None:
    import gpusim

    gpusim.load_model(str(path)).to_toml()


def _recipe(random: Random, path: Path) -> None:
    import gpusim

    gpusim.load_model("tiny", [str(path)])


def _workload(random: Random, path: Path) -> None:
    import gpusim

    gpusim.load_workload(str(path), "smoke", random.choice((0, 1, 1 << 63, 10**400))).to_toml()


def _sweep(random: Random, path: Path) -> None:
    from gpusim.studies.sweep.spec import read_sweep, to_plain

    to_plain(read_sweep(path))


@cache
def _tenants() -> Any:
    import gpusim
    from gpusim.runs.tenants import assign_sms

    return assign_sms(gpusim.load_model("tiny"), gpusim.load_workload("atax", "smoke"))


def _events(random: Random, path: Path) -> None:
    from gpusim.runs.page_events import read_events

    read_events(path, _tenants())


def _graph(random: Random, path: Path) -> None:
    from gpusim.programs.graphs.files import read_graph

    read_graph(path)


def _trace(random: Random, path: Path) -> None:
    from gpusim.traces.open_trace import open_trace
    from gpusim.traces.recorder import record_trace
    from gpusim.traces.survey import survey_application

    trace = open_trace(path, random.random() < _PACED)
    way = random.random()
    if way < _SURVEYED:
        for application in trace.applications:
            survey_application(application.start(), trace.warp_size).to_json()
    elif way < _IMPORTED:
        record_trace(trace, path.with_name("imported.h5"), trace.warp_size)
    else:
        _run(random, trace)


def _run(random: Random, trace: TraceFile) -> None:
    for application in trace.applications:
        for launch in islice(application.start().launches(), _LAUNCHES):
            for block in range(min(launch.blocks, _BLOCKS)):
                width = random.choice((32, 64))
                for _ in islice(launch.run_block(block, width), _CHUNKS):
                    pass


_UNHARMED = 0.5
_CHUNKS, _PACED, _SURVEYED, _IMPORTED = 50, 0.05, 0.04, 0.05


def _macsim(random: Random, path: Path) -> None:
    from experiments.fuzz.mutate import mutated

    raw = path.with_name(f"{path.stem}_0.raw")
    data = raw_record()
    raw.write_bytes(data if random.random() < _UNHARMED else mutated(random, "x.gz", data))
    _trace(random, path)


def _kernelslist(random: Random, path: Path) -> None:
    path.with_name("kernel-1.traceg").write_text(GOOD_TRACEG, encoding="utf-8")
    _trace(random, path)


def _facts(random: Random, path: Path) -> None:
    _, data = corpus("table")[0]
    path.with_suffix(".npz").write_bytes(data)
    _trace(random, path.with_suffix(".npz"))


def _result(random: Random, path: Path) -> None:
    with open_result(path) as result:
        random.choice(_VIEWS)(result)


def _numbers(result: Any) -> None:
    _ = result.to_json(), result.tables, result.launches, result.applications, result.provenance


def _compared(result: Any) -> None:
    from gpusim.results import compare

    compare(result, result).to_json()


def _followed(result: Any) -> None:
    from gpusim.results import follow, slowest_requests

    for row in slowest_requests(result, 2).index.tolist():
        follow(result, row)


def _summarised(result: Any) -> None:
    from gpusim.cli.summary import print_summary
    from gpusim.results.inconsistent_file import misread

    with redirect_stdout(io.StringIO()) as printed, misread(result):
        print_summary(result)
    _check_printed(printed.getvalue())


def _check_printed(text: str) -> None:
    if "\x1b" in text or "\x07" in text:
        raise AssertionError("a terminal would obey what was printed")


def _timeline(result: Any) -> None:
    from gpusim.results.inconsistent_file import misread
    from gpusim.views.timelines import Selection, timeline, window_of

    with misread(result):
        timeline(result, window_of(result, None, None, None, bins=20), Selection(None, None, None))


def _reported(result: Any) -> None:
    from gpusim.views.report.build import html_report

    html_report(result)


def _exported(result: Any) -> None:
    from gpusim.results.dram_trace import DRAM_FORMATS
    from gpusim.results.export import FORMATS, default_place, export

    place = Path(result.name)
    formats = FORMATS if "dram" in result.tables else set(FORMATS) - set(DRAM_FORMATS)
    for to in formats:
        export(place, to, default_place(place, to))


def _explored(result: Any) -> None:
    from gpusim.results.inconsistent_file import misread
    from gpusim.views.explore import explore

    with misread(result):
        explore(result)


def _for_perfetto(result: Any) -> None:
    from gpusim.results.inconsistent_file import misread
    from gpusim.views.perfetto import export

    with misread(result):
        export(result, Path(result.name).with_suffix(".pftrace"))


_VIEWS = (
    *(_numbers, _compared, _followed, _summarised) * 3,
    _timeline,
    _reported,
    _exported,
    _explored,
    _for_perfetto,
)


def _characterization(random: Random, path: Path) -> None:
    from gpusim.studies.characterize import read_characterization

    read_characterization(path).to_json()


def _claims(random: Random, path: Path) -> None:
    from gpusim.studies.sweep.run_claims import Claims, held

    held(path.parent)
    with Claims(path.parent) as claims:
        claims.remove_stale()


def _folder(random: Random, path: Path) -> None:
    from gpusim.studies.sweep.folder import RunFolder

    where = path.parent
    if where.name == "failures":
        where = where.parent
        (where / "gpusim-runs.json").write_text(
            '{"format": "gpusim runs", "version": 1}', encoding="utf-8"
        )
    RunFolder(where).failed("k")


def _table_of_a_sweep(random: Random, path: Path) -> None:
    from gpusim.cli.sweep_tables import print_results, print_status
    from gpusim.studies.sweep.results import open_sweep
    from gpusim.studies.sweep.status import sweep_status

    mark, spec = path.with_name("gpusim-runs.json"), path.with_name("pair.toml")
    mark.write_text('{"format": "gpusim runs", "version": 1}', encoding="utf-8")
    spec.write_text(GOOD_PAIR, encoding="utf-8")
    with redirect_stdout(io.StringIO()) as printed:
        print_status(sweep_status(path.parent), as_json=False)
        print_results(open_sweep(path.parent), None, random.random() < _AS_JSON)
    _check_printed(printed.getvalue())


_AS_JSON = 0.3


def _settings(random: Random, path: Path) -> None:
    import gpusim
    from gpusim.cli.options import split_settings

    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    of_model, of_workload = split_settings([line for line in lines if line])
    gpusim.load_workload("atax", "smoke", overrides=of_workload)
    gpusim.load_model("tiny", overrides=of_model)


def _limits(random: Random, path: Path) -> None:
    """What the command line tells of a run; each line on its own."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    refused = None
    for line in lines:
        option, _, value = line.partition(" ")
        try:
            if option in _OPTIONS:
                _OPTIONS[option](value)
        except UserError as error:
            refused = error
    if refused is not None:
        raise refused


def _until(text: str) -> None:
    from gpusim.runs.stopping import parse_rules

    parse_rules([text], ["atax"])


def _skip(text: str) -> None:
    from gpusim.runs.skipping import parse_skip

    parse_skip(text)


def _cycle(text: str) -> None:
    from gpusim.cli.timeline import whole_cycles

    whole_cycles(text)


_OPTIONS: dict[str, Callable[[str], None]] = {"until": _until, "skip": _skip, "cycle": _cycle}


def _trusted(random: Random, path: Path) -> None:
    from gpusim.core.user_code import is_trusted

    folder = path.parent / "gpusim"
    folder.mkdir(exist_ok=True)
    path.replace(folder / path.name)
    with patch.dict(os.environ, {"XDG_CONFIG_HOME": str(path.parent)}):
        is_trusted(path)


def _checkpoint(random: Random, path: Path) -> None:
    import gpusim
    from experiments.fuzz.corpus import started

    gpusim.simulate(gpusim.load_model("tiny"), started(), start=path).close()


READERS: dict[str, Reader] = {
    "model": _model,
    "recipe": _recipe,
    "workload": _workload,
    "sweep": _sweep,
    "events": _events,
    "graph": _graph,
    "traceg": _trace,
    "kernelslist": _kernelslist,
    "tracez": _trace,
    "nvbit": _trace,
    "memory trace": _trace,
    "macsim": _macsim,
    "table": _trace,
    "facts": _facts,
    "recorded trace": _trace,
    "result": _result,
    "characterization": _characterization,
    "claims": _claims,
    "folder": _folder,
    "table of a sweep": _table_of_a_sweep,
    "settings": _settings,
    "limits": _limits,
    "trusted": _trusted,
    "checkpoint": _checkpoint,
}
"""By kind of file."""


def read_all() -> None:
    """Read all good files, in every way: what is imported for that need not be in each process."""
    for kind in KINDS:
        for name, data in corpus(kind):
            with TemporaryDirectory() as folder:
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                for way in _VIEWS if kind == "result" else ():
                    with open_result(path) as result:
                        way(result)
                READERS[kind](Random(1), path)

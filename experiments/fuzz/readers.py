"""What is done with a mutated file of each kind: everything that a command would do with it."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from experiments.fuzz.corpus import GOOD_TRACEG, raw_record

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
    from gpusim.simulate import assign_sms

    return assign_sms(gpusim.load_model("tiny"), gpusim.load_workload("atax", "smoke"))


def _events(random: Random, path: Path) -> None:
    from gpusim.machine.page_events import read_events

    read_events(path, _tenants())


def _graph(random: Random, path: Path) -> None:
    from gpusim.programs.graphs.files import read_graph

    read_graph(path)


def _trace(random: Random, path: Path) -> None:
    from gpusim.programs.traces.files import open_trace

    trace = open_trace(path, random.random() < _PACED)
    for application in trace.applications:
        for launch in islice(application.start().launches(), _LAUNCHES):
            for block in range(min(launch.blocks, _BLOCKS)):
                width = random.choice((32, 64))
                for _ in islice(launch.run_block(block, width), _CHUNKS):
                    pass


_CHUNKS, _PACED = 50, 0.05


def _macsim(random: Random, path: Path) -> None:
    from experiments.fuzz.mutate import mutated

    raw = path.with_name(f"{path.stem}_0.raw")
    raw.write_bytes(mutated(random, "x.gz", raw_record()))
    _trace(random, path)


def _kernelslist(random: Random, path: Path) -> None:
    path.with_name("kernel-1.traceg").write_text(GOOD_TRACEG, encoding="utf-8")
    _trace(random, path)


def _facts(random: Random, path: Path) -> None:
    from experiments.fuzz.corpus import corpus

    _, data = corpus("table")[0]
    path.with_suffix(".npz").write_bytes(data)
    _trace(random, path.with_suffix(".npz"))


def _result(random: Random, path: Path) -> None:
    from gpusim.results import open_result

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
    from gpusim.results.misread import misread

    with redirect_stdout(io.StringIO()) as printed, misread(result):
        print_summary(result)
    _check_printed(printed.getvalue())


def _check_printed(text: str) -> None:
    if "\x1b" in text or "\x07" in text:
        raise AssertionError("a terminal would obey what was printed")


def _timeline(result: Any) -> None:
    from gpusim.results.misread import misread
    from gpusim.views.timelines import Selection, timeline, window_of

    with misread(result):
        timeline(result, window_of(result, None, None, None, bins=20), Selection(None, None, None))


def _reported(result: Any) -> None:
    from gpusim.views.report.build import html_report

    html_report(result)


_VIEWS = (*(_numbers, _compared, _followed, _summarised) * 3, _timeline, _reported)


def _claims(random: Random, path: Path) -> None:
    from gpusim.studies.sweep.claims import Claims, held

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


READERS: dict[str, Reader] = {
    "model": _model, "recipe": _recipe, "workload": _workload, "sweep": _sweep, "events": _events,
    "graph": _graph, "traceg": _trace, "kernelslist": _kernelslist, "nvbit": _trace,
    "macsim": _macsim, "table": _trace, "facts": _facts, "recorded trace": _trace,
    "result": _result, "claims": _claims, "folder": _folder,
}  # fmt: skip
"""By kind of file."""

"""All that shows a run: whatever it is, it can be looked at."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from random import Random

from rich.console import Console

from experiments.fuzz.machines.agreement import differ
from experiments.fuzz.machines.designs import Design
from gpusim.results.comparison import compare
from gpusim.results.result import Result


def shown(random: Random, _design: Design, result: Result) -> Iterator[str]:
    """Numbers, tables, pages and pictures are made, and a copy of the result is alike."""
    from gpusim.cli.summary import print_summary
    from gpusim.views.explore import explore
    from gpusim.views.report import html_report

    console = Console(file=io.StringIO(), width=random.choice((40, 80, 200)))
    for everything in (False, True):
        print_summary(result, console=console, everything=everything)
    other = copy.deepcopy(result)
    yield from differ(result, other)
    if other.to_json() != result.to_json():
        yield "a copy has another JSON"
    found = compare(result, other)
    if not found.same:
        yield f"a copy is not the same: {found.sentence}"
    for frame in (result.launches, result.kernels, result.stalls, result.arrays):
        len(frame)
    if random.random() < _PAGES:
        html_report(result)
        result._repr_html_()
        cycles = int(result.summary["cycles"])
        explore(result, begin=random.randrange(cycles + 1) // 2)


_PAGES = 0.3
"""Share of cases in which pages are made: each takes a second."""

SHOWN = {shown: 1}
"""The relation, and how often it is tried."""

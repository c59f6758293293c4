"""`gpusim timeline`: what the machine did over time, as a picture, in the terminal, or as data."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.opening import opened
from gpusim.cli.options import Json, refuse_options
from gpusim.core.errors import UserError
from gpusim.core.terminal_text import shown as visible
from gpusim.files.apart import keep_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray as xr
    from rich.text import Text

    from gpusim.results import Result
    from gpusim.views.timelines import Selection, Window

_LINES = 20
_BAR_WIDTH = 20
_NAMED = 3
"""States that a line names; the others are one."""

_FILLS = "█▓▒░"
"""So that the parts of a bar differ without colours, too."""


def whole_cycles(text: str) -> int:
    """A whole number, maybe with separators between thousands.

    Raises:
        UserError: it is none.
    """
    if re.fullmatch(r"\d+|\d{1,3}([,_]\d{3})+", text) is None:
        raise UserError(f"{text!r} is no number of cycles: write it like 12000, 12_000 or 12,000")
    digits = re.sub("[,_]", "", text)
    if len(digits) > _MOST_DIGITS:
        raise UserError(f"{text[:40]}… cycles are more than any run has")
    return int(digits)


_MOST_DIGITS = 18

_Begin = Annotated[
    int | None,
    typer.Option(
        "--from", parser=whole_cycles, metavar="CYCLE", help="First cycle, such as 10_000."
    ),
]
_End = Annotated[
    int | None,
    typer.Option("--to", parser=whole_cycles, metavar="CYCLE", help="Cycle after the last."),
]
_BinCycles = Annotated[
    int | None,
    typer.Option(
        "--bin",
        parser=whole_cycles,
        metavar="CYCLES",
        help="Cycles of a bin; by default such that there are 400 (in the terminal 20).",
    ),
]


def timeline(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result with recorded events.")],
    sm: Annotated[int | None, typer.Option(help="Only warps of an SM.")] = None,
    warp: Annotated[int | None, typer.Option(help="Only a warp.")] = None,
    app: Annotated[str | None, typer.Option(help="Only warps of an application.")] = None,
    begin: _Begin = None,
    end: _End = None,
    bin_cycles: _BinCycles = None,
    warps: Annotated[
        bool, typer.Option("--warps", help="Draw a row a warp, exact in every cycle (-o).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture, such as run.png or run.pdf.")
    ] = None,
    perfetto: Annotated[
        Path | None, typer.Option(help="Trace for Perfetto, such as run.pftrace.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where the cycles went over time, and how busy walkers, DRAM and TLBs were."""
    from gpusim.views.timelines import Selection, window_of
    from gpusim.views.timelines import timeline as timeline_of

    if warps and (output is None or bin_cycles is not None):
        raise UserError("--warps draws every cycle into a picture: give -o, and no --bin")
    if perfetto is not None and (warp is not None or app is not None):
        raise UserError("--perfetto writes whole SMs: leave out --warp and --app")
    if perfetto is not None and output is None and not as_json:
        refuse_options("--perfetto writes events as they are", bin=bin_cycles)
    keep_apart({"output": output, "perfetto": perfetto}, [file])
    if output is not None:
        from gpusim.views.plots import check_picture

        check_picture(output)
    selection = Selection(sm, warp, app)
    with opened(file) as (result,):
        shown = output is None and perfetto is None and not as_json
        window = window_of(result, begin, end, bin_cycles, bins=_LINES if shown else 400)
        if output is not None:
            _draw(result, window, selection, warps, output)
        if perfetto is not None:
            from gpusim.views.perfetto import export

            export(result, perfetto, begin=begin, end=end, sms=None if sm is None else [sm])
        if as_json:
            print(json.dumps(_plain(timeline_of(result, window, selection), window)))
        elif shown:
            _print(result, timeline_of(result, window, selection), window, selection)
    if not as_json:
        for path in (output, perfetto):
            if path is not None:
                print(visible(f"written to {path}"))


def _draw(result: Result, window: Window, selection: Selection, warps: bool, path: Path) -> None:
    """Draw the picture; a note on stderr says what further recording would add to it."""
    from gpusim.results import DRAWN, RECORDS
    from gpusim.views.plots import save
    from gpusim.views.timelines.picture import draw_timeline
    from gpusim.views.timelines.warp_picture import draw_warps

    save((draw_warps if warps else draw_timeline)(result, window, selection), path)
    wanted = ("intervals", "walks") if warps else DRAWN
    missing = [record for record in wanted if RECORDS[record][0] not in result.tables]
    if missing:
        print(f"gpusim: more would be shown with --record {','.join(missing)}", file=sys.stderr)


def _plain(found: xr.Dataset, window: Window) -> dict[str, object]:
    """A dataset in plain JSON types, as `xarray.Dataset.from_dict` takes them; None for NaN."""
    values = found.astype(object).where(found.notnull(), None)
    return values.assign_attrs(begin=window.begin, end=window.end).to_dict()


def _print(result: Result, found: xr.Dataset, window: Window, selection: Selection) -> None:
    from rich.text import Text

    from gpusim.cli.console import stdout_console
    from gpusim.views.timelines.picture import describe, heading

    console = stdout_console()
    console.print(Text(heading(result), style="bold"))
    about = f"{describe(window, selection)}, in bins of {window.bin_cycles:,}"
    console.print(Text(f"{about}; shares of the warps' cycles"))
    for line in _lines(found):
        console.print(line, no_wrap=True, overflow="ellipsis")


def _lines(found: xr.Dataset) -> Iterator[Text]:
    """A line a bin: first cycle, resident warps, and what they did."""
    from rich.text import Text

    cycles = [f"{cycle:,}" for cycle in found.cycle.to_numpy().tolist()]
    warps = [f"{mean:,.1f}" for mean in found.resident_warps.to_numpy().tolist()]
    first, second = (max(map(len, column)) for column in (("cycle", *cycles), ("warps", *warps)))
    yield Text(f"{'cycle':>{first}}  {'warps':>{second}}", style="bold")
    states = found.state.to_numpy().tolist()
    for cycle, mean, sums in zip(cycles, warps, found.warp_cycles.to_numpy().tolist(), strict=True):
        parts = _largest(dict(zip(states, sums, strict=True)))
        line = Text(f"{cycle:>{first}}  {mean:>{second}}")
        if parts:
            line.append("  ").append(_bar(parts)).append("  ").append(_names(parts))
        yield line


def _largest(cycles: dict[str, int]) -> dict[str, float]:
    """Shares of the states, the largest first, and of all others together."""
    from gpusim.views.plots.colours import OTHER

    total = sum(cycles.values())
    ordered = sorted(cycles, key=lambda state: -cycles[state])
    shares = {state: cycles[state] / total for state in ordered if cycles[state]}
    named = dict(list(shares.items())[:_NAMED])
    rest = sum(list(shares.values())[_NAMED:])
    return {**named, OTHER: rest} if rest else named


def _bar(parts: dict[str, float]) -> Text:
    from rich.text import Text

    bar, drawn, share = Text(), 0, 0.0
    for fill, (state, part) in zip(_FILLS, parts.items(), strict=False):
        share += part
        upto = round(share * _BAR_WIDTH)
        bar.append(fill * (upto - drawn), _colour(state))
        drawn = upto
    return bar


def _names(parts: dict[str, float]) -> Text:
    from rich.text import Text

    from gpusim.results.quantity import percent

    shown = [
        Text.assemble((fill, _colour(state)), f" {state} {percent(part)}")
        for fill, (state, part) in zip(_FILLS, parts.items(), strict=False)
    ]
    return Text("  ").join(shown)


def _colour(state: str) -> str:
    from gpusim.views.plots import state_colours

    return state_colours([state], own=True)[state]

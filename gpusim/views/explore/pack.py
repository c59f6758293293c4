"""The data of a run in the page: columns of numbers, packed, with their meaning."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.states import TLB_PREFIX
from gpusim.results.transactions import line_and_page
from gpusim.results.walk_waits import read_walks, with_walks
from gpusim.views.plots.colours import STATE_COLOURS, state_colours
from gpusim.views.timelines import Window, activity

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

BINS = 8000
"""Bins of counters over the whole run; a screen shows means of several until it is zoomed."""

MAX_LINES = 6
"""Lines of one kind of counters: those with the largest values."""

MAX_ROWS = 20_000_000
"""Rows of all tables that a page may hold: some hundred megabytes in a browser."""


@frozen(eq=False)
class Packed:
    """A run for the page.

    Attributes:
        facts: names, colours and sizes, in plain JSON types.
        arrays: columns by name.
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; columns as compressed little-endian bytes in base 64."""
        columns = {
            name: {"type": array.dtype.str[1:], "data": _text(array)}
            for name, array in self.arrays.items()
        }
        return {**self.facts, "columns": columns}


def pack(result: Result, begin: int = 0, end: int | None = None) -> Packed:
    """All that the page shows of a run.

    Args:
        result: with recorded intervals; requests, walks, DRAM requests and TLB lookups add to it.
        begin: only what reaches into ``[begin, end)``.
        end: default: the end of the run.

    Raises:
        UserError: intervals were not recorded, or there is too much to hold.
    """
    if "intervals" not in result.tables:
        recorded = ", ".join(result.tables) or "nothing"
        raise UserError(
            f"{result.name} has no intervals to explore: run it with --record "
            f"intervals,requests,walks,dram,tlb (recorded were: {recorded})"
        )
    until = int(result.summary["cycles"]) if end is None else end
    if not 0 <= begin < until:
        raise UserError(f"there is nothing from cycle {begin} to {until}")
    rows = sum(result.tables.get(one, 0) for one in ("intervals", "requests", "stages"))
    if rows > MAX_ROWS and end is None and not begin:
        raise UserError(
            f"{result.name} has {rows:,} rows of events, more than the {MAX_ROWS:,} that a page "
            "can hold: take a part of the run with --from and --to"
        )
    arrays = {**_stays(result, begin, until), **_requests(result, begin, until)}
    counters = _counters(result, begin, until)
    arrays |= {f"counter_{number}": one["values"] for number, one in enumerate(counters)}
    return Packed(_facts(result, begin, until, counters), arrays)


def _facts(result: Result, begin: int, end: int, counters: list[dict[str, Any]]) -> dict[str, Any]:
    run = result.provenance
    colours = state_colours(result.states, own=True)
    line, lines = line_and_page(result)
    launches = result.launches
    return {
        "title": run.title,
        "digest": result.digest,
        "begin": begin,
        "end": end,
        "sms": len(result.stall_sums.sm),
        "states": [
            {"name": name, "colour": colours[name], "family": family}
            for name, family in zip(result.states, result.families, strict=True)
        ],
        "apps": result.applications["name"].tolist(),
        "kinds": ["load", "store", "atomic", "reduce", "walk", "write-back"],
        "line": line,
        "lines": lines,
        "launches": launches[["app", "launch", "kernel", "begin", "end"]].to_dict("records"),
        "counters": [
            {key: one[key] for key in ("name", "unit", "group", "colour")} for one in counters
        ],
        "recorded": list(result.tables),
        "warnings": list(result.warnings),
    }


def _stays(result: Result, begin: int, end: int) -> dict[str, NDArray[Any]]:
    """Stays of warps, one warp after the other: the end of a stay is the begin of the next one."""
    import pandas as pd

    parts = [part[(part.end > begin) & (part.begin < end)] for part in result.chunks("intervals")]
    rows = pd.concat(parts, ignore_index=True).sort_values(["warp", "begin"], kind="stable")
    first = np.flatnonzero(np.diff(rows.warp.to_numpy(np.int64), prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    warps = rows.iloc[first]
    return {
        "warp": warps.warp.to_numpy(np.uint32),
        "warp_sm": warps.sm.to_numpy(np.uint16),
        "warp_slot": warps.slot.to_numpy(np.uint16),
        "warp_app": warps.app.to_numpy(np.uint8),
        "warp_first": first.astype(np.uint32),
        "warp_end": rows.end.to_numpy(np.uint32)[last] if len(rows) else np.zeros(0, np.uint32),
        "stay_begin": rows.begin.to_numpy(np.uint32),
        "stay_state": rows.state.to_numpy(np.uint8),
    }


def _requests(result: Result, begin: int, end: int) -> dict[str, NDArray[Any]]:
    """Transactions in the order of their warps, with their stages and walks."""
    if "requests" not in result.tables:
        return {}
    requests = result.table("requests")
    requests["row"] = np.arange(len(requests))
    stages = result.table("stages")
    counts = np.diff(np.append(requests.first_stage.to_numpy(np.int64), len(stages)))
    requests["stages"] = counts
    requests["walk"] = _walk_of(result, requests, stages)
    requests = requests[(requests.end > begin) & (requests.begin < end)]
    requests = requests.sort_values(["warp", "begin"], kind="stable")
    kept = requests.stages.to_numpy(np.int64)
    offsets = np.repeat(requests.first_stage.to_numpy(np.int64) - _starts(kept), kept)
    places = offsets + np.arange(kept.sum())
    found: dict[str, NDArray[Any]] = {
        "request_warp": requests.warp.to_numpy(np.int32),
        "request_sm": requests.sm.to_numpy(np.int16),
        "request_app": requests.app.to_numpy(np.uint8),
        "request_kind": requests.kind.to_numpy(np.uint8),
        "request_line": requests.vline.to_numpy(np.float64),
        "request_begin": requests.begin.to_numpy(np.uint32),
        "request_end": requests.end.to_numpy(np.uint32),
        "request_walk": requests.walk.to_numpy(np.int32),
        "request_row": requests.row.to_numpy(np.uint32),
        "request_stage": _starts(kept).astype(np.uint32),
        "stage_state": stages.state.to_numpy(np.uint8)[places],
        "stage_begin": stages.begin.to_numpy(np.uint32)[places],
        "stage_end": stages.end.to_numpy(np.uint32)[places],
    }
    if "walks" in result.tables:
        walks = result.table("walks")
        found |= {
            "walk_page": walks.vpn.to_numpy(np.float64),
            "walk_sm": walks.sm.to_numpy(np.int16),
            "walk_app": walks.app.to_numpy(np.uint8),
            "walk_requested": walks.requested.to_numpy(np.uint32),
            "walk_started": walks.started.to_numpy(np.uint32),
            "walk_finished": walks.finished.to_numpy(np.uint32),
            "walk_levels": walks.levels.to_numpy(np.uint8),
        }
    return found


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some parts begins, by their lengths."""
    return np.cumsum(counts) - counts


def _walk_of(result: Result, requests: pd.DataFrame, stages: pd.DataFrame) -> NDArray[np.int32]:
    """The walk that each request waited for, by its row; -1: none."""
    found = np.full(len(requests), -1, np.int32)
    if "walks" not in result.tables:
        return found
    waits = stages[stages.state.isin(result.translation_states)]
    waits = waits.groupby("request").agg(since=("begin", "min"), until=("end", "max"))
    asids = result.applications["asid"].to_numpy(np.int64)
    of = requests.loc[waits.index]
    waits["asid"] = asids[of.app.to_numpy()]
    waits["vpn"] = of.vline.to_numpy(np.int64) // line_and_page(result)[1]
    waits = waits.rename_axis("request").reset_index().astype(np.int64)
    joined = with_walks(waits, read_walks(result), "until")
    found[joined.request.to_numpy()] = joined.walk.to_numpy()
    return found


def _counters(result: Result, begin: int, end: int) -> list[dict[str, Any]]:
    """Means over time of everything that was recorded."""
    width = max((end - begin) // BINS, 1)
    data = activity(result, Window(begin, end, width))
    colours = state_colours(result.states, own=True)
    found = []
    for name, values in data.items():
        parts = [(one, one.to_numpy().astype(np.float32)) for one in _parts(values)]
        parts.sort(key=lambda one: -np.nansum(one[1]))
        some = [one for one in parts if np.nansum(one[1])] or parts[:1]
        for place, (part, numbers) in enumerate(some[:MAX_LINES]):
            labels = [str(part[one].item()) for one in part.coords if part[one].ndim == 0]
            title = values.attrs["long_name"] if not labels or not place else ""
            title = ": ".join(filter(None, (title, *labels)))
            found.append(
                {
                    "name": title,
                    "unit": part.attrs["units"],
                    "group": str(name),
                    "colour": _colour("".join(labels), colours),
                    "values": numbers,
                }
            )
    return found


def _colour(label: str, states: Mapping[str, str]) -> str:
    """The colour of a line: of a state or TLB level, as everywhere; empty: it has none."""
    known = {**STATE_COLOURS, **states}  # also classes of DRAM traffic
    return known.get(label) or known.get(f"{TLB_PREFIX}{label}", "")


def _parts(values: Any) -> Iterable[Any]:
    """One-dimensional pieces along cycles."""
    others = [name for name in values.dims if name != "cycle"]
    if not others:
        return [values]
    return [values.sel({others[0]: one}) for one in values[others[0]].values]


def _text(array: NDArray[Any]) -> str:
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(gzip.compress(plain.tobytes(), 6, mtime=0)).decode()

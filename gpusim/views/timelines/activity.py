"""Activity of the machine over time: warps, transactions, walks, DRAM and TLBs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.states import TLB_PREFIX, State
from gpusim.files.units import parse_bandwidth, parse_hertz
from gpusim.views.timelines.binning import Occupancy, Tally
from gpusim.views.timelines.events import Wanted, rows, selectable, stages
from gpusim.views.timelines.stalls import cycle_coordinate, stalls
from gpusim.views.timelines.window import ALL_WARPS, Selection, Window

if TYPE_CHECKING:
    import xarray as xr

    from gpusim.results.result import Result

CLASSES = ("translation", "data")
"""What DRAM requests are for: page walks, or anything else (write-backs included)."""

DIRECTIONS = ("to the device", "to the host")
"""Lanes of the link to the host."""

_FINE = 1 << 10
"""Parts of a byte in which bytes a cycle of links are counted."""

STEPS = ("shootdown", "copy")
"""What happens to a page that moves between GPUs."""

_READY = (State.ISSUING, State.COMPUTING, State.READY)
_MOVED = ("data_read_bytes", "walk_read_bytes", "write_bytes")
_REQUESTS = ("data_reads", "walk_reads", "writes")


@frozen
class _Variable:
    """A variable of a dataset.

    Attributes:
        values: its first dimension is ``cycle``.
        units: of the values.
        long_name: what it is, for the axis of a picture.
        dimension: the second dimension, if there is one.
    """

    values: NDArray[Any]
    units: str
    long_name: str
    dimension: str | None = None


Variables = dict[str, _Variable]


def activity(result: Result, window: Window, selection: Selection = ALL_WARPS) -> xr.Dataset:
    """Means and rates in each bin, of everything for which the run has recorded events.

    Recorded intervals give `resident_warps`, and `ready_warps`: those that issue, compute, or
    could.  Requests give `outstanding` transactions by `state`; walks `walks_running` and
    `walks_queued` for a walker; DRAM requests `dram_bytes` a cycle by `traffic` (in the bin in
    which their data end), and the mean length of the `dram_queue`; TLB lookups `tlb_lookups` a
    cycle and `tlb_hit_rate` by `level`, NaN where there was no lookup.  Where
    pages come on demand, batches of faults give `batch_faults` and `batch_pages`, how large the
    batch is that the driver serves, and transfers `link_use` by `direction`, the part of the time
    in which a lane is busy, on a node a mean of GPUs.  There, packets give `node_link_use` by
    `node_link`, the part of the time in which a link is busy, and moves of pages `page_moves` by
    `step`, how many are there.

    DRAM requests, TLB lookups, transfers, packets and moves know their application, but neither SM
    nor warp; walks know no warp, batches of faults none of these.  A selection by what events do
    not know leaves out what they give.

    Returns:
        variables over ``cycle``, the first cycles of the bins.

    Raises:
        UserError: nothing was recorded that knows of the selection, or there is no such SM, warp
            or application.
    """
    among = selectable(result, selection)
    if not among:
        recorded = ", ".join(result.tables) or "nothing"
        raise UserError(
            f"{result.name} has no events for a timeline of {selection}: run it with --record "
            f"intervals or others (recorded were: {recorded})"
        )
    found = of_memory(result, window, among)
    if "intervals" in among:
        found = of_warps(stalls(result, window, selection), window) | found
    return dataset(result, window, found)


def of_warps(warp_cycles: xr.DataArray, window: Window) -> Variables:
    """What follows from the stalls."""
    cycles = warp_cycles.to_numpy()
    ready = cycles[:, _READY].sum(axis=1)
    return {
        "resident_warps": _Variable(cycles.sum(axis=1) / window.widths, "warps", "resident warps"),
        "ready_warps": _Variable(ready / window.widths, "warps", "warps that issue or could"),
    }


def of_memory(result: Result, window: Window, among: Mapping[str, Wanted]) -> Variables:
    """What follows from all other events; `among` is as from `selectable`."""
    found: Variables = {}
    for table, variables in (
        ("requests", _outstanding),
        ("walks", _walks),
        ("dram", _dram),
        ("tlb", _tlb),
        ("fault_batches", _batches),
        ("transfers", _transfers),
        ("links", _links),
        ("moves", _moves),
    ):
        if table in among:
            found |= variables(result, window, among[table])
    return found


def _outstanding(result: Result, window: Window, among: Wanted) -> Variables:
    found = Occupancy(window, len(result.states))
    for chunk in stages(result, among):
        found.add(chunk.begin.to_numpy(), chunk.end.to_numpy(), chunk.state.to_numpy())
    return {
        "outstanding": _Variable(
            _per_cycle(found.cycles(), window), "transactions", "outstanding transactions", "state"
        )
    }


def _walks(result: Result, window: Window, among: Wanted) -> Variables:
    queued, running = Occupancy(window), Occupancy(window)
    for chunk in rows(result, "walks", ["requested", "started", "finished"], among):
        started = chunk.started.to_numpy()
        queued.add(chunk.requested.to_numpy(), started)
        running.add(started, chunk.finished.to_numpy())
    return {
        f"walks_{what}": _Variable(
            _per_cycle(found.cycles(), window)[:, 0], "walks", f"page walks {what}"
        )
        for what, found in (("running", running), ("queued", queued))
    }


def _dram(result: Result, window: Window, among: Wanted) -> Variables:
    queue, ended = Occupancy(window), Tally(window, len(CLASSES))
    for chunk in rows(result, "dram", ["depth", "accepted", "issued", "finished"], among):
        queue.add(chunk.accepted.to_numpy(), chunk.issued.to_numpy())
        ended.add(chunk.finished.to_numpy(), np.where(chunk.depth.to_numpy() > 0, 0, 1))
    moved = ended.counts() * _request_bytes(result)
    return {
        "dram_bytes": _Variable(
            _per_cycle(moved, window), "B/cycle", "bytes moved by DRAM", "traffic"
        ),
        "dram_queue": _Variable(
            _per_cycle(queue.cycles(), window)[:, 0], "requests", "requests in DRAM queues"
        ),
    }


def _request_bytes(result: Result) -> int:
    """Bytes that every request of the DRAM channels moves, from their counters."""
    table = result.counters
    values = table[table.component == "dram"].groupby("counter").value.sum()
    requests = int(values[list(_REQUESTS)].sum())
    return int(values[list(_MOVED)].sum()) // requests if requests else 0


def _tlb(result: Result, window: Window, among: Wanted) -> Variables:
    levels = len(_tlb_levels(result))
    lookups, hits = Tally(window, levels), Tally(window, levels)
    for chunk in rows(result, "tlb", ["level", "hit", "cycle"], among):
        cycle, level, hit = (chunk[name].to_numpy() for name in ("cycle", "level", "hit"))
        lookups.add(cycle, level)
        hits.add(cycle[hit > 0], level[hit > 0])
    asked = lookups.counts()
    rate = np.full(asked.shape, np.nan)
    np.divide(hits.counts(), asked, out=rate, where=asked > 0)
    return {
        "tlb_lookups": _Variable(_per_cycle(asked, window), "1/cycle", "TLB lookups", "level"),
        "tlb_hit_rate": _Variable(rate, "fraction", "TLB hit rate", "level"),
    }


def _batches(result: Result, window: Window, among: Wanted) -> Variables:
    faults, pages = Occupancy(window), Occupancy(window)
    for chunk in rows(result, "fault_batches", ["begin", "end", "faults", "came"], among):
        span = chunk.begin.to_numpy(), chunk.end.to_numpy()
        faults.add(*span, weight=chunk.faults.to_numpy().astype(np.int64))
        pages.add(*span, weight=chunk.came.to_numpy().astype(np.int64))
    return {
        f"batch_{what}": _Variable(
            _per_cycle(found.cycles(), window)[:, 0], what, f"{what} of the batch that is served"
        )
        for what, found in (("faults", faults), ("pages", pages))
    }


def _transfers(result: Result, window: Window, among: Wanted) -> Variables:
    busy = Occupancy(window, len(DIRECTIONS))
    for chunk in rows(result, "transfers", ["to_host", "begin", "end"], among):
        busy.add(chunk.begin.to_numpy(), chunk.end.to_numpy(), chunk.to_host.to_numpy())
    links = tomllib.loads(result.config_toml).get("node", {}).get("gpus", 1)
    use = _per_cycle(busy.cycles(), window) / links
    return {"link_use": _Variable(use, "fraction", "use of the link", "direction")}


def _links(result: Result, window: Window, among: Wanted) -> Variables:
    names = link_names(result)
    if not names:
        return {}
    moved = Occupancy(window, len(names))
    for chunk in rows(result, "links", ["link", "bytes", "begin", "end"], among):
        begin, end = chunk.begin.to_numpy(), chunk.end.to_numpy()
        each = _FINE * chunk.bytes.to_numpy(np.int64) // (end - begin)
        moved.add(begin, end, chunk.link.to_numpy(), weight=each)
    config = tomllib.loads(result.config_toml)
    most = parse_bandwidth(config["node"]["link"]["bandwidth"]) / parse_hertz(config["clock"])
    use = _per_cycle(moved.cycles(), window) / (_FINE * most)
    return {"node_link_use": _Variable(use, "fraction", "use of links between GPUs", "node_link")}


def _moves(result: Result, window: Window, among: Wanted) -> Variables:
    if not result.tables["moves"]:
        return {}
    under_way = Occupancy(window, len(STEPS))
    for chunk in rows(result, "moves", ["begin", "silent", "end"], among):
        begin, silent, end = (chunk[name].to_numpy() for name in ("begin", "silent", "end"))
        under_way.add(begin, silent, np.zeros(len(chunk), dtype=np.int64))
        under_way.add(silent, end, np.ones(len(chunk), dtype=np.int64))
    return {
        "page_moves": _Variable(
            _per_cycle(under_way.cycles(), window), "pages", "pages that move", "step"
        )
    }


def link_names(result: Result) -> list[str]:
    """The links of a node, by the GPUs at their ends; none where there is one GPU."""
    from gpusim.hardware.node import SWITCH, make_topology

    node = tomllib.loads(result.config_toml).get("node")
    if node is None:
        return []
    ends = make_topology(node["link"]["topology"], node["gpus"]).ends
    return ["→".join("switch" if end == SWITCH else str(end) for end in pair) for pair in ends]


def _per_cycle(sums: NDArray[np.int64], window: Window) -> NDArray[np.float64]:
    """Sums over bins as means over their cycles."""
    return sums / window.widths[:, np.newaxis]


def _tlb_levels(result: Result) -> list[str]:
    levels = (name for name in result.states if name.startswith(TLB_PREFIX))
    return [name.removeprefix(TLB_PREFIX) for name in levels]


def dataset(result: Result, window: Window, variables: Variables) -> xr.Dataset:
    """Variables as one dataset, with the coordinates that they use."""
    import xarray as xr

    labels = {
        "state": list(result.states),
        "traffic": list(CLASSES),
        "level": _tlb_levels(result),
        "direction": list(DIRECTIONS),
        "step": list(STEPS),
    }
    used = {one.dimension for one in variables.values()}
    if "node_link" in used:
        labels["node_link"] = link_names(result)
    return xr.Dataset(
        {
            name: (
                ("cycle",) if one.dimension is None else ("cycle", one.dimension),
                one.values,
                {"units": one.units, "long_name": one.long_name},
            )
            for name, one in variables.items()
        },
        coords={
            "cycle": cycle_coordinate(window),
            **{name: values for name, values in labels.items() if name in used},
        },
        attrs={"bin_cycles": window.bin_cycles},
    )

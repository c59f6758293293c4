"""What must hold in a result, whatever the machine: read from its tables, not asked of the product.

Each check is given a result with the records of `ALWAYS`, and yields what is wrong, in sentences.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from experiments.fuzz.machines.designs import Design
from gpusim.core.states import State
from gpusim.results.event_tables import EVENTS
from gpusim.results.result import Result

Columns = Mapping[str, NDArray[Any]]


@frozen
class Seen:
    """A design, its result, and the sums of the result's counters over instances and applications.

    Attributes:
        design, result: what is looked at.
        counters: columns of all counters.
        sums: of them, by component and name.
        tables: columns of the event tables, as signed numbers.
    """

    design: Design
    result: Result
    counters: Columns
    sums: Mapping[tuple[str, str], int]
    tables: Mapping[str, Columns]

    def sum(self, component: str, counter: str) -> int:
        """0 where there is none."""
        return self.sums.get((component, counter), 0)


Check = Callable[[Seen], Iterator[str]]


def violations(design: Design, result: Result) -> Iterator[str]:
    """All that is wrong with a result."""
    yield from violations_of(look(design, result))


def violations_of(seen: Seen) -> Iterator[str]:
    """All that is wrong with what was looked at."""
    for check in (*CHECKS, *(OF_WHOLE_RUNS if seen.design.whole else ())):
        for line in check(seen):
            yield f"{check.__name__.strip('_').replace('_', ' ')}: {line}"


def look(design: Design, result: Result) -> Seen:
    """The columns of a result."""
    counters = columns_of(result, "counters", ("component", "instance", "app", "counter", "value"))
    sums: dict[tuple[str, str], int] = defaultdict(int)
    keys = zip(counters["component"].tolist(), counters["counter"].tolist(), strict=True)
    for key, value in zip(keys, counters["value"].tolist(), strict=True):
        sums[key] += value
    tables = {
        name: columns_of(result, f"tables/{name}", [one.name for one in EVENTS[name].columns])
        for name in result.tables
    }
    return Seen(design, result, counters, sums, tables)


def columns_of(result: Result, group: str, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Columns of a result, whole numbers with a sign; to make frames of them takes far longer."""
    found = {name: result._source.column(group, name) for name in names}
    return {
        name: one.astype(np.int64) if one.dtype.kind in "iu" else one for name, one in found.items()
    }


def _numbers_are_sound(seen: Seen) -> Iterator[str]:
    """Counters and headline numbers are finite and not negative, rates and shares at most 1."""
    rows = seen.counters
    for row in np.flatnonzero(rows["value"] < 0):
        component, name, app = (rows[key][row] for key in ("component", "counter", "app"))
        yield f"{component}[{rows['instance'][row]}].{name} of {app!r} is {rows['value'][row]}"
    for name, value in seen.result.summary.items():
        if not math.isfinite(value) or value < 0:
            yield f"{name} is {value}"
        if ("_rate" in name or name.startswith("share_")) and value > 1 + 1e-9:
            yield f"{name} is {value}, above 1"


def _summary_is_of_counters(seen: Seen) -> Iterator[str]:
    """Headline counts are the sums of counters; hits of a level are at most its lookups."""
    if seen.design.options:
        return
    summary = seen.result.summary
    for name in ("instructions", "transactions"):
        if name in summary and summary[name] != seen.sum("sm", name):
            yield f"{name} is {summary[name]}, SMs count {seen.sum('sm', name)}"
    for (component, counter), lookups in seen.sums.items():
        if counter == "lookups" and (component, "hits") in seen.sums:
            hits = seen.sum(component, "hits")
            if hits > lookups:
                yield f"{component} has {hits} hits of {lookups} lookups"


def _intervals_tile(seen: Seen) -> Iterator[str]:
    """Rows of a warp follow one another without a gap, and a slot holds one warp at a time."""
    rows = _sorted(seen.tables["intervals"], "warp", "begin", "end")
    if (rows["begin"] >= rows["end"]).any():
        yield "an interval is empty"
    same = rows["warp"][1:] == rows["warp"][:-1]
    for column, value in (("begin", "end"), ("sm", "sm"), ("app", "app"), ("slot", "slot")):
        for row in np.flatnonzero(same & (rows[column][1:] != rows[value][:-1]))[:1]:
            warp, begin = rows["warp"][row + 1], rows["begin"][row + 1]
            yield f"{column} of the interval of warp {warp} at {begin} does not follow"
    first = np.flatnonzero(np.append(True, ~same))[: len(rows["warp"])]
    last = np.append(first[1:] - 1, len(rows["warp"]) - 1)[: len(first)]
    lives = {name: rows[name][first] for name in ("sm", "slot", "begin", "warp")}
    lives = _sorted({**lives, "end": rows["end"][last]}, "sm", "slot", "begin")
    same = (lives["sm"][1:] == lives["sm"][:-1]) & (lives["slot"][1:] == lives["slot"][:-1])
    for row in np.flatnonzero(same & (lives["begin"][1:] < lives["end"][:-1]))[:1]:
        slot, sm, begin = (lives[name][row + 1] for name in ("slot", "sm", "begin"))
        yield f"two warps are in slot {slot} of SM {sm} in cycle {begin}"


def _sorted(rows: Columns, *keys: str) -> dict[str, NDArray[Any]]:
    order = np.lexsort(tuple(rows[key] for key in reversed(keys)))
    return {name: one[order] for name, one in rows.items()}


def _intervals_sum(seen: Seen) -> Iterator[str]:
    """Sums of intervals are the sums that the run kept, up to where an application was stopped."""
    if "sample" in seen.design.options:
        return  # sums are estimates of the whole
    rows = seen.tables["intervals"]
    sums = columns_of(seen.result, "stalls", ["warp_cycles"])["warp_cycles"]
    found = np.zeros_like(sums)
    places = tuple(rows[name] for name in ("sm", "app", "state"))
    known = _ends(seen)
    ends = known[rows["app"]]
    begin, end = (np.minimum(rows[name], ends) for name in ("begin", "end"))
    np.add.at(found, places, end - begin)
    cut = known < _NEVER
    if cut.any():  # instructions that were issued count whole, waits that go on not at all
        issued = np.isin(rows["state"], _ISSUED) & (rows["begin"] <= ends)
        np.add.at(found, places, np.where(issued, rows["end"] - end, 0))
    wrong = found != sums
    wrong[:, cut] = found[:, cut] < sums[:, cut]
    if wrong.any():
        sm, app, state = (int(one) for one in np.argwhere(wrong)[0])
        yield (
            f"state {seen.result.states[state]} of application {app} on SM {sm}: intervals add up "
            f"to {found[sm, app, state]}, the run kept {sums[sm, app, state]}"
        )
    if len(end) and end.max() > seen.result.summary["cycles"]:
        yield f"a warp lives to {end.max()}, the run ends at {seen.result.summary['cycles']}"


def _ends(seen: Seen) -> NDArray[np.int64]:
    """Of each application, the cycle up to which numbers are of it."""
    ends = np.full(len(seen.design.names), _NEVER)
    facts = columns_of(seen.result, "applications", ("name", "end"))
    names = facts["name"].tolist()
    stops = seen.result.stops
    for app, met, cycle in zip(stops["app"], stops["met"], stops["cycle"], strict=True):
        if met:
            ends[names.index(app)] = cycle
    if seen.design.work.relaunch:  # an application that starts again counts its first run
        ends = np.minimum(ends, facts["end"])
    return ends


def _requests_are_counted(seen: Seen) -> Iterator[str]:
    """A request is there for each transaction of warps, but for those of side caches."""
    if seen.design.model.config.side_caches:
        return
    asked = int((seen.tables["requests"]["warp"] >= 0).sum())
    if not seen.design.work.relaunch and asked != (issued := seen.sum("sm", "transactions")):
        yield f"{asked} requests of warps, but {issued} transactions"


def _stages_tile(seen: Seen) -> Iterator[str]:
    """The stages of a request tile it, one after the other, and no request ends early."""
    rows, stages = seen.tables["requests"], seen.tables["stages"]
    if (rows["end"] < rows["begin"]).any():
        yield "a request ends before it begins"
    count = len(rows["begin"])
    if stages["request"].max(initial=-1) >= count:
        yield f"there are stages of {stages['request'].max() + 1} requests, of {count}"
        return
    if not count:
        return
    told = np.bincount(stages["request"], stages["end"] - stages["begin"], count)
    lives = rows["end"] - rows["begin"]
    for one in np.flatnonzero(told != lives)[:1]:
        yield f"request {one} lasts {lives[one]} cycles, its stages {told[one]:.0f}"
    same = stages["request"][1:] == stages["request"][:-1]
    if (same & (stages["begin"][1:] != stages["end"][:-1])).any():
        yield "stages of a request do not follow one another"
    if (stages["begin"] >= stages["end"]).any():
        yield "a stage of a request is empty"
    first = np.append(True, ~same)[: len(stages["request"])]
    own = stages["request"][first]
    if (stages["begin"][first] != rows["begin"][own]).any():
        yield "the first stage of a request does not begin with it"


def _warps_wait_for_their_requests(seen: Seen) -> Iterator[str]:
    """Requests of a warp lie within its life, but for stores, which may end later."""
    rows, lives = seen.tables["requests"], seen.tables["intervals"]
    if not len(lives["warp"]) or "sample" in seen.design.options:
        return
    most = int(max(lives["warp"].max(), rows["warp"].max(initial=0))) + 1
    begin, end = np.full(most, _NEVER), np.full(most, -1)
    np.minimum.at(begin, lives["warp"], lives["begin"])
    np.maximum.at(end, lives["warp"], lives["end"])
    own = rows["warp"] >= 0
    warp = rows["warp"][own]
    if (rows["begin"][own] < begin[warp]).any():
        yield "a request of a warp begins before the warp"
    late = (rows["begin"][own] > end[warp]) & (end[warp] >= 0)
    if late.any():
        yield "a request of a warp begins after the warp has ended"


def _tlb_lookups_are_counted(seen: Seen) -> Iterator[str]:
    """Rows of lookups are the lookups and hits that each level counts, prefetches apart."""
    rows = seen.tables["tlb"]
    if not len(rows["level"]) or seen.design.work.relaunch:
        return
    for level, name in enumerate(seen.design.model.config.tlb):
        own = rows["level"] == level
        for what, found in (("lookups", int(own.sum())), ("hits", int(rows["hit"][own].sum()))):
            if (f"tlb/{name}", what) not in seen.sums:
                continue
            counted = seen.sum(f"tlb/{name}", what)
            if found != counted + seen.sum(f"tlb/{name}/prefetch", what) and found != counted:
                yield f"{found} {what} of {name} are recorded, {counted} counted"


def _levels_follow(seen: Seen) -> Iterator[str]:
    """Of a plain machine: what a level misses, the next one looks up."""
    if not is_plain(seen.design):
        return
    names = [f"tlb/{name}" for name in seen.design.model.config.tlb]
    for above, below in pairwise(names):
        sent = seen.sum(above, "misses") - seen.sum(above, "merged")
        if sent != (found := seen.sum(below, "lookups")):
            yield f"{above} sends {sent} translations, {below} looks up {found}"
    last = seen.sum(names[-1], "misses") - seen.sum(names[-1], "merged")
    if last != (found := seen.sum("walk", "requests")):
        yield f"{names[-1]} sends {last} translations, the walkers get {found}"
    for name in ("l1", "l2", *names):
        three = [seen.sum(name, one) for one in ("hits", "misses", "lookups")]
        if three[0] + three[1] != three[2]:
            yield f"{name}: {three[0]} hits and {three[1]} misses are not {three[2]} lookups"


def _pages_were_walked(seen: Seen) -> Iterator[str]:
    """Of a plain machine: each page that was asked for has been walked."""
    if not is_plain(seen.design):
        return
    rows, config = seen.tables["requests"], seen.design.model.config
    pages = rows["vline"] * config.l1.line // config.memory.page
    asked = set(zip(rows["app"].tolist(), pages.tolist(), strict=True))
    walks = seen.tables["walks"]
    walked = set(zip(walks["app"].tolist(), walks["vpn"].tolist(), strict=True))
    if missing := asked - walked:
        yield f"{len(missing)} pages were asked for, but never walked, such as {min(missing)}"


def _walks_are_in_time(seen: Seen) -> Iterator[str]:
    """Walks are asked for, started and finished in this order, no more at a time than walkers."""
    walks = seen.tables["walks"]
    begin, end = walks["started"], walks["finished"]
    if (walks["requested"] > begin).any() or (begin > end).any():
        yield "a walk is started before it is asked for, or finished before it is started"
    config = seen.design.model.config
    if not len(begin) or config.walk.warps is not None or config.node is not None:
        return
    domains = config.mig.slices if config.mig is not None else 1
    most = at_once(begin, end)
    if most > config.walk.walkers * domains:
        yield f"{most} walks are under way at a time, and there are {config.walk.walkers} walkers"


def at_once(begin: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """How many of some stays ``[begin, end)`` there are at a time, at most."""
    place = np.concatenate((begin, end))
    change = np.repeat((1, -1), len(begin))
    order = np.lexsort((change, place))  # what ends makes room first
    return int(change[order].cumsum().max(initial=0))


def _dram_requests_are_counted(seen: Seen) -> Iterator[str]:
    """A row for each read and write of DRAM."""
    if seen.design.work.relaunch:
        return
    found = len(seen.tables["dram"]["channel"])
    counted = sum(seen.sum("dram", one) for one in ("data_reads", "walk_reads", "writes"))
    if found != counted:
        yield f"{found} requests are recorded, {counted} counted"


def _dram_takes_its_time(seen: Seen) -> Iterator[str]:
    """DRAM accepts, then issues, then finishes; a channel's bus moves one burst at a time."""
    rows, dram = seen.tables["dram"], seen.design.model.config.dram
    if (rows["accepted"] > rows["finished"]).any() or (rows["issued"] > rows["finished"]).any():
        yield "a request is finished before it is accepted or issued"
    for kind, most in (("row", dram.rows), ("bank", dram.banks_per_channel)):
        if (rows[kind] >= most).any() and not dram.ideal:
            yield f"{kind} {rows[kind].max()} of {most} is accessed"
    if dram.ideal or not len(rows["finished"]):
        return
    clocks = dram.timing.BL.cycles(dram.clock)
    core = clocks * seen.design.model.config.clock / dram.clock / dram.pseudo_channels
    for channel in np.unique(rows["channel"]):
        own = np.sort(rows["finished"][rows["channel"] == channel])
        if (len(own) - 1) * core > own[-1] - own[0] + core + 1:
            yield (
                f"channel {channel} finishes {len(own)} requests in {own[-1] - own[0]} cycles, "
                f"of which each takes its bus for {core:.2f}"
            )


def _launches_are_in_order(seen: Seen) -> Iterator[str]:
    """A launch begins, has blocks, ends; those of one stream and GPU follow one another."""
    names = ("app", "begin", "work_begin", "end", "stream")
    rows = columns_of(seen.result, "launches", names)
    begin, work, end = (rows[name] for name in ("begin", "work_begin", "end"))
    if ((begin > work) | (work > end)).any():
        yield "a launch ends before it begins"
    if seen.design.model.config.node is not None:
        return  # each GPU has streams of its own
    for app in seen.design.names:
        for stream in np.unique(rows["stream"]):
            own = (rows["app"] == app) & (rows["stream"] == stream)
            if (begin[own][1:] < end[own][:-1]).any():
                yield f"two launches of {app} in stream {stream} overlap"


def _blocks_are_whole(seen: Seen) -> Iterator[str]:
    """Blocks and warps that SMs count are those of the applications."""
    if seen.design.work.relaunch:
        return
    for what in ("blocks", "warps"):
        counted, stated = seen.sum("sm", what), int(seen.result.applications[what].sum())
        if counted != stated and not seen.sum("copy_engines", "copies"):
            yield f"SMs have run {counted} {what}, the applications have {stated}"


_ISSUED = (State.ISSUING, State.COMPUTING)
_NEVER = np.iinfo(np.int64).max

CHECKS: tuple[Check, ...] = (
    _numbers_are_sound,
    _summary_is_of_counters,
    _intervals_tile,
    _intervals_sum,
    _stages_tile,
    _warps_wait_for_their_requests,
    _walks_are_in_time,
    _dram_takes_its_time,
    _launches_are_in_order,
)
OF_WHOLE_RUNS: tuple[Check, ...] = (
    _requests_are_counted,
    _tlb_lookups_are_counted,
    _dram_requests_are_counted,
    _levels_follow,
    _pages_were_walked,
    _blocks_are_whole,
)

_PLAIN: Mapping[str, str] = {"array": "set-associative", "sets": "plain", "fill": "always"}


def is_plain(design: Design) -> bool:
    """A machine without a mechanism: TLBs beside the L1 cache, walkers, nothing else."""
    config = design.model.config
    stages = [*config.tlb, "walk"]
    return (
        not design.made.recipes
        and not design.events
        and not design.work.relaunch
        and config.node is None
        and config.paging is None
        and config.speculation is None
        and config.walk.warps is None
        and config.fbt is None
        and config.mig is None
        and config.sharing.policy == "by-sm"
        and list(config.stages) in (stages, stages[:-1])
        and config.l1.translation in ("before", "parallel")
        and not config.side_caches
        and all(not one.ideal and _plain(one) for one in config.tlb.values())
        and not any(app.parameters.get("calls") for app in design.work.apps)
    )


def _plain(tlb: Any) -> bool:
    policies = all(getattr(tlb, name).policy == policy for name, policy in _PLAIN.items())
    return policies and tlb.mshr_policy is None and tlb.misses == "mshr"

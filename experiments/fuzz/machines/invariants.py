"""What must hold in a result, whatever the machine: read from its tables, not asked of the product.

Each check is given a result with the records of `RECORDS`, and yields what is wrong, in sentences.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from experiments.fuzz.machines.designs import Design
from gpusim.results.result import Result

RECORDS = ("intervals", "walks", "requests", "dram", "tlb")


@frozen
class Seen:
    """A design, its result, and the sums of the result's counters over instances and applications.

    Attributes:
        design, result: what is looked at.
        counters: of all components.
        sums: by component and name of the counter.
    """

    design: Design
    result: Result
    counters: pd.DataFrame
    sums: Mapping[tuple[str, str], int]

    def sum(self, component: str, counter: str) -> int:
        """0 where there is none."""
        return self.sums.get((component, counter), 0)


Check = Callable[[Seen], Iterator[str]]


def violations(design: Design, result: Result) -> Iterator[str]:
    """All that is wrong with a result."""
    counters = result.counters
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for component, name, value in zip(
        counters["component"], counters["counter"], counters["value"], strict=True
    ):
        sums[component, name] += int(value)
    seen = Seen(design, result, counters, sums)
    for check in (*CHECKS, *(OF_WHOLE_RUNS if design.whole else ())):
        for line in check(seen):
            yield f"{check.__name__.strip('_').replace('_', ' ')}: {line}"


def _numbers_are_sound(seen: Seen) -> Iterator[str]:
    """Counters and headline numbers are finite and not negative, rates and shares at most 1."""
    rows = seen.counters
    for row in rows[rows["value"] < 0].itertuples():
        yield f"{row.component}[{row.instance}].{row.counter} of {row.app!r} is {row.value}"
    for name, value in seen.result.summary.items():
        if not math.isfinite(value) or value < 0:
            yield f"{name} is {value}"
        if ("_rate" in name or name.startswith("share_")) and value > 1 + 1e-9:
            yield f"{name} is {value}, above 1"


def _intervals_tile(seen: Seen) -> Iterator[str]:
    """Rows of a warp follow one another without a gap, and a slot holds one warp at a time."""
    rows = seen.result.table("intervals").sort_values(["warp", "begin", "end"])
    if (rows["begin"] >= rows["end"]).any():
        yield "an interval is empty"
    before, after = rows[:-1].reset_index(), rows[1:].reset_index()
    same = before["warp"] == after["warp"]
    for column, value in (("begin", "end"), ("sm", "sm"), ("app", "app"), ("slot", "slot")):
        for row in after[same & (after[column] != before[value])][:1].itertuples():
            yield f"{column} of the interval of warp {row.warp} at {row.begin} does not follow"
    lives = rows.groupby(["sm", "slot", "warp"]).agg({"begin": "min", "end": "max"}).reset_index()
    lives = lives.sort_values(["sm", "slot", "begin"])
    before, after = lives[:-1].reset_index(), lives[1:].reset_index()
    same = (before["sm"] == after["sm"]) & (before["slot"] == after["slot"])
    for row in after[same & (after["begin"] < before["end"])][:1].itertuples():
        yield f"two warps are in slot {row.slot} of SM {row.sm} in cycle {row.begin}"


def _intervals_sum(seen: Seen) -> Iterator[str]:
    """Sums of intervals are the sums that the run kept, up to where an application was stopped."""
    if "sample" in seen.design.options:
        return  # sums are estimates of the whole
    rows = seen.result.table("intervals")
    sums = seen.result.stall_sums.to_numpy()
    found = np.zeros_like(sums)
    places = tuple(rows[name].to_numpy() for name in ("sm", "app", "state"))
    ends = _ends(seen)[rows["app"].to_numpy()]
    begin, end = (np.minimum(rows[name].to_numpy(), ends) for name in ("begin", "end"))
    np.add.at(found, places, end - begin)
    wrong = found != sums
    cut = _ends(seen) < _NEVER  # waits that had not ended then are in no sum
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
    stops = seen.result.stops
    for row in stops[stops["met"] == 1].itertuples():
        ends[list(seen.result.applications["name"]).index(row.app)] = row.cycle
    return ends


def _requests_are_counted(seen: Seen) -> Iterator[str]:
    """A request is there for each transaction, its stages tile it, and none is before it."""
    rows, stages = seen.result.table("requests"), seen.result.table("stages")
    issued = seen.sum("sm", "transactions")
    asked = int((rows["warp"] >= 0).sum())
    if asked != issued:
        yield f"{asked} requests of warps, but {issued} transactions"
    if (rows["end"] < rows["begin"]).any():
        yield "a request ends before it begins"
    if not len(rows):
        return
    lengths = (stages["end"] - stages["begin"]).groupby(stages["request"]).sum()
    lives = (rows["end"] - rows["begin"]).to_numpy()
    told = lengths.reindex(range(len(rows)), fill_value=0).to_numpy()
    if (told != lives).any():
        one = int(np.flatnonzero(told != lives)[0])
        yield f"request {one} lasts {lives[one]} cycles, its stages {told[one]}"


def _tlb_lookups_are_counted(seen: Seen) -> Iterator[str]:
    """Rows of lookups are the lookups and hits that each level counts, prefetches apart."""
    rows = seen.result.table("tlb")
    for level, name in enumerate(seen.design.model.config.tlb):
        own = rows[rows["level"] == level]
        for what, found in (("lookups", len(own)), ("hits", int(own["hit"].sum()))):
            counted = seen.sum(f"tlb/{name}", what)
            if (f"tlb/{name}", what) not in seen.sums or not len(rows):
                continue
            if found != counted + seen.sum(f"tlb/{name}/prefetch", what) and found != counted:
                yield f"{found} {what} of {name} are recorded, {counted} counted"


def _levels_follow(seen: Seen) -> Iterator[str]:
    """Of a plain machine: what a level misses, the next one looks up."""
    if not _is_plain(seen.design):
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
    if not _is_plain(seen.design):
        return
    rows, config = seen.result.table("requests"), seen.design.model.config
    pages = rows["vline"].to_numpy() * config.l1.line // config.memory.page
    asked = set(zip(rows["app"].tolist(), pages.tolist(), strict=True))
    walks = seen.result.table("walks")
    walked = set(zip(walks["app"].tolist(), walks["vpn"].tolist(), strict=True))
    if missing := asked - walked:
        yield f"{len(missing)} pages were asked for, but never walked, such as {min(missing)}"


def _walks_are_in_time(seen: Seen) -> Iterator[str]:
    """Walks are asked for, started and finished in this order, no more at a time than walkers."""
    walks = seen.result.table("walks")
    if (walks["requested"] > walks["started"]).any() or (
        walks["started"] > walks["finished"]
    ).any():
        yield "a walk is started before it is asked for, or finished before it is started"
    config = seen.design.model.config
    if not _is_plain(seen.design) or not len(walks):
        return
    changes = pd.concat(
        [pd.Series(1, index=walks["started"]), pd.Series(-1, index=walks["finished"])]
    )
    most = int(changes.groupby(level=0).sum().sort_index().cumsum().max())
    if most > config.walk.walkers:
        yield f"{most} walks are under way at a time, and there are {config.walk.walkers} walkers"


def _dram_requests_are_counted(seen: Seen) -> Iterator[str]:
    """A row for each read and write of DRAM, and none before it is accepted."""
    rows = seen.result.table("dram")
    counted = sum(seen.sum("dram", one) for one in ("data_reads", "walk_reads", "writes"))
    if len(rows) != counted:
        yield f"{len(rows)} requests are recorded, {counted} counted"
    if (rows["accepted"] > rows["finished"]).any():
        yield "a request is finished before it is accepted"


def _launches_are_in_order(seen: Seen) -> Iterator[str]:
    """A launch begins, has blocks, ends; those of one stream follow one another."""
    rows = seen.result.launches
    if ((rows["begin"] > rows["work_begin"]) | (rows["work_begin"] > rows["end"])).any():
        yield "a launch ends before it begins"
    for (app, stream), own in rows.groupby(["app", "stream"]):
        if (own["begin"].to_numpy()[1:] < own["end"].to_numpy()[:-1]).any():
            yield f"two launches of {app} in stream {stream} overlap"


def _blocks_are_whole(seen: Seen) -> Iterator[str]:
    """Blocks and warps that SMs count are those of the applications."""
    if len(seen.design.names) > 1:
        return  # an application may start again
    for what in ("blocks", "warps"):
        counted, stated = seen.sum("sm", what), int(seen.result.applications[what].sum())
        if counted != stated:
            yield f"SMs have run {counted} {what}, the applications have {stated}"


_NEVER = np.iinfo(np.int64).max

CHECKS: tuple[Check, ...] = (
    _numbers_are_sound,
    _intervals_tile,
    _intervals_sum,
    _walks_are_in_time,
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


def _is_plain(design: Design) -> bool:
    """A machine without a mechanism: TLBs beside the L1 cache, walkers, nothing else."""
    config = design.model.config
    stages = [*config.tlb, "walk"]
    return (
        not design.recipes
        and not design.events
        and config.node is None
        and config.paging is None
        and config.speculation is None
        and config.walk.warps is None
        and config.fbt is None
        and config.sharing.policy == "by-sm"
        and list(config.stages) in (stages, stages[:-1])
        and config.l1.translation in ("before", "parallel")
        and not config.side_caches
        and all(not one.ideal and _plain(one) for one in config.tlb.values())
    )


def _plain(tlb: object) -> bool:
    return all(getattr(tlb, name).policy == policy for name, policy in _PLAIN.items())

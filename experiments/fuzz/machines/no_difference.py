"""Other settings, options and neighbours that must make no difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from attrs import evolve

from experiments.fuzz.machines.agreement import changed, differ, run
from experiments.fuzz.machines.designs import Design
from experiments.fuzz.machines.programs import Work
from gpusim.config.schema import GpuConfig
from gpusim.results.result import Result, open_result
from gpusim.runs.monitor import Progress


def neutral(random: Random, design: Design, result: Result) -> Iterator[str]:
    """A setting that says what a machine does anyway changes nothing."""
    settings = random.choice(list(_neutral(design.model.config)))
    with run(changed(design, settings)) as other:
        names = ", ".join(f"{key} = {value}" for key, value in settings.items())
        yield from (f"{names}: {line}" for line in differ(result, other))


def _neutral(config: GpuConfig) -> Iterator[dict[str, Any]]:
    yield {"watchdog": "3000000 cycles"}
    if config.shootdown is None:
        yield {f"shootdown.{key}": "0 cycles" for key in ("message", "drain", "acknowledge")}
    if config.concurrent_kernels is None:
        yield {"concurrent_kernels": 1000}
    for key, value, here in (
        ("l2.entry", "0 cycles", config.l2.entry),
        ("dram.trip", "0 cycles", config.dram.trip),
        ("l2.sector", f"{config.l2.line}B", config.l2.sector),
        ("l2.interleave", f"{config.l2.line}B", config.l2.interleave),
    ):
        if here is None:
            yield {key: value}
    cache = config.walk.cache
    if cache is not None and cache.ways == 0 and cache.kind != "lines":
        yield {"walk.cache.ways": cache.entries}
    if (paging := config.paging) is not None:
        if paging.host_walk is None:
            yield {"paging.host_walk": "0 cycles"}
        if paging.link.bandwidth_back is None:
            yield {"paging.link.bandwidth_back": f"{paging.link.bandwidth}B/s"}
    if config.node is not None and config.node.migration is None:
        yield {"node.migration.cost": "steps"}


def watched(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Progress, a log and a file of the result change nothing, and the file has what memory has."""
    seen: list[Progress] = []
    with TemporaryDirectory() as folder:
        output, log = Path(folder) / "run.h5", Path(folder) / "run.jsonl"
        records = tuple(result.tables)
        wanted = tuple(name for name in records if name != "stages")
        options = {"record": wanted, "log": log, "log_every": 100}
        with run(design, output=output, progress=seen.append, **options) as other:
            yield from differ(result, other)
        with open_result(output) as other:
            yield from differ(result, other)
            if dict(other.tables) != dict(result.tables):
                yield f"the file has {other.tables}, memory {result.tables}"
            for name in records:
                if not other.table(name).equals(result.table(name)):
                    yield f"the table {name} of the file is another one than that in memory"
        if not seen or not seen[-1].done:
            yield "progress does not tell the end"


def apart(_random: Random, design: Design, _result: Result) -> Iterator[str]:
    """Applications in instances, or on GPUs, of their own are as fast as alone."""
    apps, config = design.work.apps, design.model.config
    if len(apps) < 2 or design.options or design.events or design.work.relaunch:
        return
    places = [tuple(app.place.items()) for app in apps]
    if config.mig is None or any("instance" not in dict(place) for place in places):
        return
    if config.paging is not None or any(tlb.scope == "gpu" for tlb in config.tlb.values()):
        return  # one driver and link, or one last TLB, serves all instances
    whole = evolve(design, records=())
    alone = whole.with_work(Work(apps[:1]))
    with run(whole) as together, run(alone) as other:
        for what in ("instructions", "transactions"):
            sums = [_of_first(one, what) for one in (together, other)]
            if sums[0] != sums[1]:
                yield f"{what}: {sums[0]} beside others, {sums[1]} alone"
        ends = [int(one.applications["end"].iloc[0]) for one in (together, other)]
        if ends[0] != ends[1]:
            yield f"it ends in cycle {ends[0]} beside others, in {ends[1]} alone"


def _of_first(result: Result, what: str) -> int:
    rows = result.counters
    name = result.applications["name"].iloc[0]
    own = (rows["component"] == "sm") & (rows["counter"] == what)
    if result.applications["name"].size > 1:
        own &= rows["app"] == name
    return int(rows["value"][own].sum())


NO_DIFFERENCE = {neutral: 10, watched: 1, apart: 2}
"""Relations, and how often each is tried."""

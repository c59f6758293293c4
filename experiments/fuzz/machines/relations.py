"""Runs that must agree: one run beside another one, of which something is known."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w
from attrs import evolve

import gpusim
from experiments.fuzz.machines.designs import Design, workload_of, write_design, write_events
from experiments.fuzz.machines.programs import addresses
from gpusim.core.errors import UserError
from gpusim.results.result import Result

Relation = Callable[[Random, Design, Result], Iterator[str]]
"""Yields what is wrong; nothing where it says nothing of the design."""


def run(design: Design, **options: Any) -> Result:
    """Run a design."""
    if not design.events:
        return gpusim.simulate(design.model, design.workload, **design.options, **options)
    with TemporaryDirectory() as folder:
        events = write_events(design, Path(folder) / "events.jsonl")
        return gpusim.simulate(
            design.model, design.workload, events=events, **design.options, **options
        )


def again(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """The same run has the same digest, with nothing recorded."""
    with run(design) as other:
        if other.digest != result.digest:
            yield f"the digest is {result.digest}, and {other.digest} when it is run again"


def of_the_file(random: Random, design: Design, result: Result) -> Iterator[str]:
    """The model from a file that has all values, its tables in another order."""
    document = tomllib.loads(design.model.to_toml())
    names = list(document)
    random.shuffle(names)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        mixed = {name: document[name] for name in names}
        path.write_text(tomli_w.dumps(mixed), encoding="utf-8")
        with run(evolve(design, model=gpusim.load_model(str(path)))) as other:
            if other.digest != result.digest:
                yield f"tables in the order {', '.join(names)} change the result"


def of_other_names(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Names of applications change no number."""
    if not design.programs or design.events or design.options:
        return
    names = tuple(f"a longer name {index}" for index in range(len(design.names)))
    named = evolve(design, workload=workload_of(design.programs, names))
    with run(named) as other:
        yield from _differ(result, other, dict(zip(names, design.names, strict=True)))


def cut_after_the_end(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """A run that is to be stopped after its end is the whole run."""
    if design.options:
        return
    until = [f"{result.summary['cycles'] + 1}cycles"]
    with run(evolve(design, options={"until": until})) as other:
        yield from _differ(result, other, {})


def cut_half_way(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """A run that is stopped half-way has done no more than the whole one."""
    if design.options or len(design.names) > 1:
        return
    until = [f"{max(result.summary['cycles'] // 2, 1)}cycles"]
    with run(evolve(design, options={"until": until})) as other:
        for name in ("instructions", "transactions"):
            if other.summary[name] > result.summary[name]:
                yield f"{name}: {other.summary[name]} of a half, {result.summary[name]} of all"


def in_another_process(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Another process, of the other form where `OTHER` names its interpreter, has this digest."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_design(design, place)
        if not design.programs:
            return  # a recorded trace has another name, which the digest has, too
        command = [OTHER[0], "-m", "gpusim", "run", "model.toml", "workload.toml"]
        command += ["--scale", "smoke", "--json", "--quiet"]
        if design.events:
            command += ["--events", "events.jsonl"]
        for name, value in design.options.items():
            for one in value if isinstance(value, list) else [value]:
                command += [f"--{name}", one]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            yield f"another process ended with {done.returncode}: {done.stderr[-500:]}"
        elif result.digest not in done.stdout:
            yield "the digest is another one in another process"


OTHER = [sys.executable]
"""The interpreter of `in_another_process`."""


def two_alike(random: Random, design: Design, _result: Result) -> Iterator[str]:
    """Two equal programs on a machine do the same work."""
    if not design.programs:
        return
    twin = (design.programs[0], design.programs[0])
    names = ("one", "two")
    work = evolve(design, workload=workload_of(twin, names), names=names, events=(), options={})
    with run(work) as result:
        rows = result.applications
        for what in ("launches", "blocks", "warps"):
            if rows[what].nunique() > 1:
                yield f"two equal programs have {rows[what].tolist()} {what}"


def larger_tlb(random: Random, design: Design, _result: Result) -> Iterator[str]:
    """More ways of an LRU TLB never mean fewer hits of one warp whose loads come one by one."""
    plain = gpusim.load_model("tiny", overrides=_lone(random))
    first = next(iter(plain.config.tlb))
    ways = random.choice((1, 2, 4))
    sets = random.choice((1, 2, 8))
    work = addresses(random, alone=True)
    hits = []
    for times in (1, 2, 4):
        settings = {f"tlb.{first}.ways": ways * times, f"tlb.{first}.entries": ways * times * sets}
        model = gpusim.load_model("tiny", overrides={**plain.overrides, **settings})
        with gpusim.simulate(model, work) as result:
            rows = result.counters
            own = rows[(rows["component"] == f"tlb/{first}") & (rows["counter"] == "hits")]
            hits.append(int(own["value"].sum()))
    if sorted(hits) != hits:
        yield f"hits of {ways} ways, of twice and of four times as many: {hits}"


def ideal_is_no_slower(random: Random, design: Design, _result: Result) -> Iterator[str]:
    """Without misses of TLBs, one warp whose loads come one by one is no slower.

    Where DRAM's latency is fixed: else a walk may leave a row open, or move a refresh.
    """
    work, settings = addresses(random, alone=True), _lone(random)
    cycles = {}
    for name in ("ideal-dram", "ideal-dram+ideal-tlb", "ideal-dram+ideal-l2-tlb"):
        model = gpusim.load_model("tiny", [name], overrides=settings)
        with gpusim.simulate(model, work) as result:
            cycles[name] = result.summary["cycles"]
    if max(cycles.values()) > cycles["ideal-dram"]:
        yield f"an ideal TLB is slower: {cycles}"


def _lone(random: Random) -> dict[str, Any]:
    """Settings of a machine for one warp: other sizes and latencies, LRU everywhere."""
    return {
        "tlb.L2.entries": random.choice((16, 32, 64)),
        "tlb.L2.latency": f"{random.choice((1, 10, 60))} cycles",
        "walk.walkers": random.choice((1, 2)),
        "walk.cost": random.choice(("memory", "fixed")),
        "l1.translation": random.choice(("before", "parallel")),
        "l2.latency": f"{random.choice((1, 10, 100))} cycles",
    }


def _differ(one: Result, other: Result, names: dict[str, str]) -> Iterator[str]:
    """Counters that differ, by component; `names` of the other's applications are those of one."""
    keys = ["component", "instance", "app", "counter"]
    first = one.counters.set_index(keys)["value"]
    rows = other.counters
    second = rows.assign(app=rows["app"].replace(names)).set_index(keys)["value"]
    if list(first.index) != list(second.index):
        yield "they have other counters"
        return
    for key in first.index[(first != second).to_numpy()][:3]:
        yield f"{'.'.join(map(str, key))}: {first[key]} and {second[key]}"


RELATIONS: dict[Relation, int] = {
    again: 30,
    of_the_file: 15,
    of_other_names: 10,
    cut_after_the_end: 10,
    cut_half_way: 10,
    two_alike: 10,
    larger_tlb: 6,
    ideal_is_no_slower: 6,
    in_another_process: 1,
}
"""How often each of them is tried."""

IN_PROCESS: tuple[Relation, ...] = tuple(one for one in RELATIONS if one is not in_another_process)


def broken(random: Random, relation: Relation, design: Design, result: Result) -> Iterator[str]:
    """What is wrong with a relation; a machine that cannot be run that way says nothing."""
    name = relation.__name__.replace("_", " ")
    try:
        for line in relation(random, design, result):
            yield f"{name}: {line}"
    except UserError:
        return

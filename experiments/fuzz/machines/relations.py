"""Runs that must agree: one run beside another one, of which something is known."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import tomli_w
from attrs import evolve

import gpusim
from experiments.fuzz.machines.agreement import changed, differ, run
from experiments.fuzz.machines.counted import counted_by_hand
from experiments.fuzz.machines.designs import Design, write_design
from experiments.fuzz.machines.lone import LONE
from experiments.fuzz.machines.no_difference import NO_DIFFERENCE
from experiments.fuzz.machines.own_policies import own_policy
from experiments.fuzz.machines.programs import Work
from experiments.fuzz.machines.shown import SHOWN
from gpusim.core.errors import StarvedError, UserError
from gpusim.results.result import Result

Relation = Callable[[Random, Design, Result], Iterator[str]]
"""Yields what is wrong; nothing where it says nothing of the design."""


def again(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """The same run has the same digest, with nothing recorded."""
    with run(design) as other:
        if not design.events and other.digest != result.digest:  # the digest has the file's name
            yield f"the digest is {result.digest}, and {other.digest} when it is run again"
        yield from differ(result, other)


def of_the_file(random: Random, design: Design, result: Result) -> Iterator[str]:
    """The model from a file that has all values, its tables in another order."""
    document = tomllib.loads(design.model.to_toml())
    names = list(document)
    random.shuffle(names)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        mixed = {name: document[name] for name in names}
        path.write_text(tomli_w.dumps(mixed), encoding="utf-8")
        model = gpusim.load_model(str(path))
        if model.config != design.model.config:
            yield f"tables in the order {', '.join(names)} make another machine"
        with run(design.with_model(evolve(design.made, model=model))) as other:
            yield from differ(result, other)


def of_other_names(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Names of applications change no number."""
    if design.events or design.options:
        return
    names = {f"a longer name {index}": app.name for index, app in enumerate(design.work.apps)}
    apps = zip(names, design.work.apps, strict=True)
    named = tuple(evolve(app, name=name) for name, app in apps)
    if len(named) == 1:  # a made-up program has the name of its program there
        names = {named[0].name: design.workload.applications[0].name}
    with run(design.with_work(Work(named, design.work.relaunch))) as other:
        known = {**names, other.applications["name"][0]: result.applications["name"][0]}
        yield from differ(result, other, known)


def cut_after_the_end(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """A run that is to be stopped after its end is the whole run."""
    if design.options:
        return
    until = [f"{result.summary['cycles'] + 1}cycles"]
    with run(evolve(design, options={"until": until})) as other:
        yield from differ(result, other)


def cut_somewhere(random: Random, design: Design, result: Result) -> Iterator[str]:
    """A run that is stopped has done, up to then, what the whole one has done."""
    if design.options or design.work.relaunch:
        return
    cycle = max(int(result.summary["cycles"] * random.random()), 1)
    records = ("requests", "walks", "dram", "intervals")
    with run(evolve(design, options={"until": [f"{cycle}cycles"]}), record=records) as other:
        for name in ("instructions", "transactions"):
            if other.summary[name] > result.summary[name]:
                yield f"{name}: {other.summary[name]} of a part, {result.summary[name]} of all"
        for name, end in (("requests", "end"), ("walks", "finished"), ("dram", "finished")):
            tables = result.table(name), other.table(name)
            first, second = (one[one[end] < cycle].to_numpy() for one in tables)
            if first.shape != second.shape or (first != second).any():
                yield f"{name} that end before cycle {cycle} are {len(first)} and {len(second)}"


def late_events(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Events of pages after the end change nothing."""
    if design.events or design.options:
        return
    event = {"at": int(result.summary["cycles"]) + 10, "event": "shootdown"}
    if len(design.names) > 1:
        event["app"] = design.names[0]
    with run(evolve(design, events=(event,))) as other:
        yield from differ(result, other)


_REAL = re.compile(r"[0-9.]+ ?([num]?s|[KMGT]?i?B/s)")


def scaled_clock(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Twice the clocks of core and DRAM: as many cycles, where no time is told in seconds."""
    values = [one.value for one in design.model.values]
    if any(isinstance(one, str) and _REAL.fullmatch(one) for one in values):
        return
    if any(app.parameters.get("calls") for app in design.work.apps):
        return  # calls take microseconds
    clocks = {
        "clock": f"{2 * design.model.config.clock} Hz",
        "dram.clock": f"{2 * design.model.config.dram.clock} Hz",
    }
    with run(changed(design, clocks)) as other:
        yield from differ(result, other)


def recorded(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """A recorded trace of the programs runs as they do."""
    from gpusim.traces.recorder import record_trace

    config = design.model.config
    if design.options or design.events or any(app.place for app in design.work.apps):
        return
    if config.side_caches:  # of which programs know nothing, but those made up here
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.h5"
        record_trace(design.workload, path, config.sm.warp_size)
        work = gpusim.load_workload(str(path))
        with gpusim.simulate(design.model, work) as other:
            yield from differ(result, other)


def kept(random: Random, design: Design, _result: Result) -> Iterator[str]:
    """A run from a checkpoint is the run that skips as much."""
    if design.events or design.options:
        return
    skip = random.choice(("1launches", "2launches", "1blocks"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.h5"
        gpusim.checkpoint(design.model, design.workload, path, skip=skip)
        with (
            gpusim.simulate(design.model, design.workload, start=path) as one,
            gpusim.simulate(design.model, design.workload, skip=skip) as other,
        ):
            yield from differ(one, other)


def on_two_cores(_random: Random, design: Design, _result: Result) -> Iterator[str]:
    """A machine whose memory has a loop of its own counts on two cores what it does on one."""
    design = changed(design, {"crossbar.order": "memory-first"})
    with run(design) as one, run(design, cores=2) as other:
        if other.digest != one.digest and not design.events:
            yield f"the digest is {one.digest} on one core, {other.digest} on two"
        yield from differ(one, other)


def costs(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Measuring what translation costs changes nothing of the run."""
    if set(design.options) & {"sample", "until", "skip"}:
        return
    with run(design, cost=True) as other:
        yield from differ(result, other)
        for name, value in other.summary.items():
            if "cost_" in name and not np.isfinite(value):
                yield f"{name} is {value}"


def in_another_process(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """Another process, of the other form where `OTHER` names its interpreter, has this digest."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        command = write_design(design, place).split(" ", 1)[1].replace("'", "\0")
        words = [one.replace("\1", " ") for one in _words(command)]
        done = subprocess.run(  # noqa: S603  (our own program)
            [OTHER[0], "-m", "gpusim", *words, "--json", "--quiet"],
            cwd=place,
            env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            yield f"another process ended with {done.returncode}: {done.stderr[-500:]}"
        elif len(design.names) > 1 and result.digest not in done.stdout:
            yield "the digest is another one in another process"


def _words(command: str) -> list[str]:
    """Words of a command, those between NULs as one."""
    parts = command.split("\0")
    return [
        word for place, part in enumerate(parts) for word in ([part] if place % 2 else part.split())
    ]


OTHER = [sys.executable]
"""The interpreter of `in_another_process`."""


def two_alike(_random: Random, design: Design, _result: Result) -> Iterator[str]:
    """Two equal programs on a machine do the same work."""
    app = evolve(design.work.apps[0], name="one", place={})
    work = Work((app, evolve(app, name="two")))
    twin = evolve(design.with_work(work), events=(), options={})
    with run(twin) as result:
        rows = result.applications
        for what in ("launches", "blocks", "warps"):
            if rows[what].nunique() > 1:
                yield f"two equal programs have {rows[what].tolist()} {what}"
        counters = result.counters
        for what in ("instructions", "loads", "stores"):
            own = counters[(counters["component"] == "sm") & (counters["counter"] == what)]
            sums = [int(own["value"][own["app"] == name].sum()) for name in ("one", "two")]
            if sums[0] != sums[1]:
                yield f"two equal programs have {sums} {what}"


def by_hand(_random: Random, design: Design, result: Result) -> Iterator[str]:
    """What is counted is what the program's code asks for."""
    yield from counted_by_hand(design, result)


RELATIONS: dict[Relation, int] = {
    again: 20,
    by_hand: 12,
    of_the_file: 8,
    of_other_names: 8,
    cut_after_the_end: 8,
    cut_somewhere: 12,
    late_events: 5,
    scaled_clock: 6,
    two_alike: 8,
    recorded: 3,
    kept: 3,
    costs: 3,
    on_two_cores: 6,
    own_policy: 6,
    **NO_DIFFERENCE,
    **SHOWN,
    **LONE,
    in_another_process: 0,
}
"""How often each of them is tried; those of weight 0 one time in a thousand."""

_RARELY = 0.001


def named(relation: Relation) -> str:
    """What a relation is called."""
    return relation.__name__.replace("_", " ")


def relation_called(name: str) -> Relation:
    """The relation of a name."""
    return next(one for one in RELATIONS if named(one) == name)


def choose(random: Random, *, in_process: bool) -> Relation:
    """A relation, by weight."""
    if not in_process and random.random() < _RARELY:
        return in_another_process
    (chosen,) = random.choices(list(RELATIONS), list(RELATIONS.values()))
    return chosen


def broken(random: Random, relation: Relation, design: Design, result: Result) -> Iterator[str]:
    """What is wrong with a relation; a machine that cannot be run that way says nothing."""
    try:
        for line in relation(random, design, result):
            yield f"{named(relation)}: {line}"
    except (UserError, StarvedError):
        return

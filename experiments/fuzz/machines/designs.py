"""A case: a machine, a workload, and what is asked of the run, all from one random number."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from attrs import Factory, evolve, field, frozen

from experiments.fuzz.machines.knobs import policies
from experiments.fuzz.machines.models import MadeModel
from experiments.fuzz.machines.programs import MADE_UP, App, Work, make_work, toml
from gpusim.config.load import LoadedModel
from gpusim.results.event_tables import RECORDS
from gpusim.workloads.workload import Workload

ALWAYS = ("intervals", "walks", "requests", "dram", "tlb")
"""Records that checks look at."""

OTHERS = tuple(name for name in RECORDS if name not in ALWAYS)
"""Records that are kept now and then."""

_EVENTS, _CUT, _SKIPPED, _SAMPLED = 0.25, 0.2, 0.06, 0.06
"""Shares of cases with events of pages, and those in which not all is timed."""

_PHYSICAL = ("remap", "unmap", "synonym", "shootdown")
KINDS = {False: _PHYSICAL, True: (*_PHYSICAL, "protect", "probe")}
"""Kinds of events, by whether caches are virtual."""

RULES = ("40instructions", "300cycles", "1500cycles", "ipc-stable(20 %, 2 windows, 100cycles)")
SKIPS = ("1launches", "1blocks", "3blocks", "20instructions")
SAMPLES = (
    "windows=3,length=30instructions,warm=10instructions",
    "windows=2,length=launch",
    "windows=4,length=20instructions,warm=5instructions,by=launch,seed=3",
    "launches=2,warm=1",
    "launches=3,waves=4,warm=2,seed=5",
)


@frozen
class Design:
    """A machine and what runs on it.

    Attributes:
        made: the machine.
        work: its applications.
        events: of pages, as lines of an events file have them.
        options: of the run, without events and records.
        records: that are kept, beside `ALWAYS`.
        workload: what runs.
    """

    made: MadeModel
    work: Work
    events: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(factory=dict)
    records: tuple[str, ...] = ()
    workload: Workload = field(
        default=Factory(lambda self: self.work.load(), takes_self=True), eq=False, repr=False
    )

    @property
    def model(self) -> LoadedModel:
        """The machine."""
        return self.made.model

    @property
    def names(self) -> tuple[str, ...]:
        """Of the applications."""
        return tuple(app.name for app in self.work.apps)

    @property
    def whole(self) -> bool:
        """Whether all of the programs is timed."""
        return not self.options

    def with_work(self, work: Work) -> Design:
        """The design with other applications."""
        return Design(self.made, work, self.events, self.options, self.records)

    def with_model(self, made: MadeModel) -> Design:
        """The design on another machine."""
        return evolve(self, made=made)

    def tags(self) -> Iterator[str]:
        """What a table of cases counts it under."""
        made, config = self.made, self.model.config
        yield f"model {made.base}"
        yield from (f"recipe {name}" for name in made.recipes)
        yield from (f"part {name}" for name in made.parts)
        for _, slot, policy in policies(config):
            if policy is not None:
                yield f"{slot} {policy.policy}"
        for app in self.work.apps:
            yield f"program {app.workload}"
            if app.workload == MADE_UP:
                yield f"mix {app.parameters.get('mix', 'loads')}"
            for name in ("streams", "gpus", "copies", "calls"):
                if app.parameters.get(name):
                    yield f"programs with {name}"
            yield from (f"applications with {name}" for name in app.place)
        yield from (f"event {one['event']}" for one in self.events)
        yield from (f"record {name}" for name in self.records)
        for name, value in self.options.items():
            yield f"{name} {str(value).partition('=')[0].strip('[')}"
        if len(self.names) > 1:
            yield f"{len(self.names)} applications"
        if config.paging is not None:
            yield f"migration on {config.paging.migration}"
        if config.node is not None:
            yield f"a node of {config.node.gpus}"

    def text(self) -> str:
        """It as a file, of which `read_design` makes it again."""
        made = self.made
        parts = {
            "base": made.base,
            "recipes": made.recipes,
            "settings": made.settings,
            "relaunch": self.work.relaunch,
            "records": self.records,
            "options": self.options,
        }
        lines = [f"{name} = {toml(value)}" for name, value in parts.items()]
        lines += [f"events = [{', '.join(map(toml, self.events))}]"]
        for app in self.work.apps:
            lines += ["", "[[apps]]", f'name = "{app.name}"', f'workload = "{app.workload}"']
            lines += [f"parameters = {toml(app.parameters)}", f"place = {toml(app.place)}"]
        return "\n".join(lines) + "\n"


def make_design(random: Random, made: MadeModel) -> Design:
    """A case on a machine."""
    design = Design(made, make_work(random, made.model.config))
    design = evolve(
        design,
        options=_options(random, design.names),
        records=tuple(random.sample(OTHERS, random.choice((0, 0, 1, 2, 4)))),
    )
    if random.random() < _EVENTS:
        design = evolve(design, events=tuple(_events(random, design)))
    return design


def _options(random: Random, names: tuple[str, ...]) -> dict[str, Any]:
    part = random.random()
    if part < _CUT:
        rule = random.choice(RULES)
        if len(names) > 1 and random.random() < 0.5:
            return {"until": [f"{random.choice(names)}={rule}"]}
        return {"until": [rule]}
    if part < _CUT + _SKIPPED:
        return {"skip": random.choice(SKIPS)}
    if part < _CUT + _SKIPPED + _SAMPLED:
        return {"sample": random.choice(SAMPLES)}
    return {}


def _events(random: Random, design: Design) -> Iterator[Mapping[str, Any]]:
    """Events at pages of the applications' arrays."""
    applications = arrays_of(design)
    for _ in range(random.choice((1, 3, 8))):
        name, buffers = random.choice(applications)
        kind = random.choice(KINDS[design.model.config.fbt is not None])
        event: dict[str, Any] = {"at": random.choice((0, 50, 200, 900)), "event": kind}
        if len(applications) > 1:
            event["app"] = name
        if kind != "shootdown":
            base, size = random.choice(buffers)
            event["address"] = base + random.randrange(size)
        if kind == "synonym":
            event["of"] = event["address"] // 2**12 * 2**12
        if kind == "protect":
            event["permission"] = random.choice(("read", "read-write"))
        yield event


def arrays_of(design: Design) -> list[tuple[str, list[tuple[int, int]]]]:
    """Names of the applications, and base and bytes of each of their arrays."""
    return [
        (spec.name, [(one.base, one.bytes) for one in spec.start().buffers])
        for spec in design.workload.applications
    ]


def read_design(path: Path) -> Design:
    """The design of a file that a failure left."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    made = MadeModel.of(found["base"], tuple(found["recipes"]), found["settings"])
    work = Work(tuple(App(**app) for app in found["apps"]), found["relaunch"])
    records, events = tuple(found["records"]), tuple(found["events"])
    return Design(made, work, events, found["options"], records)


def write_design(design: Design, folder: Path) -> str:
    """Write files of a design; returns the command that runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.toml").write_text(design.text(), encoding="utf-8")
    (folder / "model.toml").write_text(design.model.to_toml(), encoding="utf-8")
    (folder / "workload.toml").write_text(design.work.text(), encoding="utf-8")
    command = "gpusim run model.toml workload.toml --scale smoke"
    if any(app.workload == MADE_UP for app in design.work.apps):
        command += " --allow-code"
    if design.events:
        write_events(design, folder / "events.jsonl")
        command += " --events events.jsonl"
    for name, value in design.options.items():
        for one in value if isinstance(value, list) else [value]:
            command += f" --{name} '{one}'"
    return command


def write_events(design: Design, path: Path) -> Path:
    """The events file of a design."""
    lines = "".join(json.dumps(event) + "\n" for event in design.events)
    path.write_text(lines, encoding="utf-8")
    return path

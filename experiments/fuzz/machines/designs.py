"""A case: a machine, a workload, and what is asked of the run, all from one random number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from attrs import evolve, field, frozen

import gpusim
from experiments.fuzz.machines.knobs import Setting, keys, other_value
from experiments.fuzz.machines.programs import (
    SmallProgram,
    addresses,
    small_program,
    workload_text,
)
from gpusim.config.load import LoadedModel
from gpusim.config.recipe import recipe_names
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_names
from gpusim.workloads.workload import Workload

_FEW: Mapping[str, Setting] = {"sm.count": 4, "dram.channels": 2, "l2.banks": 4, "l2.size": "1MiB"}
SMALLER: Mapping[str, Mapping[str, Setting]] = {
    "a100": {**_FEW, "sm.count": 28, "l2.size": "2MiB"},
    "a100-mig": {"sm.count": 14, "dram.channels": 7, "l2.banks": 14, "l2.size": "1792KiB"},
    "b200": {**_FEW, "sm.count": 40, "l2.size": "2MiB"},
    "dgx-a100": {**_FEW, "sm.count": 28, "l2.size": "2MiB", "node.gpus": 2},
    "dgx-h100": {**_FEW, "sm.count": 36, "l2.size": "2MiB", "node.gpus": 2},
    "h100": {**_FEW, "sm.count": 36, "l2.size": "2MiB"},
    "l40": {**_FEW, "l2.size": "2MiB"},
    "mcm-gpu": {**_FEW, "node.gpus": 2},
    "mgpusim-r9nano-4": {**_FEW, "node.gpus": 2},
    "mi210": _FEW,
    "mi300x": {**_FEW, "sm.count": 304, "l2.banks": 8, "l2.size": "1MiB"},
    "mi300x-xcds": {**_FEW, "sm.count": 38, "node.gpus": 2},
    "p100": _FEW,
    "r9-nano": _FEW,
    "rtx3070": _FEW,
    "rtx4090": {**_FEW, "l2.size": "1536KiB"},
    "v100": {**_FEW, "l2.size": "1536KiB"},
}
"""Less of the large models, so that building and writing them takes no time."""

CHEAP = ("tiny",)
"""Models whose cases take a fraction of a second."""

_TINY = 0.6
_NODES = ("mcm-gpu", "mgpusim-r9nano-4")
_NODE, _PAGING, _TWO, _ADDRESSES, _EVENTS, _CUT, _SAMPLED = 0.1, 0.25, 0.3, 0.3, 0.2, 0.25, 0.08
"""Shares of cases on a node, with paging, two applications, made-up addresses, and so on."""

_PAGED = ("demand-paging", "access-counters", "zero-copy", "coherent-host", "second-memory")
_RECIPES, _SETTINGS = (0, 0, 1, 1, 2, 3), (0, 1, 2, 4, 8, 16)
_SCALE = "smoke"
_PHYSICAL = ("remap", "unmap", "synonym", "shootdown")
_KINDS = {False: _PHYSICAL, True: (*_PHYSICAL, "protect", "probe")}
"""Kinds of events, by whether caches are virtual."""


@frozen
class Design:
    """A machine and what runs on it.

    Attributes:
        base: the shipped model that it is made of.
        recipes: laid over it, in order.
        settings: of the model, by key.
        model: all of that, loaded.
        programs: shipped ones; empty: the `workload` is of made-up addresses.
        names: of the applications.
        workload: what runs.
        events: of pages, as lines of an events file have them.
        options: of the run, without events.
    """

    base: str
    recipes: tuple[str, ...]
    settings: Mapping[str, Setting]
    model: LoadedModel = field(eq=False, repr=False)
    programs: tuple[SmallProgram, ...]
    names: tuple[str, ...]
    workload: Workload = field(eq=False, repr=False)
    events: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all of the programs is timed."""
        return not self.options

    @property
    def tags(self) -> tuple[str, ...]:
        """What a table of cases counts it under."""
        config = self.model.config
        found = [
            f"model {self.base}",
            f"{min(len(self.recipes), 3)} recipes",
            "made-up addresses" if not self.programs else "shipped programs",
        ]
        for tag, there in (
            ("two applications", len(self.names) > 1),
            ("pages on demand", config.paging is not None),
            ("a node", config.node is not None),
            ("events of pages", bool(self.events)),
            *((name, name in self.options) for name in ("until", "skip", "sample")),
        ):
            if there:
                found.append(tag)
        return tuple(found)


def make_design(random: Random, models: tuple[str, ...] = ()) -> Design:
    """A design that the checks of models accept.

    Args:
        random: decides.
        models: to choose from; none: all shipped ones, most of them tiny.
    """
    base = random.choice(models) if models else _base(random)
    recipes = random.sample(recipe_names(), random.choice(_RECIPES))
    if random.random() < _PAGING:
        recipes.insert(0, random.choice(_PAGED))
    plain = gpusim.load_model(base, overrides=SMALLER.get(base, {}))
    changed = random.sample(keys(plain), random.choice(_SETTINGS))
    settings = {key: other_value(random, plain, key) for key in changed}
    recipes, settings, model = _accepted(plain, base, recipes, settings)
    programs, names, workload = _work(random)
    design = Design(base, tuple(recipes), settings, model, programs, names, workload)
    design = evolve(design, options=_options(random, len(names)))
    if random.random() < _EVENTS:
        design = evolve(design, events=tuple(_events(random, design)))
    return design


def _base(random: Random) -> str:
    part = random.random()
    if part < _TINY:
        return "tiny"
    return random.choice(_NODES if part < _TINY + _NODE else data_names("models"))


def _accepted(
    plain: LoadedModel, base: str, recipes: list[str], settings: Mapping[str, Setting]
) -> tuple[list[str], dict[str, Setting], LoadedModel]:
    """The recipes and settings that a model takes, one after the other, and the model with them."""
    taken: list[str] = []
    model = plain
    for one in recipes:
        with suppress(UserError):
            model = _load(base, [*taken, one], {})
            taken.append(one)
    kept: dict[str, Setting] = {}
    waiting = [list(settings.items())]
    while waiting:
        some = waiting.pop()
        try:
            model = _load(base, taken, {**kept, **dict(some)})
            kept.update(some)
        except UserError:
            half = len(some) // 2
            waiting += [some[half:], some[:half]] if half else []
    return taken, kept, model


def _load(base: str, recipes: list[str], settings: Mapping[str, Setting]) -> LoadedModel:
    overrides = {**SMALLER.get(base, {}), **settings}
    return gpusim.load_model(base, recipes, overrides=overrides)


def _work(random: Random) -> tuple[tuple[SmallProgram, ...], tuple[str, ...], Workload]:
    if random.random() < _ADDRESSES:
        return (), ("addresses",), addresses(random)
    programs = tuple(small_program(random) for _ in range(2 if random.random() < _TWO else 1))
    names = ("one", "two")[: len(programs)]
    return programs, names, workload_of(programs, names)


def workload_of(programs: tuple[SmallProgram, ...], names: tuple[str, ...]) -> Workload:
    """A workload of shipped programs, by way of a file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "workload.toml"
        path.write_text(workload_text(programs, names), encoding="utf-8")
        return evolve(gpusim.load_workload(str(path), _SCALE), name="workload")


def _options(random: Random, applications: int) -> dict[str, Any]:
    part = random.random()
    if part < _CUT:
        rules = ("40instructions", "300cycles", "1500cycles", "ipc-stable(20%, 2 windows, 100)")
        rule = random.choice(rules)
        return {"until": [rule if applications == 1 or random.random() < 0.5 else f"one={rule}"]}
    if part < _CUT + _SAMPLED / 2:
        return {"skip": random.choice(("1launches", "1blocks", "20instructions"))}
    if part < _CUT + _SAMPLED:
        return {"sample": "windows=3,length=30instructions,warm=10instructions"}
    return {}


def _events(random: Random, design: Design) -> list[Mapping[str, Any]]:
    """Events at pages of the applications' arrays."""
    found: list[Mapping[str, Any]] = []
    applications = arrays_of(design)
    for _ in range(random.choice((1, 3, 8))):
        name, buffers = random.choice(applications)
        kind = random.choice(_KINDS[design.model.config.fbt is not None])
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
        found.append(event)
    return found


def arrays_of(design: Design) -> list[tuple[str, list[tuple[int, int]]]]:
    """Names of the applications, and base and bytes of each of their arrays."""
    from gpusim.runs.tenants import assign_sms

    return [
        (tenant.name, [(one.base, one.bytes) for one in tenant.application.buffers])
        for tenant in assign_sms(design.model, design.workload)
    ]


def write_design(design: Design, folder: Path) -> str:
    """Write files of a design; returns the command that runs it."""
    from gpusim.traces.recorder import record_trace

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.toml").write_text(design.model.to_toml(), encoding="utf-8")
    command = "gpusim run model.toml"
    if design.programs:
        text = workload_text(design.programs, design.names)
        (folder / "workload.toml").write_text(text, encoding="utf-8")
        command += f" workload.toml --scale {_SCALE}"
    else:
        record_trace(design.workload, folder / "trace.h5", design.model.config.sm.warp_size)
        command += " trace.h5"
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

"""Programs of a few hundred transactions: small inputs of shipped ones, and made-up ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from attrs import evolve, field, fields, frozen

import gpusim
from experiments.fuzz.machines.made_up import MIXES, PLACES, made_up
from gpusim.config.schema import GpuConfig
from gpusim.programs.catalog import program_of
from gpusim.workloads.workload import Workload

Parameters = Mapping[str, Any]

_GRAPH = (
    {"generator": "uniform-random", "vertices": 32, "arcs": 128},
    {"generator": "grid", "width": 8, "height": 4},
    {"generator": "rodinia-random", "vertices": 48},
)

SMALL: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "atax": {"n": (16, 32), "iterations": (1,)},
    "atomic_adds": {"blocks": (1, 3), "threads": (32, 96), "times": (1, 2), "stride": (4, 256)},
    "bandwidth": {"footprint": (4096, 16384), "blocks": (1, 3), "piece": (2048,)},
    "bfs": {"graph": _GRAPH},
    "bicg": {"n": (16, 32), "iterations": (1,)},
    "chase": {"footprint": (4096, 65536), "warm": (8, 16), "lead": (8,), "loads": (8, 24)},
    "gups": {"log2_words": (12, 16), "threads": (128,), "updates": (1, 2)},
    "hash_join": {"build_rows": (40,), "probe_rows": (80,), "log2_slots": (7,)},
    "launches": {"count": (1, 3), "blocks": (1, 4), "threads": (32, 64)},
    "matrix_transpose": {"n": (64,)},
    "mvt": {"n": (16, 32), "iterations": (1,)},
    "nn": {"records": (300,)},
    "rmsnorm": {"tokens": (3, 8), "hidden": (128,)},
    "softmax": {"rows": (3, 8), "columns": (100,)},
    "sssp": {"graph": _GRAPH[:2], "rounds": (2,)},
    "strides": {"stride": (0, 1, 3, 32), "rounds": (1, 2), "threads": (32, 96)},
}
"""Shipped programs, and values of their parameters that keep them small."""

MADE_UP = "made-up"
"""The name of `made_up` as a workload."""

_MADE_UP = 0.75
"""Share of applications that are made up."""

_SCALE = "smoke"
_BASE = 1 << 30


@frozen
class App:
    """An application.

    Attributes:
        name: of the application.
        workload: a shipped one, or `MADE_UP`.
        parameters: those that differ from smoke scale's.
        place: its share, GPU or MIG instance, as workload files name them.
    """

    name: str
    workload: str
    parameters: Parameters
    place: Mapping[str, Any] = field(factory=dict)


@frozen
class Work:
    """Applications that run together.

    Attributes:
        apps: in order.
        relaunch: whether those that have ended start again until all have.
    """

    apps: tuple[App, ...]
    relaunch: bool = False

    @property
    def made_up(self) -> bool:
        """Whether all are made up."""
        return all(app.workload == MADE_UP for app in self.apps)

    def text(self) -> str:
        """It as a workload file."""
        head = 'relaunch = "until-all-have-run"\n' if self.relaunch else ""
        return head + "\n".join(_table(app) for app in self.apps)

    def load(self) -> Workload:
        """It as a workload."""
        if len(self.apps) == 1 and self.made_up and not self.apps[0].place:
            found = gpusim.load_workload(made_up, _SCALE, overrides=self.apps[0].parameters)
            return evolve(found, name="workload", overrides={})
        with TemporaryDirectory() as folder:
            path = Path(folder) / "workload.toml"
            path.write_text(self.text(), encoding="utf-8")
            return evolve(gpusim.load_workload(str(path), _SCALE), name="workload")


def make_work(random: Random, config: GpuConfig) -> Work:
    """One to three applications that may run on a machine."""
    count = min(random.choice((1, 1, 1, 1, 1, 2, 2, 3)), config.sm.count)
    places: list[dict[str, Any]] = [{} for _ in range(count)]
    if config.mig is not None and random.random() < 0.5:
        sizes = ("1g", "2g") if count > 1 else ("1g", "4g")
        places = [{"instance": random.choice(sizes)} for _ in range(count)]
    elif config.node is not None and random.random() < 0.3:
        places = [{"gpu": random.randrange(config.node.gpus)} for _ in range(count)]
    elif count == 2 and config.sm.count > 2 and random.random() < 0.5:
        places[0]["share"] = random.choice((0.25, 0.5, 0.75))
    apps = [
        _app(random, name, place, config, count == 1)
        for name, place in zip(("one", "two", "three"), places, strict=False)
    ]
    if count == 1 or config.paging is not None or random.random() > 0.2:
        return Work(tuple(apps))
    # Alike, or a short one starts again thousands of times until a long one has ended.
    alike = [evolve(apps[0], name=app.name, place=app.place) for app in apps]
    return Work(tuple(alike), config.sharing.policy != "time-slices")


def _app(
    random: Random, name: str, place: Mapping[str, Any], config: GpuConfig, alone: bool
) -> App:
    if random.random() < _MADE_UP:
        return App(name, MADE_UP, _made_up(random, config, alone and not place), place)
    workload = random.choice(sorted(SMALL))
    parameters = {key: random.choice(some) for key, some in SMALL[workload].items()}
    return App(name, workload, parameters, place)


def _made_up(random: Random, config: GpuConfig, alone: bool) -> Parameters:
    """Parameters of a made-up program, those that are as by default left out."""
    gpus = 1 if config.node is None else config.node.gpus
    threads = (32, 64, 64, 128, 100, 1)
    found: dict[str, Any] = {
        "number": random.randrange(1 << 30),
        "launches": random.choice((1, 1, 2, 3, 5, 12)),
        "blocks": random.choice((1, 2, 4, 8)),
        "threads": min(random.choice(threads), config.sm.max_threads),
        "steps": random.choice((1, 4, 10, 20)),
        "pages": random.choice((1, 3, 12, 60, 400, 3000)),
        "arrays": random.choice((1, 1, 2, 3)),
        "mix": random.choice(sorted(MIXES)),
        "place": random.choice(PLACES),
        "streams": random.choice((1, 1, 1, 2, 4)),
        "gpus": random.choice((1, gpus)) if alone else 1,
        "copies": random.choice((0, 0, 0, 1, 2)),
        "calls": random.choice((0, 0, 0, 1, 3)) if config.paging is None else 0,
        "piece": max(8192, int(config.memory.page)),
        "shared": random.choice((0, 0, 256, 4096)),
    }
    if found["place"] in ("anywhere", "strided"):  # a transaction a lane
        found["steps"], found["blocks"] = min(found["steps"], 4), min(found["blocks"], 2)
    defaults = {one.name: one.default for one in fields(program_of(made_up).parameters)}
    return {key: value for key, value in found.items() if value != defaults[key]}


def _table(app: App) -> str:
    """An application as a table of a workload file."""
    what = 'program = "experiments.fuzz.machines.made_up:made_up"'
    if app.workload != MADE_UP:
        what = f'workload = "{app.workload}"'
    rows = [f"{key} = {toml(value)}" for key, value in app.place.items()]
    inside = ", ".join(f"{key} = {toml(value)}" for key, value in app.parameters.items())
    rows += [f"{_SCALE} = {{{inside}}}"]
    return "\n".join(["[[applications]]", f'name = "{app.name}"', what, *rows, ""])


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def toml_key(key: str) -> str:
    """A key as TOML writes it."""
    return key if key.replace("_", "").replace("-", "").isalnum() else f'"{key}"'


def lone_addresses(random: Random, *, far: bool = True) -> list[int]:
    """Addresses that one warp loads, one after the other: some pages, some of them again and again.

    Args:
        random: decides.
        far: whether there may be more pages than all TLBs of a small machine hold.
    """
    rng = np.random.default_rng(random.getrandbits(32))
    steps, pages = random.choice((40, 120)), random.choice((3, 12, 60) if far else (2, 4))
    page = rng.integers(0, pages, steps)
    if random.random() < 0.5:
        page = np.minimum(rng.zipf(1.4, steps) - 1, pages - 1)
    return [int(one) for one in _BASE + 4096 * page + 32 * rng.integers(0, 128, steps)]


def lone_workload(addresses: list[int], in_flight: int = 1) -> Workload:
    """One warp of one lane, which loads from addresses one by one."""
    array = np.full((1, len(addresses), 32), -1)
    array[0, :, 0] = addresses
    return gpusim.workload_of(array, name="alone", warps_per_block=1, in_flight=in_flight)

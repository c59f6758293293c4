"""Programs of a few hundred transactions: small inputs of shipped ones, and made-up addresses."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

import gpusim
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
    "matrix_transpose": {"n": (64, 128)},
    "mvt": {"n": (16, 32), "iterations": (1,)},
    "nn": {"records": (300, 1000)},
    "rmsnorm": {"tokens": (3, 8), "hidden": (128,)},
    "softmax": {"rows": (3, 8), "columns": (100,)},
    "sssp": {"graph": _GRAPH, "rounds": (2,)},
    "strides": {"stride": (0, 1, 3, 32), "rounds": (1, 2), "threads": (32, 96)},
}
"""Shipped programs, and values of their parameters that keep them small."""

_BASE = 1 << 30
_PAGES = (1, 3, 12, 60)


@frozen
class SmallProgram:
    """A shipped program with parameters.

    Attributes:
        workload: its name.
        parameters: those that differ from smoke scale's.
    """

    workload: str
    parameters: Parameters


def small_program(random: Random) -> SmallProgram:
    """One of `SMALL`, with one of the values of each parameter."""
    name = random.choice(sorted(SMALL))
    return SmallProgram(name, {key: random.choice(some) for key, some in SMALL[name].items()})


def workload_text(programs: tuple[SmallProgram, ...], names: tuple[str, ...]) -> str:
    """A workload file of some programs, each under a name."""
    parts = []
    for one, name in zip(programs, names, strict=True):
        inside = ", ".join(f"{key} = {_toml(value)}" for key, value in one.parameters.items())
        parts.append(
            f'[[applications]]\nname = "{name}"\nworkload = "{one.workload}"\n'
            f"smoke = {{{inside}}}\n"
        )
    return "\n".join(parts)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def addresses(random: Random, *, alone: bool = False) -> Workload:
    """Made-up addresses: of one to eight warps, or of one warp whose loads come one by one.

    Args:
        random: decides.
        alone: one warp, one lane, loads only, each waited for.
    """
    rng = np.random.default_rng(random.getrandbits(32))
    warps, steps = (1, random.choice((40, 120))) if alone else (random.choice((1, 3, 8)), 4)
    array = _places(rng, random, (warps, steps, 32))
    array[rng.random(array.shape) < random.choice((0.0, 0.5))] = -1
    array[:, :, 0] = np.where(array[:, :, 0] < 0, _BASE, array[:, :, 0])
    if alone:
        array[:, :, 1:] = -1
        return gpusim.workload_of(array, name="alone")
    stores = rng.random(steps) < random.choice((0.0, 0.3))
    size = max(_PAGES) * 4096 + 32 * 4096
    return gpusim.workload_of(
        array,
        stores=stores.tolist(),
        arrays=[(_BASE, size)],
        compute=random.choice((0, 3)),
        in_flight=random.choice((1, 2)),
        warps_per_block=random.choice((1, 2, 8)),
    )


def _places(
    rng: np.random.Generator, random: Random, shape: tuple[int, int, int]
) -> NDArray[np.int64]:
    """Bytes within some pages: each lane anywhere, warps side by side, or few pages in turn."""
    pages, kind = random.choice(_PAGES), random.choice(("anywhere", "beside", "hot"))
    if kind == "anywhere":
        return _BASE + 4 * rng.integers(0, pages * 1024, shape)
    warps, steps, lanes = shape
    if kind == "hot":
        page = rng.zipf(1.5, (warps, steps, 1)) % pages
        return _BASE + 4096 * page + 4 * np.broadcast_to(np.arange(lanes), shape)
    place = np.arange(warps * steps * lanes).reshape(shape)
    return _BASE + 4 * random.choice((1, 1, 8, 32)) * place % (pages * 4096)

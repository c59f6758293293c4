"""One SHA-256 for all simulated results of a run: equal runs have equal digests, anywhere."""

from __future__ import annotations

import hashlib
import struct
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.field_facts import later_keys
from gpusim.config.schema import GpuConfig
from gpusim.results.run_data import RunData

Plain = None | bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"]
"""What can be encoded."""


def digest(run: RunData) -> str:
    """SHA-256 (hex) over configuration, workload, seed, summary, counters, state sums, launches.

    Neither wall-clock values nor recorded events nor the order of counters and keys count, so it
    is the same whatever was recorded, on any platform.  Prose (descriptions, origins, comments of
    the TOML text) does not count either.  What is `later` does not count: counters, what is made of
    them, and keys of the schema at their defaults.
    """
    plain: dict[str, Plain] = {
        "config": _counted(tomllib.loads(run.config_toml)),
        "workload": run.provenance.workload,
        "scale": run.provenance.scale,
        "seed": run.provenance.seed,
        "summary": {
            value.name: [value.value, value.unit] for value in run.summary if not value.later
        },
        "counters": sorted(
            [row.component, row.instance, row.app, row.name, row.value, row.unit]
            for row in run.counters
            if not row.later
        ),
        "states": list(run.states),
        "state_sums": run.state_sums.tolist(),
        "applications": [
            [app.name, app.asid, list(app.sms), app.launches, app.blocks, app.warps, app.end]
            for app in run.applications
        ],
        "launches": [
            [one.app, one.launch, one.kernel, one.begin, one.end, one.blocks]
            for one in run.launches
        ],
    }
    stopped: list[Plain] = [
        [one.app, one.cycle, one.instructions, one.warps] for one in run.stops if one.met
    ]
    if stopped:  # a rule that stopped no application changes nothing
        plain["stops"] = stopped
    return hashlib.sha256(encode(plain)).hexdigest()


def encode(value: Plain) -> bytes:
    """`value` as bytes, canonically: a tag, then a length or a fixed size, then the content.

    Mappings are sorted by key, ints are decimal, floats are big-endian IEEE 754.

    Raises:
        TypeError: something in `value` is not plain.
    """
    if type(value) is str:
        return _text(value)
    if type(value) is int:
        return _sized(b"i", str(value).encode())
    if type(value) is list:
        return _sized(b"l", b"".join([encode(item) for item in value]))
    if value is None or isinstance(value, bool):
        return {None: b"n", True: b"t", False: b"f"}[value]
    return _rare(value)


def _rare(value: Plain) -> bytes:
    """As `encode`: what is of no plain kind itself, and what there is less of."""
    if isinstance(value, int):
        return encode(int(value))
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, str):
        return _sized(b"s", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        items = sorted((encode(key), encode(item)) for key, item in value.items())
        return _sized(b"m", b"".join([key + item for key, item in items]))
    if isinstance(value, list | tuple):
        return encode(list(value))
    raise TypeError(f"cannot digest {value!r} of type {type(value).__name__}")


@lru_cache(maxsize=1 << 12)
def _text(value: str) -> bytes:
    """Names of components and of counters come again and again."""
    return _sized(b"s", value.encode("utf-8", "surrogatepass"))


@cache
def _later() -> tuple[tuple[str, Plain], ...]:
    """Keys that count only with another value than their default.

    Tables of auxiliary caches came later as a whole: in a machine that has them, all their keys
    count.
    """
    return tuple(later_keys(GpuConfig, without=SIDE_CACHES))


def _counted(config: dict[str, Any]) -> dict[str, Any]:
    """A model's tables without the `later` keys that are not used."""
    for pattern, unused in _later():
        _drop(config, pattern.split("."), unused)
    if config.get("stages") == [*config.get("tlb", ()), "walk"]:
        del config["stages"]  # as they were before a model could list them
    return config


def _drop(table: dict[str, Any], path: Sequence[str], unused: Plain) -> None:
    """Take a key out of a table if it has a value; ``*`` in its path stands for any name."""
    name, rest = path[0], path[1:]
    for one in list(table) if name == "*" else [name]:
        inner = table.get(one)
        if rest and isinstance(inner, dict):
            _drop(inner, rest, unused)
        elif not rest and one in table and inner == unused:
            del table[one]


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + str(len(content)).encode() + b":" + content

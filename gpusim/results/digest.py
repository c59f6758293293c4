"""One SHA-256 for all simulated results of a run: equal runs have equal digests, anywhere."""

from __future__ import annotations

import hashlib
import struct
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpusim.results.run_data import RunData

Plain = None | bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"]
"""What can be encoded."""

LATER: Mapping[str, Plain] = {
    "launch_overhead": "0 cycles",
    "crossbar.pipelined": False,
    "l1.allocate": "on-fill",
    "l1.at_launch": "invalidate",
    "l1.replacement": "lru",
    "l1.writes": "update",
    "l2.page_table_reads": "first",
    "l2.partitions": 1,
    "memory.table_entries": 512,
    "sm.block_end": "answered",
    "sm.block_start": "1 cycles",
    "sm.lsu_interval": 1,
    "l2.replacement": "lru",
    "tlb.*.merging": True,
    "tlb.*.misses": "mshr",
    "tlb.*.replacement": "lru",
    "walk.cache.replacement": "lru",
    "walk.order": "fcfs",
    "walk.sent_by": "walkers",
}
"""Keys of a model that came after the digest was defined, with the value of a machine without them.

Only another value counts, so that a run that does not use them keeps its digest.
"""


def digest(run: RunData) -> str:
    """SHA-256 (hex) over configuration, workload, seed, summary, counters, state sums, launches.

    Neither wall-clock values nor recorded events nor the order of counters and keys count, so it
    is the same whatever was recorded, on any platform.  Prose (descriptions, origins, comments of
    the TOML text) does not count either, nor do `LATER` keys that are not used.
    """
    plain: dict[str, Plain] = {
        "config": _counted(tomllib.loads(run.config_toml)),
        "workload": run.provenance.workload,
        "scale": run.provenance.scale,
        "seed": run.provenance.seed,
        "summary": {value.name: [value.value, value.unit] for value in run.summary},
        "counters": sorted(
            [row.component, row.instance, row.app, row.name, row.value, row.unit]
            for row in run.counters
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
    if stopped:  # a rule that stopped nobody changes nothing
        plain["stops"] = stopped
    return hashlib.sha256(encode(plain)).hexdigest()


def encode(value: Plain) -> bytes:
    """`value` as bytes, canonically: a tag, then a length or a fixed size, then the content.

    Mappings are sorted by key, ints are decimal, floats are big-endian IEEE 754.

    Raises:
        TypeError: something in `value` is not plain.
    """
    if value is None or isinstance(value, bool):
        return {None: b"n", True: b"t", False: b"f"}[value]
    if isinstance(value, int):
        return _sized(b"i", str(int(value)).encode())
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, str):
        return _sized(b"s", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        items = sorted((encode(key), encode(item)) for key, item in value.items())
        return _sized(b"m", _join(key + item for key, item in items))
    if isinstance(value, list | tuple):
        return _sized(b"l", _join(map(encode, value)))
    raise TypeError(f"cannot digest {value!r} of type {type(value).__name__}")


def _counted(config: dict[str, Any]) -> dict[str, Any]:
    """A model's tables without the `LATER` keys that are not used."""
    for pattern, unused in LATER.items():
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


def _join(parts: Iterable[bytes]) -> bytes:
    return b"".join(parts)


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + str(len(content)).encode() + b":" + content

"""The machine at a glance: a line a component, from the resolved model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_WORDS: Mapping[str, Mapping[str, str]] = {
    "scope": {
        "sm": "one for each SM",
        "tpc": "one for each TPC",
        "gpc": "one for each GPC",
        "instance": "one for each instance",
        "slices": "one for each instance, a part a slice",
        "gpu": "one for all SMs",
    },
    "translation": {
        "before": "looked up after the TLB",
        "parallel": "looked up beside the TLB",
        "virtually-indexed": "looked up beside the TLB, and goes on while that misses",
        "after": "virtual: its misses ask the TLB",
    },
    "memory": {"l2": "the L2 cache", "dram": "DRAM"},
}
"""What some values of a model mean, by key."""

_PLAIN: Mapping[str, object] = {
    "sub_entries": 1,
    "array": "set-associative",
    "sets": "plain",
    "bypass": "never",
    "partition": "none",
}
"""Values that are not worth a word, by key."""

_SM = (
    "{count} SMs at {clock}",
    "{schedulers} schedulers of warps ({scheduler})",
    "{max_warps} warps at most",
    "{max_blocks} blocks at most",
    "block scheduler {block_scheduler}",
)
_TLB = (
    "{scope}",
    "{entries} entries",
    "{ways} ways",
    "{sub_entries} sub-entries",
    "{array} array",
    "{sets} sets",
    "{ports} lookups a cycle",
    "latency {latency}",
    "{mshrs} MSHRs",
)
_WALKERS = ("{walkers} walkers", "{queue} walks may queue")
_WALKS = {
    "fixed": "{latency} a walk",
    "per-level": "{latency} for each level that is read",
    "memory": "a read for each level, through {memory}",
}
_WALK_CACHES = {
    "levels": "{entries} upper-level entries",
    "lines": "{size} in lines of {line}",
}
_CACHE = ("{size}", "{ways} ways", "lines of {line}", "latency {latency}", "{mshrs} MSHRs")
_L1 = ("one for each SM", *_CACHE, "{translation}")
_L2 = ("{banks} banks", *_CACHE, "{bypass} bypass", "{partition} dealt out to applications")
_CROSSBAR = ("{latency} either way", "{bytes_per_cycle} B a cycle and port")
_DRAM = (
    "{channels} channels at {clock}",
    "{bank_groups} × {banks} banks each",
    "rows of {row}",
    "{scheduler}",
    "{page_policy} rows",
    "{partition} by application",
)
_MIG = ("{slices} slices", "instances of {instances}")
_MEMORY = ("pages of {page}", "page table of {levels} levels", "{size} of frames ({frames})")


def machine_facts(config_toml: str) -> list[tuple[str, str]]:
    """Components and what they are like, from the SMs outward.

    Keys that a model does not have, or that have no effect, are left out.
    """
    config = tomllib.loads(config_toml)
    whole = {key: value for key, value in config.items() if not isinstance(value, dict)}
    crossbar, dram = config.get("crossbar", {}), config.get("dram", {})
    walk = config.get("walk", {})
    cache = walk.get("cache", {})
    facts = [
        ("SMs", whole | config.get("sm", {}), _SM),
        *((f"{level} TLB", *_tlb(tlb)) for level, tlb in config.get("tlb", {}).items()),
        ("page walks", walk, (*_WALKERS, _WALKS.get(walk.get("cost"), ""))),
        ("walk cache", cache, (_WALK_CACHES.get(cache.get("kind"), ""),)),
        ("L1 cache", config.get("l1", {}), _L1),
        ("L2 cache", config.get("l2", {}), _L2),
        ("crossbar", crossbar, ("ideal",) if crossbar.get("ideal") else _CROSSBAR),
        ("DRAM", dram, ("ideal", "latency {ideal_latency}") if dram.get("ideal") else _DRAM),
        ("memory", config.get("memory", {}), _MEMORY),
        ("MIG", config.get("mig", {}), _MIG),
    ]
    phrased = [(name, _phrase(table, phrases)) for name, table, phrases in facts if table]
    return [(name, text) for name, text in phrased if text]


def _tlb(tlb: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """A TLB level, and what to tell of it."""
    return tlb, (*_TLB, "ideal: every lookup hits" if tlb.get("ideal") else "")


def _phrase(table: Mapping[str, Any], phrases: Sequence[str]) -> str:
    """The phrases for which the table has all values, none of them plain."""
    values = {key: _shown(key, value) for key, value in table.items()}
    if values.get("ways", "") in ("0", values.get("entries")):
        values["ways"] = "all"
    phrased = []
    for phrase in phrases:
        needed = re.findall(r"{(\w+)}", phrase)
        plain = [key for key in needed if key in _PLAIN and table.get(key) == _PLAIN[key]]
        if phrase and not plain and all(key in values for key in needed):
            phrased.append(_counted(phrase.format_map(values)))
    return ", ".join(phrased)


def _shown(key: str, value: Any) -> str:
    """A value for the eye: a policy by its name and options, a quantity with a gap."""
    if isinstance(value, dict):
        options = [f"{name} {_shown('', one)}" for name, one in value.items() if name != "policy"]
        return f"{value.get('policy')} ({', '.join(options)})"
    text = _WORDS.get(key, {}).get(value, str(value)) if isinstance(value, str) else str(value)
    return re.sub(r"^(\d+)([A-Za-z]+)$", r"\1 \2", text)


def _counted(phrase: str) -> str:
    """One of something is not in the plural; all ways are a fully associative array."""
    phrase = phrase.replace("all ways", "fully associative")
    return re.sub(r"\b1 (\w+?)(ie)?s\b", lambda one: f"1 {one[1]}{'y' if one[2] else ''}", phrase)

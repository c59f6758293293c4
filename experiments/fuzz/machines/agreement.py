"""Running designs, and comparing what comes of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gpusim
from experiments.fuzz.machines.designs import Design, write_events
from experiments.fuzz.machines.invariants import columns_of
from experiments.fuzz.machines.models import MadeModel
from gpusim.results.result import Result

_COUNTERS = ("component", "instance", "app", "counter", "value")


def run(design: Design, **options: Any) -> Result:
    """Run a design."""
    options = {**design.options, **options}
    if not design.events:
        return gpusim.simulate(design.model, design.workload, **options)
    with TemporaryDirectory() as folder:
        events = write_events(design, Path(folder) / "events.jsonl")
        return gpusim.simulate(design.model, design.workload, events=events, **options)


def changed(design: Design, settings: Mapping[str, Any]) -> Design:
    """The design on a machine with other settings."""
    made = design.made
    return design.with_model(
        MadeModel.of(made.base, made.recipes, {**made.settings, **settings}, made.parts)
    )


def differ(one: Result, other: Result, names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Counters that differ, by component; `names` of the other's applications are those of one."""
    first, second = _by_key(one, {}), _by_key(other, names or {})
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())[:3]
        yield f"they have other counters: {odd}"
        return
    wrong = [key for key, value in first.items() if second[key] != value]
    for key in wrong[:3]:
        yield f"{'.'.join(map(str, key))}: {first[key]} and {second[key]}"
    if not wrong and one.summary["cycles"] != other.summary["cycles"]:
        yield f"{one.summary['cycles']} and {other.summary['cycles']} cycles"


def _by_key(result: Result, names: Mapping[str, str]) -> dict[tuple[Any, ...], Any]:
    columns = columns_of(result, "counters", _COUNTERS)
    components, instances, apps, counters, values = (one.tolist() for one in columns.values())
    apps = [names.get(name, name) for name in apps]
    return dict(zip(zip(components, instances, apps, counters, strict=True), values, strict=True))

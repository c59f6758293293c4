"""The digest covers all simulated results and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attr
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.field_facts import later_keys
from gpusim.config.node import NodeConfig, NodeLinkConfig
from gpusim.config.paging import PagingConfig
from gpusim.config.schema import GpuConfig, L1Config, L2Config
from gpusim.config.sm import SmConfig
from gpusim.config.translation import TlbConfig, WalkCacheConfig, WalkConfig
from gpusim.core.counters import CounterRow, count, counter_rows
from gpusim.core.metrics import Metric, Ratio, Scope, Total, declare_metrics, place_metrics
from gpusim.core.tally import Tally
from gpusim.files.structure import unstructure
from gpusim.files.units import Bandwidth, Bytes, Hertz, cycles
from gpusim.results import ApplicationFacts, LaunchFacts, RunData, SummaryValue, WallClock, digest
from gpusim.results.digest import encode
from gpusim.runs.writer import ResultWriter
from tests import ROOT
from tests.quick import quick

CHANGES: dict[str, Callable[[RunData], dict[str, Any]]] = {
    "config": lambda run: {"config_toml": run.config_toml.replace("64", "65")},
    "later keys that are used": lambda run: {
        "config_toml": run.config_toml.replace("entries", 'replacement = "fifo"\nentries')
    },
    "workload": lambda run: {"provenance": evolve(run.provenance, workload="bicg")},
    "scale": lambda run: {"provenance": evolve(run.provenance, scale="quick")},
    "seed": lambda run: {"provenance": evolve(run.provenance, seed=8)},
    "summary": lambda run: {"summary": [*run.summary, SummaryValue("new", 1, "1", "")]},
    "counter": lambda run: {"counters": [run.counters[0]._replace(value=61), *run.counters[1:]]},
    "states": lambda run: {"states": ("other", *run.states[1:])},
    "state sums": lambda run: {"state_sums": run.state_sums + np.int64(1)},
    "launch": lambda run: {"launches": [LaunchFacts("atax", 0, "atax_kernel1", 0, 401, 4)]},
    "application": lambda run: {"applications": [ApplicationFacts("atax", 0, (0,), 2, 8, 16, 9)]},
}

SAME: dict[str, Callable[[RunData], dict[str, Any]]] = {
    "wall clock": lambda _: {"wall": WallClock(9.0, "later", "elsewhere", "other", 64)},
    "command line": lambda run: {"provenance": evolve(run.provenance, command_line=("x",))},
    "compiled or not": lambda run: {"provenance": evolve(run.provenance, form="other")},
    "versions": lambda run: {"provenance": evolve(run.provenance, python="3.12", numpy="3")},
    "origins": lambda _: {"origins": {}},
    "order of counters": lambda run: {"counters": run.counters[::-1]},
    "order of the summary": lambda run: {"summary": run.summary[::-1]},
    "comments": lambda run: {"config_toml": "# model\n" + run.config_toml},
    "order of keys": lambda _: {
        "config_toml": '[tlb.L1]\nscope = "sm"\nentries = 64\n[sm]\ncount = 2\n'
    },
    "numbers of launches": lambda _: {"by_launch": None},
    "what a launch takes": lambda run: {
        "launches": [evolve(one, work_begin=one.begin) for one in run.launches]
    },
    "byte order": lambda run: {"state_sums": run.state_sums.astype(">i8")},
    "later keys that are not used": lambda run: {
        "config_toml": run.config_toml.replace("entries", 'replacement = "lru"\nentries')
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_counts(run: RunData, change: str) -> None:
    assert digest(evolve(run, **CHANGES[change](run))) != digest(run)


@pytest.mark.parametrize("change", SAME)
def test_what_does_not_count(run: RunData, change: str) -> None:
    assert digest(evolve(run, **SAME[change](run))) == digest(run)


def test_later_keys_are_those_of_the_schema_at_their_defaults() -> None:
    walk = WalkConfig(1, cache=WalkCacheConfig("levels"))
    bare = GpuConfig(
        "bare",
        Hertz(1),
        SmConfig(1),
        L1Config(Bytes(1), 1),
        {"L1": TlbConfig("sm", 1, 1)},
        walk,
        L2Config(Bytes(1), 1),
        GDDR5,
        paging=PagingConfig(),
        node=NodeConfig(1, NodeLinkConfig(Bandwidth(1), cycles(1))),
    )
    keys = dict(later_keys(GpuConfig, without=SIDE_CACHES))
    assert {"sm.block_start", "tlb.*.merging", "walk.cache.replacement"} < keys.keys()
    for pattern, unused in keys.items():
        found: Any = unstructure(bare)
        for name in pattern.split("."):
            found = found["L1" if name == "*" else name]
        assert found == unused


@attr.s(auto_attribs=True)
class Passes:
    """What a component counts."""

    passes: int = count("passes")
    conflicts: int = count("conflicts", later=True)


declare_metrics(
    Passes,
    Metric("old_passes", "1", "passes", Total("passes")),
    Metric("new_conflicts", "1", "conflicts by pass", Ratio("conflicts", "passes")),
    Metric("passes_again", "1", "passes, told later", Total("passes"), later=True),
)


def test_counters_that_came_later_do_not_count(run: RunData) -> None:
    passes, conflicts = counter_rows("sm", 0, "atax", Passes(passes=8, conflicts=2))
    metrics = place_metrics([("sm", "sm", Passes)])
    scope = Scope(Tally([passes, conflicts]), 10, 1)
    old, new, again = (
        SummaryValue(one.name, one.value(scope), one.unit, one.description, one.later)
        for one in metrics
    )
    assert (old.value, new.value) == (8, 0.25)

    def with_these(*added: Any) -> str:
        rows = [one for one in added if isinstance(one, CounterRow)]
        numbers = [one for one in added if isinstance(one, SummaryValue)]
        return digest(
            evolve(run, counters=[*run.counters, *rows], summary=[*run.summary, *numbers])
        )

    assert with_these(conflicts, new, again) == digest(run)
    assert with_these(passes, conflicts, old, new) == with_these(passes, old)
    assert len({digest(run), with_these(passes), with_these(old)}) == 3


def test_recorded_events_do_not_count(run: RunData) -> None:
    digests = set()
    for names in ((), ("walks",), ("walks", "tlb")):
        with ResultWriter() as writer:
            for name in names:
                writer.event_table(name)
            digests.add(writer.finish(run).digest)
    assert digests == {digest(run)}


@pytest.mark.parametrize(
    ("seed", "locale"), quick([("0", "C"), ("4711", "C.UTF-8")], ("4711", "C.UTF-8"))
)
def test_the_same_in_another_process(run: RunData, seed: str, locale: str) -> None:
    program = "from conftest import make_run; from gpusim.results import digest; "
    program += "print(digest(make_run()))"
    root = ROOT
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "LC_ALL": locale,
        "PYTHONPATH": os.pathsep.join([str(root), str(Path(__file__).parent)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest(run)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def exact(value: Any) -> Any:
    """`value` so that == tells types and signs apart."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return (type(value).__name__, repr(value))


@given(plain, plain)
def test_encoding_tells_all_values_apart(one: Any, two: Any) -> None:
    assert (encode(one) == encode(two)) == (exact(one) == exact(two))


@given(st.dictionaries(st.text(), plain, max_size=5), st.randoms())
def test_encoding_ignores_the_order_of_keys(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert encode(dict(items)) == encode(value)


def test_only_plain_values_are_encoded() -> None:
    with pytest.raises(TypeError, match="cannot digest"):
        encode({1, 2})  # type: ignore[arg-type]

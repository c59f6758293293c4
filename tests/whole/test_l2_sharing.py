"""MASK's bypass and ways of the L2 cache in whole runs: where they change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_mechanisms import assert_same, counters

PAIR = """
[[applications]]
workload = "gups"
name = "gups"
smoke = { updates = 1 }

[[applications]]
workload = "bfs"
name = "bfs"
smoke = { graph = { vertices = 128 } }
"""

AWARE = {"l2.bypass.policy": "translation-aware"}
LEVELS = tuple(f"page_table/level{level}" for level in (1, 2, 3, 4))


@pytest.fixture
def pair(tmp_path: Path) -> str:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    return str(path)


def total(result: Result, component: str, counter: str, app: str) -> int:
    return sum(
        value
        for (where, _, whose, name), value in counters(result).items()
        if (where, whose, name) == (component, app, counter)
    )


@pytest.mark.long
def test_a_bypass_whose_every_line_is_sampled_is_none(pair: str) -> None:
    options = AWARE | {"l2.bypass.sample": 1, "l2.bypass.min_accesses": 0}
    own = assert_same(run("tiny", pair), run("tiny", pair, overrides=options))
    assert {(where, name): value for (where, _, _, name), value in own.items()} == {
        ("policies/l2.bypass/TranslationAwareBypass", "acted"): 0
    }


@pytest.mark.long
def test_one_application_has_all_ways() -> None:
    base = run("tiny", "bfs")
    assert assert_same(base, run("tiny", "bfs", overrides={"l2.partition": "ways"})) == {}


@pytest.mark.parametrize("partition", quick(["none", "ways"], "ways"))
def test_two_applications_lose_no_read(pair: str, partition: str) -> None:
    settings: dict[str, object] = {"l2.partition": partition}
    options = AWARE | {"l2.bypass.epoch": 5000, "l2.bypass.min_accesses": 0} | settings
    base, other = run("tiny", pair, overrides=settings), run("tiny", pair, overrides=options)
    for app in ("gups", "bfs"):
        for what in ("instructions", "memory_instructions", "transactions"):
            assert other.summary[f"{app}/{what}"] == base.summary[f"{app}/{what}"]
        for result in (base, other):
            looked, past = (
                sum(total(result, level, what, app) for level in LEVELS)
                for what in ("l2_lookups", "l2_bypassed")
            )
            assert looked + past == total(result, "walk", "level_accesses", app) > 0
            assert looked == total(result, "l2", "translation_lookups", app)
    assert base.summary["l2_bypassed"] == 0
    assert 0 < other.summary["l2_bypassed"] < 1
    assert other.digest == run("tiny", pair, overrides=options).digest


@pytest.mark.long
def test_hit_rates_by_level_are_those_of_the_counters(pair: str) -> None:
    result = run("maxwell-mask", pair)
    for number, level in enumerate(LEVELS, start=1):
        for app in ("gups", "bfs"):
            hits, lookups = (total(result, level, what, app) for what in ("l2_hits", "l2_lookups"))
            assert result.summary[f"{app}/l2_level{number}_hit_rate"] == hits / lookups
    assert "l2_level1_hit_rate" not in run("kepler-uvm", "bfs").summary


def test_the_variant_has_the_papers_epoch() -> None:
    config = gpusim.load_model("maxwell-mask", ["mask-cache"]).config
    assert config.l2.bypass.policy == "translation-aware"
    assert config.l2.bypass.options["epoch"] == 100_000
    assert config.l2.partition == "none"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l2.bypass": "nevr"}, ["l2.bypass = 'nevr'", "did you mean 'never'"]),
        (
            {"l2.bypass": "gpusim.hardware.cache:CacheArray"},
            ["CacheArray lacks", "bypasses", "CacheBypass"],
        ),
        (AWARE | {"l2.bypass.sampel": 4}, ["no option 'sampel'", "did you mean 'sample'"]),
        (AWARE | {"l2.bypass.sample": -1}, ["l2.bypass.sample = -1", "0 or more"]),
        (AWARE | {"l2.bypass.epoch": "1us"}, ["l2.bypass.epoch", "of type int"]),
        ({"l2.partition": "way"}, ["l2.partition = 'way'", "did you mean 'ways'", "none, ways"]),
    ],
)
def test_refused_when_loaded(settings: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        gpusim.load_model("tiny", overrides=settings)
    assert [word for word in words if word not in str(caught.value)] == []


def test_more_applications_than_ways(pair: str) -> None:
    outcome = command(
        "run",
        "tiny",
        pair,
        "--scale",
        "smoke",
        "--set",
        "l2.partition=ways",
        "--set",
        "l2.ways=1",
        code=2,
    )
    assert "l2.partition" in outcome.stderr
    assert "at most one application a way" in outcome.stderr


def test_the_command_line_knows_the_policies() -> None:
    listed = command("list", "policies").output
    assert "translation-aware" in listed
    assert "never" in listed

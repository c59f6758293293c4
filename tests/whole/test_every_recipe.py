"""Every recipe on every shipped model: it is a machine, or it is refused with a reason.

Models take turns to run them (`TURNS`), with two applications.  On one model of each kind a recipe
runs with one application, too, and with every record, and each record has its tables.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from experiments.fuzz.machines.models import SMALLER
from gpusim.config.load import LoadedModel
from gpusim.config.recipe import recipe_names
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_names
from gpusim.results.event_tables import RECORDS
from tests.quick import quick

PAIR = """
[[applications]]
workload = "mvt"
smoke = { n = 32, iterations = 1 }

[[applications]]
workload = "gups"
smoke = { log2_words = 14, threads = 128, updates = 2 }
"""

WITH_RECORDS = ("a100-mig", "apu-hsa", "h100", "integrated", "kepler-uvm", "mi210", "tiny")
"""Models that differ in what can be recorded: the others have the parts of one of these."""

TURNS = 6
"""Of the recipes that it takes a model runs one in six, and the next model those beside them; which
these are, the turn says (`tests.conftest`)."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> gpusim.Workload:
    path: Path = tmp_path_factory.mktemp("workloads") / "pair.toml"
    path.write_text(PAIR, encoding="utf-8")
    return gpusim.load_workload(str(path), "smoke")


def recorded(
    machine: LoadedModel, workload: gpusim.Workload, records: tuple[str, ...]
) -> tuple[str, ...]:
    """Run with these records, each of which has its tables; returns what the run warns of."""
    with gpusim.simulate(machine, workload, record=records) as result:
        assert len(result.applications) == len(workload.applications)
        for table in (table for name in records for table in RECORDS[name]):
            result.table(table)
        return result.warnings


def load_smaller(model: str, recipe: str) -> LoadedModel:
    """A machine with a recipe (empty: none), less of it if it is large."""
    return gpusim.load_model(model, [recipe] if recipe else [], SMALLER.get(model, {}))


def run_both(machine: LoadedModel, pair: gpusim.Workload) -> tuple[str, ...]:
    """Run one application, then two, with records; returns what the second run warns of."""
    recorded(machine, pair.alone("gups"), ("lifetimes",))
    return recorded(machine, pair, tuple(RECORDS))


@pytest.mark.parametrize(
    "recipe",
    quick(
        ["atlas", "tcm", "mask", "sub-entries+star", "partitioning", "demand-paging"],
        "sub-entries+star",
        "demand-paging",
    ),
)
def test_one_application_and_two_on_a_small_machine(recipe: str, pair: gpusim.Workload) -> None:
    assert not [
        text for text in run_both(load_smaller("tiny", recipe), pair) if " failed to say " in text
    ]


@pytest.mark.parametrize(
    ("recipe", "idle"),
    quick(
        [("atlas", "ranked applications"), ("tcm", "formed clusters")],
        ("atlas", "ranked applications"),
    ),
)
def test_a_run_shorter_than_a_quantum_says_so(
    recipe: str, idle: str, pair: gpusim.Workload
) -> None:
    (warning,) = run_both(load_smaller("tiny", recipe), pair)
    assert warning.startswith(f"dram.scheduler: '{recipe}' never {idle}: its quantum of ")


@pytest.mark.parametrize("model", quick(["tiny", "integrated", "apu-hsa"], "integrated"))
def test_records_of_virtual_caches(model: str, pair: gpusim.Workload) -> None:
    run_both(load_smaller(model, "vc-opt"), pair)


@pytest.mark.long
@pytest.mark.turns(1)  # of recipes, not of models
@pytest.mark.parametrize("model", data_names("models"))
def test_every_recipe_of_every_model(
    model: str, pair: gpusim.Workload, pytestconfig: pytest.Config
) -> None:
    """A recipe that changes nothing, or what another one does, is no machine to run anew."""
    wrong: dict[str, object] = {}
    done: set[str] = set()
    takers = 0
    turn = data_names("models").index(model) + (pytestconfig.getoption("turn") or 0)
    for number, recipe in enumerate(["", *recipe_names()]):
        try:
            machine = load_smaller(model, recipe)
            takers += 1
            if (same := repr(machine.config)) in done:
                continue
            done.add(same)
            if (number + turn) % TURNS:
                continue
            if model in WITH_RECORDS:
                warnings = run_both(machine, pair)
            else:
                warnings = recorded(machine, pair, ())
        except UserError:
            continue
        except Exception as error:  # noqa: BLE001  (all that fail are named, not the first)
            wrong[recipe] = error
        else:
            if failed := [text for text in warnings if " failed to say " in text]:
                wrong[recipe] = failed
    assert not wrong
    assert takers > len(recipe_names()) / 3

"""Cheap cases of `experiments.fuzz.machines`; others: ``gpusim study fuzz machines``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import gpusim
from experiments.fuzz.cases import READ, REFUSED
from experiments.fuzz.machines.cases import run_case
from experiments.fuzz.machines.designs import CHEAP, SMALLER, Design, make_design, write_design
from experiments.fuzz.machines.invariants import RECORDS, violations
from experiments.fuzz.machines.knobs import keys, other_value
from experiments.fuzz.machines.programs import SMALL
from experiments.fuzz.machines.relations import run
from gpusim.files.shipped import data_names

SEED = 11
CASES = 6
LONG_CASES = 25
STARTS = range(CASES, CASES + 200, LONG_CASES)


def tried(first: int, cases: int, folder: Path, models: tuple[str, ...]) -> Counter[str]:
    """What came of some cases; none of them is bad."""
    found = [run_case(SEED, number, folder, models) for number in range(first, first + cases)]
    bad = [one for one in found if one.what not in {READ, REFUSED}]
    assert not bad, bad[0].detail
    return Counter(one.what for one in found)


def test_no_small_machine_is_wrong(tmp_path: Path) -> None:
    assert tried(0, CASES, tmp_path, CHEAP)[READ] > CASES / 2


@pytest.mark.long
@pytest.mark.turns(4)
@pytest.mark.parametrize("first", STARTS)
def test_no_machine_is_wrong(tmp_path: Path, first: int) -> None:
    assert tried(first, LONG_CASES, tmp_path, ())[READ] > LONG_CASES / 2


def test_names_are_those_that_there_are() -> None:
    assert set(SMALLER) <= set(data_names("models"))
    assert set(SMALL) <= set(data_names("workloads"))


def test_a_design_is_the_same_again() -> None:
    one, other = (make_design(Random("7"), CHEAP) for _ in range(2))
    assert one == other
    assert one != make_design(Random("8"), CHEAP)


def test_each_key_of_a_model_has_another_value() -> None:
    tiny = gpusim.load_model("tiny")
    values = {one.key: one.value for one in tiny.values}
    found = {key: other_value(Random(1), tiny, key) for key in keys(tiny)}
    assert {"tlb.L1.ways", "l1.translation", "walk.order", "dram.scheduler"} < set(found)
    assert not {"name", "clock", "watchdog"} & set(found)
    assert not {key: value for key, value in found.items() if value == values.get(key)}


@pytest.fixture(scope="module")
def plain() -> Design:
    """A design without recipes, events and options."""
    numbers = range(79, 300)  # none is below; to look takes ten seconds
    designs = (make_design(Random(str(number)), CHEAP) for number in numbers)
    return next(
        one
        for one in designs
        if one.whole and not one.recipes and not one.events and one.programs and not one.settings
    )


def test_files_of_a_failure_run_as_the_case_did(plain: Design, tmp_path: Path) -> None:
    command = write_design(plain, tmp_path)
    assert command.startswith("gpusim run model.toml workload.toml --scale smoke")
    model = gpusim.load_model(str(tmp_path / "model.toml"))
    work = gpusim.load_workload(str(tmp_path / "workload.toml"), "smoke")
    with run(plain) as one, gpusim.simulate(model, work) as other:
        assert one.summary == other.summary


class Tampered:
    """A result with other tables or counters."""

    def __init__(self, result: gpusim.Result, **tables: pd.DataFrame) -> None:
        self._result, self._tables = result, tables

    def __getattr__(self, name: str) -> Any:
        return self._tables.get(name, getattr(self._result, name))

    def table(self, name: str) -> pd.DataFrame:
        return self._tables[name] if name in self._tables else self._result.table(name)


def changed(frame: pd.DataFrame, column: str, by: int, rows: Any = 0) -> pd.DataFrame:
    """A table, of which one value is another one."""
    frame = frame.copy()
    frame.loc[frame.index[rows], column] += by
    return frame


def test_each_check_finds_what_is_wrong(plain: Design) -> None:
    with run(plain, record=RECORDS) as result:
        assert not list(violations(plain, result))
        tables = {name: result.table(name) for name in ("intervals", "requests", "walks", "dram")}
        counters = result.counters
        misses = (counters["component"] == "tlb/L1") & (counters["counter"] == "misses")
        for broken, what in (
            ({"intervals": changed(tables["intervals"], "end", 1)}, "intervals tile"),
            ({"intervals": tables["intervals"][:-1]}, "intervals sum"),
            ({"requests": tables["requests"][:-1]}, "requests are counted"),
            ({"walks": tables["walks"][:0]}, "pages were walked"),
            ({"walks": changed(tables["walks"], "started", 10**6)}, "walks are in time"),
            ({"dram": tables["dram"][:-1]}, "dram requests are counted"),
            ({"counters": changed(counters, "value", -(10**6))}, "numbers are sound"),
            ({"counters": changed(counters, "value", 1, misses.argmax())}, "levels follow"),
            ({"launches": changed(result.launches, "end", -(10**6))}, "launches are in order"),
        ):
            found = list(violations(plain, Tampered(result, **broken)))  # type: ignore[arg-type]
            assert any(line.startswith(what) for line in found), (what, found)

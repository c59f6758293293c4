"""Cases of `experiments.fuzz.machines`, the same in each run; many: ``gpusim study fuzz``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from attrs import evolve

import gpusim
from experiments.fuzz.cases import READ, REFUSED, WRONG
from experiments.fuzz.machines.agreement import run
from experiments.fuzz.machines.cases import Case, judged, read_case, run_case
from experiments.fuzz.machines.coverage import all_tags, holes
from experiments.fuzz.machines.designs import ALWAYS, Design, make_design, write_design
from experiments.fuzz.machines.invariants import Columns, Seen, look, violations_of
from experiments.fuzz.machines.knobs import keys, other_value
from experiments.fuzz.machines.models import PARTS, SMALLER, MadeModel, load, make_model
from experiments.fuzz.machines.programs import MADE_UP, SMALL, App, Work
from experiments.fuzz.machines.relations import RELATIONS, again
from experiments.fuzz.machines.smaller import smaller
from gpusim.core.errors import UserError
from gpusim.core.version import form
from gpusim.files.shipped import data_names

COMPILED = form() == "compiled"
PIECE = 80 if COMPILED else 20
PIECES = 25 if COMPILED else 1
"""The compiled form runs 2,000 cases; pure Python, which has the same digests, a few."""

SEED = 777
"""The same cases each time: others are looked for by ``gpusim study fuzz machines``."""


@pytest.mark.parametrize("piece", range(PIECES))
def test_no_machine_is_wrong(piece: int, tmp_path: Path) -> None:
    numbers = range(piece * PIECE, (piece + 1) * PIECE)
    found = [run_case(SEED, number, tmp_path, in_process=True) for number in numbers]
    command = "gpusim study fuzz machines --cases 1"
    bad = [
        f"{one.detail}\nagain: {command} --seed {SEED} --first {one.number}"
        for one in found
        if one.what not in {READ, REFUSED}
    ]
    assert not bad, bad[0]
    # A machine that is refused is so in each of its relations.
    assert Counter(one.what for one in found)[READ] > PIECE / 4


def test_names_are_those_that_there_are() -> None:
    assert set(SMALLER) <= set(data_names("models"))
    assert set(SMALL) <= set(data_names("workloads"))
    assert len(all_tags()) > 300
    assert holes(all_tags() - {"recipe mask"}) == ["recipe mask"]


@pytest.mark.parametrize("name", data_names("models"))
def test_each_model_is_a_machine_when_it_is_smaller(name: str) -> None:
    assert load(name, (), {}).config.sms <= 16


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_one_of_some_machine(part: str) -> None:
    machines = [
        *(("tiny", ()), ("tiny", ("demand-paging",)), ("mcm-gpu", ("host-mmu",))),
        *(("mi300x", ()), ("rtx4090", ()), ("mcm-gpu", ())),
    ]
    for base, recipes in machines:
        try:
            load(base, recipes, PARTS[part])
        except UserError:
            continue
        return
    pytest.fail(f"no machine has {part}")


def test_a_design_is_the_same_again() -> None:
    one, other = (make_design(Random("7"), make_model(Random("1"), 5)) for _ in range(2))
    assert one == other
    assert one != make_design(Random("8"), one.made)


def test_each_key_of_a_model_has_another_value() -> None:
    tiny = gpusim.load_model("tiny")
    values = {one.key: one.value for one in tiny.values}
    found = {key: other_value(Random(1), tiny, key) for key in keys(tiny)}
    assert {"tlb.L1.ways", "l1.translation", "walk.order", "dram.scheduler"} < set(found)
    assert not {"name", "clock", "watchdog"} & set(found)
    assert not {key: value for key, value in found.items() if value == values.get(key)}


MADE = {"number": 3, "launches": 2, "steps": 10, "pages": 12, "mix": "atomics"}


@pytest.fixture(scope="module")
def plain() -> Design:
    """A made-up program on a machine without recipes."""
    return Design(MadeModel.of("tiny", (), {}), Work((App("one", MADE_UP, MADE),)))


def test_files_of_a_failure_run_as_the_case_did(plain: Design, tmp_path: Path) -> None:
    atax = plain.with_work(Work((App("one", "atax", {"n": 16, "iterations": 1}),)))
    command = write_design(atax, tmp_path)
    assert command == "gpusim run model.toml workload.toml --scale smoke"
    model = gpusim.load_model(str(tmp_path / "model.toml"))
    work = gpusim.load_workload(str(tmp_path / "workload.toml"), "smoke")
    with run(atax) as one, gpusim.simulate(model, work) as other:
        assert one.summary == other.summary


def test_a_case_is_read_from_its_file(plain: Design, tmp_path: Path) -> None:
    event = {"at": 3, "event": "shootdown"}
    design = evolve(plain, events=(event,), options={"until": ["300cycles"]}, records=("blame",))
    design = design.with_model(MadeModel.of("tiny", ("mask",), {"tlb.L1.ways": 1}))
    case = Case(design, again, "1/2")
    path = tmp_path / "case.toml"
    path.write_text(case.text(), encoding="utf-8")
    assert read_case(path) == case
    assert judged(read_case(path)) == (READ, "")


def test_a_failure_is_made_smaller(plain: Design) -> None:
    settings = {"tlb.L1.ways": 1, "l2.latency": "60 cycles"}
    design = evolve(plain, events=({"at": 3, "event": "shootdown"},), records=("blame",))
    design = design.with_model(MadeModel.of("tiny", ("mask", "star"), settings))

    def fails(one: Design) -> bool:
        return "star" in one.made.recipes and one.work.apps[0].parameters["pages"] > 4

    def of(one: Design) -> bool:
        return "pages" in one.work.apps[0].parameters and fails(one)

    small = smaller(design, of)
    assert small.made.recipes == ("star",)
    assert not small.made.settings
    assert not small.events
    assert not small.records
    assert small.work.apps[0].parameters == {"number": 3, "pages": 5}


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one.__name__)
def test_each_relation_holds_of_a_plain_machine(relation: Any, plain: Design) -> None:
    if RELATIONS[relation]:
        assert judged(Case(plain, relation, "1")) == (READ, "")


def test_a_broken_relation_is_told(plain: Design) -> None:
    def wrong(*_: object) -> list[str]:
        return ["it is broken"]

    assert judged(Case(plain, wrong, "1")) == (WRONG, "wrong: it is broken")


def changed(columns: Columns, name: str, by: int, row: int = 0) -> dict[str, Any]:
    """Columns, of which one value is another one."""
    values = columns[name].copy()
    values[row] += by
    return {**columns, name: values}


def less(columns: Columns) -> dict[str, Any]:
    """Columns without their last row."""
    return {name: values[:-1] for name, values in columns.items()}


def tables(name: str, change: Callable[[Columns], Columns]) -> Callable[[Seen], Seen]:
    """A change of one event table."""
    return lambda seen: evolve(seen, tables={**seen.tables, name: change(seen.tables[name])})


def counters(component: str, counter: str, by: int) -> Callable[[Seen], Seen]:
    """A change of one counter, and of its sum."""

    def change(seen: Seen) -> Seen:
        rows = seen.counters
        own = (rows["component"] == component) & (rows["counter"] == counter)
        row = int(np.argmax(own))
        sums = {**seen.sums, (component, counter): seen.sum(component, counter) + by}
        return evolve(seen, counters=changed(rows, "value", by, row), sums=sums)

    return change


BROKEN = [
    (tables("intervals", lambda one: changed(one, "end", 1)), "intervals tile"),
    (tables("intervals", less), "intervals sum"),
    (tables("requests", less), "requests are counted"),
    (tables("requests", lambda one: changed(one, "end", 1)), "stages tile"),
    (tables("requests", lambda one: changed(one, "begin", 10**6)), "warps wait for"),
    (tables("walks", less), "pages were walked"),
    (tables("walks", lambda one: changed(one, "started", 10**6)), "walks are in time"),
    (tables("dram", less), "dram requests are counted"),
    (tables("dram", lambda one: changed(one, "accepted", 10**6)), "dram takes its time"),
    (tables("dram", lambda one: changed(one, "row", 10**6)), "dram takes its time"),
    (tables("tlb", less), "tlb lookups are counted"),
    (counters("l2", "hits", -(10**6)), "numbers are sound"),
    (counters("tlb/L1", "misses", 1), "levels follow"),
    (counters("sm", "instructions", 1), "summary is of counters"),
    (counters("tlb/L2", "hits", 10**6), "summary is of counters"),
    (counters("sm", "warps", 1), "blocks are whole"),
]


def test_each_check_finds_what_is_wrong(plain: Design) -> None:
    with run(plain, record=ALWAYS) as result:
        seen = look(plain, result)
        assert not list(violations_of(seen))
        for change, what in BROKEN:
            found = list(violations_of(change(seen)))
            assert any(line.startswith(what) for line in found), (what, found)

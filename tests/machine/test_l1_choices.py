"""What a store does, when a line takes its place and what names it: all together, under load.

`run` checks conservation and that the machine has drained.  What is held is checked against a
naive cache in `test_l1_stores`, against versions of data in `tests.hardware.fbt.test_following`.
"""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest

from gpusim.config.auxiliary import SideCacheConfig
from gpusim.config.check import check_machine
from gpusim.config.check_virtual import check_virtual_l2
from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.cache import L1Cache
from gpusim.machine import Machine
from tests.hardware.fbt.virtual_machines import VIRTUAL, page_tag
from tests.hardware.sm.observed import tenant
from tests.machine.bench import Run, ScriptedLaunch, change
from tests.machine.l1_choices import CHOICES, NAMES, named
from tests.machine.test_latency import BASE
from tests.quick import quick

UNIFIED = {"unified": Bytes(2 << 10), "carve_outs": "0KiB 1KiB"}


def storm(seed: int, steps: int = 60) -> list[list[tuple[Any, ...]]]:
    """Three warps that load, store and add to some words of three pages."""
    chance = random.Random(seed)

    def step() -> tuple[Any, ...]:
        line = BASE + 4096 * chance.randrange(3) + 128 * chance.randrange(3)
        words = range(8 * chance.randrange(4), 32, chance.choice([1, 1, 8]))
        kind = chance.choice(["load"] * 6 + ["store"] * 4 + ["wait"] * 3 + ["atomic"])
        return (kind, 0) if kind == "wait" else (kind, *[line + 4 * word for word in words])

    return [[step() for _ in range(steps)] for _ in range(3)]


def checked(config: GpuConfig) -> GpuConfig:
    """A machine against which no check says anything."""
    assert not [*check_machine(config), *check_virtual_l2(config)]
    return config


def held(l1: L1Cache) -> list[int]:
    """Lines of each set."""
    sets = [0] * l1.array.sets
    for line in l1.array.lines():
        sets[l1.array.set_of(line)] += 1
    return sets


@pytest.mark.parametrize(("writes", "allocate", "naming"), CHOICES)
@pytest.mark.parametrize("sector", [32, 128])
def test_all_choices_run_together(writes: str, allocate: str, naming: str, sector: int) -> None:
    small = {"size": Bytes(8 * 128), "ways": 2, "mshrs": 3, "at_launch": "keep"}
    config = named(naming, writes=writes, allocate=allocate, sector=Bytes(sector), **small)
    run = Run(checked(change(config, l2={"size": Bytes(16 * 128)})), *storm(len(naming)))
    (l1,) = run.machine.l1s
    assert run.count("l1", "hits") > 0
    assert run.count("l1", "stores") > 0
    assert max(held(l1)) <= 2
    assert (run.count("l1", "allocated") > 0) == (writes == "allocate")
    if l1.reserved is not None:
        assert not len(l1.reserved)
    if l1.leading is not None:
        assert len(l1.leading.filter) == len({l1.leading.page(line) for line in l1.array.lines()})


@pytest.mark.parametrize(("writes", "allocate", "naming"), quick(CHOICES, *[*CHOICES][::4]))
def test_unified_memory_takes_all_choices(writes: str, allocate: str, naming: str) -> None:
    config = named(naming, writes=writes, allocate=allocate, size=Bytes(1 << 10), ways=2, **UNIFIED)
    config = checked(change(config, sm={"shared_memory": 1 << 10}))
    launches = [ScriptedLaunch([storm(shared)], shared_bytes=shared) for shared in (0, 1 << 10, 0)]
    run = Run.of(config, [tenant(config, *launches)])
    assert run.count("l1", "resized") == 2
    (l1,) = run.machine.l1s
    assert max(held(l1)) <= l1.array.ways == 4


A, B, C = (BASE + number * 4 * 128 for number in range(3))
"""Lines of one set of the caches below, which have 4 sets."""
WORDS = range(0, 128, 4)


def one_way(**keys: Any) -> GpuConfig:
    return named("parallel", allocate="on-miss", size=Bytes(4 * 128), ways=1, **keys)


def whole(line: int) -> tuple[Any, ...]:
    return ("store", *[line + word for word in WORDS])


def test_a_store_leaves_nothing_where_all_places_wait_for_lines() -> None:
    """The page is known, so that the store meets the set while A is on its way."""
    known, then = [("load", A + 128), ("wait",), ("load", A)], [("load", B), ("wait",)]
    run = Run(one_way(writes="allocate"), [*known, whole(B), ("wait",), *then])
    assert (run.count("l1", "hits"), run.count("l1", "allocated")) == (0, 0)
    later = Run(one_way(writes="allocate"), [*known, ("wait",), whole(B), *then])
    assert (later.count("l1", "hits"), later.count("l1", "allocated")) == (1, 1)


def test_a_store_takes_the_place_that_its_own_line_has_reserved() -> None:
    known = [("load", A + 128), ("wait",)]
    script = [*known, ("load", A), whole(A), ("load", A), ("wait",), ("load", A), ("wait",)]
    run = Run(one_way(writes="allocate", at_launch="keep"), script)
    assert run.count("l1", "allocated") == 1
    assert run.count("l1", "hits") == 2
    (l1,) = run.machine.l1s
    assert sorted(held(l1)) == [0, 0, 1, 1]


def test_a_store_takes_away_what_a_miss_would_have_evicted_later() -> None:
    """With "evict" the place of A is free when B is missed, so that nothing is evicted for it."""
    gone: list[int] = []

    def listen(machine: Machine) -> None:
        machine.l1s[0].signals.evict.listen(lambda line, _: gone.append(line))

    for writes, evicted in (("update", 1), ("evict", 0)):
        gone.clear()
        script = [("load", A), ("wait",), ("store", A), ("load", B), ("wait",)]
        Run.meanwhile(one_way(writes=writes), listen, script)
        assert len(gone) == evicted


SIDE = SideCacheConfig(Bytes(1 << 10), ways=2, line=Bytes(128), translation="after-l2")


@pytest.mark.parametrize("naming", NAMES[-2:])
def test_side_caches_below_a_virtual_l2_cache(naming: str) -> None:
    config = checked(attrs.evolve(named(naming), scalar=SIDE))
    script = [("scalar", BASE), ("wait",), ("load", BASE), ("wait",), ("scalar", BASE), ("wait",)]
    run = Run(config, script)
    assert (run.count("scalar", "misses"), run.count("scalar", "hits")) == (1, 1)
    assert run.count("l2", "lookups") == 2
    assert run.count("fbt", "lookups") == 1  # the load finds the line that the scalar load fetched


def test_a_page_is_invalidated_in_side_caches_too() -> None:
    config = attrs.evolve(VIRTUAL, scalar=SIDE)
    script = [("scalar", BASE), ("wait",), ("compute", 2000), ("scalar", BASE), ("wait",)]

    def shoot_down(machine: Machine) -> None:
        def later() -> Any:
            yield 1500
            machine.pages.unmap(page_tag(config, 0))

        machine.env.start(later())

    run = Run.meanwhile(config, shoot_down, script)
    assert run.count("scalar", "hits") == 0
    assert run.count("scalar", "flushes") == run.count("scalar", "lines_flushed") == 1


def test_side_caches_rename_synonyms_too() -> None:
    """Both pages have one frame; the second load of the other page is renamed and hits."""
    config = attrs.evolve(named("remapped"), scalar=SIDE)
    again = [("scalar", BASE + 4096), ("wait",)]
    script = [("scalar", BASE), ("wait",), *again, *again]

    def alias(machine: Machine) -> None:
        table = machine.page_table
        table.remap(0, page_tag(config, 1), table.translate(0, page_tag(config, 0)))

    run = Run.meanwhile(config, alias, script)
    assert run.count("scalar", "renamed_hits") == 1
    assert run.count("scalar", "hits") == 1


def test_latencies_of_a_renaming_cache() -> None:
    hit = [("load", BASE), ("wait",), ("load", BASE), ("wait",)]
    plain, renaming = (Run(named(naming), hit).latencies[1] for naming in ("after-l2", "remapped"))
    assert renaming == plain + cycles(1).cycles(VIRTUAL.clock)

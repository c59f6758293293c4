"""Virtual caches where VC has none: instances, longer lines of the L2 cache, auxiliary caches."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import gpusim
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.files.units import Bytes
from gpusim.machine.load import load_model
from gpusim.runs.run import run_machine
from tests.hardware.fbt.virtual_machines import VIRTUAL
from tests.machine.bench import change
from tests.machine.instances import in_slices, on_instances, one_warp
from tests.machine.test_auxiliary_caches import BASE, SCALAR, side_latencies
from tests.opened import opened_machine
from tests.quick import quick

HALVES = change(VIRTUAL, l1={"line": Bytes(64), "sector": Bytes(64)}, l2={"sector": Bytes(64)})
"""`VIRTUAL` with two lines of the L1 cache in one of the L2 cache, whose sectors they are."""


def test_walks_that_sms_send_are_refused() -> None:
    """Packets of data that wait for a walk would hold up its reads."""
    sets = {"walk.cost": "memory", "walk.memory": "l2", "walk.sent_by": "sms"}
    with pytest.raises(UserError, match=r'walk\.sent_by = .sms.: must be "walkers"'):
        load_model("tiny", ["vc"], sets)


def totals(machine: Any, path: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in machine.counter_rows():
        if row.component == path:
            found[row.name] = found.get(row.name, 0) + row.value
    return found


def played(config: GpuConfig, *scripts: tuple[tuple[Any, ...], ...]) -> Any:
    """The machine after a warp of each script has run in an instance of its own."""
    applications = [one_warp(*script) for script in scripts]
    config = in_slices(config, len(scripts))
    machine = opened_machine(
        config, on_instances(config, *[1] * len(scripts), applications=applications), 1
    )
    run_machine(machine)
    return machine


# -- instances -----------------------------------------------------------------------------------


def test_each_instance_has_a_table_of_its_own() -> None:
    machine = played(
        VIRTUAL, (("load", BASE),), (("load", BASE), ("wait", 0), ("load", BASE + 4096))
    )
    first, second = machine.fbts[0], machine.fbts[1]
    assert first is not second
    assert [len(list(fbt.table.pages())) for fbt in (first, second)] == [1, 2]
    assert {page.leading >> ASID_SHIFT for page in second.table.pages()} == {1}
    rows = [
        row for row in machine.counter_rows() if (row.component, row.name) == ("fbt", "lookups")
    ]
    assert {(row.instance, row.app): row.value for row in rows if row.value} == {
        (0, "app0"): 1,
        (1, "app1"): 2,
    }


def test_a_shootdown_takes_a_page_out_of_the_table_of_its_instance() -> None:
    machine = played(VIRTUAL, (("load", BASE),), (("load", BASE),))
    (page,) = machine.fbts[1].table.pages()
    machine.pages.shoot_down(page.leading)
    machine.env.run()
    assert [len(list(machine.fbts[app].table.pages())) for app in (0, 1)] == [1, 0]
    machine.pages.shoot_down(None)
    machine.env.run()
    assert not list(machine.fbts[0].table.pages())


def test_an_instance_may_have_the_tlb_of_its_misses_to_itself() -> None:
    config = attrs.evolve(VIRTUAL, tlb={"L2": attrs.evolve(VIRTUAL.tlb["L2"], scope="instance")})
    machine = played(config, (("load", BASE),), (("load", BASE),))
    assert [tlb.counters[app].lookups for app, tlb in enumerate(machine.tlbs["L2"])] == [1, 1]


# -- lines of the L2 cache that are longer -------------------------------------------------------


def test_both_halves_of_a_line_have_one_name_and_one_place() -> None:
    one = (("load", BASE), ("wait", 0), ("load", BASE + 64), ("wait", 0), ("load", BASE + 64))
    machine = played(HALVES, one)
    l2, l1 = totals(machine, "l2"), totals(machine, "l1")
    assert (l1["misses"], l1["hits"]) == (2, 1)
    assert l2["sectors_fetched"] == 4, "each half, of two sectors, comes when it is asked for"
    (page,) = machine.fbts[0].table.pages()
    assert page.lines == 1, "line 0 of the page, once"


def test_a_store_to_the_second_half_leaves_the_first_one_alone() -> None:
    machine = played(HALVES, (("store", BASE + 64), ("wait", 0), ("load", BASE), ("wait", 0)))
    (bank,) = [bank for bank in machine.systems[0].banks if bank.lines.arrays[0].lines()]
    (line,) = bank.lines.arrays[0].lines()
    readable, dirty = 0b0011, 0b1100
    state = bank.lines.arrays[0].state(line)
    assert state & 0b1111 & ~dirty == readable
    assert bank.lines.dirty((line, state)) & 0b1111 == dirty


# -- auxiliary caches ----------------------------------------------------------------------------


def test_scalar_loads_are_named_like_all_others() -> None:
    """The second load finds its half of the line where the first one of the other half put it."""
    cache = attrs.evolve(SCALAR, translation="after-l2", tlb=None)
    config = attrs.evolve(VIRTUAL, scalar=cache)
    first, second = side_latencies(
        config, [("scalar", BASE), ("wait", 0), ("scalar", BASE + 64), ("wait", 0)]
    )
    translated = first - second
    assert translated > 500, "the first one walks and reads DRAM"


@pytest.mark.parametrize("recipe", ["vc", "vc-opt-remapping"])
@pytest.mark.parametrize("model", ["mi210", "r9-nano", "a100-mig"])
def test_products_of_all_kinds_take_the_recipe(model: str, recipe: str) -> None:
    config = load_model(model, [recipe]).config
    assert all(
        cache.translation == "after-l2" and cache.tlb is None
        for cache in config.side_caches.values()
    )
    assert config.fbt is not None


# -- walks that read a virtual L2 cache ----------------------------------------------------------

READING = attrs.evolve(
    VIRTUAL, walk=attrs.evolve(VIRTUAL.walk, cost="memory", memory="l2", walkers=4)
)
"""`VIRTUAL` whose page tables are read from the L2 cache, by physical names."""


@pytest.mark.parametrize("sector", [None, 32])
def test_a_table_that_was_read_is_found_again(sector: int | None) -> None:
    """The entries of two neighbouring pages lie in one line of each of the four levels."""
    config = change(READING, l2={"sector": None if sector is None else Bytes(sector)})
    machine = played(config, (("load", BASE), ("wait", 0), ("load", BASE + 4096), ("wait", 0)))
    l2 = totals(machine, "l2")
    assert l2["translation_lookups"] == 8
    assert l2["translation_hits"] == 4
    assert l2["table_fetches"] == 4
    assert totals(machine, "fbt")["lookups"] == 2, "tables are not translated"


def test_a_bank_whose_misses_all_wait_for_walks_does_not_wait_for_itself() -> None:
    """One MSHR in one bank: the miss that holds it needs four reads of the same bank."""
    config = change(READING, l2={"banks": 1, "mshrs": 1, "mshr_merge": 1, "queue": 1})
    loads = [step for page in range(8) for step in [("load", BASE + 4096 * page)]]
    machine = played(config, (*loads, ("wait", 0)))
    assert totals(machine, "l2")["table_fetches"] > 0
    assert totals(machine, "fbt")["leading"] == 8


def test_mask_and_virtual_caches_are_one_machine() -> None:
    """MASK's bypass and its DRAM queues see the walks of a machine with virtual caches."""
    config = load_model("maxwell-mask", ["vc-opt", "memory-walks", "mask-quick"]).config
    assert (config.walk.memory, config.l1.translation) == ("l2", "after-l2")
    assert config.l2.bypass.policy == "translation-aware"


@pytest.mark.parametrize("order", quick(["first", "in-order"], "in-order"))
def test_walks_that_come_when_data_waits_already_are_served(order: str) -> None:
    """Random updates of many pages: all walkers read the root from the bank that is stalled."""
    keys = {"sm.count": 4, "l2.mshrs": 4, "l2.page_table_reads": order, "dram.channels": 2}
    machine = load_model("maxwell-mask", ["vc-opt", "memory-walks"], keys)
    updates = {"log2_words": 18, "threads": 1024, "updates": 2}
    workload = gpusim.load_workload("gups", "smoke", overrides=updates)
    with gpusim.simulate(machine, workload) as result:
        counted = result.counters.query("component == 'l2'").groupby("counter")["value"].sum()
        assert counted["mshrs_full"] > 0
        assert counted["table_fetches"] > 0

"""Conservation laws: each one is checked, and named with its numbers where it is broken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpusim.core.law import Law, laws_of
from gpusim.hardware.cache import L1Cache
from gpusim.hardware.sm.counters import SmCounters
from gpusim.machine.machine import Machine
from gpusim.runs.conservation import ConservationError, check_conservation
from tests.machine.bench import SMALL, Run

Break = Callable[[Machine], None]


@pytest.fixture
def machine() -> Machine:
    """One that has run, and in which all holds."""
    return Run(SMALL, [("load", 0), ("load", 1 << 16)]).machine


def more(counters: object, name: str) -> None:
    setattr(counters, name, getattr(counters, name) + 1)


BREAKS: dict[str, Break] = {
    "tlb/L1: lookups = 3, but hits + misses = 2": lambda m: more(
        m.tlbs["L1"][0].counters[0], "lookups"
    ),
    "l2: fills = 3, but misses that were not merged = 2": lambda m: more(
        m.systems[0].banks[0].counters[0], "fills"
    ),
    "transactions = 3, but L1 lookups + coherent loads + stores and atomics = 2": lambda m: more(
        m.sms[0].counters[0], "transactions"
    ),
    "DRAM writes = 1, but L2 write-backs = 0": lambda m: more(
        m.systems[0].channels[0]._apps[0], "writes"
    ),
    "warps that ended = 1, but warps launched = 2": lambda m: more(
        m.schedulers[0], "warps_launched"
    ),
    "on SM 0 the states of the warps of scripted add up to": lambda m: (
        m.sms[0].ledger._sums[0].__setitem__(0, 9)
    ),
    "drained: sm[0] still holds 1 requests or warps": lambda m: more(m.sms[0], "resident"),
}


@pytest.mark.parametrize("words", BREAKS)
def test_a_broken_law_is_named_with_its_numbers(words: str, machine: Machine) -> None:
    BREAKS[words](machine)
    with pytest.raises(ConservationError) as caught:
        check_conservation(machine)
    assert words in str(caught.value)


def test_all_violations_are_told(machine: Machine) -> None:
    more(machine.tlbs["L1"][0].counters[0], "hits")
    more(machine.systems[0].walkers.counters[0], "requests")
    with pytest.raises(ConservationError) as caught:
        check_conservation(machine)
    for words in (
        "scripted: tlb/L1: lookups = 2, but hits + misses = 3",
        "scripted: walk: requests = 3, but walks + merged = 2",
        "translations that came to walk = 3, but those that tlb/L2 sent",
    ):
        assert words in str(caught.value)


def test_a_law_of_counters_that_are_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"names 'warp', which SmCounters does not .*'warps'"):
        laws_of([SmCounters], Law("blocks", "warp"))
    with pytest.raises(ValueError, match=r"names 'requests', which SmCounters does"):
        laws_of([SmCounters], Law("blocks", "walk.requests"))


def test_a_law_between_components_names_what_is_counted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(L1Cache, "laws", [Law("lookups", "walk.reqests")])
    with pytest.raises(ValueError, match=r"names 'walk\.reqests', but not all of that"):
        check_conservation(machine)
    monkeypatch.setattr(L1Cache, "laws", [Law("lookups", "walk.requests")])
    check_conservation(machine)

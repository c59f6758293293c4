"""The banks of the L2 cache never look up more requests in a cycle than they have ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest

from gpusim.core.engine import Port
from gpusim.core.request import MemoryRequest, VirtualRequest
from gpusim.hardware.cache import L2Bank
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from gpusim.workloads.workload import load_workload
from tests.opened import opened_machine

PHYSICAL = ("tiny", (), {"walk.cache": "none"})
VIRTUAL = ("apu-hsa", ("vc",), {"crossbar.ideal": True})  # all SMs ask in the same cycle


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize(("model", "variants", "overrides"), [PHYSICAL, VIRTUAL])
def test_lookups_in_one_cycle(
    model: str, variants: tuple[str, ...], overrides: dict[str, object], ports: int
) -> None:
    """Page-table reads and data wake a bank in one cycle; so do, in a virtual one, fills, grants
    and lines that were written back, in whose place it is woken here in every cycle."""
    all_overrides = {"l2.ports": ports, "l2.banks": 1, **overrides}
    config = load_model(model, variants, all_overrides).config
    (spec,) = load_workload("gups", "smoke", overrides={"updates": 1}).applications
    sms = range(config.sm.count)
    machine = opened_machine(config, [Tenant("gups", spec.start(), sms)], 0)
    (bank,) = machine.systems[0].banks
    found = served(bank)
    if machine.fbts:
        machine.env.start(wake(bank, 1000))
    machine.env.run()
    assert max(found.values()) == ports
    assert sum(found.values()) >= sum(c.lookups for c in bank.counters)


def wake(bank: L2Bank, cycles: int) -> Generator[int, None, None]:
    for _ in range(cycles):
        yield 1
        bank.process.wake.now()


def served(bank: L2Bank) -> Counter[int]:
    """How many requests, replays among them, a bank will have looked up in each cycle."""
    found: Counter[int] = Counter()
    serve, take_replays = bank._serve, bank._take_replays

    def count(request: MemoryRequest) -> bool:
        went = serve(request)
        found[bank.env.now] += went
        return went

    def count_replays(replays: Port[VirtualRequest]) -> int:
        before = len(replays)
        upcoming = take_replays(replays)
        found[bank.env.now] += before - len(replays)
        return upcoming

    bank._serve = count  # type: ignore[method-assign]
    bank._take_replays = count_replays  # type: ignore[method-assign]
    return found

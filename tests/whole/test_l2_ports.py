"""The banks of the L2 cache never look up more requests in a cycle than they have ports."""

from __future__ import annotations

from collections import Counter

import pytest

from gpusim.config.load import load_model
from gpusim.machine import Machine, Tenant
from gpusim.programs.workload import load_workload


@pytest.mark.parametrize("ports", [1, 2])
def test_lookups_in_one_cycle(ports: int) -> None:
    """Page-table reads and data come in at different doors, in the same cycles."""
    config = load_model("tiny", (), {"l2.ports": ports, "l2.banks": 1, "walk.cache": "none"}).config
    (spec,) = load_workload("gups", "smoke", overrides={"updates": 1}).applications
    sms = range(config.sm.count)
    machine = Machine(config, [Tenant("gups", spec.start(), sms)], 0)
    found: Counter[tuple[int, int]] = Counter()
    for index, bank in enumerate(machine.systems[0].banks):

        def heard(_depth: int, _app: int, _hit: bool, cycle: int, index: int = index) -> None:
            found[index, cycle] += 1

        bank.on_lookup.listen(heard)
    machine.env.run()
    assert max(found.values()) == ports
    assert sum(found.values()) == sum(
        c.lookups for bank in machine.systems[0].banks for c in bank.counters
    )

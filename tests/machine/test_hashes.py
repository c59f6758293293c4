"""Hashed L2 banks and DRAM channels in whole machines."""

from __future__ import annotations

import random

import attrs
import pytest

from gpusim.config.translation import WalkConfig
from gpusim.core.interleaving import HashedInterleaving
from gpusim.files.units import Bytes
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.instances import in_slices
from tests.machine.test_latency import BASE

BANKS = 8
CONFIG = attrs.evolve(
    change(
        SMALL,
        l2={"banks": BANKS, "hash": "ipoly"},
        dram={"channels": 4, "hash": "ipoly"},
    ),
    walk=WalkConfig(8, "memory"),
)
STRIDE = 128 * BANKS
"""Bytes between lines that lie in one bank without a hash."""


def loads(addresses: list[int]) -> list[tuple[object, ...]]:
    script: list[tuple[object, ...]] = []
    for first in range(0, len(addresses), 32):
        script += [("load", *addresses[first : first + 32]), ("wait",)]
    return script


def of_banks(run: Run) -> list[int]:
    return [sum(c.lookups for c in bank.counters) for bank in run.machine.systems[0].banks]


@pytest.mark.parametrize("hashing", ["xor", "ipoly"])
def test_every_line_goes_to_the_bank_that_the_hash_names(hashing: str) -> None:
    config = change(CONFIG, l2={"hash": hashing})
    addresses = [BASE + 128 * random.Random(4).randrange(1 << 16) for _ in range(1)]
    addresses += [BASE + 128 * n for n in random.Random(5).sample(range(1 << 16), 200)]
    run = Run(config, loads(addresses))
    part = HashedInterleaving(hashing, BANKS).part
    system = run.machine.systems[0]
    for request in run.requests:
        line = request.address >> 7
        held = [bank.holds(line) for bank in system.banks]
        assert held == [bank == part(line) for bank in range(BANKS)]
        assert system.bank_of(line) is system.banks[part(line)]
    for bank in system.banks:  # page-table lines included
        for array in bank.arrays.values():
            assert {part(line) for line in array.lines()} <= {bank.instance}


def test_a_stride_over_one_bank_is_spread_and_fills_all_sets() -> None:
    """128 KiB of lines that lie in one bank: 128 KiB / 8 banks hold an eighth of them."""
    addresses = [BASE + STRIDE * n for n in range(1024)]
    plain = Run(change(CONFIG, l2={"hash": None}), loads(addresses * 2))
    hashed = Run(CONFIG, loads(addresses * 2))
    assert max(of_banks(plain)) > 2000
    assert max(of_banks(hashed)) < 2 * sum(of_banks(hashed)) / BANKS
    assert plain.count("l2", "hits") - plain.count("l2", "translation_hits") == 0
    assert hashed.count("l2", "hits") - hashed.count("l2", "translation_hits") > 800
    assert hashed.cycles < plain.cycles


def test_channels_are_hashed_whatever_the_banks() -> None:
    """A stride over one channel is spread; banks may send to any channel."""
    addresses = [BASE + 128 * 4 * n for n in range(512)]
    plain = Run(change(CONFIG, dram={"hash": None}), loads(addresses))
    hashed = Run(CONFIG, loads(addresses))

    def reads(run: Run) -> list[int]:
        rows = run.machine.counter_rows()
        return [r.value for r in rows if r.component == "dram" and r.name == "data_reads"]

    assert sorted(reads(plain)) == [0, 0, 0, 512]
    assert sum(reads(hashed)) == 512
    assert max(reads(hashed)) < 200


def test_instances_have_hashes_of_their_own_size() -> None:
    config = in_slices(change(CONFIG, memory={"size": Bytes(256 << 20)}), 2)
    script = loads([BASE + STRIDE * n for n in range(64)])
    tenants = [
        Tenant(name, ScriptedApplication([ScriptedLaunch([[script]])], name), [sm], instance=1)
        for sm, name in enumerate(("first", "second"))
    ]
    run = Run.of(config, tenants)
    for system in run.machine.systems:
        lookups = [sum(c.lookups for c in bank.counters) for bank in system.banks]
        assert len(lookups) == BANKS
        assert min(lookups) > 0

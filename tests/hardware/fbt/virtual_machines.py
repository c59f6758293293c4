"""Small machines with virtual caches, random ones among them, and random events."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import FbtConfig, RemappingConfig, TlbConfig, WalkConfig
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from gpusim.runs.run import run_machine
from tests.hardware.fbt.following import Follower
from tests.hardware.sm.test_random import Program, tenants
from tests.hardware.sm.tiny_machines import BASE, few, some
from tests.machine.bench import SMALL, change
from tests.opened import opened_machine

IOMMU = TlbConfig("gpu", entries=64, ways=16, latency=cycles(5), trip=cycles(10))
FBT = FbtConfig(entries=64, ways=8, latency=cycles(5), trip=cycles(10))
VIRTUAL = attrs.evolve(change(SMALL, l1={"translation": "after-l2"}), tlb={"L2": IOMMU}, fbt=FBT)
"""`bench.SMALL` without TLBs at the SM, with virtual caches: IOMMU TLB 5, table 5, trip 10."""

SECTORS: list[dict[str, Any]] = [
    {},
    {"sector": Bytes(32)},
    {"sector": Bytes(64)},
    {"sector": Bytes(32), "byte_masks": True},
    {"sector": Bytes(128), "byte_masks": True},
]
"""How lines of the L2 cache may be cut."""

LINES = [
    {"line": Bytes(line), "sector": Bytes(sector)}
    for line, sector in [(128, 128), (128, 128), (128, 32), (64, 64), (64, 32), (32, 32)]
]
"""Lines of an L1 cache, and how they may be cut: wholes of an L2 line, or parts of one."""

PAGES = 10
Event = tuple[Any, ...]
"""Cycles after the one before, what, and its page and other numbers."""

events = st.lists(
    st.tuples(
        st.one_of(st.integers(1, 40), st.integers(1, 400)),
        st.sampled_from(
            ["remap", "remap", "synonym", "synonym", "protect", "allow", "probe", "probe", "all"]
        ),
        st.integers(0, PAGES - 1),
        st.integers(0, PAGES - 1),
        st.integers(0, 1),
    ),
    max_size=25,
)


@st.composite
def synonym_storms(draw: Any) -> tuple[Program, list[Event]]:
    """A program that mostly loads from three pages, some of them synonyms; often remapped.

    Drawn from a seed: choices of hypothesis, one by one, are too few to meet in time.
    """
    chance = random.Random(draw(st.integers(0, 1 << 32)))

    def step() -> tuple[Any, ...]:
        where = [
            BASE + 4096 * chance.randrange(3) + 128 * chance.randrange(3)
            for _ in range(chance.randint(1, 3))
        ]
        kind = chance.choice(["load"] * 8 + ["wait"] * 4 + ["store", "atomic"])
        return (kind, 0) if kind == "wait" else (kind, *where)

    warps = chance.randint(1, 3)
    program = [[[[step() for _ in range(40)] for _ in range(warps)] for _ in range(3)]]
    script: list[Event] = [(1, "synonym", 1, 0, 0)]
    for _ in range(chance.randint(5, 40)):
        what = chance.choice(["synonym"] * 4 + ["remap"] * 2 + ["all", "probe"])
        script.append((chance.randint(1, 150), what, chance.randrange(3), chance.randrange(3), 0))
    return program, script


@st.composite
def machines(draw: Any) -> GpuConfig:
    """Tables, caches and queues that are too small."""
    config = change(
        VIRTUAL,
        sm={
            "count": draw(st.integers(1, 3)),
            "lsu_width": draw(st.integers(1, 2)),
            "lsu_queue": draw(some),
            "max_loads": draw(some),
            "store_credits": draw(some),
        },
        l1={
            "size": Bytes(draw(st.sampled_from([4, 16])) * 128),
            "ways": draw(st.sampled_from([1, 2, 4])),
            **draw(st.sampled_from(LINES)),
            "writes": draw(st.sampled_from(["update", "allocate", "evict"])),
            "allocate": draw(st.sampled_from(["on-fill", "on-miss"])),
            "mshrs": draw(some),
            "mshr_merge": draw(some),
        },
        l2={
            "size": Bytes(draw(st.sampled_from([8, 64])) * 128),
            "ways": draw(st.sampled_from([1, 2])),
            "banks": draw(st.sampled_from([1, 2, 4])),
            "hash": draw(st.sampled_from([None, None, "xor", "random"])),
            "mshrs": draw(some),
            "mshr_merge": draw(some),
            "ports": draw(few),
            **draw(st.sampled_from(SECTORS)),
        },
        crossbar={
            "queue": draw(few),
            "latency": cycles(draw(few)),
            "bytes_per_cycle": draw(st.sampled_from([1, 8, 32])),
        },
        dram={
            "ideal_latency": cycles(draw(st.sampled_from([1, 30, 300]))),
            "channels": 2,
            "partition": draw(st.sampled_from([None, "channels"])),
        },
        memory={
            "page": Bytes(draw(st.sampled_from([4 << 10, 4 << 10, 64 << 10]))),
            "frames": PolicyConfig(draw(st.sampled_from(["first-touch", "scattered"]))),
            "size": Bytes(64 << 20),
        },
    )
    ways = draw(st.sampled_from([1, 2, 4]))
    counters = draw(st.booleans())
    remapping = RemappingConfig(draw(st.sampled_from([1, 2, 8])), cycles(draw(st.integers(0, 1))))
    fbt = FbtConfig(
        entries=draw(st.sampled_from([ways, 4 * ways])),
        ways=ways,
        latency=cycles(draw(st.sampled_from([1, 5]))),
        trip=cycles(draw(st.sampled_from([0, 1, 10]))),
        large_pages="counter" if counters else "sub-pages",
        second_level=draw(st.booleans()),
        remapping=draw(st.sampled_from([None, remapping, remapping])),
    )
    tokens = PolicyConfig(
        "mask-tokens", {"epoch": draw(st.sampled_from([50, 500])), "bypass_entries": draw(few)}
    )
    tlb = TlbConfig(
        "gpu",
        entries=draw(st.sampled_from([2, 16])),
        ways=2,
        mshrs=draw(some),
        queue=draw(few),
        latency=cycles(draw(few)),
        trip=cycles(draw(st.sampled_from([0, 10]))),
        fill=draw(st.sampled_from([PolicyConfig("always"), tokens])),
    )
    cost, memory = draw(st.sampled_from([("fixed", "dram"), ("memory", "dram"), ("memory", "l2")]))
    latency = cycles(draw(st.sampled_from([1, 50, 300])))
    walk = WalkConfig(draw(few), cost, latency, memory=memory, queue=4)
    return attrs.evolve(config, fbt=fbt, tlb={"L2": tlb}, walk=walk, watchdog=cycles(20_000))


def page_tag(config: GpuConfig, page: int, asid: int = 0) -> int:
    """The page of memory in which page number `page` of 4 KiB of the programs lies."""
    address = BASE + 4096 * page
    return asid << ASID_SHIFT | address >> (config.memory.page.bit_length() - 1)


def followed(config: GpuConfig, apps: Sequence[Program], script: Sequence[Event]) -> Follower:
    """A run with events, of which everything was checked."""
    machine = opened_machine(config, tenants(config, *apps), 1)
    follower = Follower(machine)
    machine.env.start(_play(follower, script))
    machine.env.start(follower.watch(17))
    run_machine(machine)
    follower.check_end()
    return follower


def _play(follower: Follower, script: Sequence[Event]) -> Generator[int, None, None]:
    config = follower.machine.config
    apps = len(follower.machine.tenants)
    for gap, what, page, other, asid in script:
        yield gap
        tag = page_tag(config, page, asid % apps)
        if what == "remap":
            follower.remap(tag)
        elif what == "synonym":
            source = page_tag(config, other, asid % apps)
            frame = follower.machine.page_table.translate(*follower._split(source))
            follower.remap(tag, frame)
        elif what in ("protect", "allow"):
            follower.protect(tag, what == "allow")
        elif what == "probe":
            follower.probe(tag, other % 5)
        else:
            follower.shoot_down_all()

"""Random scripts, and random machines with as little of everything as they can have."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import strategies as st

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.schema import GpuConfig
from gpusim.config.translation import TlbConfig, WalkCacheConfig, WalkConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from tests.machine.bench import SMALL, change

BASE = 1 << 32

few = st.integers(1, 3)
some = st.sampled_from([1, 2, 32])
addresses = st.builds(
    lambda page, line, sector: BASE + 4096 * page + 128 * line + 32 * sector,
    st.integers(0, 9),
    st.integers(0, 4),
    st.integers(0, 3),
)
lanes = st.lists(addresses, min_size=1, max_size=6)
steps = st.one_of(
    lanes.map(lambda where: ("load", *where)),
    lanes.map(lambda where: ("load", *where)),
    lanes.map(lambda where: ("store", *where)),
    lanes.map(lambda where: ("atomic", *where)),
    lanes.map(lambda where: ("reduce", *where)),
    st.tuples(st.just("wait"), st.integers(0, 2)),
    st.tuples(st.just("compute"), st.integers(1, 30)),
    st.tuples(st.just("shared"), st.integers(1, 8)),
    st.just(("barrier",)),
)


@st.composite
def blocks(draw: Any) -> list[list[list[tuple[Any, ...]]]]:
    """A few blocks with equally many warps, each with a script of its own."""
    warps = draw(few)
    scripts = st.lists(st.lists(steps, max_size=8), min_size=warps, max_size=warps)
    return draw(st.lists(scripts, min_size=1, max_size=4))


DRAM_QUEUES = [
    *(PolicyConfig(name) for name in ("fcfs", "fr-fcfs", "fr-rr-fcfs")),
    PolicyConfig(
        "golden-silver-normal",
        {"golden": 1, "silver": 1, "normal": 1, "thresh_max": 3, "idle": 20, "epoch": 500},
    ),
]

programs = st.lists(blocks(), min_size=1, max_size=2)
"""Launches of blocks of scripts."""


@st.composite
def walks(draw: Any) -> WalkConfig:
    cache = draw(
        st.sampled_from(
            [
                None,
                WalkCacheConfig("levels", entries=2, ways=1, latency=cycles(1)),
                WalkCacheConfig("lines", size=Bytes(128), line=Bytes(64), latency=cycles(2)),
            ]
        )
    )
    cost = draw(st.sampled_from(["fixed", "per-level", "memory"]))
    if cost == "fixed" and cache is not None and cache.kind == "lines":
        cost = "per-level"
    return WalkConfig(
        draw(few),
        cost,
        cycles(draw(st.sampled_from([1, 20]))),
        memory=draw(st.sampled_from(["l2", "dram"])),
        queue=draw(few),
        cache=cache,
        trip=cycles(draw(st.integers(0, 2))),
    )


fills = st.sampled_from(
    [
        PolicyConfig("always"),
        PolicyConfig("mask-tokens", {"initial": 0.2, "epoch": 50, "bypass_entries": 2}),
        PolicyConfig("mask-tokens", {"token_policy": "hillclimb", "accesses": 5, "initial": 0.2}),
    ]
)


@st.composite
def tlbs(draw: Any) -> dict[str, TlbConfig]:
    arrays = {
        False: st.sampled_from(["set-associative", "cluster"]),
        True: st.sampled_from(["set-associative", "tb-partitioned", "tb-partitioned-shared"]),
    }

    def level(scope: str, sub: int) -> TlbConfig:
        return TlbConfig(
            scope,
            entries=4,
            ways=2,
            sub_entries=sub,
            ports=draw(few),
            latency=cycles(draw(few)),
            mshrs=draw(some),
            queue=draw(few),
            trip=cycles(draw(st.integers(0, 2))),
            array=PolicyConfig(draw(arrays[scope == "sm"]) if sub == 1 else "sub-entry"),
            sets=PolicyConfig(
                draw(st.sampled_from(["plain", "base-delta"])) if sub == 1 else "plain"
            ),
            fill=draw(fills),
        )

    scopes = draw(st.sampled_from([["sm"], ["sm", "gpu"], ["tpc", "gpu"], ["sm", "tpc", "gpu"]]))
    sub = draw(st.sampled_from([1, 1, 4]))
    return {
        f"L{number}": level(scope, sub if number == len(scopes) else 1)
        for number, scope in enumerate(scopes, 1)
    }


@st.composite
def real_caches(draw: Any, config: GpuConfig, dram: DramConfig) -> tuple[GpuConfig, DramConfig]:
    """The same with what real caches have and papers do not name."""
    hashes = st.sampled_from([None, "xor"])  # "ipoly" is not for every number of slices
    config = change(
        config,
        l1={
            "at_launch": draw(st.sampled_from(["invalidate", "keep"])),
            "writes": draw(st.sampled_from(["update", "allocate", "evict"])),
            "allocate": draw(st.sampled_from(["on-fill", "on-miss"])),
        },
        l2={"hash": draw(hashes), "sector": draw(st.sampled_from([None, Bytes(32), Bytes(64)]))},
    )
    if config.l2.banks == 2 and config.sm.count > 1:
        config = change(config, l2={"partitions": 2, "far": cycles(draw(st.integers(0, 9)))})
    config = attrs.evolve(config, launch_overhead=cycles(draw(st.sampled_from([0, 1, 100]))))
    return config, attrs.evolve(dram, hash=draw(hashes))


@st.composite
def machines(draw: Any) -> GpuConfig:
    """Every arrangement of translation, every walk cost, ideal and real DRAM."""
    sector = draw(st.sampled_from([32, 64, 128]))
    config = change(
        SMALL,
        sm={
            "count": draw(st.integers(1, 3)),
            "schedulers": draw(st.integers(1, 4)),
            "scheduler": PolicyConfig(draw(st.sampled_from(["gto", "lrr"]))),
            "lsu_width": draw(st.integers(1, 2)),
            "lsu_queue": draw(some),
            "max_loads": draw(some),
            "store_credits": draw(some),
            "max_blocks": draw(few),
            "warp_size": draw(st.sampled_from([32, 64])),
            "shared_latency": cycles(3),
        },
        l1={
            "size": Bytes(4 * 128),
            "ways": draw(st.sampled_from([1, 2, 4])),
            "sector": Bytes(sector),
            "mshrs": draw(some),
            "mshr_merge": draw(some),
            "translation": draw(st.sampled_from(["before", "parallel", "after"])),
        },
        l2={
            "size": Bytes(8 * 128),
            "ways": draw(st.sampled_from([1, 2])),
            "banks": draw(st.sampled_from([1, 2])),
            "mshrs": draw(some),
            "mshr_merge": draw(some),
            "ports": draw(few),
            "queue": draw(few),
        },
        crossbar={
            "queue": draw(few),
            "bytes_per_cycle": draw(st.sampled_from([8, 32])),
            "latency": cycles(draw(few)),
            "ideal": draw(st.integers(0, 4)) == 0,
        },
    )
    real = attrs.evolve(
        GDDR5,
        read_queue=draw(few),
        write_queue=draw(st.integers(1, 4)),
        channels=draw(st.integers(1, 2)),
        mapping=SMALL.dram.mapping,
        scheduler=draw(st.sampled_from(DRAM_QUEUES)),
        page_policy=draw(st.sampled_from(["open", "closed"])),
    )
    if draw(st.booleans()):
        config, real = draw(real_caches(config, real))
    return attrs.evolve(
        config,
        tlb=draw(tlbs()),
        walk=draw(walks()),
        sms_per_tpc=2,
        watchdog=cycles(20_000),
        dram=draw(st.sampled_from([SMALL.dram, real, real])),
    )

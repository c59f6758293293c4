"""The bench's machine whose pages come on demand, with times that are easily added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from gpusim.config.paging import LinkConfig, PagingConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bandwidth, Bytes, cycles
from gpusim.machine import Machine, Tenant
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch

BASE = 1 << 32
PAGE = 4096
MOVE = 1024
"""Cycles of a page on the link: 4 bytes a cycle."""
OVERHEAD, WAY = 100, 50
BATCH = 10_000
L1_TLB, L2_TLB, WALK = 1, 10, 500
FETCH = 1 + 4 + 8 + 10 + 100 + 8 + 3
"""To start, L1 cache, crossbar, L2 cache, DRAM, crossbar (a line has four parts)."""

PAGING = PagingConfig(
    batch_time=cycles(BATCH),
    prefetch=PolicyConfig("none"),
    eviction_block=Bytes(PAGE),
    link=LinkConfig(Bandwidth(4 * 10**9), cycles(WAY), cycles(OVERHEAD)),
)


def paged(machine: GpuConfig = SMALL, **keys: Any) -> GpuConfig:
    """The bench's machine with demand paging."""
    return attrs.evolve(machine, paging=attrs.evolve(PAGING, **keys))


def run(
    config: GpuConfig,
    *scripts: Script,
    pages: int = 64,
    attach: Callable[[Machine], None] | None = None,
) -> Run:
    """Scripted warps over one array of `pages` pages, each on an SM of its own, or all on one."""
    blocks = [list(scripts)] if config.sm.count == 1 else [[script] for script in scripts]
    launch = ScriptedLaunch(blocks, warp_size=config.sm.warp_size)
    application = ScriptedApplication([launch], buffers=(Buffer("a", BASE, PAGE * pages),))
    return Run.of(config, [Tenant("scripted", application, range(config.sm.count))], attach)


def load(page: int, line: int = 0) -> tuple[str, int]:
    return "load", BASE + PAGE * page + 128 * line


def store(page: int) -> tuple[str, int]:
    return "store", BASE + PAGE * page


def each(*pages: int) -> list[tuple[Any, ...]]:
    """Loads of pages, one after the other."""
    return [step for page in pages for step in (load(page), ("wait",))]

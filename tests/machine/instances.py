"""Multi-instance machines, scripted and random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from gpusim.config.mig import MigConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.warp_program import Application
from gpusim.files.units import Bytes
from gpusim.machine import Tenant
from tests.machine.bench import Script, ScriptedApplication, ScriptedLaunch


def in_slices(config: GpuConfig, slices: int) -> GpuConfig:
    """A multi-instance GPU of which each slice is `config`."""
    return attrs.evolve(
        config,
        sm=attrs.evolve(config.sm, count=config.sm.count * slices),
        walk=attrs.evolve(config.walk, walkers=config.walk.walkers * slices),
        memory=attrs.evolve(config.memory, size=Bytes(config.memory.size * slices)),
        l2=attrs.evolve(
            config.l2, size=Bytes(config.l2.size * slices), banks=config.l2.banks * slices
        ),
        dram=attrs.evolve(config.dram, channels=config.dram.channels * slices),
        mig=MigConfig(slices, " ".join(f"{size}g" for size in range(1, slices + 1))),
    )


def private(config: GpuConfig) -> GpuConfig:
    """The machine with what all instances share given to each of them."""
    tlb = {
        name: attrs.evolve(level, scope="instance") if level.scope == "gpu" else level
        for name, level in config.tlb.items()
    }
    return attrs.evolve(config, tlb=tlb)


def on_instances(
    config: GpuConfig, *sizes: int, applications: Sequence[Application]
) -> list[Tenant]:
    """Applications on instances side by side."""
    tenants = []
    first = 0
    for index, (size, application) in enumerate(zip(sizes, applications, strict=True)):
        count = config.instance(size).sm.count
        sms = range(first, first + count)
        tenants.append(Tenant(f"app{index}", application, sms, instance=size))
        first += count
    return tenants


def one_warp(*script: tuple[Any, ...]) -> ScriptedApplication:
    """An application of one warp."""
    scripts: list[Script] = [list(script)]
    return ScriptedApplication([ScriptedLaunch([scripts])])

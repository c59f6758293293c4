"""A bench for nodes: scripted warps on two or more small GPUs."""

from __future__ import annotations

from typing import Any

import attrs

from gpusim.config.node import NodeConfig, NodeLinkConfig
from gpusim.config.schema import GpuConfig, PolicyConfig
from gpusim.files.units import Bandwidth, Bytes, cycles
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch

BASE = 1 << 32
"""The address of page 0 of the scripts, which lies with the first GPU where pages take turns."""


def page(number: int, offset: int = 0) -> int:
    """An address of a page of 4 KiB."""
    return BASE + 4096 * number + offset


def node(gpus: int = 2, config: GpuConfig = SMALL, **keys: Any) -> GpuConfig:
    """A node of `gpus` times `config`; pages take turns unless `keys` says otherwise.

    A link moves 32 bytes a cycle, whose way takes 50; a packet has 16 bytes beside its data.
    """
    link = attrs.evolve(
        NodeLinkConfig(Bandwidth(32 * config.clock), cycles(50), overhead=Bytes(16)),
        **keys.pop("link", {}),
    )
    keys.setdefault("placement", PolicyConfig("interleave"))
    return attrs.evolve(config, node=NodeConfig(gpus, link, **keys))


def run_on(config: GpuConfig, *scripts: Script, gpu: int = 0) -> Run:
    """A run of one block of scripted warps on one GPU of a node."""
    launch = ScriptedLaunch([list(scripts)], warp_size=config.sm.warp_size)
    first = gpu * config.sm.count
    sms = range(first, first + config.sm.count)
    return Run.of(config, [Tenant("scripted", ScriptedApplication([launch]), sms)])

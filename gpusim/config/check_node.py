"""Checks of a node: amounts that cannot be, and what does not run on several GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.config.node import MOST_GPUS, NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.files.structure import Problem


def check_node(config: GpuConfig) -> Iterator[Problem]:
    """What is wrong with the node of a machine."""
    node = config.node
    if node is None:
        return
    yield from _amounts(node)
    yield from _parts(node)
    yield from _refusals(config)


def _amounts(node: NodeConfig) -> Iterator[Problem]:
    if not 1 <= node.gpus <= MOST_GPUS:
        yield Problem(("node", "gpus"), f"must be from 1 to {MOST_GPUS}")
    if node.link.bandwidth < 1:
        yield Problem(("node", "link", "bandwidth"), "must be 1 byte a second or more")
    if node.link.overhead < 0:
        yield Problem(("node", "link", "overhead"), "must be 0 or more")
    if node.link.queue < 1:
        yield Problem(("node", "link", "queue"), "must be 1 or more")


def _parts(node: NodeConfig) -> Iterator[Problem]:
    """Tables that a node may have."""
    if node.copy_engines is not None:
        for name in ("count", "bandwidth", "lines"):
            if getattr(node.copy_engines, name) < 1:
                yield Problem(("node", "copy_engines", name), "must be 1 or more")
    if node.host_mmu is not None:
        for name in ("entries", "walkers", "queue"):
            if getattr(node.host_mmu, name) < 1:
                yield Problem(("node", "host_mmu", name), "must be 1 or more")
    elif node.remote.policy != "direct":
        yield Problem(
            ("node", "remote"), 'pages move when GPUs ask for them: add node.host_mmu, or "direct"'
        )
    if node.migration is not None and node.host_mmu is None:
        yield Problem(("node", "migration"), "of no effect without node.host_mmu; leave it out")
    yield from _without_host(node)


def _without_host(node: NodeConfig) -> Iterator[Problem]:
    """Policies that are never asked."""
    for name in ("invalidation", "forwarding"):
        if getattr(node, name) is None:
            continue
        if node.host_mmu is None:
            yield Problem(("node", name), "of no effect without node.host_mmu; leave it out")
        elif node.page_tables == "shared":
            yield Problem(
                ("node", name), "it is about tables of GPUs, and there is one for all: leave it out"
            )
    fixed = node.migration is not None and node.migration.cost == "fixed"
    if fixed and node.invalidation is not None:
        yield Problem(
            ("node", "invalidation"), 'of no effect with node.migration.cost = "fixed"; use "steps"'
        )


def _refusals(config: GpuConfig) -> Iterator[Problem]:
    """What does not run on a node yet; docs/node.md has the reasons."""
    key = ("node",)
    if config.mig is not None:
        yield Problem(key, 'instances have no links to other GPUs: not with mig; "none"')
    if config.node is not None and config.node.page_tables == "shared":
        yield from _of_shared_tables(config, config.node)
    if config.fbt is not None or config.l1.translation == "after-l2":
        yield Problem(
            key, "a virtual name does not say which GPU's L2 cache a line belongs to: not with fbt"
        )
    if config.node is not None and config.node.host_mmu is not None:
        for name, tlb in config.tlb.items():
            if tlb.ideal:
                yield Problem(
                    ("tlb", name, "ideal"),
                    "must be false with node.host_mmu: an ideal TLB would hit on pages that the "
                    "GPU's table does not have",
                )
    if config.block_scheduler.policy == "recorded":
        yield Problem(
            ("block_scheduler",), "blocks were recorded on one GPU; on a node, use round-robin"
        )


def _of_shared_tables(config: GpuConfig, node: NodeConfig) -> Iterator[Problem]:
    """What cannot be where parts of the one table lie with several GPUs."""
    key = ("node", "page_tables")
    if node.host_mmu is not None and node.remote.policy == "direct" and config.paging is None:
        yield Problem(
            ("node", "host_mmu"),
            "of no effect: one table for all has every page, and none moves; leave it out, or use "
            'node.remote = "access-counters"',
        )
    if config.memory.table is not None:
        yield Problem(
            key, 'must be "per-gpu" with memory.table: a table of that layout lies in one memory'
        )
    if config.walk.memory == "dram":
        yield Problem(
            key,
            'must be "per-gpu" with walk.memory = "dram": reads of entries that lie with another '
            "GPU come through its L2 cache",
        )
    if config.walk.sent_by == "sms":
        yield Problem(
            key,
            'must be "per-gpu" with walk.sent_by = "sms": reads of entries that lie with another '
            "GPU leave at the walkers",
        )

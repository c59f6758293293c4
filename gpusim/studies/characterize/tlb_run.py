"""`characterize_tlbs`: lookups of a workload through many designs of TLBs in one pass, untimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from attrs import define, evolve

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError, own_code_errors, own_modules
from gpusim.core.interfaces import FirstCache
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.registry import Slot, make_policy
from gpusim.core.request import Kind
from gpusim.core.version import __version__
from gpusim.core.warp_program import Op
from gpusim.files.units import cycles
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.sm.coalescer import KIND_OF_OP
from gpusim.hardware.sm.sharing import SmSharing
from gpusim.machine import Machine
from gpusim.results.run_data import Provenance
from gpusim.runs.tenants import assign_sms
from gpusim.studies.characterize.access_stream import (
    EVENTS,
    KERNEL_BEGIN,
    KERNEL_END,
    Accesses,
    Ints,
    StreamSite,
    join,
    stream,
)
from gpusim.studies.characterize.tlb_designs import Design
from gpusim.studies.characterize.tlb_levels import (
    Asked,
    Level,
    LevelCounts,
    LevelSite,
    Lookups,
    Mask,
    PolicyLevel,
    is_plain,
    pages_of,
    plain_level,
    untimed,
)
from gpusim.studies.characterize.tlb_result import DesignCounts, LevelResult, TlbResult
from gpusim.workloads.workload import Workload

_COHERENT: Final = int(Op.COHERENT_LOAD)
_NEVER: Final = 1 << 62
_KINDS = np.full(256, int(Kind.LOAD))
_KINDS[list(KIND_OF_OP)] = list(KIND_OF_OP.values())
"""By `Op`, what the L1 cache takes an access for."""


def characterize_tlbs(
    workload: Workload,
    designs: Sequence[Design],
    *,
    progress: Callable[[str, int], None] | None = None,
) -> TlbResult:
    """Let a workload's lookups pass through the TLBs of several designs, without a clock.

    Designs whose SMs, L1 caches and pages are the same share one execution of the workload; those
    whose first levels are the same share their misses; LRU sets of one number share a pass,
    whatever their ways.

    Args:
        workload: from `gpusim.load_workload`.
        designs: machines, from `gpusim.studies.characterize.tlb_designs.designs_of`.
        progress: called with an application's name and its accesses so far.

    Raises:
        UserError: there are too few SMs, a block does not fit on one, SMs are shared by
            applications, physical memory is full, or a program of the user's own failed.
    """
    if not designs:
        raise UserError("there is no design of TLBs to look at")
    found: dict[str, DesignCounts] = {}
    for group in _groups(designs):
        passes = _Pass(workload, group)
        passes.run(progress)
        found.update(passes.results())
    model = designs[0].model
    return TlbResult(
        Provenance(
            gpusim=__version__,
            model=model.name,
            workload=workload.name,
            scale=workload.scale,
            seed=workload.seed,
            variants=(),
            overrides=(),
        ),
        tuple(spec.name for spec in workload.applications),
        tuple(found[design.name] for design in designs),
    )


def _groups(designs: Sequence[Design]) -> list[list[Design]]:
    """Designs that may share one execution: all but their translation is the same."""
    groups: list[list[Design]] = []
    for design in designs:
        for group in groups:
            if _accesses_of(group[0].config) == _accesses_of(design.config):
                group.append(design)
                break
        else:
            groups.append([design])
    return groups


def _accesses_of(config: GpuConfig) -> tuple[object, ...]:
    """What the lookups of the first level depend on, and the frames that pages get."""
    memory = config.memory
    return (
        config.sm,
        evolve(config.l1, latency=cycles(1)),
        config.mig,
        (memory.page, memory.size, memory.frames, memory.levels, memory.table_entries),
    )


@define(eq=False)
class _Node:
    """TLBs of a level of one or more designs, all of which are asked for the same lookups.

    Attributes:
        asked: for what.
        level: what they hold.
        sites: by design.
        misses: by design, by application.
        below: by design, the next levels.
    """

    asked: Asked
    level: Level
    sites: list[LevelSite]
    misses: list[Ints]
    below: list[list[_Node]]

    @classmethod
    def of(cls, site: LevelSite, asked: Asked, apps: int) -> _Node:
        """A node of one design."""
        level = plain_level([site.config]) if is_plain(site) else PolicyLevel(site)
        return cls(asked, level, [site], [np.zeros(apps, dtype=np.int64)], [[]])

    def place(self, site: LevelSite) -> int | None:
        """Which of its designs has the TLBs of a site; None: it cannot take them in."""
        configs = [one.config for one in self.sites]
        if site.config in configs:
            return configs.index(site.config)
        first = configs[0]
        if not (is_plain(site) and is_plain(self.sites[0]) and site.config.scope == first.scope):
            return None
        if site.config.entries // site.config.ways != first.entries // first.ways:
            return None
        self.level = plain_level([*configs, site.config])
        self.sites.append(site)
        self.misses.append(np.zeros_like(self.misses[0]))
        self.below.append([])
        return len(configs)


class _Pass:
    """One execution of a workload, and all designs that share it."""

    def __init__(self, workload: Workload, designs: Sequence[Design]) -> None:
        model = designs[0].model
        config = model.config
        self._designs = designs
        self._config = config
        self._tenants = assign_sms(model, workload)
        sharing: SmSharing = make_policy(Slot.SM_SHARING, config.sharing, config.clock)
        if len(self._tenants) > 1 and sharing.shares_sms():
            raise UserError(
                f"applications share SMs (sharing = {config.sharing.policy!r}), whose turns have "
                "no order without a clock: run it, or let each have SMs of its own"
            )
        self._machine = Machine(config, self._tenants, workload.seed)
        self._apps = len(self._tenants)
        self._shift = (int(config.memory.page) // int(config.l1.line)).bit_length() - 1
        self._after = config.l1.translation == "after"
        self._known = np.zeros(0, dtype=np.int64)
        self._first: list[_Node] = []
        self._chains: list[list[tuple[_Node, int]]] = [self._chain(one) for one in designs]

    # -- the designs, as a tree --------------------------------------------------------------------

    def _chain(self, design: Design) -> list[tuple[_Node, int]]:
        """The levels of a design: each as a node, and which one of the designs in there it is."""
        nodes = self._first
        found: list[tuple[_Node, int]] = []
        for name, config in design.config.tlb.items():
            site = LevelSite(name, untimed(config), self._machine, design.config)
            try:
                node, place = self._node(nodes, site)
            except UserError as error:
                raise UserError(f"design {design.name!r}, tlb.{name}: {error}") from error
            found.append((node, place))
            nodes = node.below[place]
        return found

    def _node(self, nodes: list[_Node], site: LevelSite) -> tuple[_Node, int]:
        """One of the nodes that has the TLBs of a site, a new one where there is none."""
        for node in nodes:
            place = node.place(site)
            if place is not None:
                return node, place
        scope = site.config.scope
        known = (one.asked for one in nodes if one.sites[0].config.scope == scope)
        node = _Node.of(site, next(known, None) or Asked(site, self._apps), self._apps)
        nodes.append(node)
        return node, 0

    # -- the execution -----------------------------------------------------------------------------

    def run(self, progress: Callable[[str, int], None] | None) -> None:
        """Let all accesses pass."""
        done = 0
        classes = [type(tenant.application) for tenant in self._tenants]
        with own_code_errors(own_modules(classes)):
            for accesses in self._windows():
                real = accesses.kind < EVENTS
                done += int(np.count_nonzero(real))
                tag = accesses.app << ASID_SHIFT | accesses.line >> self._shift
                self._map(accesses, tag, real)
                lookups = Lookups(accesses, tag)
                if self._after:
                    lookups = lookups.take(self._leaves_l1(accesses))
                self._pass(self._first, lookups)
                if progress is not None:
                    progress(" + ".join(one.name for one in self._tenants), done)

    def _windows(self) -> Iterator[Accesses]:
        streams = []
        for app, tenant in enumerate(self._tenants):
            site = StreamSite(self._config, app, tenant.sms, RoundRobinPlacement())
            streams.append(stream(tenant, site))
        return streams[0] if len(streams) == 1 else _together(streams)

    def _map(self, accesses: Accesses, tag: Ints, real: Mask) -> None:
        """New pages get their frames in the order of their first accesses."""
        of_accesses = np.flatnonzero(real)
        pages = np.unique(tag[of_accesses])
        new = pages[~np.isin(pages, self._known, assume_unique=True)]
        if not len(new):
            return
        which = of_accesses[np.isin(tag[of_accesses], new)]
        order = which[np.lexsort((accesses.sm[which], accesses.cycle[which]))]
        walk = self._machine.page_table.walk
        pages, first = np.unique(tag[order], return_index=True)
        for page in pages[np.argsort(first)].tolist():
            walk(page >> ASID_SHIFT, page & VPN_MASK)
        self._known = np.union1d(self._known, new)

    def _leaves_l1(self, accesses: Accesses) -> Mask:
        """Which accesses leave a virtual L1 cache, and so are translated."""
        leaves = np.ones(len(accesses), dtype=bool)
        sms = np.flatnonzero(np.diff(accesses.sm, prepend=-1)).tolist()
        for first, end in zip(sms, [*sms[1:], len(accesses)], strict=True):
            sm = self._machine.sms[int(accesses.sm[first])]
            kinds = accesses.kind[first:end]
            events = np.flatnonzero(kinds >= EVENTS).tolist()
            begin = 0
            for event in [*events, end - first]:
                part = slice(first + begin, first + event)
                leaves[part] = _through_l1(sm.lsu.l1, accesses, part)
                if event < end - first:
                    kind, at = int(kinds[event]), first + event
                    if kind == KERNEL_BEGIN:
                        sm.begin_kernel(int(accesses.slot[at]), int(accesses.line[at]))
                    elif kind == KERNEL_END:
                        sm.end_kernel()
                begin = event + 1
        return leaves

    def _pass(self, nodes: list[_Node], lookups: Lookups) -> None:
        """Let lookups pass through levels side by side, and their misses through the next ones."""
        for asked in dict.fromkeys(node.asked for node in nodes):
            ordered, tlb = asked.in_order(lookups)
            real = ordered.accesses.kind < EVENTS
            asked.count(ordered, pages_of(tlb[real], ordered.tag[real]))
            for node in nodes:
                if node.asked is not asked:
                    continue
                for place, missed in enumerate(node.level.missed(ordered, tlb)):
                    app = ordered.accesses.app[missed]
                    node.misses[place] += np.bincount(app, minlength=self._apps)
                    if node.below[place]:
                        self._pass(node.below[place], ordered.take(missed | ~real))

    # -- the result --------------------------------------------------------------------------------

    def results(self) -> Iterator[tuple[str, DesignCounts]]:
        """What each design did, by its name."""
        for design, chain in zip(self._designs, self._chains, strict=True):
            levels = []
            for (name, config), (node, place) in zip(design.config.tlb.items(), chain, strict=True):
                counts = tuple(
                    LevelCounts(
                        int(node.asked.lookups[app]),
                        int(node.misses[place][app]),
                        int(node.asked.compulsory[app]),
                    )
                    for app in range(self._apps)
                )
                tlbs = len(np.unique(node.sites[place].tlbs()))
                levels.append(
                    LevelResult(name, config.scope, tlbs, config.entries, config.ways, counts)
                )
            yield (
                design.name,
                DesignCounts(design.name, int(design.config.memory.page), tuple(levels)),
            )


def _through_l1(l1: FirstCache, accesses: Accesses, part: slice) -> Mask:
    """Which accesses of one SM leave its L1 cache; coherent loads pass it by."""
    op = accesses.kind[part]
    leaves = np.ones(len(op), dtype=bool)
    asks = np.flatnonzero(op != _COHERENT)
    line = accesses.line[part][asks] | accesses.app[part][asks] << ASID_SHIFT
    sectors, kind = accesses.sectors[part][asks], _KINDS[op[asks]]
    leaves[asks] = l1.warm(line.tolist(), sectors.tolist(), kind.tolist())
    return leaves


def _together(streams: Sequence[Iterator[Accesses]]) -> Iterator[Accesses]:
    """Applications on SMs of their own, side by side: cycles of one are cycles of all."""
    waiting: list[Accesses | None] = [None for _ in streams]
    ends = [-1 for _ in streams]
    while True:
        for app, windows in enumerate(streams):
            if ends[app] == min(ends) and ends[app] != _NEVER:
                window = next(windows, None)
                ends[app] = _NEVER if window is None else int(window.cycle.max())
                parts = [one for one in (waiting[app], window) if one is not None]
                waiting[app] = _by_cycle(join(parts)) if parts else None
        ready, before = [], min(ends)
        for app, accesses in enumerate(waiting):
            if accesses is not None:
                now = accesses.cycle < before
                ready.append(accesses.take(now))
                waiting[app] = accesses.take(~now)
        if any(map(len, ready)):
            yield _by_cycle(join(ready))
        if before == _NEVER:
            return


def _by_cycle(accesses: Accesses) -> Accesses:
    """Sorted by SM, and then by cycle."""
    return accesses.take(np.lexsort((accesses.cycle, accesses.sm)))

"""`characterize_tlbs`: lookups of a workload through many designs of TLBs in one pass, untimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from attrs import evolve

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError, own_code_errors, own_modules
from gpusim.core.interfaces import FirstCache
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.registry import Slot, make_policy
from gpusim.core.request import Kind
from gpusim.core.version import __version__
from gpusim.core.warp_program import Op
from gpusim.files.units import cycles
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.sm.coalescer import KIND_OF_OP
from gpusim.hardware.sm.sharing import SmSharing
from gpusim.machine import Machine
from gpusim.programs.kernel import maker_of
from gpusim.results.run_data import Provenance
from gpusim.runs.tenants import assign_sms
from gpusim.studies.characterize.access_stream import (
    EVENTS,
    KERNEL_BEGIN,
    KERNEL_END,
    Accesses,
    StreamSite,
    join,
    stream,
)
from gpusim.studies.characterize.tlb_designs import Design
from gpusim.studies.characterize.tlb_levels import Mask
from gpusim.studies.characterize.tlb_result import DesignCounts, TlbResult
from gpusim.studies.characterize.tlb_tree import DesignTree
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

    Designs whose SMs and L1 caches are the same share one execution of the workload; those whose
    pages and first levels are the same share their misses; LRU sets of one number share a pass,
    whatever their ways.

    Args:
        workload: from `gpusim.load_workload`.
        designs: machines, from `gpusim.studies.characterize.tlb_designs.designs_of`.
        progress: called with an application's name and its accesses so far.

    Raises:
        UserError: there are too few SMs, a block does not fit on one, SMs are shared by
            applications, one of several maps arrays in mid-run, physical memory is full, or a
            program of the user's own failed.
    """
    if not designs:
        raise UserError("there is no design of TLBs to look at")
    found: dict[str, DesignCounts] = {}
    for group in _groups(designs, _accesses_of):
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


def _groups(
    designs: Sequence[Design], same: Callable[[GpuConfig], tuple[object, ...]]
) -> list[list[Design]]:
    """Designs of which some things are the same."""
    groups: list[list[Design]] = []
    for design in designs:
        for group in groups:
            if same(group[0].config) == same(design.config):
                group.append(design)
                break
        else:
            groups.append([design])
    return groups


def _accesses_of(config: GpuConfig) -> tuple[object, ...]:
    """What the lookups of the first level depend on."""
    return config.sm, evolve(config.l1, latency=cycles(1)), config.mig, config.sharing


def _pages_of(config: GpuConfig) -> tuple[object, ...]:
    """What pages and their frames depend on."""
    memory = config.memory
    return memory.page, memory.size, memory.frames, memory.levels, memory.table_entries


class _Pass:
    """One execution of a workload, and all designs that share it."""

    def __init__(self, workload: Workload, designs: Sequence[Design]) -> None:
        model = designs[0].model
        config = model.config
        self._config = config
        self._tenants = assign_sms(model, workload)
        sharing: SmSharing = make_policy(Slot.SM_SHARING, config.sharing, config.clock)
        if len(self._tenants) > 1 and sharing.shares_sms():
            raise UserError(
                f"applications share SMs (sharing = {config.sharing.policy!r}), whose turns have "
                "no order without a clock: run it, or let each have SMs of its own"
            )
        self._after = config.l1.translation == "after"
        self._check_calls()
        self._trees = [
            DesignTree(Machine(one[0].config, self._tenants, workload.seed), one)
            for one in _groups(designs, _pages_of)
        ]
        self._sms = Machine(config, self._tenants, workload.seed).sms

    def _check_calls(self) -> None:
        """Refuse arrays that programs map, where it is not known what was accessed before a call.

        Raises:
            UserError: says which, and why.
        """
        reason = (
            "other applications run beside it without a clock"
            if len(self._tenants) > 1
            else "its L1 caches have virtual names, which are not shot down here"
        )
        for tenant in self._tenants if len(self._tenants) > 1 or self._after else ():
            for array in tenant.application.buffers:
                if array.piece:
                    raise UserError(
                        f"{tenant.name} maps its array {array.name!r} piece by piece, and {reason}:"
                        " run it"
                    )

    def results(self) -> Iterator[tuple[str, DesignCounts]]:
        """What each design did, by its name."""
        for tree in self._trees:
            yield from tree.results()

    # -- the execution -----------------------------------------------------------------------------

    def run(self, progress: Callable[[str, int], None] | None) -> None:
        """Let all accesses pass."""
        done = 0
        makers = [maker_of(tenant.application) for tenant in self._tenants]
        with own_code_errors(own_modules(makers)):
            for accesses in self._windows():
                if isinstance(accesses, MappingCall):
                    for tree in self._trees:
                        tree.perform(accesses)
                    continue
                real = accesses.kind < EVENTS
                done += int(np.count_nonzero(real))
                for tree in self._trees:
                    tree.map(accesses, tree.tags(accesses), real)
                asked = accesses.take(self._leaves_l1(accesses)) if self._after else accesses
                for tree in self._trees:
                    tree.take(asked)
                if progress is not None:
                    progress(" + ".join(one.name for one in self._tenants), done)

    def _windows(self) -> Iterator[Accesses | MappingCall]:
        streams = []
        for app, tenant in enumerate(self._tenants):
            site = StreamSite(self._config, app, tenant.sms, RoundRobinPlacement())
            streams.append(stream(tenant, site))
        return streams[0] if len(streams) == 1 else _together(streams)

    def _leaves_l1(self, accesses: Accesses) -> Mask:
        """Which accesses leave a virtual L1 cache, and so are translated."""
        leaves = np.ones(len(accesses), dtype=bool)
        sms = np.flatnonzero(np.diff(accesses.sm, prepend=-1)).tolist()
        for first, end in zip(sms, [*sms[1:], len(accesses)], strict=True):
            sm = self._sms[int(accesses.sm[first])]
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


def _through_l1(l1: FirstCache, accesses: Accesses, part: slice) -> Mask:
    """Which accesses of one SM leave its L1 cache; coherent loads pass it by."""
    op = accesses.kind[part]
    leaves = np.ones(len(op), dtype=bool)
    asks = np.flatnonzero(op != _COHERENT)
    line = accesses.line[part][asks] | accesses.app[part][asks] << ASID_SHIFT
    sectors, kind = accesses.sectors[part][asks], _KINDS[op[asks]]
    leaves[asks] = l1.warm(line.tolist(), sectors.tolist(), kind.tolist())
    return leaves


def _together(streams: Sequence[Iterator[Accesses | MappingCall]]) -> Iterator[Accesses]:
    """Applications on SMs of their own, side by side: cycles of one are cycles of all.

    None of them maps arrays.
    """
    waiting: list[Accesses | None] = [None for _ in streams]
    ends = [-1 for _ in streams]
    while True:
        for app, windows in enumerate(streams):
            if ends[app] == min(ends) and ends[app] != _NEVER:
                window = next(windows, None)
                assert not isinstance(window, MappingCall)
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

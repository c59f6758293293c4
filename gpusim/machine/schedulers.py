"""Builds the thread-block scheduler of an application."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from gpusim.config.schema import GpuConfig
from gpusim.core.copy_order import CopyOrder
from gpusim.core.engine import Environment, Port
from gpusim.core.registry import Slot, make_policy
from gpusim.core.signals import SignalBoard
from gpusim.hardware.sm.block_placement import BlockPlacement
from gpusim.hardware.sm.block_scheduler import ApplicationSite, BlockScheduler
from gpusim.hardware.sm.block_shares import BlockShares
from gpusim.hardware.sm.node_scheduler import GpuSeats, NodeScheduler
from gpusim.hardware.sm.sharing import SmSharing
from gpusim.hardware.sm.time_slicer import TimeSlicer
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.machine.domains import Domain, gpus_of
from gpusim.machine.tenants import Tenant


@frozen(eq=False, repr=False)
class SchedulerSite:
    """The machine around block schedulers.

    Attributes:
        env, config: of the machine.
        kind: the class of schedulers of runs that skip; None: nothing is skipped.
        domains: which SMs lie where.
        board: the signals of the machine.
        engines: by GPU of a node, where copies go; empty: there are no copy engines.
        begins: by GPU of a node, called when a launch begins there; empty: nothing is to be done.
    """

    env: Environment
    config: GpuConfig
    kind: type[SkippingScheduler] | None
    domains: Sequence[Domain]
    board: SignalBoard
    engines: Sequence[Port[CopyOrder]] = ()
    begins: Sequence[Callable[[], None]] = ()

    def make(self, site: ApplicationSite, tenant: Tenant) -> BlockScheduler:
        """What places the blocks of an application; on a node each of its GPUs has a policy."""
        node = self.config.node
        if node is None:
            placement = self._placement(tenant.sms)
            if self.kind is None:
                return BlockScheduler(self.env, self.config, site, placement)
            whole = GpuSeats(0, len(tenant.sms), placement)
            return self.kind(self.env, self.config, site, [whole], None, [])
        own = gpus_of(self.domains, tenant.sms)
        gpus = self._seats(tenant, own)
        shares: BlockShares = make_policy(
            Slot.BLOCK_SHARES, node.blocks, [gpu.count for gpu in gpus]
        )
        shares.attach(self.board.at(tenant.sms))
        engines = [self.engines[gpu] for gpu in own] if self.engines else []
        kind = NodeScheduler if self.kind is None else self.kind
        return kind(self.env, self.config, site, gpus, shares, engines)

    def _seats(self, tenant: Tenant, own: Sequence[int]) -> list[GpuSeats]:
        """The SMs of an application on each GPU that it has."""
        gpus = []
        for gpu in own:
            sms = self.domains[gpu].sms
            places = [place for place, sm in enumerate(tenant.sms) if sm in sms]
            placement = self._placement([tenant.sms[place] for place in places])
            begins = self.begins[gpu] if self.begins else None
            gpus.append(GpuSeats(places[0], len(places), placement, begins))
        return gpus

    def _placement(self, sms: Sequence[int]) -> BlockPlacement:
        """Which of some SMs a block goes to."""
        placement: BlockPlacement = make_policy(Slot.BLOCK_SCHEDULER, self.config.block_scheduler)
        placement.attach(self.board.at(sms))
        return placement


def share_sms(
    env: Environment, sharing: SmSharing, schedulers: Sequence[BlockScheduler]
) -> TimeSlicer | None:
    """Let schedulers of the same SMs know of each other, and take turns if they have to."""
    if not sharing.shares_sms():
        return None
    for scheduler in schedulers:
        scheduler.neighbours = [one for one in schedulers if one is not scheduler]
    if sharing.next_slice(-1, [0]) is None:
        return None
    return TimeSlicer(env, sharing, schedulers)

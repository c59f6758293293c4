"""Who shares which part of the memory system: numbers only, nothing is built here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import frozen

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.machine.tenants import Tenant


@frozen
class Part:
    """Some channels, and the memory that lies on them.

    Attributes:
        apps: indices of the applications whose pages and page tables lie there.
        channels: numbered over the whole GPU.
        base, size: physical addresses of its domain, in bytes.
    """

    apps: tuple[int, ...]
    channels: range
    base: int
    size: int


@frozen
class Domain:
    """SMs with a memory system of their own: the whole GPU, or a MIG instance.

    Attributes:
        index: of the domain.
        config: the GPU that it is by itself.
        apps: indices of the applications that run in it.
        sms, banks, channels: what is in it, numbered over the whole GPU.
    """

    index: int
    config: GpuConfig
    apps: tuple[int, ...]
    sms: range
    banks: range
    channels: range

    @property
    def parts(self) -> list[Part]:
        """Its memory, cut by ``dram.partition``; each part is interleaved over its own channels.

        Raises:
            UserError: there are more applications than channels.
        """
        size, channels = self.config.memory.size, self.channels
        if self.config.dram.partition is None or len(self.apps) < 2:
            return [Part(self.apps, channels, 0, size)]
        if len(self.apps) > len(channels):
            raise UserError(
                f"dram.partition: {len(self.apps)} applications cannot have a part of "
                f"{len(channels)} channels each; raise dram.channels, or run fewer"
            )
        cuts = [len(channels) * i // len(self.apps) for i in range(len(self.apps) + 1)]
        page = self.config.memory.page
        bases = [size * cut // len(channels) // page * page for cut in cuts]
        return [
            Part((app,), channels[first:last], base, end - base)
            for app, (first, last), (base, end) in zip(
                self.apps, pairwise(cuts), pairwise(bases), strict=True
            )
        ]


def divide(config: GpuConfig, tenants: Sequence[Tenant]) -> list[Domain]:
    """One domain for all applications, or one for each MIG instance.

    Instances lie side by side in the order of the applications; slices that none has are off.
    """
    if tenants[0].instance is None:
        return [_domain(0, config, range(len(tenants)), None)]
    domains: list[Domain] = []
    for index, tenant in enumerate(tenants):
        assert tenant.instance is not None
        part = config.instance(tenant.instance)
        domains.append(_domain(index, part, (index,), domains[-1] if domains else None))
    return domains


def _domain(index: int, config: GpuConfig, apps: Iterable[int], before: Domain | None) -> Domain:
    """A domain of which everything is numbered after the one before it."""
    sm, bank, channel = (
        (before.sms.stop, before.banks.stop, before.channels.stop) if before else (0, 0, 0)
    )
    return Domain(
        index,
        config,
        tuple(apps),
        range(sm, sm + config.sm.count),
        range(bank, bank + config.l2.banks),
        range(channel, channel + config.dram.channels),
    )

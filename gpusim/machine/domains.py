"""Which SMs share which part of the memory system: numbers only, nothing is built here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import frozen

from gpusim.config.auxiliary import SideCacheConfig
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
class Partitions:
    """Which SMs and L2 banks of a GPU lie in the same part of the chip.

    Banks are dealt out to the partitions in their order, and so are GPCs, whose SMs stay together:
    of two partitions, each has half of both, as in an A100 (NVIDIA A100 white paper: the L2 cache
    is divided into two partitions, each of which serves the GPCs that are connected to it).

    Attributes:
        of_sm, of_bank: partition of each.
        far: cycles that the way to another partition and back takes longer.
    """

    of_sm: tuple[int, ...]
    of_bank: tuple[int, ...]
    far: int

    @classmethod
    def of(cls, config: GpuConfig) -> Partitions:
        """The partitions of a whole GPU."""
        parts, banks, gpcs = config.l2.partitions, config.l2.banks, config.gpcs
        sms_of_gpc = config.sms_of("gpc")
        return cls(
            tuple(sm // sms_of_gpc * parts // gpcs for sm in range(config.sm.count)),
            tuple(bank * parts // banks for bank in range(banks)),
            0 if config.l2.far is None else config.l2.far.cycles(config.clock),
        )

    def ways_there(self, sms: Sequence[int], banks: range) -> list[list[int]]:
        """By SM and bank, by how many cycles a request takes longer: half of `far`."""
        return [[self._longer(sm, bank) // 2 for bank in banks] for sm in sms]

    def ways_back(self, sms: Sequence[int], banks: range) -> list[list[int]]:
        """By bank and SM, by how many cycles an answer takes longer: the other half."""
        return [[-(-self._longer(sm, bank) // 2) for sm in sms] for bank in banks]

    def _longer(self, sm: int, bank: int) -> int:
        return self.far if self.of_sm[sm] != self.of_bank[bank] else 0


@frozen
class Side:
    """A side cache, and the SMs that it serves.

    Attributes:
        name: of the table of the model that describes it.
        index: which of the caches of that name it is, numbered over the whole GPU.
        config: what it is like.
        sms: numbered over the whole GPU.
    """

    name: str
    index: int
    config: SideCacheConfig
    sms: range


@frozen
class Domain:
    """SMs with a memory system of their own: the whole GPU, or a MIG instance.

    Attributes:
        index: of the domain.
        config: the GPU that it is by itself.
        apps: indices of the applications that run in it.
        sms, banks, channels: what is in it, numbered over the whole GPU.
        partitions: of the whole GPU.
    """

    index: int
    config: GpuConfig
    apps: tuple[int, ...]
    sms: range
    banks: range
    channels: range
    partitions: Partitions

    @property
    def sides(self) -> list[Side]:
        """The side caches of the domain."""
        found = []
        for name, cache in self.config.side_caches.items():
            each = self.config.sms_of(cache.scope)
            for first in self.sms[::each]:
                sms = range(first, min(first + each, self.sms.stop))
                found.append(Side(name, first // each, cache, sms))
        return found

    @property
    def parts(self) -> list[Part]:
        """The domain's memory, cut by ``dram.partition``, each part over channels of its own.

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
    partitions = Partitions.of(config)
    if tenants[0].instance is None:
        return [_domain(0, config, range(len(tenants)), None, partitions)]
    domains: list[Domain] = []
    for index, tenant in enumerate(tenants):
        assert tenant.instance is not None
        part = config.instance(tenant.instance)
        before = domains[-1] if domains else None
        domains.append(_domain(index, part, (index,), before, partitions))
    return domains


def _domain(
    index: int,
    config: GpuConfig,
    apps: Iterable[int],
    before: Domain | None,
    partitions: Partitions,
) -> Domain:
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
        partitions,
    )

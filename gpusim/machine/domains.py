"""Which SMs share which part of the memory system: numbers only, nothing is built here.

The whole GPU is one domain; each MIG instance is one, and each GPU of a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import evolve, frozen

from gpusim.config.auxiliary import SideCacheConfig
from gpusim.config.node import NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.machine.tenants import Tenant


@frozen(eq=False, repr=False)
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


@frozen(eq=False, repr=False)
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
        """The partitions of a whole GPU, or of all GPUs of a node, one after the other."""
        parts, banks, gpcs = config.l2.partitions, config.l2.banks, config.gpcs
        sms_of_gpc = config.sms_of("gpc")
        return cls(
            tuple(sm // sms_of_gpc * parts // gpcs for sm in range(config.sm.count)) * config.gpus,
            tuple(bank * parts // banks for bank in range(banks)) * config.gpus,
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


@frozen(repr=False)
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


@frozen(eq=False, repr=False)
class Domain:
    """SMs with a memory system of their own: the whole GPU, a MIG instance, or a GPU of a node.

    Attributes:
        index: of the domain.
        config: the GPU that it is by itself.
        apps: indices of the applications that run in it.
        sms, banks, channels: what is in it, numbered over the whole machine.
        partitions: of the whole machine.
        base: first address of its memory.
        copy_ports: ports of its crossbar that belong to copy engines, each way.
        link_ports: ports of its crossbar that lead to links of a node, each way.
    """

    index: int
    config: GpuConfig
    apps: tuple[int, ...]
    sms: range
    banks: range
    channels: range
    partitions: Partitions
    base: int = 0
    copy_ports: int = 0
    link_ports: int = 0

    @property
    def memory(self) -> range:
        """Physical addresses of its memory."""
        return range(self.base, self.base + self.config.memory.size)

    @property
    def caches_others(self) -> bool:
        """Whether its L2 cache keeps lines of other GPUs' memories."""
        node = self.config.node
        return node is not None and node.gpus > 1 and node.caching == "reader"

    def group(self, sm: int, each: int) -> int:
        """Which group of `each` SMs an SM is in, numbered over the whole machine.

        No group has SMs of two GPUs of a node.
        """
        if self.config.node is None:
            return sm // each
        groups = -(-len(self.sms) // each)
        return self.index * groups + (sm - self.sms.start) // each

    @property
    def sides(self) -> list[Side]:
        """The side caches of the domain."""
        found = []
        for name, cache in self.config.side_caches.items():
            each = self.config.sms_of(cache.scope)
            for first in self.sms[::each]:
                sms = range(first, min(first + each, self.sms.stop))
                found.append(Side(name, self.group(first, each), cache, sms))
        return found

    @property
    def parts(self) -> list[Part]:
        """The domain's memory, cut by ``dram.partition``, each part over channels of its own.

        Raises:
            UserError: there are more applications than channels.
        """
        size, channels = self.config.memory.size, self.channels
        if self.config.dram.partition is None or len(self.apps) < 2:
            return [Part(self.apps, channels, self.base, size)]
        if len(self.apps) > len(channels):
            raise UserError(
                f"dram.partition: {len(self.apps)} applications cannot have a part of "
                f"{len(channels)} channels each; raise dram.channels, or run fewer"
            )
        cuts = [len(channels) * i // len(self.apps) for i in range(len(self.apps) + 1)]
        page = self.config.memory.page
        bases = [size * cut // len(channels) // page * page for cut in cuts]
        return [
            Part((app,), channels[first:last], self.base + base, end - base)
            for app, (first, last), (base, end) in zip(
                self.apps, pairwise(cuts), pairwise(bases), strict=True
            )
        ]


def gpus_of(domains: Sequence[Domain], sms: Sequence[int]) -> list[int]:
    """The GPUs of a node of which an application has some SMs; programs count them from 0 on."""
    return [domain.index for domain in domains if any(sm in domain.sms for sm in sms)]


def divide(config: GpuConfig, tenants: Sequence[Tenant]) -> list[Domain]:
    """One domain for all applications, or one for each MIG instance or GPU of a node.

    Instances lie side by side in the order of the applications; slices that none has are off.
    """
    partitions = Partitions.of(config)
    if config.node is not None:
        return _gpus(config, config.node, len(tenants), partitions)
    if tenants[0].instance is None:
        return [_domain(0, config, range(len(tenants)), None, partitions)]
    domains: list[Domain] = []
    for index, tenant in enumerate(tenants):
        assert tenant.instance is not None
        part = config.instance(tenant.instance)
        before = domains[-1] if domains else None
        domains.append(_domain(index, part, (index,), before, partitions))
    return domains


def _gpus(config: GpuConfig, node: NodeConfig, apps: int, partitions: Partitions) -> list[Domain]:
    """The GPUs of a node, on all of which all applications may run."""
    domains: list[Domain] = []
    ports = link_ports(config, node)
    for gpu in range(node.gpus):
        domain = _domain(gpu, config, range(apps), domains[-1] if domains else None, partitions)
        domains.append(
            evolve(
                domain,
                base=gpu * config.memory.size,
                copy_ports=copy_ports(config, node),
                link_ports=ports,
            )
        )
    return domains


def link_ports(config: GpuConfig, node: NodeConfig) -> int:
    """Ports of a GPU's crossbar that carry what its links carry, each way [our choice]."""
    if config.crossbar.ideal:
        return 1
    from gpusim.hardware.node import make_topology

    topology = make_topology(node.link.topology, node.gpus)
    most = max(sum(end[0] == gpu for end in topology.ends) for gpu in range(node.gpus))
    a_second = config.crossbar.bytes_per_cycle * config.clock
    return max(1, -(-most * node.link.bandwidth // a_second))


def copy_ports(config: GpuConfig, node: NodeConfig) -> int:
    """Ports of a GPU's crossbar that carry what its copy engines move, each way [our choice].

    A line that is written takes its flits, and one that is read one more.
    """
    engines = node.copy_engines
    if engines is None or config.crossbar.ideal:
        return int(engines is not None)
    flit, line = config.crossbar.bytes_per_cycle, config.l1.line
    return -(-engines.count * engines.bandwidth * (line + flit) // (line * flit * config.clock))


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

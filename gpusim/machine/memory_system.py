"""The memory system of a domain: crossbar, L2 banks, DRAM channels, walkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from gpusim.config.schema import L2Config
from gpusim.core.component import Component
from gpusim.core.engine import Environment, Port, Sink, Wakeable
from gpusim.core.interfaces import Inbound, Packets, Route
from gpusim.core.interleaving import (
    RANDOM,
    GroupedInterleaving,
    HashedInterleaving,
    Interleaving,
    RandomInterleaving,
)
from gpusim.core.registry import Slot, make_policy
from gpusim.core.request import MemoryRequest, Translation
from gpusim.core.signals import SignalBoard
from gpusim.core.stage import Stage
from gpusim.core.structures import bits_for
from gpusim.hardware.cache import (
    AskedHomes,
    BankSite,
    CacheBypass,
    DramMisses,
    L2Bank,
    MemorySideCache,
    MissPath,
    PartitionHomes,
    Slice,
    TranslatedMisses,
    join_partitions,
)
from gpusim.hardware.cache.page_table_reads import (
    Levels,
    Way,
    way_through,
    way_through_sms,
    way_to_bank,
    way_to_dram,
    way_with_bypass,
)
from gpusim.hardware.crossbar import (
    Network,
    NetworkSite,
    ToBanks,
    ToNearBanks,
    ToSms,
    ToVirtualBanks,
    Ways,
    with_ports,
)
from gpusim.hardware.dram import ChannelUse, DramChannel, IdealDramChannel, build_dram
from gpusim.hardware.dram.build import MappedRoute, RoutesByPart
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.walk import PageTable, Walkers, WalkersSite, WarpWalkers
from gpusim.machine.domains import Domain
from gpusim.machine.virtual_caches import build_fbt

if TYPE_CHECKING:
    from gpusim.hardware.border import SmEnd
    from gpusim.hardware.node import AskedBanks


class MemorySystem:
    """What the SMs of a domain share, and no others.

    Args:
        env: the environment.
        domain: what it is made of.
        several: whether there are other domains: reports then tell which one this is.
        table: of all address spaces, as the walkers of the domain walk it.
        levels: counters of page-table reads, of all applications of the machine.
        beyond: adds to the route to the channels what lies beyond them, if anything does.

    Attributes:
        requests, replies: the networks; the first entrances and links are those of its own SMs,
            then those of its side caches, of copy engines, and of links to other GPUs.
        fbt: forward–backward table, if the L2 cache is virtual.
        memory_side: slices of the memory-side cache, if there is one.
        to_dram: the way to the channels, or to their slices.
        banks, channels, walkers: the rest.
        bypass: what may let page-table reads past the L2 cache, if they go there.
        way: where reads of page tables go, and of what stages keep in memory.
        hashing: how lines are dealt out to the banks; None: in turn.
        own_walks: where page-table reads go whose entries lie in this memory.
        remote_walks: where others go; None: there are none.
        far_misses: what the L2 cache asks other GPUs for; None: it keeps no line of theirs.
        translations: where TLBs send what they do not have: to the walkers, or to a stage before.
        border: the SMs' end of the border, where both sides have loops of their own; else None.
    """

    def __init__(
        self,
        env: Environment,
        domain: Domain,
        several: bool,
        table: PageTable,
        levels: Levels,
        beyond: Callable[[Route], Route],
    ) -> None:
        self.env = env
        self.domain = domain
        self._apps = apps = len(levels)
        self._suffix = f"[{domain.index}]" if several else ""
        self.remote_walks: Sink | None = None
        self.bypass: CacheBypass | None = None
        self.memory_side: list[MemorySideCache] = []
        self.channels, self.to_dram = self._build_channels()
        channel = beyond(self.to_dram)
        config = domain.config
        self.far_misses: Port[MemoryRequest] | None = None
        if domain.caches_others:
            from gpusim.hardware.node import BeyondDram

            far = self.far_misses = Port(env, f"far{self._suffix}", depth=config.l2.queue)
            channel = BeyondDram(channel, domain.memory, far)
        self.hashing = _bank_hash(config.l2)
        self.fbt = build_fbt(env, domain, table, apps, channel, self._number_of_bank)
        banks, first_sm = config.l2.banks, domain.sms.start
        sms = [*domain.sms, *(side.sms.start for side in domain.sides)]
        entry = 0 if config.l2.entry is None else config.l2.entry.cycles(config.clock)
        ports, sources = domain.link_ports, domain.copy_ports + domain.link_ports
        there = with_ports(domain.partitions.ways_there(sms, domain.banks), sources, ports, -entry)
        self._make_requests = partial(
            Network,
            ways=Ways(len(sms) + sources, banks + ports, more=entry, longer=there),
            packets=self._to_banks_or_links(first_sm + len(sms)),
        )
        self.requests = self._make_requests(self._network_site("requests"))
        back = with_ports(domain.partitions.ways_back(sms, domain.banks), ports, sources, 0)
        ahead = config.l2.latency.cycles(config.clock)
        self.replies = Network(
            self._network_site("replies"),
            Ways(banks + ports, len(sms) + sources, longer=back, ahead=ahead),
            ToSms(first_sm, bool(domain.sides)),
        )
        self.banks = self._build_banks(levels, channel)
        way = way_to_dram(self.to_dram)
        if config.walk.memory == "l2":
            way = self._past_the_cache(levels, self._way_to_banks(), way)
        self.own_walks = way
        if ports:
            way = self._walks_anywhere
        self.way = way
        self.walkers = self._build_walkers(table)
        self.translations: Stage = self.walkers
        self.border: SmEnd | None = None

    def _build_walkers(self, table: PageTable) -> Walkers:
        domain, config = self.domain, self.domain.config
        walk, name = config.walk, f"walkers{self._suffix}"
        site = WalkersSite(self.env, walk, config.clock, table, self._apps, name, domain.index)
        if walk.warps is None:
            return Walkers(site, self.way)
        return WarpWalkers(site, self.way, walk.warps, domain.sms)

    def request_network(self, env: Environment) -> Network:
        """A network as that of requests, on another loop, which counts where that does."""
        network = self._make_requests(self._network_site("requests", env))
        network.counters = self.requests.counters
        return network

    @property
    def entrances(self) -> Sequence[Sink]:
        """Where SMs send requests, and then whatever else has entrances."""
        return (self.requests if self.border is None else self.border.requests).entrances

    @property
    def exits(self) -> Sequence[Inbound]:
        """Where replies come to SMs, and then to whatever else has links."""
        return self.replies.links if self.border is None else self.border.replies

    @property
    def walks(self) -> Sink:
        """Where TLBs send what they do not have."""
        return self.translations.requests if self.border is None else self.border.walkers

    def _network_site(self, way: str, env: Environment | None = None) -> NetworkSite:
        config = self.domain.config
        return NetworkSite(
            env or self.env,
            f"crossbar.{way}{self._suffix}",
            config.crossbar,
            config.clock,
            f"crossbar/{way}",
            self.domain.index,
        )

    def _build_banks(self, levels: Levels, channel: Route) -> list[L2Bank]:
        """The banks of the L2 cache; those that keep copies for each other are introduced."""
        domain, l2 = self.domain, self.domain.config.l2
        misses = self._miss_path(channel)
        links, entrances = self.requests.links[: l2.banks], self.replies.entrances[: l2.banks]
        ends = zip(domain.banks, links, entrances, strict=True)
        banks = [
            L2Bank(
                BankSite(
                    self.env, number, l2, domain.config.clock, domain.apps, levels, link, entrance
                ),
                misses,
            )
            for number, link, entrance in ends
        ]
        if l2.copies is not None:
            shift = l2.line.bit_length() - 1
            homes = [bank.misses.homes for bank in banks if isinstance(bank.misses, DramMisses)]
            join_partitions(
                [one for one in homes if isinstance(one, PartitionHomes)],
                l2.partitions,
                lambda address: self._number_of_bank(address >> shift),
                domain.partitions.far,
            )
        return banks

    def _miss_path(self, channel: Route) -> Callable[[L2Bank], MissPath]:
        """What makes the miss path of a bank."""
        fbt = self.fbt
        if fbt is not None:
            shift = fbt.lines_shift
            return partial(TranslatedMisses, channel=channel, table=fbt, lines_shift=shift)
        if self.domain.config.l2.copies is not None:
            return partial(DramMisses, channel=channel, homes=PartitionHomes)
        if self.domain.caches_others:
            return partial(DramMisses, channel=channel, homes=AskedHomes)
        return partial(DramMisses, channel=channel)

    def _home_of(self) -> ToBanks:
        """Which bank the line of a request belongs to."""
        l2 = self.domain.config.l2
        return ToBanks(l2.line.bit_length() - 1, l2.banks, self.hashing)

    def _to_banks(self) -> Packets:
        """What the crossbar asks about the requests of SMs."""
        l2, partitions = self.domain.config.l2, self.domain.partitions
        shift = l2.line.bit_length() - 1
        if self.fbt is not None:
            lines = self.domain.config.memory.page // l2.line
            return ToVirtualBanks(shift, l2.banks, self.hashing, lines)
        if l2.copies is None:
            return self._home_of()
        return ToNearBanks(shift, l2.banks, self.hashing, partitions.of_sm, l2.partitions)

    def _to_banks_or_links(self, first_port: int) -> Packets:
        """Which link of the crossbar requests take, on a node also to and from other GPUs.

        Args:
            first_port: the number of the first port of links, counted as SMs are.
        """
        domain, to_banks = self.domain, self._to_banks()
        if not domain.link_ports:
            return to_banks
        from gpusim.hardware.node import BeyondMemory, ToMemories

        l2 = domain.config.l2
        memory = domain.memory
        beyond = BeyondMemory(memory.start, memory.stop, l2.banks, domain.link_ports)
        return ToMemories(
            to_banks,
            self._home_of(),
            beyond,
            l2.line.bit_length() - 1,
            first_port,
            caching=domain.caches_others,
        )

    def _number_of_bank(self, line: int) -> int:
        hashing, banks = self.hashing, self.domain.config.l2.banks
        return line % banks if hashing is None else hashing.part(line)

    def bank_of(self, line: int) -> L2Bank:
        """The bank that a physical line belongs to."""
        return self.banks[self._number_of_bank(line)]

    def asked_banks(self) -> AskedBanks:
        """The way to the banks for loads of other GPUs, whose L2 caches keep the lines."""
        from gpusim.hardware.node import AskedBanks

        domain, requests = self.domain, self.requests
        asked = [
            bank.misses.homes.asked for bank in self.banks if isinstance(bank.misses, DramMisses)
        ]
        ways = [
            [requests.more if requests.ideal else way for way in one.latencies[: len(asked)]]
            for one in requests.entrances[-domain.link_ports :]
        ]
        return AskedBanks([one for one in asked if one is not None], self._home_of(), ways)

    def drop_line(self, line: int, app: int) -> bool:
        """Drop a line of an application from the L2 cache; returns whether it was there."""
        return self.bank_of(line).lines.remove(line, app) != 0

    def drop_others(self) -> int:
        """Drop all lines of other GPUs' memories; returns how many there were."""
        own, shift = self.domain.memory, self.domain.config.l2.line.bit_length() - 1
        return sum(
            bank.lines.remove_where(lambda line: line << shift not in own) for bank in self.banks
        )

    def offer(self, board: SignalBoard) -> None:
        """Make the probes of its components known."""
        sms = self.domain.sms
        board.offer("walk.arrived", self.walkers.on_admit)
        board.offer("walk.done", self.walkers.on_walk)
        for bank in self.banks:
            board.offer("l2.lookup", bank.on_lookup, sms)
            bank.lines.signals.offer(board, "l2", sms)
        for channel in self.channels:
            board.offer("dram.request", channel.on_request, sms)

    def attach(self, board: SignalBoard) -> None:
        """Hand all policies here their signals."""
        signals = board.at(self.domain.sms)
        self.walkers.attach(signals)
        if self.bypass is not None:
            self.bypass.attach(signals)
        for bank in self.banks:
            bank.attach(signals)
        for channel in self.channels:
            for queue in channel.queues:
                queue.attach(signals)

    def _walks_anywhere(self, read: MemoryRequest) -> Sink:
        """Where a page-table read goes on a node."""
        domain = self.domain
        if read.address in domain.memory:
            return self.own_walks(read)
        assert self.remote_walks is not None
        return self.remote_walks

    def _way_to_banks(self) -> Way:
        """The way of page-table reads into the L2 cache."""
        config = self.domain.config
        if config.walk.sent_by == "sms":
            return way_through_sms(self.requests.entrances, self.domain.sms.start)
        ports = [bank.requests for bank in self.banks]
        return way_to_bank(ports, self._home_of().link)

    def _past_the_cache(self, levels: Levels, bank: Way, channel: Way) -> Way:
        """The way into the cache; a bypass policy that lets some reads past it is wired.

        Reads that SMs send cross the network in any case.
        """
        l2 = self.domain.config.l2
        if self.domain.config.walk.sent_by == "sms":
            network, first = self.requests, self.domain.sms.start
            channel = way_through(lambda read: network.cycles_of(read, read.sm - first), channel)
        self.bypass = bypass = make_policy(Slot.CACHE_BYPASS, l2.bypass)
        if bypass.idle:
            return bank
        return way_with_bypass(self.env, bypass, levels, l2.line, bank, channel)

    def _build_channels(self) -> tuple[list[DramChannel | IdealDramChannel], Route]:
        """The channels, and the route from an address to the one that it belongs to.

        A part's mapping takes addresses as they are: it repeats after as many bytes as its
        channels hold, so it gives every address of the part a place of its own, wherever that
        begins.
        """
        config = self.domain.config
        channels: list[DramChannel | IdealDramChannel] = []
        routes: list[Route] = []
        for part in self.domain.parts:
            count = len(part.channels)
            use = ChannelUse(
                apps=self._apps,
                request_bytes=config.l2.line,
                depth=self._misses() * -(-config.l2.banks // count),
                first=part.channels.start,
                sectored=config.l2.sectored,
            )
            dram = evolve(config.dram, channels=count)
            made, mapping = build_dram(self.env, dram, config.clock, use)
            channels += made
            routes.append(MappedRoute(mapping, self._before(made, mapping, use)))
        if len(routes) == 1:
            return channels, routes[0]
        bases = [part.base for part in self.domain.parts]
        return channels, RoutesByPart(bases, routes)

    def _before(
        self,
        channels: Sequence[DramChannel | IdealDramChannel],
        mapping: AddressMapping,
        use: ChannelUse,
    ) -> list[Port[MemoryRequest]]:
        """What requests to the channels of a part are sent to: slices of a cache, or themselves."""
        config = self.domain.config
        cache = config.dram.memory_side
        if cache is None:
            return [channel.requests for channel in channels]
        site = Slice(
            cache,
            config.clock,
            use.request_bytes,
            mapping.contiguous_bytes,
            use.sectored,
            len(channels),
            use.depth,
            use.apps,
        )
        made = [
            MemorySideCache(self.env, channel.instance, site, channel.requests)
            for channel in channels
        ]
        self.memory_side += made
        return [one.requests for one in made]

    def _misses(self) -> int:
        """What a bank may ask of DRAM at most: its own misses, and those of its twins."""
        l2 = self.domain.config.l2
        return l2.mshrs if l2.copies is None else l2.mshrs * l2.partitions

    @property
    def components(self) -> Sequence[Component]:
        """All of them, from the walkers to DRAM."""
        fbt = () if self.fbt is None else (self.fbt,)
        networks = (self.requests, self.replies)
        return (*fbt, self.walkers, *networks, *self.banks, *self.memory_side, *self.channels)


def nothing_beyond(to_dram: Route) -> Route:
    """All memory lies on the channels."""
    return to_dram


def _bank_hash(l2: L2Config) -> Interleaving | None:
    """How lines are dealt out to the banks of a domain; None: in turn."""
    hashing: Interleaving | None = None
    if l2.hash == RANDOM:
        hashing = RandomInterleaving(l2.banks)
    elif l2.hash is not None:
        hashing = HashedInterleaving(l2.hash, l2.banks)
    if l2.interleave is None:
        return hashing
    return GroupedInterleaving(hashing, l2.banks, bits_for(l2.interleave // l2.line))


class WalkersOfDomains(Sink):
    """The way from a TLB that several domains share to the walkers of each.

    A miss goes to the walkers of its application.  All take the same way: while one of the queues
    behind it is full, nothing passes.

    Args:
        walkers: by application, or what stands before them.
    """

    name = "walkers"

    def __init__(self, walkers: Mapping[int, Stage]) -> None:
        self.ports = {app: each.requests for app, each in walkers.items()}

    @property
    def full(self) -> bool:
        """Whether a sender has to wait."""
        return any(port.full for port in self.ports.values())

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when the first full queue has room."""
        next(port for port in self.ports.values() if port.full).when_free(sender)

    def send(self, item: Translation, extra_cycles: int = 0) -> None:
        """Send a miss on."""
        self.ports[item.app].send(item, extra_cycles)

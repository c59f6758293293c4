"""A node of several GPUs as data: the tables ``[node]`` and ``[node.link]`` of a model file."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.config.field_facts import later
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, maybe_policy_of, policy_of
from gpusim.files.units import Bandwidth, Bytes, Duration, cycles

MOST_GPUS = 64
"""GPUs of a node."""

TOPOLOGIES = ("all-to-all", "ring", "mesh", "switch")


@frozen
class NodeLinkConfig:
    """The links between the GPUs of a node, all alike.

    Attributes:
        bandwidth: of one link, each way.
        latency: of one link, from one end to the other.
        topology: what links join: each GPU with each other one (``"all-to-all"``), with the two
            beside it (``"ring"``), with up to four beside it (``"mesh"``), or with a ``"switch"``,
            so that each way passes two links.
        overhead: bytes of each packet beside its data: header and checksum.
        queue: packets that wait for a link before GPUs stop sending requests into it.
    """

    bandwidth: Bandwidth
    latency: Duration
    topology: str = choice_of(*TOPOLOGIES)
    overhead: Bytes = Bytes(16)
    queue: int = 64


@frozen
class HostMmuConfig:
    """The host's MMU, which knows all pages: a GPU asks it for those that its own table lacks.

    Attributes:
        trip: of a message between a GPU and the host, one way.
        entries: of its TLB, fully associative, whose hits take no time beside the trip.
        walkers: walks of the host's page table at a time.
        latency: of such a walk.
        queue: faults that fit in front of it.
    """

    trip: Duration
    entries: int
    walkers: int
    latency: Duration
    queue: int = 256


@frozen
class MigrationConfig:
    """What it takes that a page moves from one GPU to another one.

    Attributes:
        cost: ``"steps"``: a message to each GPU that may hold the page, whose accesses are drained,
            acknowledgements, and the copy over links; ``"fixed"``: `latency`, and nothing else.
        latency: of all of it, where `cost` is ``"fixed"``.
    """

    cost: str = choice_of("steps", "fixed")
    latency: Duration = cycles(0)


@frozen
class CopyEngineConfig:
    """The copy engines of each GPU of a node.

    Attributes:
        count: copies that they execute at a time.
        bandwidth: of one engine: bytes that it reads, all of which it writes.
        lines: of L1 lines, how many an engine may be reading or writing at a time.
    """

    count: int
    bandwidth: Bandwidth
    lines: int = 1024


@frozen
class NodeConfig:
    """Several GPUs, or the modules of one, each as the rest of the model says, joined by links.

    Attributes:
        gpus: how many there are.
        link: what joins them.
        page_tables: a ``"per-gpu"`` table, in the memory of each GPU, has the pages that the GPU
            has asked for; a ``"shared"`` one has all, and its parts lie where they were needed
            first.
        blocks: policy: which GPU runs which blocks of a launch.
        placement: policy: in whose memory a page lies at first.
        remote: policy: which pages move to a GPU that uses them from afar.
        host_mmu: what a GPU asks for pages that its own table lacks; None: it has them at once.
        migration: what a move takes; None: all its steps.
        caching: which L2 caches keep a line that other GPUs load: that of the GPU in whose memory
            it lies (``"home"``), or the ``"reader"``'s as well, until the next launch begins.
        copy_engines: which execute copies of programs; None: SMs do, as a kernel.
        invalidation: policy: which GPUs forget a page that moves, and when their tables' entries
            are written; None: those that have it, at once.
        forwarding: policy: which far faults go to the host without a walk, and which are walked by
            another GPU as well; None: none.
    """

    gpus: int
    link: NodeLinkConfig
    page_tables: str = choice_of("per-gpu", "shared")
    blocks: PolicyConfig = policy_of(Slot.BLOCK_SHARES, "contiguous")
    placement: PolicyConfig = policy_of(Slot.PAGE_PLACEMENT, "first-touch")
    remote: PolicyConfig = policy_of(Slot.REMOTE_PAGES, "direct")
    host_mmu: HostMmuConfig | None = None
    migration: MigrationConfig | None = None
    copy_engines: CopyEngineConfig | None = None
    invalidation: PolicyConfig | None = maybe_policy_of(Slot.INVALIDATION)
    forwarding: PolicyConfig | None = maybe_policy_of(Slot.FORWARDING)
    caching: str = later(choice_of("home", "reader"))

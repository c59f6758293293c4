"""A node of several GPUs as data: the tables ``[node]`` and ``[node.link]`` of a model file."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_of
from gpusim.files.units import Bandwidth, Bytes, Duration

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
class NodeConfig:
    """Several GPUs, or the modules of one, each as the rest of the model says, joined by links.

    Attributes:
        gpus: how many there are.
        link: what joins them.
        page_tables: a ``"per-gpu"`` table, in the memory of each GPU, has the pages that the GPU
            has asked for; a ``"shared"`` one has all, and its parts lie where they were needed
            first.
        blocks: policy: which GPU runs which blocks of a launch.
        placement: policy: in whose memory a page lies.
    """

    gpus: int
    link: NodeLinkConfig
    page_tables: str = choice_of("per-gpu", "shared")
    blocks: PolicyConfig = policy_of(Slot.BLOCK_SHARES, "contiguous")
    placement: PolicyConfig = policy_of(Slot.PAGE_PLACEMENT, "first-touch")

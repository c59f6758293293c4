"""What moves of pages see of a node: its pages, and each GPU."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Dict
from typing import Protocol

from attrs import frozen

from gpusim.config.node import MigrationConfig
from gpusim.core.engine import EventLoop
from gpusim.core.mapping import Mapping
from gpusim.files.units import Hertz
from gpusim.hardware.node.accesses import AccessesUnderWay
from gpusim.hardware.node.forwarding import Forwarding
from gpusim.hardware.node.gateway import Gateway
from gpusim.hardware.node.invalidation import Invalidation


class NodePages(Protocol):
    """The pages of a node, as far as moves need them (see `gpusim.hardware.walk.NodeTable`)."""

    def touch(self, tag: int, gpu: int) -> Mapping:
        """What covers a page, which is placed now if `gpu` is the first that asks for it."""

    def gpu_of(self, pfn: int) -> int:
        """The GPU in whose memory a frame lies."""

    def with_host(self, pfn: int) -> bool:
        """Whether a frame lies in the host's memory, and in that of no GPU."""

    def find(self, tag: int) -> Mapping | None:
        """What covers a page now, if anything does."""

    def move(self, mapping: Mapping, gpu: int) -> bool:
        """Give a page a frame of a GPU, and its copies up; False: there is no frame."""

    def page_bytes(self, mapping: Mapping) -> int:
        """Bytes of a page."""

    def of_gpu(self, tag: int, gpu: int) -> Mapping | None:
        """What a GPU's table may have of a page: its copy, or what all have."""

    def copies(self, tag: int) -> Dict[int, Mapping]:
        """What GPUs have copies of a page in; `tag`: its first page."""

    def unshare(self, mapping: Mapping) -> None:
        """A page has no copies any more, and may be written where it lies."""

    def copy(self, mapping: Mapping, gpu: int) -> bool:
        """Give a GPU a copy of a page, read only from now on; False: there is no room for it."""


@frozen(eq=False, repr=False)
class GpuSide:
    """One GPU, as moves of pages see it.

    Attributes:
        gateway: to its links.
        accesses: under way, of its SMs.
        forget: whatever holds a page there forgets it.
        enter: puts a page into its table.
    """

    gateway: Gateway
    accesses: AccessesUnderWay
    forget: Callable[[Mapping], None]
    enter: Callable[[Mapping], None]


@frozen(eq=False, repr=False)
class MoveSite:
    """Where moves of pages stand in a node.

    Attributes:
        env: the environment.
        clock: of the core.
        apps: applications that share the machine.
        trip: cycles of a message between a GPU and the host.
        config: what a move takes; None: all its steps.
        drop: caches forget the lines of a page.
        invalidation: which GPUs are asked to forget a page, and when their entries are written;
            None: those that have it, at once.
        forwarding: learns which GPU's table has which page; None: nothing does.
        paged: whether pages come from the host, and leave for it.
        shared: whether all GPUs walk one table, so that any of them may have a page in its TLBs.
    """

    env: EventLoop
    clock: Hertz
    apps: int
    trip: int
    config: MigrationConfig | None
    drop: Callable[[Mapping], None]
    invalidation: Invalidation | None = None
    forwarding: Forwarding | None = None
    paged: bool = False
    shared: bool = False

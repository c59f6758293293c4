"""What a channel announces of a request whose data is known."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.core.warp_program import SECTOR_BYTES, SECTORS
from gpusim.hardware.dram.waiting import Waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class Completion:
    """A request to DRAM whose data is known: what the signal ``dram.request`` carries.

    It is made for listeners only, after the request was served; nothing of the channel reads it.

    Args:
        channel: which served it.
        waiting: the request, as it waited there.
        issued: core cycle of its first command.
        finished: core cycle in which its data ends.
        whole_bytes: bytes that each request of the channel moves; 0: those of its sectors.

    Attributes:
        channel: number of the channel, over the whole GPU.
        bank: number of the bank in its channel.
        row: number of the row in its bank.
        kind: load, write-back, …, a `gpusim.core.request.Kind`.
        app: index of the application.
        depth: level of the page table that it reads, 1 is the root; 0: data.
        accepted: core cycle in which the channel accepted it.
        issued: core cycle of its first command.
        finished: core cycle in which its data ends.
        address: physical byte address.
        request: itself.
        sectors: bit mask of the sectors of 32 bytes that were moved, from there on.
    """

    __slots__ = (
        "accepted",
        "address",
        "app",
        "bank",
        "channel",
        "depth",
        "finished",
        "issued",
        "kind",
        "request",
        "row",
        "sectors",
    )

    def __init__(
        self, channel: int, waiting: Waiting, issued: int, finished: int, whole_bytes: int = 0
    ) -> None:
        request = waiting.request
        self.request = request
        self.channel = channel
        self.bank = waiting.bank
        self.row = waiting.row
        self.kind = request.kind
        self.app = request.app
        self.depth = request.depth
        self.accepted = waiting.accepted
        self.issued = issued
        self.finished = finished
        self.address = request.address
        self.sectors = (1 << -(-whole_bytes // SECTOR_BYTES)) - 1 or request.sectors & SECTORS

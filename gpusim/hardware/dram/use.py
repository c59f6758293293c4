"""What a machine asks of its DRAM channels."""

from __future__ import annotations

from attrs import frozen


@frozen(eq=False, repr=False)
class ChannelUse:
    """What is alike for all requests to some channels.

    Attributes:
        apps: number of applications, for counters.
        request_bytes: bytes that each request moves, such as an L2 line, which lie in one row;
            0: one burst.
        depth: requests that fit into the port of a channel, those under way included.
        first: number of the first channel, where these are a part of the machine's.
        sectored: whether a request moves the bursts that its sectors lie in, not `request_bytes`.
    """

    apps: int = 1
    request_bytes: int = 0
    depth: int = 16
    first: int = 0
    sectored: bool = False

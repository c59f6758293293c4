"""What a shootdown takes, as data: the table ``[shootdown]`` of a model file."""

from __future__ import annotations

from attrs import frozen

from gpusim.files.units import Duration, Hertz, cycles


@frozen
class ShootdownConfig:
    """A shootdown as what asks for it sees it: an operating system, or the driver of the host.

    It goes on when all of this has passed; warps pay for what they have to translate again.

    Attributes:
        message: from the request to the cycle in which TLBs and walks forget the page.
        drain: until accesses that were translated before have ended.
        acknowledge: the way back.
    """

    message: Duration = cycles(0)
    drain: Duration = cycles(0)
    acknowledge: Duration = cycles(0)

    def parts(self, clock: Hertz) -> tuple[int, int]:
        """Cycles before the page is forgotten, and from then until it is acknowledged."""
        return self.message.cycles(clock), self.drain.cycles(clock) + self.acknowledge.cycles(clock)


def shootdown_parts(config: ShootdownConfig | None, clock: Hertz) -> tuple[int, int]:
    """`ShootdownConfig.parts` of a machine; without a table all of it happens in one cycle."""
    return (0, 0) if config is None else config.parts(clock)

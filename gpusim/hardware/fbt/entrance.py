"""The port for misses of L2 banks: on to the first TLB, whose answers go to the table."""

from __future__ import annotations

from gpusim.core.engine import EventLoop, Port, Sink, Wakeable
from gpusim.core.request import Translation, VirtualRequest
from gpusim.core.unboxed import pair
from gpusim.hardware.fbt.inputs import Miss
from gpusim.hardware.fbt.shootdowns import Shootdowns


class Entrance(Sink):
    """Makes a translation of each miss.

    Args:
        env: the clock of the machine.
        shootdowns: each translation remembers how many there were when it began.
        translated: where it comes back.
        state: of a warp whose translation is at the TLBs.

    Attributes:
        tlb: the port of the first TLB.
    """

    __slots__ = ("_env", "_shootdowns", "_state", "_translated", "name", "tlb")

    def __init__(
        self, env: EventLoop, shootdowns: Shootdowns, translated: Port[Miss], state: int
    ) -> None:
        self.name = "fbt"
        self.tlb: Port[Translation] = Port(env, "unconnected")
        self._env = env
        self._shootdowns = shootdowns
        self._translated = translated
        self._state = state

    @property
    def full(self) -> bool:
        """Whether a miss has to wait for room in front of the first TLB."""
        return self.tlb.full

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when there is room."""
        self.tlb.when_free(sender)

    def send(self, item: VirtualRequest, extra_cycles: int = 0) -> None:
        """Send a miss to the first TLB, which is not full, `extra_cycles` from now."""
        start = self._env._now + extra_cycles
        miss = Miss(item, self._shootdowns.number, pair(self._state, start))
        miss.return_to(self._translated)
        item.follow(miss, start)
        self.tlb.send(miss, extra_cycles)

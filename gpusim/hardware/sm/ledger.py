"""Where the cycles went: every warp is in exactly one state in every cycle of its life."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.cut import KeptPieces, Pieces, Trailed
from gpusim.core.engine import Probe
from gpusim.core.states import State
from gpusim.core.unboxed import IntList, zeros
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.hardware.sm.root_waits import RootWaits


@mypyc_attr(allow_interpreted_subclasses=True)
class Accountable:
    """Something whose cycles are accounted for: a warp.

    Attributes:
        uid: number of the warp, in the order in which warps started on the GPU.
        warp_slot: warp slot on its SM.
        app: index of its application.
        state: what it does since cycle `since`.
        born: cycle in which its life began.
    """

    __slots__ = ("app", "born", "since", "state", "uid", "warp_slot")

    def __init__(self, uid: int, warp_slot: int, app: int, state: int, now: int) -> None:
        self.uid = uid
        self.warp_slot = warp_slot
        self.app = app
        self.state = state
        self.since = now
        self.born = now


class BookedPieces(Pieces):
    """Pieces whose cycles are added to the sums of their states, and of what is to blame."""

    __slots__ = ("_l2_waits", "_root_waits", "_sums")

    def __init__(self, sums: IntList, l2_waits: L2Waits, root_waits: RootWaits) -> None:
        self._sums = sums
        self._l2_waits = l2_waits
        self._root_waits = root_waits

    def add(self, state: int, begin: int, end: int) -> None:
        self._sums[state] += end - begin

    def blame(self, state: int, blame: int, cycles: int) -> None:
        self._l2_waits.add(state, blame, cycles)

    def root(self, state: int, root: int, cycles: int) -> None:
        self._root_waits.add(state, root, cycles)


class Ledger:
    """Sums of warp-cycles by application and state for one SM, and the exact intervals.

    Attributes:
        l2_waits: ``l2_waits[app]``: of what is booked, the warp-cycles behind and at stalled banks.
        root_waits: ``root_waits[app]``: of what is booked, those for what others held.
        lifetimes: ``lifetimes[app]``: lives of all warps that have ended, in cycles; equal to the
            sum over states at the end of a run.
        on_interval: SM, warp, warp slot, app, state, from, to.
    """

    __slots__ = ("_sums", "_waits", "l2_waits", "lifetimes", "on_interval", "root_waits", "sm")

    def __init__(
        self,
        sm: int,
        apps: int,
        states: int,
        on_interval: Probe[[int, int, int, int, int, int, int]],
    ) -> None:
        self.sm = sm
        self._sums = [zeros(states) for _ in range(apps)]
        self.l2_waits = [L2Waits() for _ in range(apps)]
        self.root_waits = [RootWaits() for _ in range(apps)]
        self._waits = [
            BookedPieces(self._sums[app], self.l2_waits[app], self.root_waits[app])
            for app in range(apps)
        ]
        self.lifetimes = [0] * apps
        self.on_interval = on_interval

    @property
    def sums(self) -> list[list[int]]:
        """``sums[app][state]`` up to now, in warp-cycles."""
        return [list(sums) for sums in self._sums]

    def add_states(self, count: int) -> None:
        """Keep sums of `states` further states."""
        for sums in self._sums:
            for _ in range(count):
                sums.append(0)

    def enter(self, warp: Accountable, state: int, now: int) -> None:
        """From `now` on, `warp` is in `state`; what it did until now is booked."""
        before = warp.state
        if before == state:
            return
        since = warp.since
        if since != now:
            sums = self._sums[warp.app]
            sums[before] += now - since
            if self.on_interval.listeners:
                self._tell(warp, before, since, now)
            warp.since = now
        warp.state = state

    def enter_after_wait(self, warp: Accountable, state: int, now: int, cause: Trailed) -> None:
        """From `now` on, `warp` is in `state`; its wait is booked by the trail of `cause`."""
        cause.cut(warp.since, now, self._waits[warp.app])
        if self.on_interval.listeners:
            kept = KeptPieces()
            cause.cut(warp.since, now, kept)
            for piece, begin, end in reversed(kept.pieces):
                self._tell(warp, piece, begin, end)
        warp.state = state
        warp.since = now

    def end(self, warp: Accountable, now: int) -> None:
        """The life of `warp` ends."""
        self.enter(warp, -1, now)
        self.lifetimes[warp.app] += now - warp.born

    def _tell(self, warp: Accountable, state: int, begin: int, end: int) -> None:
        self.on_interval(self.sm, warp.uid, warp.warp_slot, warp.app, state, begin, end)


WAITING: Final = int(State.CACHE)
"""Provisional state of a warp that waits for memory; the trail says later what it waited for."""

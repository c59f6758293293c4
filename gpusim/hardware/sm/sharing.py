"""How several applications share the SMs of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.files.units import Hertz, parse_duration


@frozen(eq=False, repr=False)
class Slice:
    """A time in which one application has the GPU.

    Attributes:
        app: which one.
        cycles: how long, if others wait for it; it goes on while none does.
        switch: cycles before it if another application had the GPU, in which none places blocks.
    """

    app: int
    cycles: int
    switch: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SmSharing(Policy):
    """Decides which SMs applications have, how much of each, and when.

    Args:
        clock: of the SMs, in Hz.
    """

    def __init__(self, clock: Hertz) -> None:
        self.clock = clock

    def shares_sms(self) -> bool:
        """Whether each application may have blocks on every SM; else SMs are dealt out."""
        return False

    def threads(self, share: float | None, threads: int) -> int:
        """Threads of an SM that the blocks of one application may take together.

        Args:
            share: what its workload says of it; None: nothing.
            threads: of the SM.
        """
        return threads

    def next_slice(self, last: int, waiting: Sequence[int]) -> Slice | None:
        """Which application has the GPU next, and how long; None: all have it, all the time.

        Args:
            last: the application that had it last; -1: none.
            waiting: those that have blocks to place or in residence, in order; at least one.
        """
        return None


open_slot(Slot.SM_SHARING, SmSharing, "clock")


@mypyc_attr(allow_interpreted_subclasses=True)
class DividedSms(SmSharing):
    """Each application has SMs of its own, as many as its share."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MultiProcessService(SmSharing):
    """Blocks of all applications are placed on all SMs, as NVIDIA's Multi-Process Service does.

    An application with a `share` in its workload has that part of the threads of each SM at most.

    Args:
        clock: of the SMs, in Hz.
        active_thread_percentage: of the threads of each SM that an application without a share has
            at most, as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE [NVIDIA, Multi-Process Service].
    """

    def __init__(self, clock: Hertz, *, active_thread_percentage: int = 100) -> None:
        super().__init__(clock)
        at_least(1, active_thread_percentage=active_thread_percentage)
        if active_thread_percentage > 100:
            raise OptionError("active_thread_percentage", "must be at most 100")
        self._share = active_thread_percentage / 100

    def shares_sms(self) -> bool:
        return True

    def threads(self, share: float | None, threads: int) -> int:
        return int((self._share if share is None else share) * threads)


@mypyc_attr(allow_interpreted_subclasses=True)
class TimeSlices(SmSharing):
    """The whole GPU belongs to one application at a time; those that have work take turns.

    At the end of its slice an application places no more blocks; the next one begins when those in
    residence have ended, so that blocks of two are never on the GPU together.

    Args:
        clock: of the SMs, in Hz.
        length: of a slice, in us, ns or cycles; 1024 us: NVIDIA's open-gpu-kernel-modules.
        switch: what it takes to go to another application [our choice: nothing, as no context is
            saved].
    """

    def __init__(self, clock: Hertz, *, length: str = "1024us", switch: str = "0 cycles") -> None:
        super().__init__(clock)
        self._length = _cycles("length", length, clock)
        self._switch = _cycles("switch", switch, clock)
        if not self._length:
            raise OptionError("length", "must be at least one cycle")

    def shares_sms(self) -> bool:
        return True

    def next_slice(self, last: int, waiting: Sequence[int]) -> Slice | None:
        later = [app for app in waiting if app > last]
        app = later[0] if later else waiting[0]
        return Slice(app, self._length, self._switch)


def _cycles(option: str, text: str, clock: Hertz) -> int:
    try:
        return parse_duration(text).cycles(clock)
    except ValueError as error:
        raise OptionError(option, str(error)) from error


register_policy(Slot.SM_SHARING, "by-sm", DividedSms)
register_policy(Slot.SM_SHARING, "mps", MultiProcessService)
register_policy(Slot.SM_SHARING, "time-slices", TimeSlices)

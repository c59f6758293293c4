"""Blocks of a trace, each on the SM on which it was traced."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, policy
from gpusim.core.warp_program import Launch
from gpusim.hardware.sm.block_placement import Fits, RoundRobinPlacement


@runtime_checkable
class RecordedPlacement(Protocol):
    """What a launch can tell whose blocks ran somewhere before: a launch of a trace."""

    def recorded_sm(self, block: int) -> int | None:
        """The SM on which a block ran; None: not recorded."""


@policy(Slot.BLOCK_SCHEDULER, "recorded")
class RecordedSm(RoundRobinPlacement):
    """Each block goes where it ran when it was traced, and waits until there is room.

    Blocks of which that is not known are placed round-robin [our choice].
    """

    def pick(self, launch: Launch, block: int, count: int, fits: Fits) -> int | None:
        sm = launch.recorded_sm(block) if isinstance(launch, RecordedPlacement) else None
        if sm is None:
            return super().pick(launch, block, count, fits)
        if sm >= count:
            raise UserError(
                f"block {block} of kernel {launch.name!r} was recorded on SM {sm}, but its "
                f'application has {count} (sm.count); block_scheduler = "round-robin" ignores that'
            )
        return sm if fits(sm) else None

"""The outcome of a rule by which an application is stopped before it ends."""

from __future__ import annotations

from attrs import frozen


@frozen
class Stop:
    """What became of the stop rule of an application.

    Attributes:
        app: its name.
        rule: as it was written.
        met: whether it was met; otherwise the application ended before.
        cycle: in which its first run ended, one way or the other.
        instructions: warp instructions that it had issued.
        warps: warps that were in residence; what they had under way is in no counter of an answer.
    """

    app: str
    rule: str
    met: bool
    cycle: int
    instructions: int
    warps: int

    def __str__(self) -> str:
        if not self.met:
            return f"{self.app}: ended before {self.rule} was met; its numbers are of the whole"
        return (
            f"{self.app}: a part of the program: stopped by {self.rule} in cycle {self.cycle:,}, "
            f"after {self.instructions:,} warp instructions, with {self.warps} warps under way"
        )

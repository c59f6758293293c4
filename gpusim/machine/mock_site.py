"""A stand-in for the machine around a policy that is made only to check it or count its storage."""

from __future__ import annotations

from gpusim.config.schema import StageConfig
from gpusim.core.engine import Environment, Port
from gpusim.core.request import Translation
from gpusim.core.stage import StageSite
from gpusim.hardware.walk import FirstTouchFrames, Memory, PageTable
from gpusim.machine.pages import Pages

SOME_FRAMES = 1024
SOME_PAGE = 4096
"""A memory that policies are made with."""


def trial_site(name: str, stage: StageConfig) -> StageSite:
    """A site for a stage of translation that is in no machine."""
    env = Environment()
    frames = FirstTouchFrames(SOME_FRAMES, 0)
    pages = Pages(PageTable(SOME_PAGE, 4, [Memory(SOME_PAGE, SOME_PAGE << 12, frames)]))
    below: Port[Translation] = Port(env, "below")
    return StageSite(env, name, name, 0, below, 0, 0, 1, (0,), pages, stage.queue, 0)

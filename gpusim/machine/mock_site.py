"""A stand-in for the machine around a policy that is made only to check it or count its storage."""

from __future__ import annotations

from gpusim.config.schema import MemoryConfig, StageConfig
from gpusim.core.engine import Environment, Port
from gpusim.core.request import Translation
from gpusim.core.stage import StageMemory, StageSite
from gpusim.hardware.walk import FirstTouchFrames, Memory, PageTable, TableSite
from gpusim.machine.pages import Pages

SOME_FRAMES = 1024
SOME_PAGE = 4096
SOME_BYTES = 1 << 46
"""A memory that policies are made with; tables of any size fit."""


def trial_table_site(memory: MemoryConfig) -> TableSite:
    """A site for a layout of page tables of a machine with this memory, that is in none."""
    some = Memory(SOME_PAGE, SOME_BYTES, FirstTouchFrames(SOME_FRAMES, 0))
    return TableSite(
        memory.page.bit_length() - 1,
        memory.levels,
        memory.table_entries,
        memory.size // memory.page,
        lambda _: 0,
        lambda _, size: some.reserve(size),
    )


def trial_site(name: str, stage: StageConfig) -> StageSite:
    """A site for a stage of translation that is in no machine."""
    env = Environment()
    memory = Memory(SOME_PAGE, SOME_BYTES, FirstTouchFrames(SOME_FRAMES, 0))
    pages = Pages(PageTable(SOME_PAGE, 4, [memory]))
    below: Port[Translation] = Port(env, "below")
    return StageSite(
        env,
        name,
        name,
        0,
        below,
        0,
        0,
        1,
        (0,),
        pages,
        stage.queue,
        0,
        memory=StageMemory(lambda _: below, memory.reserve, 5),
    )

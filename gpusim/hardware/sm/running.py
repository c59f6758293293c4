"""Launches under way, and what became of those that are over."""

from __future__ import annotations

from attrs import define

from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import Launch


@define(eq=False, repr=False)
class LaunchRecord:
    """What became of one launch.

    Attributes:
        app: index of the application.
        index: number of the launch within it.
        kernel: its name.
        blocks: that were placed.
        begin: cycle of the launch.
        end: cycle in which its last block had ended.
        work_begin: cycle from which on blocks were placed: `begin` and what a launch takes.
        stream: its stream; 0 is the default one.
        gpu: the GPU that it names, of those of its application; -1: all.
    """

    app: int
    index: int
    kernel: str
    blocks: int
    begin: int
    end: int
    work_begin: int
    stream: int
    gpu: int = -1


class Running:
    """A launch that is under way.

    Args:
        launch: it.
        record: what becomes of it.
        blocks: that an SM holds at once if it holds no others.

    Attributes:
        total: blocks to place.
        next: the first block that has not been placed.
        resident: blocks that have been placed and have not ended.
        works: whether blocks may be placed: what a launch takes has passed.
    """

    __slots__ = ("blocks", "launch", "next", "record", "resident", "total", "works")

    def __init__(self, launch: Launch, record: LaunchRecord, blocks: int) -> None:
        self.launch = launch
        self.record = record
        self.blocks = blocks
        self.total = launch.blocks
        self.next = 0
        self.resident = 0
        self.works = False

    def is_over(self) -> bool:
        """Whether all its blocks have been placed, and have ended."""
        return self.next >= self.total and not self.resident


class RunningCall(Running):
    """A call of the host that is under way.

    Args:
        call: it.
        record: what becomes of it.

    Attributes:
        call: it.
        done: whether all its pieces are mapped or unmapped.
    """

    __slots__ = ("call", "done")

    def __init__(self, call: MappingCall, record: LaunchRecord) -> None:
        super().__init__(call, record, 0)
        self.call = call
        self.done = False

    def is_over(self) -> bool:
        return self.done

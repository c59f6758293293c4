"""A program, "tests.studies.reproduce.gated:Gated", that waits for a test when it is run."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from gpusim.core.warp_program import Buffer, Launch
from gpusim.programs.catalog import program
from tests.studies.sweep.faulty import the_gate


@frozen
class Nothing:
    """It has no parameters."""


@program("gated", Nothing)
class Gated:
    """Has no launches, but looks for one until the gate is open."""

    name = "gated"
    buffers: tuple[Buffer, ...] = ()

    def __init__(self, parameters: Nothing, seed: int) -> None:
        pass

    def launches(self) -> Iterator[Launch]:
        gate = the_gate()
        gate.arrive()
        gate.pass_through()
        yield from ()

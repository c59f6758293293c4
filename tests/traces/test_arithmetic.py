"""What a warp's arithmetic costs beside issue cycles, by hand."""

from __future__ import annotations

import pytest

from gpusim.core.warp_program import Asked, Op, Unit
from gpusim.traces.arithmetic import ArithmeticPipeline, unit_of
from gpusim.traces.warps import WarpTrace

ASKED = Asked(frozenset({Op.UNITS, Op.DELAY}), latency=(4, 4, 8, 20, 12), interval=(1, 1, 4, 8, 2))


def told(*instructions: tuple[Unit | None, int, int], needed: int = -1) -> list[tuple[str, int]]:
    """What instructions (unit, register read, register written) cost before one that needs some."""
    pipeline, trace = ArithmeticPipeline(ASKED), WarpTrace()
    for unit, read, written in instructions:
        pipeline.issue(unit, (read, written), (written,))
    pipeline.settle(trace, (needed,))
    return [(Op(op).name, argument) for op, argument in trace.tail]


def test_independent_instructions_cost_their_issue_cycles() -> None:
    assert told((Unit.FP32, 0, 1), (Unit.FP32, 0, 2), (Unit.INTEGER, 0, 3)) == []


def test_each_of_a_chain_waits_for_the_one_before() -> None:
    """They issue in cycles 0, 4 and 8; the next instruction could in 9, not in 3."""
    chain = (Unit.FP32, 1, 1)
    assert told(chain, chain, chain) == [("DELAY", 6)]


def test_what_comes_after_waits_for_the_register_that_it_names() -> None:
    assert told((Unit.FP32, 0, 1), needed=1) == [("DELAY", 3)]
    assert told((Unit.FP32, 0, 1), needed=2) == []


def test_a_unit_that_takes_longer_keeps_the_port() -> None:
    """Three of 4 cycles each take 12 of the port; the last issues in 8."""
    assert told((Unit.FP64, 0, 1), (Unit.FP64, 0, 2), (Unit.FP64, 0, 3)) == [("UNITS", 9)]


def test_other_instructions_go_between() -> None:
    mixed = [(Unit.FP64, 0, 1), *[(Unit.INTEGER, 0, 2 + i) for i in range(3)]]
    assert told(*mixed) == []


def test_control_has_no_unit_and_no_result() -> None:
    assert told((None, 0, 1), needed=1) == []


@pytest.mark.parametrize(
    ("opcode", "unit"),
    [
        ("IADD3", Unit.INTEGER),
        ("FFMA", Unit.FP32),
        ("IMAD", Unit.FP32),
        ("DFMA", Unit.FP64),
        ("MUFU", Unit.SPECIAL),
        ("HMMA", Unit.TENSOR),
        ("BRA", None),
        ("UIADD3", None),
    ],
)
def test_units_of_opcodes(opcode: str, unit: Unit | None) -> None:
    assert unit_of(opcode) is unit

"""What a warp's arithmetic costs beside issue cycles, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.warp_program import Asked, Op, Unit
from gpusim.traces.arithmetic import ArithmeticPipeline, unit_of
from gpusim.traces.warps import WarpTrace
from tests.traces.writing import EXIT, block, header, write

ASKED = Asked(frozenset({Op.UNITS, Op.DELAY}), latency=(4, 4, 8, 20, 12), interval=(1, 1, 4, 8, 2))


def told(*instructions: tuple[Unit | None, int, int], needed: int = 9) -> list[tuple[str, int]]:
    """What instructions (unit, register read, register written) cost before one that needs some."""
    pipeline, trace = ArithmeticPipeline(ASKED), WarpTrace()
    for unit, read, written in instructions:
        pipeline.issue(-1 if unit is None else unit, (read, written), (written,))
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


@pytest.mark.parametrize("warps", [1, 2])
def test_arithmetic_behind_the_last_access_takes_its_time(tmp_path: Path, warps: int) -> None:
    """A V100 issues dependent FP32 instructions 4 cycles apart, others 2: its lanes are 16."""
    lines = ["0000 ffffffff 1 R4 FFMA 2 R4 R5 0 0"] * 100
    cycles = {}
    for name, code in (("chain", lines), ("free", [x.replace("1 R4", "0") for x in lines])):
        text = header(block__dim=f"({32 * warps},1,1)") + block([[*code, EXIT]] * warps)
        path = write(tmp_path / f"{name}.traceg", text)
        model = gpusim.load_model("v100", overrides={"sm.count": 1})
        result = gpusim.simulate(model, gpusim.load_workload(str(path)))
        cycles[name] = result.summary["cycles"]
    assert cycles["chain"] - cycles["free"] == (4 - 2) * 99


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

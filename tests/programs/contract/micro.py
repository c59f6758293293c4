"""Microbenchmarks: what their warps do."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tests.programs.contract.entries import LANES, Arrays, Operation, Refused, Run, Warp, compute

IN_STEP: dict[str, dict[str, object]] = {
    "atomic_adds": {},
    "bandwidth": {"operation": "triad"},
    "chase": {"sms": 3},
    "launches": {},
}


def nothing(_: Arrays) -> Arrays:
    """What is not written."""
    return {}


def added(returning: bool) -> Run:
    """No addition is lost."""

    def results(_: Arrays) -> dict[str, Any]:
        def check(words: NDArray[Any]) -> None:
            assert words[::2].sum() == 3 * 40 * 2
            assert not words[1::2].any()

        return {"words": check}

    return Run(
        "atomic_adds",
        {**ADDS, "returning": returning},
        launches=["add"],
        arrays=["words"],
        results=results,
    )


ADDS = {"cells": 5, "stride": 8, "blocks": 3, "threads": 40, "times": 2}


def atomics(*expected: str) -> Any:
    def check(operations: list[Operation]) -> None:
        assert [op for op, _, _ in operations] == list(expected)

    return check


def words_far_apart(operations: list[Operation]) -> None:
    assert operations[0][2] == [512 * lane % (1 << 17) for lane in LANES]


def apart(step: int) -> Any:
    """Lanes that are `step` elements apart; their eight loads are four elements apart."""

    def check(operations: list[Operation]) -> None:
        loads = [lanes for op, _, lanes in operations if op == "LOAD"]
        assert loads[0] == [step * lane for lane in LANES]
        assert [lanes[0] for lanes in loads] == [0, 4, 8, 12, 20, 16, 24, 28]

    return check


def in_rows(operations: list[Operation]) -> None:
    """Two neighbours, in rows 100 elements apart, from the second row on."""
    assert operations[0][2] == [lane % 2 + 100 * (lane // 2 + 1) for lane in LANES]


def round_and_round(operations: list[Operation]) -> None:
    loads = [lanes for op, _, lanes in operations if op == "LOAD"]
    assert len(loads) == 32
    assert loads[:16] == loads[16:]


def begins_at(element: int) -> Any:
    def check(operations: list[Operation]) -> None:
        assert operations[0][2][0] == element

    return check


GOING_ON = {"footprint": 4096, "blocks": 2, "threads": 32, "piece": 1024, "warm": 3}
TOGETHER = {"footprint": 4096, "blocks": 3, "threads": 32, "piece": 8192, "together": True}
CHASE = ["pages", "warm", "lead", "chase"]

RUNS = [
    added(returning=False),
    added(returning=True),
    Run(
        "launches",
        {"count": 3, "blocks": 2, "threads": 64},
        launches=["empty"] * 3,
        results=nothing,
    ),
    *(
        Run(
            "bandwidth",
            {"footprint": 65536, "operation": operation, "blocks": 8, "threads": 64, "piece": 8192},
            launches=["warm", "stream"],
            results=nothing,
        )
        for operation in ("read", "write", "triad")
    ),
    Run(
        "chase",
        {"footprint": 4096, "warm": 0, "lead": 0, "loads": 3},
        launches=CHASE,
        arrays={"nodes": 4096},
        results=nothing,
    ),
    Run(
        "chase",
        {"footprint": 8192, "stride": 64, "loads": 8, "lead": 64, "warm": 100},
        seed=1,
        launches=CHASE,
        results=nothing,
    ),
    Run("strides", {"rounds": 1}, launches=["strides"], arrays=["array"], results=nothing),
]
WARPS = [
    Warp(
        "atomic_adds", ADDS, geometry=("add", 3, 40, 16, 0), operations=atomics("REDUCE", "REDUCE")
    ),
    Warp(
        "atomic_adds",
        {**ADDS, "returning": True},
        operations=atomics("ATOMIC", "WAIT", "ATOMIC", "WAIT"),
    ),
    Warp(
        "launches",
        {"count": 3, "blocks": 2, "threads": 64},
        geometry=("empty", 2, 64, 8, 0),
        operations=[compute(1)],
    ),
    Warp(
        "bandwidth",
        {"footprint": 1 << 20, "stride": 4096, "threads": 32},
        operations=words_far_apart,
    ),
    Warp("strides", {"stride": 3, "rounds": 1}, operations=apart(3)),
    Warp("strides", {"width": 2, "pitch": 100, "word": 8, "rounds": 1}, operations=in_rows),
    Warp("bandwidth", TOGETHER, operations=round_and_round),
    Warp("bandwidth", TOGETHER, block=2, operations=begins_at(0)),
    *(
        Warp(
            "bandwidth",
            {**GOING_ON, "together": together},
            launch=launch,
            block=block,
            operations=begins_at(begin),
        )
        for together, launch, begins in (
            *((False, 0, [0, 128]), (False, 1, [384, 0])),
            *((True, 0, [0, 128]), (True, 1, [0, 0])),
        )
        for block, begin in enumerate(begins)
    ),
    Warp(  # nothing need be warm
        program="chase",
        parameters={"footprint": 4096, "warm": 0, "lead": 0, "loads": 3},
        launch=1,
        geometry=("warm", 1, 256, 16, 0),
        operations=[],
    ),
    Warp(  # a chain longer than the lead is measured cold
        program="chase",
        parameters={"footprint": 8192, "stride": 64, "loads": 8, "lead": 64, "warm": 100},
        launch=2,
        geometry=("lead", 1, 32, 16, 0),
        operations=[],
    ),
]
REFUSED = [
    Refused(program, {key: value}, message=message)
    for program, key, value, message in (
        ("chase", "stride", 12, "'stride' must be a multiple of 8"),
        ("chase", "order", "randm", "'order' must be in"),
        ("chase", "cut", 1 << 20, "'cut' must be from 0 to 8191"),
        ("chase", "skew", 4, "'skew' must be a multiple of 8: 4"),
        ("bandwidth", "operation", "copy", "'operation' must be in"),
        ("bandwidth", "stride", 4, "'stride' must be a multiple of word = 8: 4"),
        ("atomic_adds", "stride", 6, "'stride' must be a multiple of 4: 6"),
    )
]

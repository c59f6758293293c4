"""What every shipped program keeps to: a suite's entries are in `tests/programs/contract`.

A run computes what its reference says, launches what is listed, from arrays in the suite's order;
every start does the same, in any order of blocks, and many blocks in step do what they do one by
one; a warp's operations are those of the compiled kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import own_program_names, program_names
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from tests.programs import contract
from tests.programs.contract.entries import (
    WARP,
    Arrays,
    Refused,
    Run,
    Warp,
    check_rows,
    nth_launch,
    operations_of,
)
from tests.programs.contract.graphs import STAR, small_graphs

MODULES = [
    import_module(name)
    for _, name, _ in iter_modules(contract.__path__, "tests.programs.contract.")
]
TABLES = [module for module in MODULES if hasattr(module, "RUNS")]


def entries(kind: str) -> list[Any]:
    """The entries of one kind in all tables."""
    return [entry for table in TABLES for entry in getattr(table, kind, ())]


def values(program: Program) -> Arrays:
    return {array.name: array.data.copy() for array in program.memory.arrays}


def executed(launch: Launch, blocks: range) -> list[tuple[int, ...]]:
    """What each block does, by hashes of its instructions and addresses; first blocks first."""
    found = {}
    for block in blocks:
        pieces = []
        for chunk in launch.run_block(block, WARP):
            check_rows(chunk)
            parts = (chunk.kind, chunk.arg, chunk.active, chunk.address, chunk.size)
            pieces.append(hash(tuple(part.tobytes() for part in parts)))
        found[block] = tuple(pieces)
    return [found[block] for block in sorted(found)]


def whole(program: Program, backwards: bool) -> tuple[list[str], list[Any]]:
    """Names of the launches, and what their blocks did."""
    names, did = [], []
    for launch in program.launches():
        names.append(launch.name)
        blocks = range(launch.blocks)
        did.append(executed(launch, blocks[::-1] if backwards else blocks))
    return names, did


def check_results(run: Run, before: Arrays, after: Arrays) -> None:
    for name, expected in run.results(before).items():
        if callable(expected):
            expected(after[name])
        elif after[name].dtype.kind == "f":
            np.testing.assert_allclose(after[name], expected, rtol=run.rel, atol=run.abs)
        else:
            np.testing.assert_array_equal(after[name], expected)


RUNS: list[Run] = entries("RUNS")
FIRST = {run.program: run for run in reversed(RUNS)}
"""Of each program; its other runs are long."""


@pytest.mark.parametrize(
    "run",
    [
        run if run is FIRST[run.program] else pytest.param(run, marks=pytest.mark.long)
        for run in RUNS
    ],
    ids=str,
)
def test_a_run(run: Run) -> None:
    check(run)


@pytest.mark.parametrize("of", entries("ANY_GRAPH"), ids=lambda of: of(STAR).program)
@given(small_graphs())
def test_a_run_on_any_directed_graph(of: Callable[[Graph], Run], graph: Graph) -> None:
    check(of(graph))


def check(run: Run) -> None:
    """A run does what its entry says, and a second one, later blocks first, does the same."""
    one, other = run.application(), run.application()
    assert one.buffers == other.buffers
    sizes = {buffer.name: buffer.bytes for buffer in one.buffers}
    if run.arrays:
        assert list(sizes) == list(run.arrays)
    if isinstance(run.arrays, Mapping):
        assert sizes == run.arrays
    ends = [buffer.base + buffer.bytes for buffer in one.buffers]
    assert all(end <= after.base for end, after in zip(ends, one.buffers[1:], strict=False))
    before = values(one)
    names, did = whole(one, backwards=False)
    after = values(one)
    expected = run.launches(before) if callable(run.launches) else run.launches
    assert names == list(expected)
    check_results(run, before, after)
    assert (names, did) == whole(other, backwards=run.any_order)
    again = values(other)
    for name, found in after.items():
        if found.dtype.kind == "f":  # sums in another order may differ in their last bits
            np.testing.assert_allclose(again[name], found, rtol=1e-3, atol=1e-5)
        else:
            np.testing.assert_array_equal(again[name], found)


@pytest.mark.parametrize("warp", entries("WARPS"), ids=str)
def test_a_warp(warp: Warp) -> None:
    program = warp.application()
    launch = nth_launch(program, warp.launch)
    if warp.geometry is not None:
        registers, shared = launch.registers_per_thread, launch.shared_bytes
        geometry = (launch.name, launch.blocks, launch.threads_per_block, registers, shared)
        assert geometry == warp.geometry
    before = values(program)
    found = operations_of(launch, program, warp.block, warp.warp)
    if warp.check is not None:
        warp.check(found, before, values(program))
    if isinstance(warp.operations, Callable):
        warp.operations(found)
    elif warp.operations is not None:
        assert found == list(warp.operations)


@pytest.mark.parametrize("refused", entries("REFUSED"), ids=str)
def test_an_input_that_does_not_fit(refused: Refused) -> None:
    with pytest.raises(ValueError, match=refused.message):
        refused.application()


@pytest.mark.parametrize(
    "check",
    [
        *entries("CHECKS"),
        *(pytest.param(one, marks=pytest.mark.long) for one in entries("LONG_CHECKS")),
    ],
    ids=lambda check: check.__name__,
)
def test_what_else_is_known_of_a_program(check: Callable[[], None]) -> None:
    check()


def test_every_shipped_program_is_in_the_table() -> None:
    shipped = set(program_names()) - set(own_program_names())
    assert shipped == set(FIRST)
    assert {name for table in TABLES for name in table.IN_STEP} <= shipped


def test_every_list_of_a_table_is_run() -> None:
    for table in TABLES:
        lists = {
            name
            for name in vars(table)
            if re.fullmatch(r"RUNS|WARPS|REFUSED|IN_STEP|ANY_GRAPH|(LONG_)?CHECKS", name)
        }
        assert {"RUNS", "IN_STEP"} <= lists, table.__name__

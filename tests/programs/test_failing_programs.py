"""A mistake in a program of the user's own is told with its file and line, wherever it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs.device import AddressSpace
from gpusim.studies.characterize import Design, characterize, characterize_tlbs
from gpusim.traces.recorder import record_trace
from gpusim.workloads.workload import Workload


@gpusim.kernel("fine", registers=8, in_step=True)
def fine(k: Any, array: Any) -> None:
    k.load(array, k.t)


@gpusim.kernel("wrong", registers=8, in_step=True)
def wrong(k: Any, array: Any) -> None:
    k.load(array, k.t)
    raise KeyError("in a kernel")


@gpusim.program("fails-first")
def fails_first(memory: AddressSpace, seed: int) -> Iterator[Launch]:
    array = memory.reserve("array", 1.5, np.uint8)  # type: ignore[arg-type]
    yield memory.map(array, 0, 1)


@gpusim.program("fails-later")
def fails_later(memory: AddressSpace, seed: int) -> Iterator[Launch]:
    yield fine[256](memory.blank("array", 256, np.uint8))
    raise ZeroDivisionError("later")


@gpusim.program("fails-inside")
def fails_inside(memory: AddressSpace, seed: int) -> Iterator[Launch]:
    yield wrong[256](memory.blank("array", 256, np.uint8))


def run(workload: Workload, _folder: Path) -> None:
    gpusim.simulate("tiny", workload)


def record(workload: Workload, folder: Path) -> None:
    record_trace(workload, folder / "trace.h5")


def look(workload: Workload, _folder: Path) -> None:
    characterize(workload, gpusim.load_model("tiny"))


def look_at_tlbs(workload: Workload, _folder: Path) -> None:
    characterize_tlbs(workload, [Design("base", gpusim.load_model("tiny"))])


@pytest.mark.parametrize("use", [run, record, look, look_at_tlbs])
@pytest.mark.parametrize(
    ("program", "place", "mistake"),
    [
        (fails_first, "fails_first", "TypeError: "),
        (fails_later, "fails_later", "ZeroDivisionError: later"),
        (fails_inside, "wrong", "KeyError: 'in a kernel'"),
    ],
)
def test_a_mistake_has_its_file_and_line(
    program: object,
    place: str,
    mistake: str,
    use: Callable[[Workload, Path], None],
    tmp_path: Path,
) -> None:
    expected = rf"test_failing_programs\.py, line \d+, in {place}: {re.escape(mistake)}"
    for overrides in ({}, {"sample": 2}):
        workload = gpusim.load_workload(program, overrides=overrides)
        with pytest.raises(UserError, match=expected):
            use(workload, tmp_path)
    assert not list(tmp_path.iterdir())

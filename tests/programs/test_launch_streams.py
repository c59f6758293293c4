"""Streams of programs: ``yield kernel[threads](...).on(stream)``."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from attrs import frozen

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs.writing import AddressSpace, BlockTracer, Floats, Launches, kernel, program
from gpusim.results import Result
from gpusim.workloads.sampling import SampledProgram
from tests.quick import quick


@frozen
class StreamParameters:
    """Parameters of `two_streams`.

    Attributes:
        after: whether the third launch waits for the second one.
    """

    after: bool = True


@kernel("add", registers=8, block=32)
def add(k: BlockTracer, array: Floats, value: float, length: int) -> None:
    """Add to an array after some arithmetic."""
    old = k.load(array, k.t)
    k.wait(0)
    k.compute(length)
    k.store(array, k.t, old + np.float32(value))


@program("two-streams-of-tests", StreamParameters)
def two_streams(memory: AddressSpace, parameters: StreamParameters, seed: int) -> Launches:
    """Two launches side by side, one after an event, one of the default stream."""
    arrays = [memory.allocate(name, np.zeros(32, dtype=np.float32)) for name in "ab"]
    first = add[32](arrays[0], 1, 500).on(1)
    second = add[32](arrays[1], 2, 900).on(2)
    yield first
    yield second
    yield add[32](arrays[0], 1, 10).on(1, after=[second] if parameters.after else [])
    yield add[32](arrays[0], 1, 10)
    assert arrays[0].data.tolist() == [3] * 32, "the host waits for the default stream"
    assert arrays[1].data.tolist() == [2] * 32


def run(model: str = "tiny", **parameters: Any) -> Result:
    workload = gpusim.load_workload(two_streams, overrides=parameters)
    return gpusim.simulate(gpusim.load_model(model), workload)


@pytest.mark.parametrize(
    "model", quick(["tiny", "kepler-uvm", "v100", "h100"], "tiny", "kepler-uvm")
)
def test_they_overlap_on_every_machine(model: str) -> None:
    launches = run(model).launches.sort_values("launch")
    begin, end = launches.begin.tolist(), launches.end.tolist()
    assert begin[0] == begin[1] == 0
    assert begin[2] == end[1] > end[0]
    assert begin[3] == max(end[:3])
    assert run(model).digest == run(model).digest


def test_without_the_event_a_launch_waits_for_its_own_stream() -> None:
    launches = run(after=False).launches.sort_values("launch")
    assert launches.begin[2] == launches.end[0] < launches.end[1]


def test_numbers_of_launches_and_kernels() -> None:
    result = run()
    launches, kernels = result.launches, result.kernels
    assert launches.overlaps.tolist() == [1, 1, 0, 0]
    for name in ("instructions", "transactions", "dram_reads", "walks"):
        assert kernels[name].tolist() == [result.summary[name]], "nothing counts twice"
    assert launches.instructions.sum() > result.summary["instructions"]
    assert kernels.launches.tolist() == [4]
    begin, end = launches.work_begin, launches.end
    assert kernels.cycles[0] == (max(end[0], end[1]) - begin[0]) + sum((end - begin)[2:])


def test_a_sample_of_blocks_keeps_streams() -> None:
    spec = gpusim.load_workload(two_streams).applications[0]
    whole: Any = spec.start()
    uses = [one.stream_use for one in islice(SampledProgram(whole, 2).launches(), 4)]
    assert [use.stream for use in uses] == [1, 2, 1, 0]
    assert uses[2].after == (uses[1],)


def test_mistakes() -> None:
    array = AddressSpace().allocate("a", np.zeros(32, dtype=np.float32))
    launch = add[32](array, 1, 1)
    with pytest.raises(UserError, match="kernel 'add': -1 is no stream; allowed: a number from 0"):
        launch.on(-1)
    with pytest.raises(UserError, match="wait for those of the default stream"):
        launch.on(1, after=[launch])

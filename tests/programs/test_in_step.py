"""Kernels that say that their blocks can be executed in step do the same as block by block."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from gpusim.core.mapping_calls import MappingCall
from gpusim.core.pieces import part_of
from gpusim.core.warp_program import LaneChunk, execute_in_step
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.programs.kernel import Kernel
from gpusim.programs.kernel_function import KernelLaunch
from gpusim.workloads.sampling import SampledLaunch
from gpusim.workloads.workload import load_workload
from tests.programs.test_contract import TABLES
from tests.quick import quick

WARP = 32
PROGRAMS = {name: values for table in TABLES for name, values in table.IN_STEP.items()}
"""Programs, and what makes them several blocks that differ."""

QUICK = [name for name in [*PROGRAMS][::6] if name != "lulesh"]

MOST_LAUNCHES = 2
"""Of a kernel, that are compared."""

Warp = tuple[list[int], list[int], list[int], list[int]]


def streams(chunks: Iterable[LaneChunk], warps: int) -> list[Warp]:
    """What each warp does: operations, arguments, lines, sectors."""
    found: list[Warp] = [([], [], [], []) for _ in range(warps)]
    for chunk in chunks:
        for all_of, some in zip(found, coalesce(chunk, Coalescing(128, covered=True)), strict=True):
            for values, more in zip(
                all_of, (some.kinds, some.args, some.lines, some.sectors), strict=True
            ):
                values.extend(more)
    return found


def in_step(kernel: Kernel | KernelLaunch) -> list[list[Warp]]:
    """What each block's warps do, executed in step."""
    chunks = execute_in_step(kernel, range(kernel.blocks), WARP)
    assert chunks is not None
    parts: list[list[LaneChunk]] = [[] for _ in range(kernel.blocks)]
    for chunk in chunks:
        for block, own in enumerate(parts):
            own.append(part_of(chunk, block, kernel.blocks))
    return [streams(own, -(-kernel.threads_per_block // WARP)) for own in parts]


class Arrays:
    """The arrays of a program in a moment."""

    def __init__(self, application: Any) -> None:
        self._all = [one for one in application.memory.arrays if one.data.flags.writeable]
        self._values = [one.data.copy() for one in self._all]

    def restore(self) -> None:
        for one, values in zip(self._all, self._values, strict=True):
            one.data[...] = values

    def are(self) -> None:
        """They still are; sums in another order may differ in their last bits."""
        for one, values in zip(self._all, self._values, strict=True):
            if one.data.dtype.kind == "f":
                np.testing.assert_allclose(one.data, values, rtol=1e-3, atol=1e-5)
            else:
                np.testing.assert_array_equal(one.data, values)


def compare(application: Any, kernel: Kernel | KernelLaunch) -> None:
    before = Arrays(application)
    warps = -(-kernel.threads_per_block // WARP)
    alone = [streams(kernel.run_block(block, WARP), warps) for block in range(kernel.blocks)]
    after = Arrays(application)
    before.restore()
    assert in_step(kernel) == alone
    after.are()
    after.restore()


@pytest.mark.parametrize("name", quick(PROGRAMS, *QUICK))
def test_in_step_and_one_by_one_are_the_same(name: str) -> None:
    (spec,) = load_workload(name, "smoke", overrides=PROGRAMS[name]).applications
    application = spec.start()
    compared: dict[str, int] = {}
    for launch in application.launches():
        if isinstance(launch, MappingCall):
            continue
        kernel: Any = launch.launch if isinstance(launch, SampledLaunch) else launch
        done = compared.get(kernel.name, 0)
        if kernel.in_step and kernel.blocks > 1 and done < MOST_LAUNCHES:
            compare(application, kernel)
            compared[kernel.name] = done + 1
        else:
            for block in range(kernel.blocks):
                for _ in kernel.run_block(block, WARP):
                    pass
    assert compared

"""mm: loads of A that are under way at once, and what it makes."""

import numpy as np
import pytest

from gpusim.core.warp_program import Op
from gpusim.workloads.workload import load_workload
from tests.programs.drain import chunks


@pytest.mark.parametrize(("ahead", "waits"), [(1, 9), (3, 4), (8, 2)])
def test_loads_of_a_are_as_far_ahead_as_is_said(ahead: int, waits: int) -> None:
    sizes = {"m": 128, "n": 16, "k": 24, "ahead": ahead}
    workload = load_workload("mm", overrides={**sizes, "sample": 1})
    (application,) = workload.applications
    program = application.start()
    kinds = np.concatenate([chunk.kind for _, chunk in chunks(program)])
    assert np.count_nonzero(kinds == Op.WAIT) == 3 * waits + 16
    a, b, c = (array.data for array in program.memory.arrays)
    right = b.reshape(24, 16).T @ a.reshape(24, 128)
    assert np.allclose(c.reshape(16, 128), right, rtol=1e-5)

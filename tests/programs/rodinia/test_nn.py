"""nn: distances, and records of 8 bytes a lane."""

import numpy as np
import pytest

from gpusim.programs.rodinia.nn import Nn, NnParameters
from tests.programs.drain import drain, warp_operations


@pytest.mark.parametrize("records", [1, 300, 1024])
def test_distances(records: int) -> None:
    program = Nn(NnParameters(records=records, latitude=12.0, longitude=100.0), 3)
    assert drain(program) == ["euclid"]
    places = program.locations.data.reshape(-1, 2).astype(float)
    expected = np.linalg.norm(places - (12.0, 100.0), axis=1)
    assert program.distances.data == pytest.approx(expected, rel=1e-5)


def test_the_words_of_a_record_are_loaded_one_by_one() -> None:
    program = Nn(NnParameters(records=300), 0)
    kernel = next(program.launches())
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (2, 256, 0)
    first = 256 + 32
    assert warp_operations(kernel, program, block=1, warp=1) == [
        ("COMPUTE", 8, []),
        ("LOAD", "locations", [2 * (first + lane) for lane in range(12)]),
        ("LOAD", "locations", [2 * (first + lane) + 1 for lane in range(12)]),
        ("WAIT", 0, []),
        ("COMPUTE", 12, []),
        ("STORE", "distances", [first + lane for lane in range(12)]),
    ]

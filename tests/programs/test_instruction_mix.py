"""Instruction mixes: what is counted of a piece of a block, and the file of known mixes."""

from pathlib import Path

import numpy as np
import pytest

from experiments.instruction_mix import Mix, known_mixes, mix_of_chunk, summary
from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE, LaneChunk, Op


def test_what_two_warps_issue() -> None:
    kinds = [Op.COMPUTE, Op.LOAD, Op.WAIT, Op.SHARED, Op.STORE, Op.BARRIER]
    address = np.full((2, 2, 4), INACTIVE, dtype=np.int64)
    address[0] = [[0, 4, 8, 128], [256, 260, 264, 268]]  # two lines and one
    address[1, 0] = [512, 513, 514, 515]  # one; the second warp does not store
    active = np.ones((6, 2), dtype=bool)
    active[4, 1] = False
    chunk = LaneChunk(
        np.array(kinds, dtype=np.uint8),
        np.array([7, 0, 0, 3, 0, 0]),
        active,
        address,
        np.array([4, 4]),
    )
    # Each warp: 7 + load + shared + barrier; the first one also a store.
    assert mix_of_chunk(chunk) == Mix(21, 3, 4)


def test_known_mixes_are_of_workloads() -> None:
    assert known_mixes()["backprop"].grade == "A"


def test_programs_that_are_far_from_what_is_known_are_named() -> None:
    rows = [
        ("a", "1.0", "2.0", "1.05", "A", "x"),
        ("b", "3.0", "2.0", "4", "C", "y"),
        ("c", "3.0", "2.0", "", "", ""),
    ]
    text = summary(rows)
    assert text.startswith("Of 2 programs with a known number, 1 are within 10 % of it.")
    assert text.endswith("`b` 3 (4, C).")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[backpropp]\ninstructions_per_access = 1\nsource = "x"\ngrade = "A"', "backprop"),
        ('[backprop]\ninstructions_per_access = 0\nsource = "x"\ngrade = "A"', "instructions_per"),
        ('[backprop]\ninstructions_per_access = 1\nsource = "x"\ngrade = "E"', "grade"),
    ],
)
def test_wrong_mixes_are_told(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "mixes.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        known_mixes(path)

"""A part of the thread blocks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.workloads.sampling import STRETCHES, sampled_blocks
from gpusim.workloads.workload import load_workload
from tests.programs.drain import chunks, same_chunk


@given(st.integers(1, 5000), st.integers(1, 300))
def test_one_of_so_many_blocks_in_runs_over_the_whole_launch(blocks: int, sample: int) -> None:
    chosen = sampled_blocks(blocks, sample)
    assert len(chosen) == -(-blocks // sample)
    assert chosen == sorted(set(chosen))
    assert 0 <= chosen[0] <= chosen[-1] < blocks
    runs = 1 + sum(b - a > 1 for a, b in pairwise(chosen))
    assert runs <= STRETCHES
    if sample > 1 and len(chosen) >= STRETCHES:
        assert runs == STRETCHES
        assert chosen[-1] >= blocks - -(-blocks // STRETCHES)


def test_known_samples() -> None:
    assert sampled_blocks(10, 1) == list(range(10))
    assert sampled_blocks(10, 20) == [0]
    assert sampled_blocks(64, 2) == [b for s in range(0, 64, 4) for b in (s, s + 1)]


def test_a_sampled_program_runs_those_blocks_on_the_same_arrays() -> None:
    (whole,) = load_workload("atax", "smoke").applications
    (part,) = load_workload("atax", "smoke", overrides={"sample": 2}).applications
    assert whole.start().buffers == part.start().buffers
    full = list(chunks(whole.start()))
    blocks = [(launch.name, launch.blocks) for launch in part.start().launches()]
    assert blocks == [("atax_kernel1", 2), ("atax_kernel2", 2)]
    found = list(chunks(part.start()))
    assert len(found) == len(full) // 2
    assert same_chunk(found[0][1], full[0][1]), "block 0"
    assert same_chunk(found[1][1], full[2][1]), "block 2 of 4"


@pytest.mark.parametrize("sample", [0, -1, 1.5, "many"])
def test_wrong_samples_are_refused(sample: object) -> None:
    with pytest.raises(UserError, match=r"overrides: sample = .*: must be a whole number >= 1"):
        load_workload("atax", "smoke", overrides={"sample": sample})

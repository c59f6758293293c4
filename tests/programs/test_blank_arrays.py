"""Arrays without contents: addresses that no memory stands behind."""

from __future__ import annotations

import numpy as np

import gpusim
from gpusim.core.process_memory import peak_bytes
from gpusim.programs.device import AddressSpace
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.runs.checkpoint.changes import hash_of

TERA = 1 << 40


def test_it_reads_as_zeros_and_forgets_what_is_stored() -> None:
    array = AddressSpace().blank("a", TERA, np.int64)
    assert (array.bytes, array.element_bytes) == (8 * TERA, 8)
    k = BlockTracer(Shape((1, 1, 1), (32, 1, 1)), 0, 32)
    far = TERA - 1 - k.tid
    k.store(array, far, 7)
    k.store(array, 5, 7)
    k.reduce_add(array, far, 7)
    assert k.atomic_add(array, far, 7).tolist() == [0] * 32
    for index in (far, 5):
        for where in (None, k.tid < 3):
            values = k.load(array, index, where)
            assert type(values) is np.ndarray
            assert not values.any()


def test_it_is_seen_as_another_type() -> None:
    memory = AddressSpace()
    words = memory.blank("a", TERA, np.int64).view(np.int32)
    assert (words.length, words.element_bytes) == (2 * TERA, 4)
    assert memory.blank("b", 1, np.int8).base == words.base + 8 * TERA


def test_its_contents_are_no_part_of_a_checkpoint() -> None:
    class Application:
        memory = AddressSpace()

    application = Application()
    application.memory.blank("a", TERA, np.int64)
    assert len(hash_of(application)) == 64  # type: ignore[arg-type]


def test_a_program_of_40_gib_runs_in_little_memory() -> None:
    few = {"footprint": 40 << 30, "blocks": 2, "piece": 1 << 12}
    before = peak_bytes()
    with gpusim.simulate("h100", gpusim.load_workload("bandwidth", overrides=few)) as result:
        assert result.summary["memory_instructions"] > 0
    assert peak_bytes() - before < 1 << 30


def test_zeros_that_are_never_written_take_no_memory() -> None:
    before = peak_bytes()
    AddressSpace().zeros("a", 1 << 31, np.int8)
    assert peak_bytes() - before < 1 << 28

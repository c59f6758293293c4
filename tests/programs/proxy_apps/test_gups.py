"""gups: updates of a table, a page a lane."""

import numpy as np
import pytest

from gpusim.programs.proxy_apps.gups import Gups, GupsParameters, next_numbers
from tests.programs.drain import drain, warp_operations


def numbers_of(start: int, count: int) -> list[int]:
    """The benchmark's definition, with Python's whole numbers."""
    found = []
    for _ in range(count):
        start = ((start << 1) & (2**64 - 1)) ^ (7 if start >> 63 else 0)
        found.append(start)
    return found


def test_the_random_numbers() -> None:
    number = np.array([1, 2**63, 2**64 - 1], dtype=np.uint64)
    expected = [numbers_of(int(one), 3) for one in number]
    found = []
    for _ in range(3):
        number = next_numbers(number)
        found.append(number.tolist())
    assert [list(one) for one in zip(*found, strict=True)] == expected


def test_all_updates_arrive() -> None:
    program = Gups(GupsParameters(log2_words=16, threads=512, updates=20), 4)
    expected = list(range(1 << 16))
    for start in program.stream.data.tolist():
        for number in numbers_of(start, 20):
            expected[number % (1 << 16)] ^= number
    assert drain(program) == ["update"]
    assert program.table.data.tolist() == expected


def test_four_updates_a_word_if_not_told_otherwise() -> None:
    assert Gups(GupsParameters(log2_words=12, threads=256), 0).updates == 64
    with pytest.raises(ValueError, match="multiple of 128"):
        GupsParameters(threads=300)


def test_each_lane_has_its_own_page() -> None:
    program = Gups(GupsParameters(updates=2), 0)
    kernel = next(program.launches())
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (512, 128, 0)
    found = warp_operations(kernel, program, block=3, warp=1)
    assert [(kind, name) for kind, name, _ in found] == [
        ("COMPUTE", 8),
        ("LOAD", "stream"),
        ("WAIT", 0),
        *(("COMPUTE", 12), ("REDUCE", "table")) * 2,
    ]
    updates = [lanes for kind, _, lanes in found if kind == "REDUCE"]
    assert all(len({8 * lane // 4096 for lane in lanes}) >= 30 for lanes in updates)

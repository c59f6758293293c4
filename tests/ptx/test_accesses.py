"""Accesses of kernels are those of lists made by hand."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import LEAST_SHIFT, Asked, Op
from tests.ptx.tracing import accesses, load, operations, others

INTS = np.arange(1024, dtype=np.int32)
LANES = range(32)
NONE = -1


def run(kernel, grid, block, *args, **options):
    with gpusim.capture() as captured:
        load(f"accesses:{kernel}").launch(grid, block, *args, **options)
    return captured


def test_strides_and_a_mask():
    out = np.zeros(64, np.int32)
    captured = run("strided", 2, 32, INTS, out, 5, 100)
    # thread t reads element 5 t as long as that is below 100: threads 0 to 19 of the grid
    mask = [t < 20 for t in range(64)]
    assert accesses(captured) == [
        ("LOAD", "strided_param_0", [20 * t if mask[t] else NONE for t in LANES], 4),
        ("STORE", "strided_param_1", [4 * t if mask[t] else NONE for t in LANES], 4),
    ]
    assert accesses(captured, block=1) == []
    assert out.tolist() == [5 * t if mask[t] else 0 for t in range(64)]


def test_divergence():
    out = np.zeros(32, np.int32)
    captured = run("divergent", 1, 32, INTS, INTS * 10, out)
    found = accesses(captured)
    odd = [one for one in found if one[1] == "divergent_param_0"]
    even = [one for one in found if one[1] == "divergent_param_1"]
    assert odd == [
        ("LOAD", "divergent_param_0", [4 * t if t % 2 else NONE for t in LANES], 4),
        ("LOAD", "divergent_param_0", [8 * t if t % 2 else NONE for t in LANES], 4),
    ]
    assert even == [
        ("LOAD", "divergent_param_1", [NONE if t % 2 else 4 * (t + 64) for t in LANES], 4),
        ("LOAD", "divergent_param_1", [16 if t == 4 else NONE for t in LANES], 4),
    ]
    # they meet again
    assert found[4:] == [("STORE", "divergent_param_2", [4 * t for t in LANES], 4)]
    assert out.tolist() == [2 * t if t % 2 else 10 * (t + 64 + 4 * (t == 4)) for t in LANES]


def test_a_loop_of_which_each_thread_has_its_own_end():
    length = [t % 4 for t in LANES]
    begin = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
    out = np.zeros(32, np.int32)
    captured = run("loop", 1, 32, begin, INTS, out)
    rounds = [
        ("LOAD", "loop_param_1", [4 * int(begin[t] + r) if r < length[t] else NONE for t in LANES])
        for r in range(3)
    ]
    found = [one[:3] for one in accesses(captured) if one[1] == "loop_param_1"]
    assert found == rounds
    assert out.tolist() == [sum(range(begin[t], begin[t + 1])) for t in LANES]
    assert accesses(captured)[-1] == ("STORE", "loop_param_2", [4 * t for t in LANES], 4)


def test_vectors():
    values = np.arange(128, dtype=np.float32)
    out = np.zeros(64)
    captured = run("vectors", 1, 32, values, out)
    assert accesses(captured) == [
        ("LOAD", "vectors_param_0", [16 * t for t in LANES], 16),
        ("STORE", "vectors_param_1", [16 * t for t in LANES], 16),
    ]
    assert out.tolist() == values.reshape(-1, 2).sum(axis=1).tolist()


def test_atomics_with_and_without_a_result():
    bins, total = np.zeros(8, np.int32), np.zeros(1, np.int32)
    captured = run("atomics", 1, 32, INTS, bins, total)
    assert accesses(captured) == [
        ("LOAD", "atomics_param_0", [4 * t for t in LANES], 4),
        ("ATOMIC", "atomics_param_1", [4 * (t % 8) for t in LANES], 4),
        ("REDUCE", "atomics_param_2", [0] * 32, 4),
    ]
    assert bins.tolist() == [4] * 8
    assert total.tolist() == [3]  # each bin's last thread found three before it


def test_shuffles_and_votes_decide_addresses():
    out = np.zeros(32, np.int32)
    captured = run("shuffled", 1, 32, INTS, out)
    assert accesses(captured) == [
        ("LOAD", "shuffled_param_0", [4 * t for t in LANES], 4),
        ("STORE", "shuffled_param_1", [4 * (t ^ 1) for t in LANES], 4),
    ]
    assert out.tolist() == [27] * 32


def test_shared_memory_with_bank_conflicts():
    values = np.arange(1024, dtype=np.float32)
    out = np.zeros(1024, np.float32)
    captured = run("transpose", 1, (32, 8), values, out)
    assert out.reshape(32, 32).tolist() == values.reshape(32, 32).T.tolist()
    rows = [[4 * (32 * y + t) for t in LANES] for y in (2, 10, 18, 26)]
    assert accesses(captured, warp=2) == [
        *(("LOAD", "transpose_param_0", row, 4) for row in rows),
        *(("STORE", "transpose_param_1", row, 4) for row in rows),
    ]
    # rows are stored without conflicts; all words of a column lie in one bank
    assert others(captured, Op.SHARED, Op.BARRIER) == [
        *[("SHARED", 1)] * 4,
        ("BARRIER", 0),
        *[("SHARED", 32)] * 4,
    ]


def test_constants_and_bytes():
    letters, out = np.arange(128, dtype=np.int8), np.zeros(32, np.int8)
    captured = run("constants", 1, 32, letters, out)
    step = [3, 1, 2, 0]
    assert accesses(captured) == [
        ("LOAD", "constants_param_0", [4 * t + step[t % 4] for t in LANES], 1),
        ("STORE", "constants_param_1", list(LANES), 1),
    ]
    assert out.tolist() == [4 * t + step[t % 4] for t in LANES]
    asked = Asked(frozenset({Op.CONSTANT}))
    (constant,) = [
        what for op, what, _ in operations(captured, asked)[0][0][0] if op == Op.CONSTANT
    ]
    assert np.diff(constant)[:4].tolist() == [4, 4, 4, -12]


def test_local_memory_lies_word_by_word():
    out = np.zeros(32, np.int32)
    captured = run("spilled", 1, 32, INTS, out, 3)
    assert out.tolist() == [(3 * t) % 16 for t in LANES]
    local = [
        (op, what) for op, what, _ in operations(captured)[0][0][0]
        if isinstance(what, np.ndarray) and what.max() >> 47
    ]  # fmt: skip
    stores = [what for op, what in local if op == Op.STORE]
    loads = [what for op, what in local if op == Op.LOAD]
    base = min(int(one.min()) for one in stores)
    words = sorted(int(word) for one in stores for word in (one - base) // 4)
    assert words == list(range(16 * 32))  # 16 words of 32 threads, side by side
    (load_,) = loads
    assert ((load_[:32] - base) // 4).tolist() == [(3 * t) % 16 * 32 + t for t in LANES]


def test_cache_operators():
    out = np.zeros(32, np.int32)
    captured = run("coherent", 1, 32, np.array([7], np.int32), INTS, out)
    assert accesses(captured) == [
        ("COHERENT_LOAD", "coherent_param_0", [0] * 32, 4),
        ("LOAD", "coherent_param_1", [4 * t for t in LANES], 4),
        ("COHERENT_LOAD", "coherent_param_1", [4 * t + 128 for t in LANES], 4),
        ("STORE", "coherent_param_2", [4 * t for t in LANES], 4),
    ]
    assert out.tolist() == [7 + t + t + 32 for t in LANES]
    asked = Asked(frozenset({Op.READ_ONLY}))
    kinds = [op for op, what, _ in operations(captured, asked)[0][0][0] if np.ndim(what)]
    assert kinds == [Op.COHERENT_LOAD, Op.READ_ONLY, Op.COHERENT_LOAD, Op.STORE]


def test_generic_addresses_and_pointers_in_memory():
    first, second = INTS[:32].copy(), INTS[:32] + 100
    with gpusim.capture() as captured:
        pointers = np.array(
            [captured.address("first", first), captured.address("second", second)], np.uint64
        )
        kernel = load("accesses:generic")
        kernel.launch(2, 32, pointers, 0)
        kernel.launch(2, 32, pointers, 1)
    assert accesses(captured, block=1) == [
        ("LOAD", "generic_param_0", [8] * 32, 8),
        ("LOAD", "second", [4 * t for t in LANES], 4),
        ("STORE", "second", [4 * t for t in LANES], 4),
        ("REDUCE", "total", [0] * 32, 4),
    ]
    # in shared memory they are no accesses of global memory
    assert accesses(captured, launch=1) == [("REDUCE", "total", [0] * 32, 4)]
    assert captured.memory.arrays[0].data[:4].view(np.int32).tolist() == [2]
    (total,) = [array for array in captured.memory.arrays if array.name == "total"]
    assert total.data[:4].view(np.int32).tolist() == [
        2 * sum(LANES) + 2 * sum(t + 2 for t in LANES)
    ]


def test_pointers_of_the_hosts_are_named_as_such():
    pointers = np.array([INTS.__array_interface__["data"][0] | 1 << 46] * 2, np.uint64)
    with pytest.raises(UserError, match=r"is it a pointer of the host's\?"):
        load("accesses:generic").launch(2, 32, pointers, 0)


def test_copies_to_shared_memory_are_loads_that_are_waited_for():
    out = np.zeros(64, np.int32)
    captured = run("copied", 1, 64, INTS, out)
    assert out.tolist() == list(range(63, -1, -1))
    ops = [op.name for op, _, _ in operations(captured)[0][0][1] if op != Op.COMPUTE]
    assert ops == ["LOAD", "WAIT", "BARRIER", "SHARED", "STORE"]
    assert accesses(captured, warp=1) == [
        ("LOAD", "copied_param_0", [4 * (t + 32) for t in LANES], 4),
        ("STORE", "copied_param_1", [4 * (t + 32) for t in LANES], 4),
    ]


def test_loads_are_waited_for_where_their_values_are_used():
    out = np.zeros(32, np.int32)
    captured = run("coherent", 1, 32, np.array([7], np.int32), INTS, out)
    ops = [(op.name, arg) for op, arg, _ in operations(captured)[0][0][0]]
    order = [name if not np.ndim(arg) else "ACCESS" for name, arg in ops if name != "COMPUTE"]
    waits = [arg for name, arg in ops if name == "WAIT"]
    assert order == ["ACCESS", "ACCESS", "ACCESS", "WAIT", "WAIT", "ACCESS"]
    assert waits == [1, 0]  # first for the second load (and the first), then for the third


def test_wide_shared_accesses_have_passes_that_they_need_at_least():
    values = np.zeros((4, 4096), np.float32)
    with gpusim.capture() as captured:
        load("reduce:total").launch(1, 1024, values, np.zeros(1, np.float32), 4096, shared=128)
    shared = [what for name, what in others(captured, Op.SHARED, warp=0)]
    assert all(one & 0xFFFF == 1 for one in shared)
    assert all(one >> LEAST_SHIFT in (0, 1) for one in shared)

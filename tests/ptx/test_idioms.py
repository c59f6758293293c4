"""Kernels in the idioms of users' code (``idioms.cu``): results are numpy's, or errors say why."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx import nvrtc
from tests.ptx.tracing import DATA

RNG = np.random.default_rng(3)


def load(name, **variables):
    """A kernel, from the PTX that NVRTC has made of the source."""
    return gpusim.load_kernel(DATA / "idioms.ptx", name, variables=variables)


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
def test_the_source_is_compiled_with_what_nvcc_includes():
    """INFINITY without a header, <cstdint> beside CUDA's own headers that declare the same."""
    x, out = np.array([[1, 2, 3, 4]], np.float32), np.zeros((1, 4), np.float32)
    gpusim.load_kernel(DATA / "idioms.cu", "row_softmax").launch(1, 32, x, out, 1, 4)
    assert np.allclose(out, np.exp(x) / np.exp(x).sum())


@pytest.mark.parametrize(
    ("name", "block", "dtype"),
    [
        ("block_sum_f", 256, np.float32),
        ("block_sum_d", 128, np.float64),
        ("block_sum_ll", 64, np.uint64),
    ],
)
def test_a_reduction_by_shuffles_in_a_template(name, block, dtype):
    x, out = (RNG.random(5000) * 100).astype(dtype), np.zeros(1, dtype)
    load(name).launch(4, block, x, out, 5000)
    assert np.allclose(out[0], x.sum(), rtol=1e-5)


@pytest.mark.parametrize(("name", "grid"), [("compact", 12), ("compact_cg", 4)])
def test_compaction_with_one_atomic_a_warp(name, grid):
    x, out = RNG.integers(0, 1000, 3000).astype(np.int32), np.zeros(3000, np.int32)
    count = np.zeros(1, np.int32)
    load(name).launch(grid, 256, x, out, count, 3000, 700)
    assert count[0] == (x > 700).sum()
    assert sorted(out[: count[0]].tolist()) == sorted(x[x > 700].tolist())


def test_rows_by_tiles_of_eight_threads():
    x = RNG.normal(size=(50, 37)).astype(np.float32)
    out = np.zeros_like(x)
    load("row_softmax").launch(4, 128, x, out, 50, 37)
    wanted = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(out, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_tiles_that_are_copied_while_others_are_computed():
    x = RNG.random((3, 5, 256), np.float32)
    out = np.zeros_like(x)
    load("stencil_async").launch(3, 64, x, out, 5)
    assert np.allclose(out, 0.5 * (np.roll(x, 1, 2) + np.roll(x, -1, 2)) - x)


def test_a_maximum_by_compare_and_swap():
    values, bins = RNG.normal(size=1000), RNG.integers(0, 17, 1000).astype(np.int32)
    best = np.full(17, -10.0)
    wanted = best.copy()
    np.maximum.at(wanted, bins, values)
    load("cas_max").launch(8, 128, values, bins, best, 1000)
    assert (best == wanted).all()


def test_an_interpreter_with_a_stack_in_dynamic_shared_memory():
    a, b, c = x = RNG.normal(size=(3, 200)).astype(np.float32)
    code = np.array([128, 129, 0, 130, 2, 128, 1, 129, 4, 130, 7], np.uint8)
    out = np.zeros(200, np.float32)
    load("interpreter").launch(2, 128, code, len(code), x, out, 200, shared=128 * 4 * 8)
    assert np.allclose(out, np.sqrt(np.abs(np.maximum((a + b) * c - a, b))), rtol=1e-5)


def test_an_array_of_a_thread_that_is_sorted():
    x = RNG.integers(-50, 50, (24, 150)).astype(np.int32)
    out = np.zeros_like(x)
    load("local_sort").launch(3, 64, x, out, 150)
    assert (out == np.sort(x, 0)).all()


def test_only_a_kernel_that_prints_says_so():
    x, out = RNG.integers(0, 50, 100).astype(np.int32), np.zeros(100, np.int32)
    with gpusim.capture() as captured:
        load("checked").launch(1, 128, x, out, 100)
    assert (out == 2 * x).all()
    assert any("1 printf" in one for one in captured.application().warnings())
    with gpusim.capture() as captured:
        load("block_sum_f").launch(1, 256, np.ones(10, np.float32), np.zeros(1, np.float32), 10)
    assert not any("printf" in one for one in captured.application().warnings())


def test_an_assertion_names_its_line_and_thread():
    x, out = np.ones(100, np.int32), np.zeros(100, np.int32)
    x[37] = -1
    with pytest.raises(UserError, match=r"trap.*: thread 37 of block 0 ends the program here"):
        load("checked").launch(1, 128, x, out, 100)


def test_pairs_of_halves_and_of_bfloats():
    x, y = (RNG.random(200).astype(np.float16) for _ in range(2))
    wanted = (1.5 * x.astype(np.float64) + y).astype(np.float16)
    load("half_axpy").launch(1, 128, x, y, 1.5, 100)
    assert (y == wanted).all()
    numbers = RNG.normal(size=(3, 128)).astype(np.float32)
    short = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    out = np.zeros_like(short)
    load("bf_norm").launch(3, 32, short, out, 128)
    given, found = ((one.astype(np.uint32) << 16).view(np.float32) for one in (short, out))
    wanted = given / np.sqrt((given.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
    assert np.allclose(found, wanted, rtol=0.005)


def test_variables_that_kernels_change():
    """A convolution's weights, a table and a counter, over two launches of two loaded kernels."""
    weights = np.arange(1, 10, dtype=np.float32) / 40
    table, counter = np.zeros(64, np.uint64), np.zeros(1, np.int32)
    x, out = RNG.random(1000, np.float32), np.zeros(1000, np.float32)
    with gpusim.capture("twice") as captured:
        for _ in range(2):
            load("globals", coeff=weights, table=table, counter=counter).launch(
                2, 128, x, out, 1000
            )
    padded = np.pad(x, 4)
    assert np.allclose(out, sum(weights[k] * padded[k : k + 1000] for k in range(9)), rtol=1e-4)
    places = np.arange(1000, dtype=np.uint64)
    wanted = np.zeros(64, np.uint64)
    np.add.at(wanted, places.astype(int) % 64, 2 * places)
    assert (table == wanted).all()
    assert counter[0] == 2 * (out > 1).sum()
    assert [one.name for one in captured.application().buffers].count("table") == 1
    assert gpusim.simulate("tiny", captured).summary["memory_instructions"] > 0
    for size in (63, 65):
        with pytest.raises(UserError, match="'table' has 512 bytes"):
            load("globals", table=np.zeros(size, np.uint64))


def test_a_structure_with_pointers_and_an_array():
    a, b = RNG.random(300, np.float32), np.zeros(600, np.float32)
    numbers = (np.int32(1), np.int32(2), np.int32(5))
    load("by_value").launch(2, 64, (a, b, np.int32(300), np.float32(2), *numbers))
    assert np.allclose(b[::2], a * 2 + 5)


def bits_of(v, warp):
    """What `bits` computes of a value in its warp."""
    word = 0xFFFF_FFFF
    peers = [one for one in warp if one & 7 == v & 7]
    total, most = sum(peers) & word, max(warp)
    funnel = ((total << 32 | v) << 5) >> 32 & word
    reverse, zeros = int(f"{v:032b}"[::-1], 2), 32 - v.bit_length()
    own = [v >> 8 * place & 255 for place in range(4)]
    permuted = own[0] | (most & 255) << 8 | own[1] << 16 | (most >> 8 & 255) << 24
    sums = sum(one - 256 if one > 127 else one for one in own)
    return (funnel ^ reverse ^ zeros << 3 ^ permuted) + len(peers) + 1 + sums & word


def test_matches_reductions_and_bits():
    v = RNG.integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
    out = np.zeros(128, np.uint32)
    load("bits").launch(1, 128, v, out, 128)
    warps = v.reshape(4, 32).tolist()
    assert out.tolist() == [bits_of(one, warp) for warp in warps for one in warp]


def test_products_of_128_bits():
    a = RNG.integers(0, 1 << 63, 100, dtype=np.uint64) * np.uint64(2)
    b = RNG.integers(1, 1 << 63, 100, dtype=np.uint64) >> RNG.integers(0, 60, 100).astype(np.uint64)
    out = np.zeros(100, np.uint64)
    load("wide").launch(1, 128, a, b, out, 100)
    word = (1 << 64) - 1
    for x, y, found in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        low, high = x * y & word, x * y >> 64
        wanted = low ^ high * 3 & word ^ x // (y | 1) ^ x % (y | 1) ^ x.bit_count()
        assert found == wanted ^ (y & -y).bit_length() << 8 ^ high ^ int(f"{x:064b}"[::-1], 2)

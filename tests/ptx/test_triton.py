"""Kernels in Triton, compiled by its own compiler and executed here."""

import os
import sys

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from tests.ptx.tracing import accesses

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    x = tl.load(x_ptr + place, mask=inside)
    y = tl.load(y_ptr + place, mask=inside)
    tl.store(out_ptr + place, x + y, mask=inside)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < n)
    tl.store(out_ptr + place, tl.cumsum(x, 0), mask=place < n)

@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + column, mask=column < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * stride + column, e / tl.sum(e, 0), mask=column < n)

@triton.jit
def load_tiles(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    tile = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [M, N])
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    row, column = i + tl.arange(0, M), j + tl.arange(0, N)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    places = row[:, None] * columns + column[None, :]
    tl.store(out_ptr + places, tile.load([i, j]), mask=inside)

@triton.jit
def store_tiles(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    tile = tl.make_tensor_descriptor(out_ptr, [rows, columns], [columns, 1], [M, N])
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    row, column = i + tl.arange(0, M), j + tl.arange(0, N)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    places = row[:, None] * columns + column[None, :]
    tile.store([i, j], tl.load(x_ptr + places, mask=inside, other=0))
"""


pytestmark = pytest.mark.filterwarnings("ignore")  # of Triton's own


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    pytest.importorskip("triton")
    os.environ.setdefault("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    folder = tmp_path_factory.mktemp("triton")
    (folder / "kernels_of_a_test.py").write_text(KERNELS)
    sys.path.insert(0, str(folder))
    try:
        import kernels_of_a_test

        yield kernels_of_a_test
    finally:
        sys.path.remove(str(folder))


def test_a_sum(kernels):
    x, y, out = (np.arange(1000, dtype=np.float32) for _ in range(3))
    with gpusim.capture() as captured:
        gpusim.triton_kernel(kernels.add).launch(8, x, y, out, 1000, BLOCK=128)
    assert (out == 2 * x).all()
    found = accesses(captured, block=1)
    assert [one[:2] for one in found] == [
        ("LOAD", "x_ptr"), ("LOAD", "y_ptr"), ("STORE", "out_ptr"),
    ]  # fmt: skip
    assert captured.application().notices == ()  # registers are known


def test_a_function_of_the_users_that_launches(kernels):
    rng = np.random.default_rng(0)
    x = rng.random((6, 300), dtype=np.float32)
    out = np.zeros_like(x)

    def mine():
        kernels.softmax[lambda meta: (x.shape[0],)](
            x, out, x.shape[1], x.shape[1], BLOCK=512, num_warps=2
        )

    with gpusim.capture_triton("softmax", capability=90) as captured:
        mine()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(out, e / e.sum(axis=1, keepdims=True), atol=1e-6)
    result = gpusim.simulate("tiny", captured)
    assert result.summary["memory_instructions"] > 0


def test_each_capture_says_that_nothing_was_tuned(kernels):
    x = np.arange(100, dtype=np.int32)
    for _ in range(2):
        out = np.zeros_like(x)
        with gpusim.capture_triton() as captured:
            kernels.tuned[lambda meta: (-(-100 // meta["BLOCK"]),)](x, out, 100)
        assert out[64:].tolist() == x[64:].cumsum().tolist()
        assert "tuned runs with the first of its configurations" in captured.notices[0]


def test_wrong_arguments(kernels):
    with pytest.raises(UserError, match="is neither a numpy array nor a number"):
        gpusim.triton_kernel(kernels.add).launch(1, "x", "y", "z", 3, BLOCK=128)
    with pytest.raises(UserError, match=r"missing a required argument.*its arguments: x_ptr"):
        gpusim.triton_kernel(kernels.add).launch(1)
    with pytest.raises(UserError, match=r"decorate it with triton\.jit"):
        gpusim.triton_kernel(len)


def test_without_triton_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(UserError, match=r"pip install 'gpusim\[triton\]'"):
        gpusim.triton_kernel(len)


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    ("dtype", "rows", "columns"), [("float32", 16, 64), ("float16", 32, 32), ("int8", 16, 16)]
)
def test_descriptors_of_tensors_with_each_swizzle(kernels, capability, dtype, rows, columns):
    x = (np.random.default_rng(0).random((50, 144)) * 100).astype(dtype)
    grid = (-(-50 // rows), -(-144 // columns))
    for function in (kernels.load_tiles, kernels.store_tiles):
        out = np.zeros_like(x)
        kernel = gpusim.triton_kernel(function, capability)
        kernel.launch(grid, x, out, 50, 144, M=rows, N=columns)
        assert (out == x).all()

"""Kernels in Numba: results as numpy has them, arrays by the names of the arguments."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import gpusim
from gpusim.cli.main import app
from gpusim.core.errors import UserError
from gpusim.results.blame import blame
from tests.ptx.tracing import accesses

pytest.importorskip("numba.cuda.dispatcher")
os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"

from numba import cuda, float32


@cuda.jit
def axpy(a, x, y):
    place = cuda.grid(1)
    if place < y.size:
        y[place] += a * x[place]


@cuda.jit
def product(left, right, out):
    of_left = cuda.shared.array((16, 16), float32)
    of_right = cuda.shared.array((16, 16), float32)
    row, column = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range(left.shape[1] // 16):
        of_left[x, y] = left[row, y + step * 16]
        of_right[x, y] = right[x + step * 16, column]
        cuda.syncthreads()
        for k in range(16):
            total += of_left[x, k] * of_right[k, y]
        cuda.syncthreads()
    out[row, column] = total


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit
def sum_of_squares(x, out, limits):
    place = cuda.grid(1)
    value = square(x[place]) if place < limits[0] else 0.0
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def histogram(x, bins):
    for place in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, int(x[place] * 10.0), 1)


def test_a_kernel_with_arrays_by_their_names():
    x = np.arange(100, dtype=np.float32)
    y = np.ones(100, np.float32)
    with gpusim.capture_numba("axpy") as captured:
        axpy[1, 128](np.float32(2), x, y)
    assert (y == 1 + 2 * x).all()
    lanes = [4 * lane for lane in range(32)]
    assert accesses(captured) == [
        ("LOAD", "x", lanes, 4),
        ("LOAD", "y", lanes, 4),
        ("STORE", "y", lanes, 4),
    ]
    with gpusim.simulate("tiny", captured, record=("blame",)) as result:
        assert set(blame(result).line) >= {"test_numba.py:28"}
        assert result.launches.kernel.tolist() == ["axpy"]
        assert any("registers" in text for text in result.warnings)


def test_shared_memory_of_two_dimensions_and_functions_of_the_host():
    rng = np.random.default_rng(0)
    left, right = rng.random((32, 48), np.float32), rng.random((48, 32), np.float32)
    with gpusim.capture_numba():
        out = cuda.device_array((32, 32), np.float32)
        product[(2, 2), (16, 16)](cuda.to_device(left), cuda.to_device(right), out)
        cuda.synchronize()
    assert np.allclose(out.copy_to_host(), left @ right, rtol=1e-5)


def test_functions_on_the_device_tuples_shuffles_and_atomics():
    x = np.random.default_rng(0).random(256)
    total, bins = np.zeros(1), np.zeros(10, np.int64)
    with gpusim.capture_numba():
        sum_of_squares[2, 128](x, total, (200, 3))
        histogram[4, 32](x, bins)
    assert np.isclose(total[0], (x[:200] ** 2).sum())
    assert (bins == np.histogram(x, 10, (0, 1))[0]).all()


def test_what_is_wrong_is_told():
    x = np.ones(8, np.float32)
    with gpusim.capture_numba():
        with pytest.raises(UserError, match="there is no argument y"):
            axpy[1, 32](1.0, x)
        with pytest.raises(UserError, match="'axpy', argument 'x': Numba has no type for object"):
            axpy[1, 32](1.0, object(), x)
        with pytest.raises(UserError, match="'axpy': Numba does not compile it"):
            axpy[1, 32](1.0, x, 3.0)
        with pytest.raises(UserError, match="2048 threads of a block; at most 1024"):
            axpy[1, 2048](1.0, x, x)
        with pytest.raises(UserError, match="one after the other"):
            axpy[1, 32](1.0, np.ones(16, np.float32)[::2], x)


def test_from_a_shell(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        """import numpy as np
from numba import cuda

@cuda.jit
def double(x):
    place = cuda.grid(1)
    if place < x.size:
        x[place] *= 2

def main():
    x = np.ones(4096)
    double[16, 256](x)
    assert x.sum() == 8192
"""
    )
    trace = tmp_path / "mine.h5"
    code = "import sys; from gpusim.cli.main import app; app(sys.argv[1:])"
    command = (sys.executable, "-c", code, "trace", "numba", f"{path}:main", "-o", str(trace))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "registers of a thread are estimated" in done.stdout + done.stderr
    counts = json.loads(CliRunner().invoke(app, ["trace", "info", str(trace), "--json"]).stdout)
    one = counts["applications"]["mine"]
    assert one["kernels"] == {"double": 1}
    assert one["global"]["footprint_bytes"] == 32768

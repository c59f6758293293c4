"""From a kernel of one's own to a picture of TLB misses by line, on h100, in three commands."""

import pytest

from gpusim.ptx import nvrtc
from tests import ROOT
from tests.whole.running import command

EXAMPLES = ROOT / "docs" / "examples"

TRITON = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def gather(index_ptr, table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + place, mask=place < n)
    total = tl.zeros((BLOCK,), tl.float32)
    for column in range(4):
        total += tl.load(table_ptr + row * 4 + column, mask=place < n)
    tl.store(out_ptr + place, total, mask=place < n)

def main():
    rng = np.random.default_rng(1)
    index = rng.integers(0, 1 << 18, 500).astype(np.int32)
    table = rng.random((1 << 18, 4), dtype=np.float32)
    out = np.zeros(500, np.float32)
    gather[(2,)](index, table, out, 500, BLOCK=256)
    assert np.allclose(out, table[index].sum(1))
"""


def gpusim(*arguments):
    return command(*map(str, arguments)).stdout


def pictured(tmp_path, *trace):
    """The three commands; what the last one says."""
    recorded, run, picture = (tmp_path / name for name in ("k.h5", "k.run.h5", "lines.png"))
    gpusim("trace", *trace, "-o", recorded)
    told = gpusim("run", "h100", recorded, "--record", "blame", "-o", run)
    said = gpusim("blame", run, "-o", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert said.splitlines()[0] in told
    return said


def test_a_kernel_in_ptx(tmp_path):
    said = pictured(tmp_path, "ptx", EXAMPLES / "gather.ptx", "--launch", EXAMPLES / "launch.py")
    assert "in array `gather_param_1` (gather.cu:8)" in said.splitlines()[0]


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
def test_a_kernel_in_cuda(tmp_path):
    said = pictured(tmp_path, "cuda", EXAMPLES / "gather.cu", "--launch", EXAMPLES / "launch.py")
    assert "in array `table` (gather.cu:8)" in said.splitlines()[0]


def test_a_kernel_in_triton(tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "mine.py"
    path.write_text(TRITON)
    said = pictured(tmp_path, "triton", f"{path}:main")
    assert "in array `table_ptr` (mine.py:12)" in said.splitlines()[0]

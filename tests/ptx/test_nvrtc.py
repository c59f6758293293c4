"""CUDA C++ with headers, where NVRTC is installed."""

import numpy as np
import pytest

import gpusim
from gpusim.ptx import nvrtc

pytestmark = pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")

OWN = """#include "factor.h"
__global__ void scaled(const int *in, int *out) { out[threadIdx.x] = FACTOR * in[threadIdx.x]; }
"""

GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
__global__ void sums(const half *in, int *out, int n) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int t = block.group_index().x * block.size() + block.thread_rank();
  int value = t < n ? (int)(2 * __half2float(in[t])) : 0;
  int sum = cg::reduce(warp, value, cg::plus<int>());
  block.sync();
  if (warp.thread_rank() == 0) out[t / 32] = sum;
}
"""


def test_headers_beside_the_file_and_options(tmp_path):
    (tmp_path / "k.cu").write_text(OWN)
    (tmp_path / "factor.h").write_text("#ifndef FACTOR\n#define FACTOR 3\n#endif\n")
    values, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    gpusim.load_kernel(tmp_path / "k.cu").launch(1, 32, values, out)
    assert out.tolist() == (3 * values).tolist()
    gpusim.load_kernel(tmp_path / "k.cu", options=["-DFACTOR=5"]).launch(1, 32, values, out)
    assert out.tolist() == (5 * values).tolist()


@pytest.mark.skipif(
    not any((folder / "cooperative_groups.h").exists() for folder in nvrtc.headers()),
    reason="CUDA's headers are not installed",
)
def test_cooperative_groups_and_halves(tmp_path):
    (tmp_path / "k.cu").write_text(GROUPS)
    values = np.arange(256).astype(np.float16)
    out = np.zeros(8, np.int32)
    kernel = gpusim.load_kernel(tmp_path / "k.cu", architecture="sm_90")
    kernel.launch(2, 128, values, out, n=256)
    assert out.tolist() == (2 * np.arange(256)).reshape(8, 32).sum(axis=1).tolist()

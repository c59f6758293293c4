"""Descriptors of tensors that a kernel makes, and copies by them: ``descriptor.ptx``.

It is what Triton 3.9 makes for compute capability 90 of a kernel that loads a tile of 16 × 64 by
one descriptor, doubles it, and stores it by another one.
"""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE, Op
from tests.ptx.tracing import DATA, operations

ROWS, COLUMNS = 50, 72
SHARED = 8192


def launched():
    rng = np.random.default_rng(0)
    x, out = rng.random((ROWS, COLUMNS), np.float32), np.zeros((ROWS, COLUMNS), np.float32)
    kernel = gpusim.load_kernel(DATA / "descriptor.ptx")
    scratch = np.zeros(8 * 256, np.uint8)
    with gpusim.capture("descriptor") as captured:
        kernel.launch((4, 2), 128, x, out, ROWS, COLUMNS, scratch, 0, shared=SHARED)
    return captured, x, out


def test_tiles_at_the_edges_hold_what_lies_in_the_tensor():
    _, x, out = launched()
    assert (out == 2 * x).all()


def test_accesses_are_the_rows_of_the_tile_in_sectors():
    captured, _, _ = launched()
    for block, (i, j) in enumerate((i, j) for j in range(2) for i in range(4)):
        found = {Op.LOAD: set(), Op.STORE: set()}
        for warp in operations(captured)[0][block]:
            for op, what, size in warp:
                if isinstance(what, np.ndarray) and size == 32:
                    found[op] |= set(what[what != INACTIVE].tolist())
        for op, array in (
            (Op.LOAD, captured.memory.arrays[0]),
            (Op.STORE, captured.memory.arrays[1]),
        ):
            wanted = set()
            for row in range(16 * i, min(16 * i + 16, ROWS)):
                first = array.base + 4 * (row * COLUMNS + 64 * j)
                last = array.base + 4 * (row * COLUMNS + min(64 * j + 64, COLUMNS))
                wanted |= set(range(first // 32 * 32, last, 32))
            assert found[op] == wanted


def test_a_run_makes_the_descriptors_again():
    captured, _, _ = launched()
    with gpusim.simulate("tiny", captured, record=("blame",)) as result:
        assert len(result.table("blame")) > 2


def test_a_descriptor_that_no_kernel_has_made_is_an_error(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(
        """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{
.reg .b64 %rd<4>;
.reg .b32 %r<4>;
.shared .align 128 .b8 tile[1024];
mov.u64 %rd1, map;
cvta.param.u64 %rd2, %rd1;
mov.u32 %r1, tile;
mov.u32 %r2, 0;
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r2, %r2}], [%r1];
ret;
}
"""
    )
    kernel = gpusim.load_kernel(path)
    with pytest.raises(UserError, match=r"k.ptx:13: .*: this descriptor of a tensor was not made"):
        kernel.launch(1, 1, bytes(128), np.zeros(4))

"""Copies beside their warp, mbarriers, and matrices in shared memory."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Op
from gpusim.ptx import mbarrier
from gpusim.ptx.copy_groups import CopyGroups
from tests.ptx.tracing import operations

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<19>;
.reg .b64 %rd<9>;
.shared .align 128 .b8 tile[1024];
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd3, %r0, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
shl.b32 %r1, %r0, 2;
mov.u32 %r2, tile;
add.u32 %r3, %r2, %r1;
mov.u32 %r4, bar;
setp.eq.u32 %p1, %r0, 0;
"""

STORE = """ld.shared.u32 %r9, [%r3];
st.global.u32 [%rd5], %r9;
ret;
}
"""

WAIT = """WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
@!%p2 bra WAIT;
"""

INTS = np.arange(256, dtype=np.int32)


def run(tmp_path, body, threads=64, end=STORE):
    path = tmp_path / "k.ptx"
    path.write_text(HEAD + body + end)
    out = np.zeros(256, np.int32)
    with gpusim.capture() as captured:
        gpusim.load_kernel(path).launch(1, threads, INTS, out)
    return captured, out


def names(captured, warp=0):
    return [op.name for op, _, _ in operations(captured)[0][0][warp] if op != Op.COMPUTE]


def test_a_copy_in_bulk_and_the_barrier_that_it_reports_to(tmp_path):
    captured, out = run(
        tmp_path,
        """@%p1 mbarrier.init.shared.b64 [%r4], 1;
bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r4];
"""
        + WAIT,
    )
    assert out[:64].tolist() == list(range(64))
    load = next(what for op, what, _ in operations(captured)[0][0][0] if op == Op.LOAD)
    base = captured.memory.arrays[0].base
    assert (load[load >= 0] - base).tolist() == list(range(0, 256, 32))  # its sectors
    order = names(captured)
    assert order.index("LOAD") < order.index("WAIT") < order.index("STORE")
    assert "LOAD" not in names(captured, warp=1)


def test_a_copy_in_bulk_to_global_memory(tmp_path):
    captured, out = run(
        tmp_path,
        """ld.global.u32 %r5, [%rd4];
st.shared.u32 [%r3], %r5;
bar.sync 0;
@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
""",
        end="ret;\n}\n",
    )
    assert out[:33].tolist() == [*range(32), 0]
    stores = [what for op, what, _ in operations(captured)[0][0][0] if op == Op.STORE]
    base = captured.memory.arrays[1].base
    assert [(one[one >= 0] - base).tolist() for one in stores] == [[0, 32, 64, 96]]


def test_all_threads_arrive_at_a_barrier_in_shared_memory(tmp_path):
    """The first warp waits for what the second stores before it arrives."""
    _, out = run(
        tmp_path,
        """@%p1 mbarrier.init.shared.b64 [%r4], 64;
bar.sync 0;
setp.lt.u32 %p3, %r0, 32;
@%p3 bra ARRIVE;
ld.global.u32 %r5, [%rd4];
st.shared.u32 [%r3], %r5;
ARRIVE:
mbarrier.arrive.shared.b64 %rd6, [%r4];
WAIT:
mbarrier.test_wait.shared.b64 %p2, [%r4], %rd6;
@!%p2 bra WAIT;
xor.b32 %r3, %r3, 128;
""",
    )
    assert out[:32].tolist() == list(range(32, 64))


def test_a_barrier_at_which_too_few_arrive_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"mbarrier\.try_wait.*waits here for threads that never"):
        run(tmp_path, "@%p1 mbarrier.init.shared.b64 [%r4], 65;\nbar.sync 0;\n" + WAIT)


def test_groups_of_copies_are_waited_for_in_their_order(tmp_path):
    captured, out = run(
        tmp_path,
        """cp.async.ca.shared.global [%r3], [%rd4], 4;
cp.async.commit_group;
cp.async.cg.shared.global [%r2+512], [%rd1], 16;
cp.async.commit_group;
cp.async.wait_group 1;
bar.sync 0;
cp.async.wait_all;
""",
    )
    assert out[:64].tolist() == list(range(64))
    waits = [(op.name, arg) for op, arg, _ in operations(captured)[0][0][0] if not np.ndim(arg)]
    assert [one for one in waits if one[0] == "WAIT"] == [("WAIT", 1), ("WAIT", 0)]
    assert names(captured)[:2] == ["LOAD", "COHERENT_LOAD"]


def test_a_copy_may_be_shorter_than_its_place(tmp_path):
    _, out = run(
        tmp_path,
        """setp.gt.u32 %p3, %r0, 9;
selp.u32 %r5, 0, 4, %p3;
cp.async.ca.shared.global [%r3], [%rd4], 4, %r5;
cp.async.wait_all;
""",
    )
    assert out[:64].tolist() == [t if t < 10 else 0 for t in range(64)]


def test_matrices_lie_in_the_registers_of_a_warp(tmp_path):
    """A matrix of 16-bit numbers, loaded and stored, straight and turned."""
    captured, out = run(
        tmp_path,
        """ld.global.u32 %r5, [%rd4];
st.shared.u32 [%r3], %r5;
bar.sync 0;
shl.b32 %r6, %r0, 4;
add.u32 %r6, %r6, %r2;
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];
st.shared.u32 [%r3+256], %r7;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r6];
stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r6], {%r8};
bar.sync 0;
ld.shared.u32 %r9, [%r3];
st.global.u32 [%rd5], %r9;
st.global.u32 [%rd5+128], %r7;
ret;
}
""",
        threads=32,
        end="",
    )
    matrix = INTS[:32].view(np.uint16).reshape(8, 8)
    assert out[32:64].view(np.uint16).reshape(8, 8).tolist() == matrix.T.tolist()
    assert out[:32].view(np.uint16).reshape(8, 8).tolist() == matrix.T.tolist()
    # eight rows of 16 bytes, side by side: one pass
    assert names(captured).count("SHARED") == 6


def test_a_word_of_a_barrier():
    word = mbarrier.started(2)
    word = mbarrier.changed(word, 1, 100)
    word = mbarrier.changed(word, 1)
    assert word >> 63 == 0  # bytes are missing
    word = mbarrier.changed(word, 0, -100)
    assert word >> 63 == 1
    word = mbarrier.changed(word, 1, dropped=1)
    assert word >> 63 == 1
    word = mbarrier.changed(word, 1)
    assert word >> 63 == 0
    assert mbarrier.changed(word, 1) >> 63 == 1  # one arrival is enough from here on


def test_groups_of_each_warp():
    groups = CopyGroups(2)
    both, first = np.array([True, True]), np.array([True, False])
    groups.copy(np.array([1, 1]), both)
    groups.commit(both)
    for load in range(2, 8):
        groups.copy(np.array([load, 0]), first)
        groups.commit(first)
    assert groups.needed(0).tolist() == [7, 1]
    assert groups.needed(1).tolist() == [6, 0]
    assert groups.needed(6).tolist() == [1, 0]

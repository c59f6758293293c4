"""Launches as the machine asks for them."""

from collections import Counter

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Asked, Op, Unit
from gpusim.ptx.executor import Executor
from gpusim.ptx.flow import blocks_of
from gpusim.ptx.parser import parse
from gpusim.ptx.pressure import estimated_registers
from tests.ptx.tracing import DATA, load, operations


def matmul(n=64):
    a = np.zeros((n, n), np.float32)
    with gpusim.capture() as captured:
        load("matmul").launch((n // 16, n // 16), (16, 16), a, a.copy(), a.copy(), n, execute=False)
    return captured


def program(chunks, warps):
    """What each warp does, arithmetic in a row as one."""
    made = [[] for _ in range(warps)]
    for chunk in chunks:
        row = 0
        for kind, arg, active in zip(chunk.kind, chunk.arg, chunk.active, strict=True):
            is_access = kind in {Op.LOAD, Op.STORE, Op.ATOMIC, Op.REDUCE}
            for warp in np.flatnonzero(active):
                what = tuple(chunk.address[row, warp].tolist()) if is_access else int(arg)
                last = made[warp][-1] if made[warp] else None
                if kind == Op.COMPUTE and last and last[0] == Op.COMPUTE:
                    made[warp][-1] = (Op.COMPUTE, last[1] + what)
                else:
                    made[warp].append((Op(kind), what))
            row += is_access
    return made


@pytest.mark.parametrize("name", ["loop", "divergent", "transpose"])
def test_blocks_in_step_do_what_each_does_alone(name):
    ints = np.arange(2048, dtype=np.int32) % 7
    sorted_ = np.sort(ints)
    arrays = {
        "loop": (sorted_, ints, np.zeros(64, np.int32)),
        "divergent": (ints, ints, np.zeros(64, np.int32)),
        "transpose": (ints.astype(np.float32), np.zeros(2048, np.float32)),
    }[name]
    block = (32, 8) if name == "transpose" else 64
    with gpusim.capture() as captured:
        load(f"accesses:{name}").launch(3, block, *arrays, execute=False)
    (launch,) = captured.application().launches()
    warps = launch.warps_per_block
    together = program(launch.run_in_step(range(3), 32), 3 * warps)
    (launch,) = captured.application().launches()
    alone = [one for number in range(3) for one in program(launch.run_block(number, 32), warps)]
    assert together == alone


def test_warps_of_another_size():
    (launch,) = matmul().application().launches()
    chunk = next(iter(launch.run_block(0, 64)))
    assert chunk.address.shape[1:] == (4, 64)
    assert launch.run_in_step((0, 1), 64) is None


def test_instructions_are_counted_whether_executed_or_not():
    captured = matmul()
    (launch,) = captured.application().launches()
    (warp, *_) = program(launch.run_block(0, 32), 8)
    compute = sum(arg for op, arg in warp if op == Op.COMPUTE)
    assert compute > 4 * 16  # each product of the four tiles' is among them


def test_arithmetic_has_latency_and_units_where_they_are_asked_for():
    latency, interval = [4] * len(Unit), [2] * len(Unit)
    asked = Asked(frozenset({Op.UNITS, Op.DELAY}), tuple(latency), tuple(interval))
    ops = operations(matmul(), asked)[0][0][0]
    assert any(op == Op.DELAY and arg > 0 for op, arg, _ in ops)
    assert any(op == Op.UNITS and arg > 0 for op, arg, _ in ops)


def test_shared_accesses_are_loads_and_stores_where_they_are_asked_for():
    asked = Asked(frozenset({Op.SHARED_LOAD, Op.SHARED_STORE}))
    ops = [op for op, _, _ in operations(matmul(), asked)[0][0][0]]
    assert Op.SHARED not in ops
    first = ops.index(Op.SHARED_LOAD)
    assert ops.index(Op.SHARED_STORE) < ops.index(Op.BARRIER) < first
    assert Op.WAIT in ops[first:]


def test_each_access_knows_its_line():
    (launch,) = matmul().application().launches()
    for chunk, instructions in launch.located(0):
        assert len(instructions) == len(chunk.size)
        lines = {(one.opcode, one.source.line) for one in instructions}
    source = (DATA / "matmul.cu").read_text().splitlines()
    stored = next(n for n, text in enumerate(source, 1) if text.startswith("  c[y"))
    assert ("st", stored) in lines
    assert {opcode for opcode, _ in lines} == {"ld", "st"}
    assert all(one.source.file == "matmul.cu" for one in instructions)


def test_registers_are_estimated_from_what_is_alive():
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .b64 %rd<3>;
.reg .b32 %r<99>;
ld.param.u64 %rd1, [a];
{loads}
{stores}
ret;
}}
"""
    for count in (10, 40):
        loads = "\n".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(count))
        stores = "\n".join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(count))
        module = parse(text.format(loads=loads, stores=stores), "k")
        function = module.functions["k"]
        found = estimated_registers(blocks_of(module, function), function.registers)
        assert found == -(-(count + 4) // 8) * 8


def test_registers_may_be_given():
    kernel = gpusim.load_kernel(DATA / "matmul.ptx", registers=40)
    with gpusim.capture() as captured:
        a = np.zeros((16, 16), np.float32)
        kernel.launch(1, (16, 16), a, a.copy(), a.copy(), 16)
    application = captured.application()
    assert application.notices == ()
    assert next(application.launches()).registers_per_thread == 40


def test_what_is_not_computed_may_be_done_without(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(
        """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b64 %rd<3>;
.reg .b32 %r<9>;
ld.param.u64 %rd1, [a];
ld.global.u32 %r1, [%rd1];
mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r2}, {%r1}, {%r1}, {%r1};
st.global.u32 [%rd1+4], %r2;
ret;
}
"""
    )
    kernel = gpusim.load_kernel(path)
    with pytest.raises(UserError, match=r":10: mma.*execute=False\) does without results"):
        kernel.launch(1, 32, np.zeros(4))
    with gpusim.capture() as captured:
        kernel.launch(1, 32, np.zeros(4), execute=False)
    ops = [op for op, _, _ in operations(captured)[0][0][0]]
    assert ops == [Op.LOAD, Op.WAIT, Op.COMPUTE, Op.STORE]


def test_of_a_product_of_matrices_a_third_is_executed_at_most(monkeypatch):
    turns = Counter()
    turn = Executor._turn

    def counted(self, place):
        turns[place] += 1
        turn(self, place)

    monkeypatch.setattr(Executor, "_turn", counted)
    (launch,) = matmul(256).application().launches()
    for _ in launch.run_block(0, 32):
        pass
    flow, chosen = launch.kernel.flow, launch.kernel.slice().executed
    every = sum(count * len(flow[place].instructions) for place, count in turns.items())
    executed = sum(
        count * sum(one in chosen for one in flow[place].instructions)
        for place, count in turns.items()
    )
    assert 3 * executed <= every


def test_a_run_may_skip_launches_and_be_sampled():
    x, y = np.ones(8192, np.float32), np.zeros(8192, np.float32)
    kernel = load("scale")
    with gpusim.capture() as captured:
        for _ in range(3):
            kernel.launch(32, 256, x, y, 2.0, 8192)
    whole = gpusim.simulate("tiny", captured)
    rest = gpusim.simulate("tiny", captured, skip=gpusim.Launches(2))
    assert 0 < rest.summary["cycles"] < whole.summary["cycles"]


def test_what_a_run_does_not_honour_is_told(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(
        """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b64 %rd<3>;
.reg .b32 %r<9>;
ld.param.u64 %rd1, [a];
tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];
prefetch.global.L2 [%rd1];
membar.gl;
bar.sync 0;
bar.warp.sync -1;
barrier.sync 1, 32;
st.global.u32 [%rd1], 1;
ret;
}
"""
    )
    with gpusim.capture() as captured:
        gpusim.load_kernel(path, registers=16).launch(1, 32, np.zeros(4))
    (told,) = captured.application().warnings()
    for part in ("1 tex", "1 prefetch", "1 membar", "1 barrier: barriers of part of a block"):
        assert part in told
    result = gpusim.simulate("tiny", captured)
    assert any("1 tex" in one for one in result.warnings)

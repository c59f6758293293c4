"""Control flow: threads that part meet again, and each thread does what it does alone."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Op
from gpusim.ptx.flow import blocks_of
from gpusim.ptx.parser import parse
from gpusim.ptx.syntax import Instruction, Label
from tests.ptx.tracing import DATA, accesses, operations

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .pred %p<9>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r8, [n];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd2, %r0, 4;
add.s64 %rd3, %rd1, %rd2;
mov.u32 %r1, %r0;
mov.u32 %r2, 1;
mov.u32 %r3, 2;
"""

TAIL = """DONE:
st.global.u32 [%rd3], %r1;
ret;
}
"""

_ARITHMETIC = (
    "add.s32 %r1, %r1, %r2;",
    "xor.b32 %r2, %r2, %r1;",
    "mul.lo.s32 %r1, %r1, 1664525;",
    "sub.s32 %r3, %r1, %r3;",
    "shr.u32 %r2, %r1, 3;",
    "@%p1 add.s32 %r2, %r2, 7;",
    "@!%p1 xor.b32 %r1, %r1, %r3;",
    "selp.b32 %r3, %r1, %r2, %p1;",
    "setp.lt.u32 %p1, %r1, %r2;",
    "and.b32 %r2, %r1, 255;",
)


def kernel(tmp_path, body, name="k.ptx"):
    path = tmp_path / name
    path.write_text(HEAD + body + TAIL)
    return gpusim.load_kernel(path)


@st.composite
def bodies(draw, depth=3):
    """Structured control flow of any depth, with loops of few rounds and early ends."""
    count = [0]

    def piece(level):
        kind = draw(st.integers(0, 6 if level else 2))
        if kind <= 2:
            return "\n".join(draw(st.lists(st.sampled_from(_ARITHMETIC), min_size=1, max_size=4)))
        count[0] += 1
        name = f"L{count[0]}"
        bit = draw(st.integers(0, 4))
        test = f"shr.u32 %r4, %r1, {bit};\nand.b32 %r4, %r4, 1;\nsetp.eq.u32 %p2, %r4, 1;\n"
        if kind == 3:
            return f"{test}@%p2 bra {name};\n{piece(level - 1)}\n{name}:\n"
        if kind == 4:
            return (
                f"{test}@%p2 bra {name};\n{piece(level - 1)}\nbra.uni {name}E;\n{name}:\n"
                f"{piece(level - 1)}\n{name}E:\n"
            )
        if kind == 5:
            # two ends of a loop: by a count, and by a value
            return (
                f"mov.u32 %r{4 + level}, 0;\n{name}:\n{piece(level - 1)}\n{test}"
                f"@%p2 bra {name}E;\nadd.s32 %r{4 + level}, %r{4 + level}, 1;\n"
                f"setp.lt.u32 %p3, %r{4 + level}, 3;\n@%p3 bra {name};\n{name}E:\n"
            )
        return f"{test}@%p2 bra DONE;\n"

    return "\n".join(piece(depth) for _ in range(draw(st.integers(1, 3))))


def alone(module, thread):
    """What one thread stores, followed instruction by instruction."""
    body = module.functions["k"].body
    labels = {one.name: place for place, one in enumerate(body) if isinstance(one, Label)}
    registers = {"%tid.x": thread}
    place = 0

    def value(operand):
        if hasattr(operand, "value"):
            return operand.value & 0xFFFFFFFF
        return registers.get(operand.name, 0)

    while True:
        one = body[place]
        place += 1
        if isinstance(one, Label):
            continue
        if one.guard and bool(registers.get(one.guard.register, 0)) == one.guard.negated:
            continue
        if one.opcode == "bra":
            place = labels[one.operands[0].name]
        elif one.opcode == "st":
            return registers["%r1"]
        elif one.opcode not in {"ld", "ret"} and one.modifiers[-1] != "s64":
            if one.name.startswith("mul.wide"):
                continue
            sources = [*(value(operand) for operand in one.operands[1:]), 0, 0]
            registers[one.operands[0].name] = computed(one, *sources[:3]) & 0xFFFFFFFF


def computed(one, a, b, c):
    """What an instruction makes of its operands."""
    signed = [x - (1 << 32) if x >> 31 else x for x in (a, b)]
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: signed[0] * signed[1],
        "xor": lambda: a ^ b,
        "and": lambda: a & b,
        "shr": lambda: a >> b,
        "mov": lambda: a,
        "selp": lambda: a if c else b,
        "setp": lambda: int(a < b if one.has("lt") else a == b),
    }[one.opcode]()


@settings(max_examples=60, deadline=None)
@given(bodies())
def test_each_thread_does_what_it_does_alone(tmp_path_factory, body):
    loaded = kernel(tmp_path_factory.mktemp("k"), body)
    out = np.zeros(40, np.uint32)
    loaded.launch(1, 40, out, 0)
    module = parse(HEAD + body + TAIL, "k")
    assert out.tolist() == [alone(module, thread) for thread in range(40)]


@settings(max_examples=60, deadline=None)
@given(bodies())
def test_threads_meet_where_all_ways_lead(body):
    """Each block comes before its immediate post-dominator: there its threads meet."""
    module = parse(HEAD + body + TAIL, "k")
    blocks = blocks_of(module, module.functions["k"])
    graph = nx.DiGraph()
    for number, block in enumerate(blocks):
        graph.add_edges_from((number, following) for following in block.next or (-1,))
    meets = nx.immediate_dominators(graph.reverse(), -1)
    for number, there in meets.items():
        if number >= 0 and there >= 0:
            assert number <= there


def test_threads_of_a_warp_wait_for_those_in_a_loop(tmp_path):
    body = """LOOP:
add.s32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, %r0;
@%p1 bra LOOP;
"""
    with gpusim.capture() as captured:
        kernel(tmp_path, body).launch(1, 32, np.zeros(32, np.uint32), 0)
    assert len(accesses(captured)) == 1  # one store, of all threads


def test_a_table_of_branches(tmp_path):
    body = """TABLE: .branchtargets A, B, C;
rem.u32 %r4, %r0, 3;
brx.idx %r4, TABLE;
A:
mov.u32 %r1, 10;
bra DONE;
B:
mov.u32 %r1, 11;
bra DONE;
C:
mov.u32 %r1, 12;
"""
    out = np.zeros(32, np.uint32)
    kernel(tmp_path, body).launch(1, 32, out, 0)
    assert out.tolist() == [10 + t % 3 for t in range(32)]


def test_a_barrier_is_of_the_warps_that_have_not_ended(tmp_path):
    body = """setp.gt.u32 %p1, %r0, 63;
@%p1 exit;
bar.sync 0;
bar.sync 0;
"""
    with gpusim.capture() as captured:
        kernel(tmp_path, body).launch(1, 96, np.zeros(96, np.uint32), 0)
    ((warps,),) = operations(captured)
    assert [sum(op == Op.BARRIER for op, *_ in warp) for warp in warps] == [2, 2, 0]


def test_barriers_of_some_warps_and_with_results(tmp_path):
    body = """setp.lt.u32 %p1, %r0, 64;
@%p1 bar.sync 1, 64;
setp.eq.u32 %p2, %r0, 70;
bar.red.popc.u32 %r1, 0, %p1;
bar.red.or.pred %p3, 0, %p2;
bar.red.and.pred %p4, 0, %p2;
@%p3 add.s32 %r1, %r1, 1000;
@%p4 add.s32 %r1, %r1, 5000;
"""
    out = np.zeros(96, np.uint32)
    kernel(tmp_path, body).launch(1, 96, out, 0)
    assert set(out.tolist()) == {1064}


def test_threads_that_wait_for_nothing_are_an_error(tmp_path):
    body = """setp.eq.u32 %p1, %r0, 0;
@%p1 bar.sync 1, 64;
"""
    with pytest.raises(UserError, match=r"k\.ptx:18: bar\.sync: thread 0 of block 0 waits here"):
        kernel(tmp_path, body).launch(1, 32, np.zeros(32, np.uint32), 0)


def test_warps_may_wait_for_each_other(tmp_path):
    """The first warp waits for what the second one stores, which is behind it in the code."""
    body = """setp.lt.u32 %p1, %r0, 32;
@!%p1 bra SECOND;
WAIT:
ld.volatile.global.u32 %r5, [%rd1+256];
setp.eq.u32 %p2, %r5, 0;
@%p2 bra WAIT;
bra DONE;
SECOND:
mov.u32 %r6, 1;
st.volatile.global.u32 [%rd1+256], %r6;
"""
    out = np.zeros(65, np.uint32)
    kernel(tmp_path, body).launch(1, 64, out, 0)
    assert out[64] == 1


def test_a_branch_to_nowhere_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"k\.ptx:17: bra: there is no label 'DON'.*'DONE'"):
        kernel(tmp_path, "bra DON;\n")


def test_every_instruction_is_in_a_block():
    for file in DATA.glob("*.ptx"):
        module = parse(file.read_text(), file.name)
        for function in module.functions.values():
            if function.entry:
                found = [one for block in blocks_of(module, function) for one in block.instructions]
                body = [one for one in function.body if isinstance(one, Instruction)]
                assert sorted(one.line for one in found) == [one.line for one in body]


def test_threads_may_come_to_a_barrier_and_go_on(tmp_path):
    """The second warp stores, and comes; the first one waits for it."""
    body = """setp.lt.u32 %p1, %r0, 32;
@%p1 bra FIRST;
st.global.u32 [%rd3+128], %r0;
bar.arrive 1, 64;
bra DONE;
FIRST:
bar.sync 1, 64;
ld.global.u32 %r1, [%rd3+256];
"""
    out = np.zeros(96, np.uint32)
    kernel(tmp_path, body).launch(1, 64, out, 0)
    assert out[:32].tolist() == list(range(32, 64))


def test_a_value_that_was_moved_stays_where_threads_part(tmp_path):
    """All threads move it together first, and then only some of them change its source."""
    made = kernel(
        tmp_path,
        """
mov.u32 %r4, 0;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
mov.u32 %r1, 0;
and.b32 %r7, %r0, 3;
add.s32 %r7, %r7, 3;
setp.ne.u32 %p2, %r0, 999;
LOOP:
add.s32 %r4, %r4, 5;
add.s32 %r4, %r4, %r0;
@%p2 bra MIDDLE;
add.s32 %r3, %r3, 1;
MIDDLE:
add.s32 %r1, %r1, %r5;
mov.u32 %r5, %r4;
setp.lt.u32 %p1, %r6, %r7;
add.s32 %r6, %r6, 1;
@%p1 bra LOOP;
""",
    )
    out = np.zeros(64, np.int32)
    made.launch(1, 64, out, 0)
    threads = np.arange(64)
    rounds = 3 + threads % 4
    assert out.tolist() == ((5 + threads) * rounds * (rounds + 1) // 2).tolist()

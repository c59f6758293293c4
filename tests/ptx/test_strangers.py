"""Kernels as strangers write them (``strangers.cu``): results are numpy's, or an error says why."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx import nvrtc
from gpusim.ptx.cuda_arguments import Argument, arguments_of
from gpusim.ptx.syntax import Function, Variable
from tests.ptx.tracing import DATA

RNG = np.random.default_rng(0)


def load(name):
    """A kernel: from the source if it can be compiled here, else from the PTX of the test data."""
    return gpusim.load_kernel(
        DATA / ("strangers.cu" if nvrtc.is_installed() else "strangers.ptx"), name
    )


def test_templates():
    x, out = RNG.random((100, 12), np.float32), np.zeros(100, np.float32)
    load("templates").launch(2, 64, x, out, 100)
    assert np.allclose(out, x.sum(axis=1))


def test_arrays_in_local_memory():
    x, out = RNG.random(64, np.float32), np.zeros(64, np.float32)
    index = RNG.integers(0, 16, 64).astype(np.int32)
    load("local_array").launch(1, 64, x, index, out)
    assert np.allclose(out, index * x)


def test_branches_by_a_table():
    m, out = RNG.integers(0, 8, 256).astype(np.int32), np.zeros(256, np.int32)
    load("cases").launch(2, 128, m, out)
    t = np.arange(256)
    wanted = [t, t * t + 1, t - 7, (t ^ 85) * 3, t << 3, -t]
    assert out.tolist() == np.select([m == case for case in range(6)], wanted, 99).tolist()


def test_functions_that_are_called():
    p, out = RNG.random((64, 4), np.float32), np.zeros(64, np.float32)
    load("calls").launch(1, 64, p, out)
    s = np.zeros(64)
    for column in p.T:
        s += s * column + 1
    assert np.allclose(out, s)


def test_what_is_printed_is_left_out_with_a_notice():
    out = np.zeros(64, np.int32)
    with gpusim.capture() as captured:
        load("prints").launch(1, 64, out)
    assert (out == np.arange(64)).all()
    assert any("1 printf: what kernels print" in one for one in captured.application().warnings())


def test_an_assertion_that_fails_ends_the_program():
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    load("asserts").launch(1, 32, x, out)
    assert (out[:32] == x[:32]).all()
    with pytest.raises(
        UserError, match=r"strangers.cu:\d+\): thread 40 of block 0 ends the program"
    ):
        load("asserts").launch(1, 64, x, out)


def test_registers_and_labels_of_inline_assembly():
    x = RNG.integers(0, 1 << 32, 32, dtype=np.uint32)
    x[:8] = np.arange(8)
    out = np.zeros((3, 32), np.uint32)
    load("assembly").launch(1, 32, x, out)
    a = x * np.uint32(3) + np.uint32(7)
    for _ in range(3):
        a = np.where(a > 10, a, a + np.uint32(1))
    assert out[0].tolist() == a.tolist()
    assert out[1].tolist() == (x >> 8 | x << 24).tolist()
    assert out[2].view(np.float32).tolist() == (x & 255).tolist()


def test_pairs_of_halves():
    x, out = RNG.standard_normal(64).astype(np.float16), np.zeros(64, np.float16)
    load("halves").launch(1, 32, x, out)
    assert np.allclose(out, x.astype(np.float32) ** 2 + 1, rtol=1e-3)


def test_votes_matches_and_shuffles():
    x, out = RNG.integers(0, 5, 64).astype(np.int32), np.zeros((4, 64), np.uint32)
    load("votes").launch(1, 64, x, out)
    for first in (0, 32):
        warp, found = x[first : first + 32], out[:, first : first + 32].tolist()
        assert found[0] == [sum(1 << i for i in range(32) if warp[i] > 2)] * 32
        assert found[1] == [sum(1 << j for j in range(32) if warp[j] == one) for one in warp]
        assert found[2] == [warp.sum()] * 32
        assert found[3] == [warp[i ^ 5] for i in range(32)]


def test_divisions_of_64_bits():
    a, b = RNG.integers(-(2**62), 2**62, 32), RNG.integers(1, 2**40, 32)
    out = np.zeros((3, 32), np.int64)
    load("divisions").launch(1, 32, a, b, out)
    for lane, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        quotient = abs(x) // y * (1 if x > 0 else -1)
        assert out[:, lane].tolist() == [quotient, x - quotient * y, x * y >> 64]


def test_constants_globals_and_dynamic_shared_memory():
    out = np.zeros(64, np.float32)
    load("variables").launch(1, 64, out, shared=256)
    assert out.tolist() == [float(1 + (63 - t) % 4) for t in range(64)]


def test_atomics_of_all_kinds():
    x = RNG.integers(0, 8, 256).astype(np.int32)
    i, u, d = np.zeros(8, np.int32), np.zeros(1, np.uint64), np.zeros(1)
    i[3], i[5] = 1 << 30, 255
    load("atomics").launch(1, 256, x, i, u, d)
    total = x.sum()
    folded = [np.bitwise_or.reduce(1 << x), np.bitwise_and.reduce(x), np.bitwise_xor.reduce(x)]
    assert i.tolist() == [total, -total, x.max(), x.min(), *folded, total]
    assert (u[0], d[0]) == (total, total)


def test_a_lock_for_which_threads_of_a_warp_spin():
    out = np.zeros(1, np.int32)
    load("spin").launch(2, 32, out)
    assert out[0] == 64


def test_matrices_by_whole_warps():
    a, b = RNG.standard_normal((2, 16, 16)).astype(np.float16)
    c = RNG.standard_normal((16, 16)).astype(np.float32)
    wanted = a.astype(np.float32) @ b.T.astype(np.float32) + c
    with gpusim.capture() as captured:
        load("matrices").launch(1, 32, a, b, c)
    assert np.allclose(c, wanted, atol=1e-2)
    with gpusim.simulate("tiny", captured, record=("blame",)) as result:
        assert (
            len(result.table("blame", columns=["array"]).array.unique()) == 2
        )  # a and b are parts of one


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("recursion", 1, r"call.uni \(strangers.cu:\d+\): '\w+' calls itself"),
        ("allocates", 1, r"memory that a kernel allocates \(malloc\) is not supported"),
        ("texture", 3, r"tex.1d.v4.s32.s32 \(strangers.cu:\d+\): its result is not computed"),
    ],
)
def test_what_is_not_supported_is_an_error_with_its_line(name, arguments, message):
    x = np.zeros(64, np.float32)
    given = (x,) if arguments == 1 else (1, x, x)
    with gpusim.capture() as captured, pytest.raises(UserError, match=message):
        simulated(captured, name, given)


def simulated(captured, name, arguments):
    load(name).launch(1, 32, *arguments, execute=False)
    return gpusim.simulate("tiny", captured)


def test_parameters_that_say_what_they_point_to(tmp_path):
    """``.ptr .align 1`` is of what a parameter points to, not of its own place (Triton 3.9)."""
    path = tmp_path / "k.ptx"
    path.write_text(
        """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 1 a, .param .u32 n, .param .u64 .ptr .align 1 b)
{
.reg .b64 %rd<9>;
.reg .b32 %r<9>;
ld.param.b64 %rd1, [a];
ld.param.b32 %r1, [n];
ld.param.b64 %rd2, [b];
st.global.b32 [%rd1], %r1;
st.global.b32 [%rd2], %r1;
ret;
}
"""
    )
    a, b = np.zeros(1, np.int32), np.zeros(1, np.int32)
    gpusim.load_kernel(path).launch(1, 1, a, 7, b)
    assert (a[0], b[0]) == (7, 7)


def test_variables_that_the_host_fills():
    source = DATA / ("strangers.cu" if nvrtc.is_installed() else "strangers.ptx")
    weights = np.array([9, 8, 7, 6], np.float32)
    out = np.zeros(64, np.float32)
    kernel = gpusim.load_kernel(source, "variables", variables={"weights": weights})
    kernel.launch(1, 64, out, shared=256)
    assert out.tolist() == [float(9 - (63 - t) % 4) for t in range(64)]
    with pytest.raises(UserError, match=r"has no variable 'weight'; did you mean 'weights'"):
        gpusim.load_kernel(source, "variables", variables={"weight": weights})
    with pytest.raises(UserError, match="'weights' has 16 bytes; the array for it has 32"):
        gpusim.load_kernel(source, "variables", variables={"weights": weights.astype(np.float64)})


@pytest.mark.parametrize(
    ("declared", "points_to"),
    [
        ("const float *x", "float32"),
        ("const unsigned char* __restrict__ x", "int8"),
        ("unsigned long long *x", "int64"),
        ("unsigned *x", "int32"),
        ("uint16_t x[]", "int16"),
        ("float4 *x", ""),
        ("const T *x", ""),
        ("float **x", ""),
        ("int x", ""),
    ],
)
def test_types_of_pointers_in_a_source(declared, points_to):
    parameter = Variable("k_param_0", "param", "u64", 8, 8)
    function = Function("k", True, 1, parameters=[parameter])
    (one,) = arguments_of(function, f"__global__ void k({declared}) {{ }}")
    assert (one.name, one.points_to) == ("x", points_to)


@pytest.mark.parametrize(
    ("dtype", "fits"),
    [("float32", True), ("V16", True), ("float64", False), ("int32", False), ("float16", False)],
)
def test_arrays_of_another_type_are_refused(dtype, fits):
    argument = Argument("x", "float32", "const float *")
    array = np.zeros(4, dtype)
    if fits:
        argument.check("scale", array)
    else:
        with pytest.raises(UserError, match=r"'scale', argument 'x': an array of \w+ for 'const"):
            argument.check("scale", array)

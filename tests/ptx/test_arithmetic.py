"""Arithmetic of all threads at once is that of a thread written down by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx.operations import operations
from gpusim.ptx.syntax import Immediate, Instruction, Register, Vector
from gpusim.ptx.values import UnsupportedError, constant, dtype_of, reinterpreted
from tests.ptx import naive

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
EDGES = [0, 1, 2, 3, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF]
EDGES += [0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]

whole = st.one_of(st.sampled_from(EDGES), st.integers(0, (1 << 64) - 1))
small = st.one_of(st.integers(0, 70), st.sampled_from(EDGES))
floats32 = st.one_of(
    st.integers(0, (1 << 32) - 1),
    st.sampled_from([0, 1 << 31, 0x3F800000, 0x7F7FFFFF, 0x00800000, 1, 0x007FFFFF, 0x7F800000]),
)


def compute(name, *values, operands=None):
    """Results of an instruction of one thread, as bits."""
    opcode, *modifiers = name.split(".")
    places = operands or (Register("d"), *(Register(f"r{k}") for k in range(len(values))))
    one = Instruction(opcode, tuple(modifiers), tuple(places), None, 1, None)
    operation = operations()[opcode](one)
    with np.errstate(all="ignore"):
        # several threads and a value of all give the same
        given_ = [
            np.array([bits_as(value, type_)] * 3)
            for value, type_ in zip(values, operation.sources, strict=True)
        ]
        found = operation.run(*given_)
        common = operation.run(*(one[0] for one in given_))
    found, common = ([one] if not isinstance(one, tuple) else one for one in (found, common))
    results = []
    for many, single in zip(found, common, strict=True):
        whole_ = bits_of(np.broadcast_to(many, 3)[2])
        assert whole_ == bits_of(single)
        results.append(whole_)
    return results[0] if len(results) == 1 else tuple(results)


def bits_as(value, type_):
    dtype = dtype_of(type_)
    if dtype.kind == "b":
        return np.bool_(value)
    cut = value & ((1 << 8 * dtype.itemsize) - 1)
    return np.array(cut, f"u{dtype.itemsize}").view(dtype)[()]


def bits_of(value):
    value = np.asarray(value)
    if value.dtype.kind == "b":
        return int(value)
    return int(value.reshape(1).view(f"u{value.dtype.itemsize}")[0])


@settings(max_examples=150)
@given(
    st.sampled_from(["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"]),
    st.sampled_from(INTEGERS),
    whole,
    whole,
)
def test_integers(opcode, type_, a, b):
    assert compute(f"{opcode}.{type_}", a, b) == naive.binary(opcode, type_, a, b)


@settings(max_examples=80)
@given(st.sampled_from(["shl.b", "shr.u", "shr.s"]), st.sampled_from([16, 32, 64]), whole, small)
def test_shifts_clamp(opcode, bits, a, by):
    name, kind = opcode.split(".")
    expected = naive.binary(name, f"{kind}{bits}", a, by & 0xFFFFFFFF)
    assert compute(f"{name}.{kind}{bits}", a, by) == expected
    if by < 256:
        fixed = (Register("d"), Register("a"), Immediate(by))
        assert compute(f"{name}.{kind}{bits}", a, by, operands=fixed) == expected


@settings(max_examples=80)
@given(st.sampled_from(["and", "or", "xor"]), st.sampled_from([16, 32, 64]), whole, whole)
def test_logic(opcode, bits, a, b):
    assert compute(f"{opcode}.b{bits}", a, b) == naive.binary(opcode, f"b{bits}", a, b)


@settings(max_examples=80)
@given(
    st.sampled_from(
        [
            "neg.s32",
            "abs.s32",
            "neg.s64",
            "abs.s64",
            "not.b32",
            "not.b64",
            "cnot.b32",
            "popc.b32",
            "popc.b64",
            "clz.b32",
            "clz.b64",
            "brev.b32",
            "brev.b64",
            "bfind.u32",
            "bfind.s32",
            "bfind.u64",
            "bfind.s64",
            "neg.s16",
            "not.b16",
        ]
    ),
    whole,
)
def test_one_operand(name, a):
    opcode, type_ = name.split(".")
    assert compute(name, a) == naive.unary(opcode, type_, a)


@settings(max_examples=80)
@given(st.sampled_from(["u16", "s16", "u32", "s32"]), whole, whole, whole)
def test_wide_products(type_, a, b, c):
    bits = 2 * naive.bits_of(type_)
    product = naive.number(a, type_) * naive.number(b, type_)
    assert compute(f"mul.wide.{type_}", a, b) == product % (1 << bits)
    assert compute(f"mad.wide.{type_}", a, b, c) == (product + c) % (1 << bits)


@settings(max_examples=80)
@given(st.sampled_from(INTEGERS), st.booleans(), whole, whole, whole)
def test_products_with_a_sum(type_, high, a, b, c):
    bits = naive.bits_of(type_)
    product = naive.number(a, type_) * naive.number(b, type_)
    part = product >> bits if high else product
    expected = (part + naive.number(c, type_)) % (1 << bits)
    assert compute(f"mad.{'hi' if high else 'lo'}.{type_}", a, b, c) == expected


@settings(max_examples=80)
@given(st.sampled_from(["u32", "s32", "u64", "s64"]), whole, small, small)
def test_fields_of_bits(type_, a, position, length):
    assert compute(f"bfe.{type_}", a, position, length) == naive.bfe(type_, a, position, length)


@settings(max_examples=80)
@given(st.sampled_from(["b32", "b64"]), whole, whole, small, small)
def test_fields_that_are_put_in(type_, a, b, position, length):
    expected = naive.bfi(type_, a, b, position, length)
    assert compute(f"bfi.{type_}", a, b, position, length) == expected


@settings(max_examples=60)
@given(whole, whole, whole)
def test_permutations(a, b, select):
    assert compute("prmt.b32", a, b, select) == naive.prmt(a, b, select)


@settings(max_examples=60)
@given(whole, whole, whole, st.integers(0, 255))
def test_any_logic_of_three(a, b, c, table):
    places = (*(Register(name) for name in "dabc"), Immediate(table))
    assert compute("lop3.b32", a, b, c, table, operands=places) == naive.lop3(a, b, c, table)


@settings(max_examples=60)
@given(st.booleans(), st.booleans(), whole, whole, small)
def test_funnel_shifts(left, wraps, a, b, c):
    name = f"shf.{'l' if left else 'r'}.{'wrap' if wraps else 'clamp'}.b32"
    assert compute(name, a, b, c) == naive.shf(left, wraps, a, b, c)


@settings(max_examples=60)
@given(whole, whole, whole, st.booleans())
def test_carries_make_wide_sums(a, b, c, carry):
    low, out = compute("add.cc.u32", a, b)
    total = (a & 0xFFFFFFFF) + (b & 0xFFFFFFFF)
    assert (low, out) == (total & 0xFFFFFFFF, total >> 32)
    low, out = compute("addc.cc.u32", a, b, int(carry))
    assert (low, out) == ((total + carry) & 0xFFFFFFFF, (total + carry) >> 32)
    low, out = compute("subc.cc.u32", a, b, int(carry))
    apart = (a & 0xFFFFFFFF) - (b & 0xFFFFFFFF) - (not carry)
    assert (low, out) == (apart & 0xFFFFFFFF, int(apart >= 0)), "a carry says: not borrowed"
    product = ((a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) & 0xFFFFFFFF) + (c & 0xFFFFFFFF)
    assert compute("mad.lo.cc.u32", a, b, c) == (product & 0xFFFFFFFF, product >> 32)
    high = ((a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) >> 32) + (c & 0xFFFFFFFF) + carry
    assert compute("madc.hi.u32", a, b, c, int(carry)) == high & 0xFFFFFFFF


@settings(max_examples=60)
@given(st.sampled_from(["u16", "s16", "u32", "s32", "u64", "s64"]), whole, whole, whole)
def test_sums_of_differences(type_, a, b, c):
    apart = abs(naive.number(a, type_) - naive.number(b, type_))
    expected = (apart + c) % (1 << naive.bits_of(type_))
    assert compute(f"sad.{type_}", a, b, c) == expected


@settings(max_examples=80)
@given(
    st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), st.sampled_from(INTEGERS), whole, whole
)
def test_comparisons_of_integers(way, type_, a, b):
    x, y = naive.number(a, type_), naive.number(b, type_)
    expected = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    assert compute(f"setp.{way}.{type_}", a, b) == int(expected[way])
    assert compute(f"set.{way}.u32.{type_}", a, b) == (0xFFFFFFFF if expected[way] else 0)
    assert compute(f"setp.{way}.and.{type_}", a, b, 1) == int(expected[way])
    two = (Vector((Register("p"), Register("q"))), Register("a"), Register("b"))
    pair = compute(f"setp.{way}.{type_}", a, b, operands=two)
    assert pair == (int(expected[way]), int(not expected[way]))


@settings(max_examples=60)
@given(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), floats32, floats32)
def test_comparisons_of_floats(way, a, b):
    x, y = naive.real(a), naive.real(b)
    ordered = x == x and y == y
    found = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[way]
    assert compute(f"setp.{way}.f32", a, b) == int(ordered and found)
    assert compute(f"setp.{way}u.f32", a, b) == int(not ordered or found)
    assert compute("setp.num.f32", a, b) == int(ordered)
    assert compute("setp.nan.f32", a, b) == int(not ordered)


@settings(max_examples=150)
@given(
    st.sampled_from(["add", "sub", "mul", "div"]),
    st.sampled_from(["rn", "rz", "rm", "rp"]),
    floats32,
    floats32,
)
def test_floats_are_rounded_once(opcode, way, a, b):
    x, y = naive.real(a), naive.real(b)
    found = compute(f"{opcode}.{way}.f32", a, b)
    if naive.is_special(x, y) or (opcode == "div" and y == 0):
        return
    exact = {
        "add": lambda: Fraction(x) + Fraction(y),
        "sub": lambda: Fraction(x) - Fraction(y),
        "mul": lambda: Fraction(x) * Fraction(y),
        "div": lambda: Fraction(x) / Fraction(y),
    }[opcode]()
    if exact and not (opcode == "div" and way != "rn"):
        assert found == naive.rounded(exact, 32, way)
    elif not exact:
        assert found & 0x7FFFFFFF == 0


@settings(max_examples=150)
@given(floats32, floats32, floats32)
def test_fused_products_are_rounded_once(a, b, c):
    x, y, z = (naive.real(one) for one in (a, b, c))
    if naive.is_special(x, y, z):
        return
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact:
        assert compute("fma.rn.f32", a, b, c) == naive.rounded(exact)


def test_what_is_no_number():
    nan, inf, one = 0x7FC00000, 0x7F800000, 0x3F800000
    assert compute("min.f32", nan, one) == one
    assert compute("max.f32", one, nan) == one
    assert np.isnan(naive.real(compute("min.NaN.f32", nan, one)))
    assert compute("add.rn.f32", inf, one) == inf
    assert np.isnan(naive.real(compute("sub.rn.f32", inf, inf)))
    assert compute("add.sat.f32", one, one) == one
    assert compute("mul.sat.f32", nan, one) == 0
    assert compute("div.rn.f32", one, 0) == inf
    assert compute("fma.rn.f32", inf, one, one) == inf


def test_subnormal_numbers_may_be_taken_for_zero():
    tiny = 0x00400000
    assert compute("add.f32", tiny, 0) == tiny
    assert compute("add.ftz.f32", tiny, 0) == 0
    assert compute("mul.ftz.f32", 0x80000000 | tiny, 0x3F800000) == 0x80000000


@settings(max_examples=60)
@given(st.sampled_from(INTEGERS), st.sampled_from(["rni", "rzi", "rmi", "rpi"]), floats32)
def test_floats_become_integers_as_near_as_can_be(type_, way, a):
    x = naive.real(a)
    found = naive.number(compute(f"cvt.{way}.{type_}.f32", a), type_)
    if x != x:
        assert found == 0
        return
    bits, sign = naive.bits_of(type_), type_[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign else (0, (1 << bits) - 1)
    if np.isinf(x):
        assert found == (high if x > 0 else low)
        return
    exact = {"rni": round, "rzi": int, "rmi": np.floor, "rpi": np.ceil}[way](x)
    assert found == min(max(int(exact), low), high)


@settings(max_examples=60)
@given(st.sampled_from(INTEGERS), st.sampled_from(["rn", "rz", "rm", "rp"]), whole)
def test_integers_become_floats(type_, way, a):
    if way != "rn" and type_ in {"u64", "s64"}:
        way = "rn"
    expected = naive.rounded(Fraction(naive.number(a, type_)), 32, way)
    assert compute(f"cvt.{way}.f32.{type_}", a) == expected
    exact = naive.rounded(Fraction(naive.number(a, type_)), 64)
    assert compute(f"cvt.rn.f64.{type_}", a) == exact


@settings(max_examples=80)
@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.booleans(), whole)
def test_integers_of_other_widths(to, of, cuts, a):
    x = naive.number(a, of)
    bits, sign = naive.bits_of(to), to[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign else (0, (1 << bits) - 1)
    expected = min(max(x, low), high) if cuts else x
    assert compute(f"cvt{'.sat' if cuts else ''}.{to}.{of}", a) == expected % (1 << bits)


@settings(max_examples=60)
@given(st.sampled_from(["rn", "rz", "rm", "rp"]), st.integers(0, (1 << 64) - 1))
def test_narrower_floats(way, a):
    x = naive.real(a, 64)
    if naive.is_special(x) or x == 0:
        return
    assert compute(f"cvt.{way}.f32.f64", a) == naive.rounded(Fraction(x), 32, way)


@settings(max_examples=60)
@given(floats32)
def test_halves(a):
    x = naive.real(a)
    if naive.is_special(x) or x == 0:
        return
    assert compute("cvt.rn.f16.f32", a) == naive.rounded(Fraction(x), 16)
    kept = a & 0xFFFF0000
    half = a & 0xFFFF
    up = half > 0x8000 or (half == 0x8000 and a >> 16 & 1)
    assert compute("cvt.rn.bf16.f32", a) == ((kept >> 16) + up) & 0xFFFF


@settings(max_examples=80)
@given(*[st.integers(0, (1 << 16) - 1)] * 3)
def test_arithmetic_of_halves_is_rounded_once(a, b, c):
    x, y, z = (naive.real(one, 16) for one in (a, b, c))
    if naive.is_special(x, y, z):
        return
    for opcode, exact in (
        ("add", Fraction(x) + Fraction(y)),
        ("mul", Fraction(x) * Fraction(y)),
        ("fma.rn", Fraction(x) * Fraction(y) + Fraction(z)),
    ):
        values = (a, b, c) if opcode == "fma.rn" else (a, b)
        if exact:
            expected = naive.rounded(exact, 16)
            assert compute(f"{opcode}.f16", *values) == expected
            pairs = (one << 16 | one for one in values)
            assert compute(f"{opcode}.f16x2", *pairs) == expected << 16 | expected


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("sqrt.rn.f32", np.sqrt),
        ("sqrt.approx.f32", np.sqrt),
        ("rcp.rn.f32", lambda x: 1 / x),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
        ("ex2.approx.f32", np.exp2),
        ("lg2.approx.f32", np.log2),
        ("sin.approx.f32", np.sin),
        ("cos.approx.f32", np.cos),
        ("tanh.approx.f32", np.tanh),
    ],
)
def test_functions(name, function):
    for x in (0.1, 1.0, 1.5, 2.0, 3.25, 17.0):
        given_ = np.float32(x)
        expected = np.float32(function(np.float64(given_)))
        assert compute(name, bits_of(given_)) == bits_of(expected)


def test_functions_of_wide_floats():
    for x in (0.1, 2.0, 17.0):
        assert compute("sqrt.rn.f64", bits_of(np.float64(x))) == bits_of(np.sqrt(x))
        assert compute("rcp.rn.f64", bits_of(np.float64(x))) == bits_of(1 / np.float64(x))


def test_choices_and_signs():
    assert compute("selp.b32", 5, 6, 1) == 5
    assert compute("selp.b32", 5, 6, 0) == 6
    assert compute("slct.u32.s32", 5, 6, 0xFFFFFFFF) == 6
    assert compute("slct.u32.s32", 5, 6, 0) == 5
    assert naive.real(compute("copysign.f32", 0x80000000, 0x3F800000)) == -1
    assert compute("testp.finite.f32", 0x7F800000) == 0
    assert compute("bmsk.clamp.b32", 4, 8) == 0xFF0
    assert compute("szext.clamp.s32", 0x80, 8) == 0xFFFFFF80
    assert compute("fns.b32", 0b101100, 2, 2) == 3
    assert compute("mul24.lo.s32", 0xFFFFFF, 3) == (-3) & 0xFFFFFFFF
    assert compute("dp4a.s32.s32", 0x01020304, 0xFF010101, 10) == 10 + 4 + 3 + 2 - 1


def test_registers_are_taken_apart_and_put_together():
    two = Vector((Register("a"), Register("b")))
    apart = compute("mov.b64", 0x123456789ABCDEF0, operands=(two, Register("d")))
    assert apart == (0x9ABCDEF0, 0x12345678)
    places = (Register("d"), two)
    assert compute("mov.b64", 0x9ABCDEF0, 0x12345678, operands=places) == 0x123456789ABCDEF0
    assert compute("mov.b32", 0x1234) == 0x1234


def test_numbers_have_the_type_that_reads_them():
    assert constant(-1, "u32") == np.uint32(0xFFFFFFFF)
    assert constant(1.0, "b32") == np.uint32(0x3F800000)
    assert constant(1.0, "b64") == np.uint64(0x3FF0000000000000)
    assert reinterpreted(np.array([-1], np.int16), np.dtype(np.uint32))[0] == 0xFFFFFFFF
    with pytest.raises(UnsupportedError):
        dtype_of("e4m3")


def test_what_is_not_computed_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(
        """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b64 %rd<3>;
.reg .b32 %r<3>;
ld.param.u64 %rd1, [a];
add.rz.f64 %rd2, %rd1, %rd1;
st.global.u32 [%rd2], %r1;
ret;
}
"""
    )
    with pytest.raises(UserError, match=r"k\.ptx:9: add\.rz\.f64: the rounding \.rz of f64"):
        gpusim.load_kernel(path).launch(1, 32, np.zeros(4))

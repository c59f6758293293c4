"""Kernels with what few others have (``corners.cu``), each of which once gave a wrong result."""

import numpy as np
import pytest

import gpusim
from gpusim.ptx.operations import operations
from gpusim.ptx.syntax import Instruction, Register
from tests.ptx.tracing import DATA

RNG = np.random.default_rng(5)


def load(name):
    """A kernel, from the PTX that NVRTC has made of the source."""
    return gpusim.load_kernel(DATA / "corners.ptx", name)


def test_divisions_of_128_bits():
    a, b = RNG.integers(0, 2**64, (2, 64), dtype=np.uint64)
    a[:8] >>= np.uint64(50)
    b[4:12] >>= np.uint64(55)
    out = np.zeros((64, 2), np.uint64)
    load("wide_division").launch(1, 64, a, b, out)
    for x, y, (low, high) in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        assert low + (high << 64) == x * y // (y >> 7 | 1)


def test_calls_whose_parameters_share_a_name():
    seed, out = RNG.integers(0, 2**32, 64, dtype=np.uint32), np.zeros((2, 64), np.uint32)
    load("calls_of_two_kinds").launch(1, 64, seed, out)
    for i, start in enumerate(seed.tolist()):
        state, drawn = start, 0
        for _ in range(2):
            state = (state * 6364136223846793005 + 2 * i + 1) % 2**64
            drawn ^= state >> 33
        x, count = start % 1000 + 1, 0
        while x != 1:
            x, count = 3 * x + 1 if x % 2 else x // 2, count + 1
        assert out[:, i].tolist() == [drawn, count]


def test_narrow_arguments_keep_their_sign():
    x, out = RNG.integers(-(2**31), 2**31, 64).astype(np.int32), np.zeros((3, 64), np.int32)
    load("narrow_arguments").launch(1, 64, x, out)
    a, b, c, d = (
        x.astype(np.int8),
        (x >> 3).astype(np.int8),
        (x * 7).astype(np.int16),
        np.arange(64),
    )
    first = a.astype(int) * 1000000 + (x >> 2).astype(np.int16).astype(int) * 7
    assert out[0].tolist() == (first + (x >> 1).astype(np.uint8)).tolist()
    for k in (5, -3):
        a, b, c, d = (b + np.int8(k)), a, (c * np.int16(2)), d + c
    assert out[1].tolist() == (a.astype(int) * 1000 + b).tolist()
    assert out[2].tolist() == (c + 3 * d).tolist()


def test_shared_addresses_wrap():
    a, out = RNG.integers(0, 9, (7, 64, 4)).astype(np.float32), np.zeros((64, 4), np.float32)
    load("mirrored").launch(1, 64, a, out, 7)
    a[3::2, :, 2:] = 0
    assert (out == a.sum(axis=0)[::-1]).all()


def test_pairs_and_bytes_side_by_side():
    a, b = RNG.integers(-2, 3, (2, 32, 2)).astype(np.float16)
    a[0, 1] = b[1, 0] = np.nan
    x, y = RNG.integers(0, 2**32, (2, 32), dtype=np.uint32)
    out = np.zeros((5, 32), np.uint32)
    load("pairs").launch(1, 32, a.view(np.uint32), b.view(np.uint32), out, x, y)
    assert out[0].tolist() == ((a < b) @ [0xFFFF, 0xFFFF0000]).tolist()
    assert (out[1].view(np.float16).reshape(32, 2) == (a == b)).all()
    unequal = (a != b).all(axis=1)
    assert out[2].tolist() == ((a >= b).all(axis=1) + 2 * unequal).tolist()
    apart = np.abs(x.view(np.uint8).astype(int) - y.view(np.uint8)).reshape(32, 4)
    assert out[3].tolist() == (apart @ (256 ** np.arange(4))).tolist()
    assert out[4].tolist() == apart.sum(axis=1).tolist()


def computed(text, *sources):
    """What an instruction, such as ``"vadd4.s32.s32.s32.sat"``, makes of its sources."""
    opcode, *modifiers = text.split(".")
    registers = tuple(Register(f"%r{number}") for number in range(len(sources) + 1))
    one = Instruction(opcode, tuple(modifiers), registers, None, 1, None)
    return operations()[opcode](one).run(*sources)


SIGNED = {2: np.int16, 4: np.int8}


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("name", ["vadd", "vsub", "vmin", "vmax", "vabsdiff", "vset"])
@pytest.mark.parametrize("more", ["", ".sat", ".add"])
def test_numbers_side_by_side(name, lanes, more):
    a, b, c = RNG.integers(0, 2**32, (3, 50), dtype=np.uint32)
    x, y = (one.view(SIGNED[lanes]).astype(int).reshape(50, lanes) for one in (a, b))
    compares = name == "vset"
    if compares and more == ".sat":
        return
    types = ".s32.s32" + more + ".lt" if compares else ".s32.s32.s32" + more
    found = computed(f"{name}{lanes}{types}", a, b, c)
    wanted = {
        "vadd": x + y, "vsub": x - y, "vmin": np.minimum(x, y), "vmax": np.maximum(x, y),
        "vabsdiff": abs(x - y), "vset": (x < y).astype(int),
    }[name]  # fmt: skip
    if more == ".add":
        assert found.tolist() == ((wanted.sum(axis=1) + c) % 2**32).tolist()
        return
    limits = np.iinfo(SIGNED[lanes])
    cut = np.clip(wanted, limits.min, limits.max) if more else wanted
    assert (found.view(SIGNED[lanes]).reshape(50, lanes) == cut.astype(SIGNED[lanes])).all()


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("rounding", ["rn", "rz", "rm", "rp"])
def test_conversions_to_16_bits_are_the_nearest_on_their_side(type_, rounding):
    """Among all numbers of 16 bits, searched one by one."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    every = bits.view(np.float16) if type_ == "f16" else (bits.astype(np.uint32) << 16).view("f4")
    every = np.unique(every[np.isfinite(every)].astype(np.float64))
    near = RNG.choice(every[abs(every) < 60000], 300).astype(np.float32)
    values = np.concatenate([near, near * np.float32(1.0001), near * np.float32(0.5)])
    found = computed(f"cvt.{rounding}.{type_}.f32", values)
    as_bits = found if type_ == "f16" else found.astype(np.uint32) << 16
    back = as_bits.view(np.float16 if type_ == "f16" else np.float32).astype(np.float64)
    place = np.searchsorted(every, values)
    at_or_above = every[place]
    at_or_below = np.where(at_or_above == values, at_or_above, every[np.maximum(place - 1, 0)])
    if rounding == "rn":
        assert (abs(back - values) == np.minimum(at_or_above - values, values - at_or_below)).all()
        return
    up = {"rz": values < 0, "rm": np.zeros(len(values), bool), "rp": np.ones(len(values), bool)}
    assert (back == np.where(up[rounding], at_or_above, at_or_below)).all()


def test_whole_numbers_become_bf16_with_one_rounding():
    values = np.array([0x1010001, 0x1010000, 0x1030000, -0x1010001, 0x7FFFFFFF], np.int32)
    found = computed("cvt.rn.bf16.s32", values).astype(np.uint32) << 16
    assert found.view(np.float32).tolist() == [
        0x1020000, 0x1000000, 0x1040000, -0x1020000, 2.0**31
    ]  # fmt: skip

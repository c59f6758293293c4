"""Products of tensor cores: matrices in the registers of a warp, as the PTX ISA draws them."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{
.reg .b32 %r<30>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u64 %rd3, [c];
ld.param.u64 %rd4, [d];
mov.u32 %r0, %tid.x;
"""


def kernel(tmp_path, name, a, b, c):
    """A kernel that reads and stores each thread's registers, side by side."""
    lines = []
    for base, (pointer, count) in zip((1, 9, 17), ((1, a), (2, b), (3, c)), strict=True):
        lines.append(f"mul.wide.u32 %rd5, %r0, {4 * count};\nadd.s64 %rd5, %rd5, %rd{pointer};")
        lines += [f"ld.global.u32 %r{base + k}, [%rd5+{4 * k}];" for k in range(count)]
    vectors = [
        "{" + ", ".join(f"%r{base + k}" for k in range(count)) + "}"
        for base, count in ((24, c), (1, a), (9, b), (17, c))
    ]
    lines.append(f"{name} {', '.join(vectors)};")
    lines.append(f"mul.wide.u32 %rd5, %r0, {4 * c};\nadd.s64 %rd5, %rd5, %rd4;")
    lines += [f"st.global.u32 [%rd5+{4 * k}], %r{24 + k};" for k in range(c)]
    path = tmp_path / "k.ptx"
    path.write_text(HEAD + "\n".join(lines) + "\nret;\n}\n")
    return gpusim.load_kernel(path)


def held(matrix, places):
    """What each of 32 threads holds: elements of a matrix, in the order of `places`."""
    return np.array([[matrix[place] for place in places(t // 4, t % 4)] for t in range(32)])


def places_of_a(per_register, depth):
    """Elements of A: rows g and g + 8 in turn, then further along k."""
    step = 4 * per_register
    return lambda g, t: [
        (g + 8 * half, per_register * t + part + step * block)
        for block in range(depth // step)
        for half in range(2)
        for part in range(per_register)
    ]


def places_of_b(per_register, depth):
    step = 4 * per_register
    return lambda g, t: [
        (per_register * t + part + step * block, g)
        for block in range(depth // step)
        for part in range(per_register)
    ]


def places_of_c(g, t):
    return [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]


@pytest.mark.parametrize(
    ("shape", "depth", "per_register", "types", "numpys"),
    [
        ("m16n8k16", 16, 2, "f32.f16.f16.f32", (np.float16, np.float32)),
        ("m16n8k8", 8, 2, "f32.f16.f16.f32", (np.float16, np.float32)),
        ("m16n8k16", 16, 2, "f16.f16.f16.f16", (np.float16, np.float16)),
        ("m16n8k8", 8, 1, "f32.tf32.tf32.f32", (np.float32, np.float32)),
        ("m16n8k32", 32, 4, "s32.s8.s8.s32", (np.int8, np.int32)),
        ("m16n8k32", 32, 4, "s32.u8.u8.s32", (np.uint8, np.int32)),
    ],
)
def test_products_are_numpys(tmp_path, shape, depth, per_register, types, numpys):
    rng = np.random.default_rng(5)
    narrow, wide = numpys
    a = rng.integers(-9 if narrow != np.uint8 else 0, 10, (16, depth)).astype(narrow)
    b = rng.integers(-9 if narrow != np.uint8 else 0, 10, (depth, 8)).astype(narrow)
    c = rng.integers(-9, 10, (16, 8)).astype(wide)
    given = [
        held(a, places_of_a(per_register, depth)),
        held(b, places_of_b(per_register, depth)),
        held(c, places_of_c),
    ]
    out = np.zeros_like(given[2])
    words = [one[0].nbytes // 4 for one in given]
    loaded = kernel(tmp_path, f"mma.sync.aligned.{shape}.row.col.{types}", *words)
    loaded.launch(1, 32, *given, out)
    expected = a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64)
    assert out.tolist() == held(expected, places_of_c).tolist()


def test_of_tf32_the_lower_bits_are_not_looked_at(tmp_path):
    a = np.full((32, 4), 1 + 2.0**-20, np.float32)
    b, c = np.ones((32, 2), np.float32), np.zeros((32, 4), np.float32)
    out = np.zeros_like(c)
    loaded = kernel(tmp_path, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4)
    loaded.launch(1, 32, a, b, c, out)
    assert (out == 8).all()


def test_other_shapes_are_refused_with_their_line(tmp_path):
    loaded = kernel(tmp_path, "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 2, 2, 4)
    zeros = np.zeros(256, np.float32)
    with pytest.raises(UserError, match=r"mma\.sp.*a product of this shape is not computed"):
        loaded.launch(1, 32, *[zeros] * 4)

"""What a host gives to kernels: structures, instances of templates, variables of a file."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx import nvrtc
from gpusim.ptx.structures import structure
from tests.ptx.tracing import DATA

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")

RNG = np.random.default_rng(0)


def load(name):
    return gpusim.load_kernel(DATA / f"users.ptx:{name}")


def test_members_lie_as_c_lays_them_out():
    members = (np.int8(1), (np.int16(2), np.float64(3)), (np.uint8(4),) * 3, np.zeros(1))
    made = structure("s", members, lambda one: bytes(range(8)))
    inner = np.dtype("<i2,<f8", align=True)
    kind = np.dtype([("a", "i1"), ("b", inner), ("c", "3u1"), ("d", "<u8")], align=True)
    (found,) = np.frombuffer(made, kind)
    assert (found["a"], found["b"].tolist(), found["c"].tolist()) == (1, (2, 3.0), [4, 4, 4])
    assert found["d"] == 0x0706050403020100
    assert structure("s", (), bytes) == bytes(1)
    with pytest.raises(UserError, match="s: 3 in a structure; allowed: arrays, tuples"):
        structure("s", (np.int8(1), (3,)), bytes)


def test_structures_with_arrays_and_structures_inside():
    x, out = RNG.random(40, np.float32), np.zeros(40, np.float32)
    scale = tuple(np.arange(1, 5, dtype=np.float32))
    inner = np.int16(4), np.float64(0.5)
    load("scaled").launch(2, 32, (np.int32(40), scale, inner, x, out, np.uint8(7)))
    assert np.allclose(out, x * (1 + np.arange(40) % 4) + 9)
    wrong = np.int32(40), np.array(scale), inner, x, out, np.uint8(7)
    with pytest.raises(UserError, match=r"a structure of 64 bytes, and a tuple of 56; an array"):
        load("scaled").launch(2, 32, wrong)
    with pytest.raises(UserError, match="12 bytes are given for 64"):
        load("scaled").launch(2, 32, bytes(12))
    with pytest.raises(UserError, match="give a tuple of its members"):
        load("scaled").launch(2, 32, 3)


def test_a_half_is_a_number():
    x = RNG.standard_normal(64).astype(np.float16)
    wanted = x * np.float16(0.5)
    load("halved").launch(1, 32, x, np.float16(0.5))
    assert (x == wanted).all()


def test_kernels_of_a_file_share_its_variables():
    x, out = np.arange(40, dtype=np.int32), np.zeros(2, np.int32)
    count, counted = load("count"), load("counted")
    with gpusim.capture() as captured:
        count.launch(2, 32, x, 40)
        counted.launch(1, 2, out)
    assert out.tolist() == [36, 36]
    assert [one.name for one in captured.memory.arrays].count("counter") == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("users.ptx", "has several kernels: name one of count, counted, scaled, halved, filled"),
        ("users.ptx:countd", "has no kernel 'countd'; did you mean 'counted'"),
        ("users.ptx:ns::f<3>", "has no kernel"),
        (":x", "cannot open"),
    ],
)
def test_kernels_that_are_not_there(file, message):
    with pytest.raises(UserError, match=message):
        gpusim.load_kernel(DATA / file)


@needs_nvrtc
def test_instances_of_templates(tmp_path):
    file = tmp_path / "t.cu"
    file.write_text(
        "namespace mine { template <typename T, int N> __global__ void f(T *p)"
        " { p[threadIdx.x] = N; } }\n"
        "template <class T> __global__ void g(T *p) {}\n"
        "template __global__ void g<int>(int *); template __global__ void g<float>(float *);\n"
    )
    out = np.zeros(32, np.float32)
    kernel = gpusim.load_kernel(f"{file}:mine::f<float, 7>")
    kernel.launch(1, 32, out)
    assert (out == 7).all()
    assert kernel.plain_name == "f"
    with pytest.raises(UserError, match=r"several kernels 'g'.*such as 'scale<float, 4>'"):
        gpusim.load_kernel(f"{file}:g")
    with pytest.raises(UserError, match=r"NVRTC does not accept it(.|\n)*h<int>"):
        gpusim.load_kernel(f"{file}:h<int>")

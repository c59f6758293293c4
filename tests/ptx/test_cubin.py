"""Registers of a kernel as its cubin says them."""

import struct

import pytest

import gpusim
from gpusim.ptx import nvrtc
from gpusim.ptx.cubin import registers_of
from tests.ptx.tracing import DATA


def elf(*sections):
    """An ELF file with sections of these names and `sh_info`."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _ in sections)
    start = 64 + len(names)
    places, at = [], 1
    for name, _ in sections:
        places.append(at)
        at += len(name) + 1
    head = b"\x7fELF".ljust(16, b"\0")
    head += struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, start, 0, 64, 0, 0, 64, len(sections) + 1, 0
    )
    table = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    for place, (_, info) in zip(places, sections, strict=True):
        table += struct.pack("<IIQQQQIIQQ", place, 1, 0, 0, 0, 0, 0, info, 1, 0)
    return head + names + table


def test_the_upper_bits_of_a_section_of_code_are_registers():
    data = elf((".text.one", 0x16000019), (".text.other", 0x20000001))
    assert registers_of(data, "one") == 22
    assert registers_of(data, "other") == 32
    assert registers_of(data, "none") is None
    assert registers_of(b"", "one") is None


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
def test_nvrtc_assembles_for_real_architectures():
    kernel = gpusim.load_kernel(DATA / "reduce.cu", "total").kernel
    assert not kernel.estimated
    assert 16 <= kernel.registers <= 40
    virtual = gpusim.load_kernel(DATA / "reduce.cu", "total", architecture="compute_80").kernel
    assert virtual.estimated
    assert gpusim.load_kernel(DATA / "scale.cu").names == ("x", "y", "factor", "n")

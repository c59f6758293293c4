"""Kernels of Accel-Sim 2.0: the same as their text, any block on its own; damage has a place."""

from __future__ import annotations

import struct

import pytest
from zstandard import train_dictionary

import gpusim
from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import EXIT, header, operations, write, write_tracez

LOADS = [
    f"{16 * i:04x} ffffffff 1 R4 LDG.E 1 R2 4 1 {0x7F1000000000 + 512 * i:#x} 4 0" for i in range(5)
]
FRAME = b"\x28\xb5\x2f\xfd"
GMMA = "0100 ffffffff 1 R8 HGMMA.64x8x16.F32 2 R8 UR4 1 0 0 0 NoVal"
VALUES = f"{LOADS[0]} 0 Val 1 0x3 1 0x7"
BLOCKS = [
    ((0, 0, 0), [[*LOADS, GMMA, EXIT], [EXIT]]),
    ((2, 0, 0), [[], [VALUES, EXIT]]),
    ((1, 0, 0), [[LOADS[2], EXIT], [*LOADS[3:], EXIT]]),
]
GRID = {"grid__dim": "(3,1,1)", "block__dim": "(64,1,1)", "accelsim__tracer__version": "6"}


def launches(path):
    return list(open_trace(path).applications[0].start().launches())


def text_of(blocks):
    """As traceDsm decodes it."""
    lines = []
    for place, warps in blocks:
        lines += ["", "#BEGIN_TB", "", "thread block = {},{},{}".format(*place)]
        lines += ["cluster id = 0,0,0", "cluster cta = 0,0,0", "cluster rank = 0"]
        for number, warp in enumerate(warps):
            lines += ["", f"warp = {number}", f"insts = {len(warp)}", *warp]
        lines += ["", "#END_TB"]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("trained", [False, True])
def test_it_is_what_its_text_is(tmp_path, trained):
    """Blocks in any order, pieces of two instructions; with and without a dictionary."""
    samples = [line.encode() for _, warps in BLOCKS for warp in warps for line in warp]
    dictionary = train_dictionary(2000, samples * 30).as_bytes() if trained else b""
    path = write_tracez(tmp_path / "k.tracez", header(**GRID), BLOCKS, dictionary=dictionary)
    text = write(tmp_path / "k.traceg", header(**GRID) + text_of(BLOCKS))
    trace = open_trace(path)
    assert (trace.format, trace.name, trace.warp_size) == ("Accel-Sim tracez", "k", 32)
    (packed,), (plain,) = launches(path), launches(text)
    assert (packed.name, packed.blocks, packed.shared_bytes) == ("toy", 3, 128)
    expected = {number: operations(plain, number) for number in range(3)}
    assert {number: operations(packed, number) for number in (2, 0, 1)} == expected
    assert [op for op, *_ in expected[0][0]].count("LOAD") == 5


def test_a_list_of_them_runs(tmp_path):
    results = []
    for name in ("kernel-1.tracez", "kernel-1.traceg"):
        folder = tmp_path / name[-1]
        folder.mkdir()
        if name.endswith("z"):
            write_tracez(folder / name, header(**GRID), BLOCKS)
        else:
            write(folder / name, header(**GRID) + text_of(BLOCKS))
        copy = f"MemcpyHtoD,{0x7F1000000000:#x},4096"
        (folder / "kernelslist.g").write_text(f"{copy}\n{name}\n")
        work = gpusim.load_workload(str(folder))
        results.append(gpusim.simulate(gpusim.load_model("kepler-uvm"), work))
    packed, plain = results
    assert packed.summary["transactions"] > 0
    assert packed.counters.drop(columns="app").equals(plain.counters.drop(columns="app"))


def test_a_kernel_of_which_nothing_was_traced(tmp_path):
    (launch,) = launches(write_tracez(tmp_path / "k.tracez", header(), []))
    assert list(launch.run_block(0, 32)) == []


def failure(path):
    def read():
        for launch in launches(path):
            for number in range(launch.blocks):
                operations(launch, number)

    with pytest.raises(UserError) as error:
        read()
    return str(error.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0010 3 1 R4 LDG.E 1 R2 4 7 0x10 4", "address mode 7; allowed"),
        ("0010 3 0 UTMALDG.2D 1 UR4 16 0x10 0 128 0 5 0", "mode 5 of a copy in bulk; allowed"),
        ("0010 3 0 FROB.X 1 R4 8 1 0x10 0 0", "opcode FROB comes with an address but is not"),
    ],
)
def test_a_wrong_instruction_has_its_line_in_the_text(tmp_path, line, reason):
    blocks = [BLOCKS[0], ((1, 0, 0), [[EXIT, EXIT, EXIT, line], [EXIT]]), BLOCKS[1]]
    path = write_tracez(tmp_path / "k.tracez", header(**GRID), blocks)
    number = (header(**GRID) + text_of(blocks)).splitlines().index(line) + 1
    assert failure(path).startswith(f"{path}:{number}: {line!r}: {reason}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-9], "it is truncated"),
        (lambda data: data[: len(data) // 2], "it is truncated"),
        (lambda data: data.replace(b"\0", b" "), "its header has no end"),
        (
            lambda data: data.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"),
            "the file is damaged",
        ),
        (lambda data: data[:-8] + struct.pack("<Q", 1 << 40), "its index lies behind its end"),
        (lambda data: data.replace(b"(3,1,1)", b"(2,1,1)"), "within the grid (2, 1, 1)"),
        (lambda data: data.replace(b"(3,1,1)", b"(4,1,1)"), "has no thread block 3 of 4"),
        (lambda data: data.replace(b"version = 6", b"version = 7"), "unknown; allowed: 0 to 6"),
    ],
)
def test_damage_is_told(tmp_path, change, message):
    path = write_tracez(tmp_path / "k.tracez", header(**GRID), BLOCKS)
    path.write_bytes(change(path.read_bytes()))
    told = failure(path)
    assert told.startswith(str(path))
    assert message in told

"""Damaged and unknown files: an error that names file, line and reason."""

import pytest

from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import EXIT, block, header, operations, write

LOAD = "0010 00000003 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0"


def run(path):
    for launch in open_trace(path).applications[0].start().launches():
        for number in range(launch.blocks):
            operations(launch, number)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0010 3 1 R4 LDG.E 1 R2", "too few fields"),
        ("001g 3 0 MOV 0 0 0", "invalid literal"),
        ("0010 3 1 R4 LDG.E 1 R2 4 7 0x10 4", r"address mode 7; allowed: 0 \(list\)"),
        ("0010 3 1 R4 LDG.E 1 R2 4 0 0x10", "1 addresses for 2 active lanes"),
        ("0010 7 1 R4 LDG.E 1 R2 4 2 0x10 4", "1 address deltas for 3 active lanes"),
        ("0010 3 1 R4 LDG.E 1 R2 4 1 0x10 -32 0", "an address is negative"),
        ("0010 1 1 R4 LDG.E 1 R2 4 1 0xffffffffffffffff 0 0", "more than 57 bits"),
        ("0010 1 1 R4 LDG.E 1 R2 4 0 0xffffffffffffffff 0", "more than 57 bits"),
        ("0010 3 1 R4 LDG.E 1 R2 3 1 0x10 4 0", "accesses 3 bytes; must be a power of two"),
        ("0010 1ffffffff 1 R4 LDG.E 1 R2 4 1 0x10 4 0", "more than 32 bits"),
        ("0010 3 1 R4 LDX.E 1 R2 4 1 0x10 4 0", "opcode LDX .*did you mean 'LD"),
    ],
)
def test_wrong_instructions(tmp_path, line, reason):
    path = write(tmp_path / "k.traceg", header() + block([[EXIT, line]]))
    number = path.read_text().splitlines().index(line) + 1
    with pytest.raises(UserError, match=rf"k\.traceg:{number}: .*{reason}"):
        run(path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("insts = 2", "insts = 3", "its last warp lacks 1 instructions"),
        ("insts = 2", "insts = 1", "more instructions than"),
        ("warp = 0", "warp = 1", "a warp that did not come yet, of 0 to 0"),
        ("warp = 0", "warp = x", "invalid literal"),
        ("= 0,0,0", "= 0,1,0", r"within the grid \(1, 1, 1\)"),
        ("= 0,0,0", "= 0", "must be 'thread block = x,y,z'"),
        ("thread block = 0,0,0", "", "a block without 'thread block"),
        ("#END_TB", "", "ends inside a thread block"),
        ("#END_TB", "#BEGIN_TB\n#END_TB", "a block begins inside another"),
        ("grid dim = (1,1,1)", "grid dim = (2,1,1)", "ends without thread block 1 of 2"),
        ("grid dim = (1,1,1)", "grid dim = (0,1,1)", r":\d+: grid dim = \(0,1,1\): must be"),
        ("-block dim = (32,1,1)\n", "", "the header has no line '-block dim"),
        ("nregs = 8", "nregs = many", r":\d+: nregs = many: must be a whole number"),
        ("version = 5", "version = 9", r":\d+: accelsim tracer version = 9: .*0 to 6"),
        ("-nregs", "nregs", r":\d+: 'nregs = 8': must be '-key = value'"),
    ],
)
def test_wrong_structure(tmp_path, old, new, reason):
    text = header() + block([[LOAD, EXIT]])
    assert old in text
    path = write(tmp_path / "k.traceg", text.replace(old, new))
    with pytest.raises(UserError, match=rf"k\.traceg.*{reason}"):
        run(path)


def test_a_block_that_comes_twice(tmp_path):
    text = header(grid__dim="(2,1,1)") + 2 * block([[EXIT]])
    path = write(tmp_path / "k.traceg", text)
    with pytest.raises(UserError, match=r"k\.traceg:\d+: 'thread block = 0,0,0' comes a second"):
        run(path)


@pytest.mark.parametrize("name", ["k.traceg.xz", "k.traceg.gz", "mem.txt.gz"])
def test_compressed_files_cut_short_or_not_compressed(tmp_path, name):
    blocks = [block([[LOAD, EXIT]], f"{number},0,0") for number in range(3000)]
    path = write(tmp_path / name, header(grid__dim="(3000,1,1)") + "".join(blocks))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match=rf"{name}(: cannot be read| is what Accel-Sim's tracer)"):
        run(path)
    path.write_bytes(b"plain text\n")
    with pytest.raises(UserError, match=rf"{name}: cannot be read"):
        run(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("MemcpyHtoD,0x10", "must be MemcpyHtoD,0x<address in hex>,<bytes>$"),
        ("MemcpyHtoD,0x10,many", "must be MemcpyHtoD"),
        ("kernel-9.traceg", "there is no file"),
        ("kernel-9.zip", r"must end in \.traceg"),
    ],
)
def test_wrong_lists(tmp_path, line, reason):
    path = write(tmp_path / "kernelslist.g", f"\n{line}\n")
    with pytest.raises(UserError, match=rf"kernelslist\.g:2: .*{reason}"):
        open_trace(path)


def test_an_empty_list(tmp_path):
    with pytest.raises(UserError, match=r"kernelslist\.g: names no kernel"):
        open_trace(write(tmp_path / "kernelslist.g", "MemcpyHtoD,0x10,16\n"))


def test_unknown_and_missing_files(tmp_path):
    with pytest.raises(UserError, match=r"poem\.txt is no trace that gpusim knows; .*HDF5"):
        open_trace(write(tmp_path / "poem.txt", "Whose woods these are\n"))
    with pytest.raises(UserError, match=r"cannot open .*gone\.h5"):
        open_trace(tmp_path / "gone.h5")
    with pytest.raises(UserError, match=r"cannot open .*kernelslist\.g"):
        open_trace(tmp_path)

"""Damaged and wrong traces of MacSim: an error that names file, record or line, and reason."""

import gzip
import tarfile
from pathlib import Path

import pytest

from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from tests.traces.writing_macsim import (
    BASE,
    LDG,
    MOV,
    P_STG,
    STG,
    launches,
    multiply,
    only_warp,
    ptx,
    record,
    told,
    write_kernel,
    write_list,
)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "cannot be read: No such file"),
        (lambda path: path.write_bytes(b"\x00" * 64), "cannot be read: Not a gzipped file"),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-9]),
            r"cannot be read after record 6: .*end-of-stream",
        ),
        (
            lambda path: path.write_bytes(gzip.compress(b"".join(multiply(BASE))[:-10])),
            "record 6 has 54 of 64 bytes; the file is cut short",
        ),
    ],
)
def test_damaged_warps(tmp_path, damage, reason):
    path = write_kernel(tmp_path, {0: multiply(BASE), 5: multiply(BASE)})
    (launch,) = launches(path)
    damage(tmp_path / "trace_5.raw")
    with pytest.raises(UserError, match=rf"trace_5\.raw: {reason}"):
        told(launch)


@pytest.mark.parametrize(
    ("kind", "records", "reason"),
    [
        ("nvbit", [record(LDG, address=BASE, size=0)], "record 2: an access of 0 bytes"),
        ("nvbit", [record(255, address=BASE)], "record 2: opcode 255 comes with an address"),
        ("nvbit", [record(STG, address=1 << 63)], "record 2: address 0x8000000000000000 has 64"),
        ("newptx", [ptx(P_STG, [1 << 63] * 32)], "record 2: address 0x8000000000000000 has 64"),
        ("newptx", [ptx(150, [BASE] * 32, load=1)], "record 2: opcode 150 comes with an address"),
        ("newptx", [ptx(P_STG)], "ends inside the addresses of record 2"),
        ("newptx", [ptx(P_STG), b"\x00" * 280], "record 6 has 64 of 72 bytes"),
    ],
)
def test_wrong_records(tmp_path, kind, records, reason):
    begin = record(MOV, kind)
    with pytest.raises(UserError, match=rf"trace_0\.raw: {reason}"):
        only_warp(tmp_path, [begin, *records], kind)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["nvbit", "14"], "trace.txt: must begin with a kind, a version and a number"),
        (["nvbit", "15", "16", "1", "0 0"], "trace.txt:2: version 15 .* only 14 is known"),
        (["nvbit", "new", "16", "1", "0 0"], "trace.txt:2: 'new' must be a whole number"),
        (["nvbit", "14", "16"], "trace.txt: must be a kernel"),
        (["nvbit", "14", "16", "two", "0 0"], "trace.txt:4: 'two' must be a whole number"),
        (["nvbit", "14", "16", "2"], "trace.txt: lists 0 warps; line 4 says 2"),
        (["nvbit", "14", "16", "3", "0 0", "1 0"], "trace.txt: lists 2 warps; line 4 says 3"),
        (["nvbit", "14", "16", "2", "1 0", "1 0"], "trace.txt: warp 1 comes twice"),
        (["nvbit", "14", "16", "1", "", "1 5"], "trace.txt:6: '1 5' must be the id of a warp"),
        (["nvbit", "14", "-1"], "trace.txt: names no kernel"),
        (["nvbit", "14", "-1", "./K/trace.txt"], "trace.txt:4: there is no file .*K/trace.txt"),
        (["x86", "14", "1"], "trace.txt is no trace that gpusim knows; .*MacSim"),
    ],
)
def test_wrong_text(tmp_path, lines, reason):
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=reason):
        open_trace(path)


def test_a_list_does_not_name_lists_and_kinds_are_known(tmp_path):
    write_list(tmp_path / "inner", [])
    path = write_list(tmp_path, ["inner/kernel_config.txt"])
    with pytest.raises(UserError, match=r"inner/kernel_config\.txt: must be a kernel"):
        open_trace(path)
    (tmp_path / "inner" / "kernel_config.txt").write_text("nvbits\n14\n3\n")
    with pytest.raises(
        UserError, match=r":1: 'nvbits'; did you mean 'nvbit'.*; allowed: nvbit, newptx"
    ):
        open_trace(path)


def test_an_archive_must_be_unpacked(tmp_path):
    write_list(tmp_path / "app", [])
    path = tmp_path / "app.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "app", Path("app"))
    with pytest.raises(UserError, match=r"app\.tar\.gz is an archive: unpack it"):
        open_trace(path)

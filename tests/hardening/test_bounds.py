"""Sizes are claims: no file, key or token makes gpusim take what it says."""

import gzip
import lzma
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gpusim
from experiments.fuzz.corpus import GOOD_TRACEG
from gpusim.core.errors import UserError
from gpusim.core.untrusted import MEMORY_VARIABLE, memory_bound, memory_limit, untrusted
from gpusim.files.toml_document import read_document
from gpusim.programs.graphs.files import read_graph
from gpusim.traces.open_trace import open_trace


def all_chunks(path: Path) -> list[object]:
    (application,) = open_trace(path).applications
    launches = application.start().launches()
    return [chunk for launch in launches for chunk in launch.run_block(0, 32)]


@pytest.mark.parametrize("name", ["k.traceg.xz", "k.traceg.gz", "mem.txt.xz"])
def test_a_line_without_an_end_is_refused_with_its_number(tmp_path: Path, name: str):
    begin = b"MEMTRACE: x\n" if name.startswith("mem") else b"-a = 1\n"
    pack = lzma.compress if name.endswith("xz") else gzip.compress
    (tmp_path / name).write_bytes(pack(begin + b"-" * (8 << 20)))
    with pytest.raises(UserError, match=rf"{name}:2: the line has no end within 1 MiB"):
        open_trace(tmp_path / name)


def test_a_dictionary_of_gigabytes_is_refused(tmp_path: Path):
    path = tmp_path / "k.traceg.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    packed = bytearray(lzma.compress(GOOD_TRACEG.encode(), filters=filters))
    path.write_bytes(packed)
    assert all_chunks(path)
    two = lzma.compress(GOOD_TRACEG[:200].encode()) + b"\0" * 8
    path.write_bytes(two + lzma.compress(GOOD_TRACEG[200:].encode()))
    assert all_chunks(path), "streams one after the other, padded"


def test_bombs_are_refused(tmp_path: Path):
    graph = tmp_path / "g.txt.gz"
    graph.write_bytes(gzip.compress(b"1 2\n" * (10 << 20), 1))
    with pytest.raises(UserError, match=r"unpacks from .* at most 100 times as much"):
        read_graph(graph)
    table = tmp_path / "t.npz"
    with zipfile.ZipFile(table, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vaddr.npy", b"\0" * (40 << 20))
    with pytest.raises(UserError, match="unpacks from"):
        open_trace(table)
    header = np.lib.format.magic(1, 0) + b"v\0"
    header += b"{'descr': '<u8', 'fortran_order': False, 'shape': (99999999999,), }".ljust(0x76)
    with zipfile.ZipFile(table, "w") as archive:
        for name in ("kernel", "workgroup", "wavefront", "vaddr", "is_write"):
            archive.writestr(f"{name}.npy", header)
    with pytest.raises(UserError, match="claims 799999999992 bytes"):
        open_trace(table)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("(2,1,1)", "(99999999999,1,1)", "grid dim = .* blocks along x; at most"),
        ("(32,1,1)", "(99999999999,1,1)", "block dim = .* threads of a block; at most"),
        ("LDG.E.128", "LDG.E.99999999999", "accesses 1.25e\\+10 bytes; at most 32"),
        ("nregs = 16", "nregs = 99999999999", "nregs = .* registers"),
        ("0x7f8000000000 16", "0xfffffffffffffff 16", "more than 57 bits"),
        ("0008 ffffffff", f"{'f' * 5000} ffffffff", "counter f{20} has more than 57 bits"),
        ("insts = 4", f"insts = {'9' * 5000}", "4300 digits"),
    ],
)
def test_one_token_that_claims_too_much(tmp_path: Path, old: str, new: str, told: str):
    path = tmp_path / "k.traceg"
    path.write_text(GOOD_TRACEG.replace(old, new, 1))
    with pytest.raises(UserError, match=rf"k\.traceg:\d+: .*{told}"):
        all_chunks(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.gr", "p sp 9999999999 1\na 1 2 3\n"),
        ("b.gr", "a 1 2000000000 3\n"),
        ("c.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n1 2"),
        ("d.graph", "2000000000 1\n2\n1\n"),
    ],
)
def test_vertices_that_a_graph_only_claims(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=name):
        read_graph(tmp_path / name)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have names")
def test_what_never_ends_is_not_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path, kind in ((tmp_path / "pipe.toml", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(UserError, match=f"it is {kind}"):
            read_document(path)
        with pytest.raises(UserError, match=f"it is {kind}"):
            read_graph(path)
        with pytest.raises(UserError, match=f"it is {kind}"):
            gpusim.open_result(path)
        with pytest.raises(UserError, match=f"it is {kind}"):
            open_trace(path)


@pytest.mark.parametrize(
    "key", ["sm.max_blocks", "sm.max_warps", "sm.count", "tlb.L2.entries", "dram.channels"]
)
def test_absurd_machines_are_refused_with_the_memory_that_they_take(key: str):
    with pytest.raises(UserError, match=rf"{key} = 2147483648: would take about [\d.]+ .iB"):
        gpusim.load_model("tiny", overrides={key: 1 << 31})


def test_the_limit_of_memory_is_the_users(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "1MiB")
    with pytest.raises(UserError, match=r"at most 1 MiB is allowed \(GPUSIM_MEMORY=SIZE"):
        gpusim.load_model("kepler-uvm")
    monkeypatch.setenv(MEMORY_VARIABLE, "lots")
    with pytest.raises(UserError, match="GPUSIM_MEMORY=lots: must be a size"):
        memory_limit()


def test_absurd_inputs_are_refused(monkeypatch: pytest.MonkeyPatch):
    for vertices in (3_000_000_000, 2_000_000_000):
        with pytest.raises(UserError, match="at most"):
            gpusim.load_workload("bfs", "smoke", overrides={"graph.vertices": vertices})


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no system file of memory")
def test_memory_is_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "256MiB")
    with (
        pytest.raises(UserError, match=r"a test: takes more memory .*Unable to allocate 1\.00 GiB"),
        untrusted("a test"),
        memory_bound(),
    ):
        np.ones(1 << 27)
    assert np.ones(1 << 20).all()


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 50_000 + "]" * 50_000,
        "a." * 50_000 + "a = 1",
        "a = " + "9" * 5_000,
        "a = 0x" + "f" * 5_000,
        "a = 9223372036854775808",
        "\0",
        "a = [" + "{a = [" * 40,
        "x" * (1 << 20),
    ],
)
def test_documents_that_nobody_means(tmp_path: Path, text: str):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"x\.toml"):
        read_document(path)


def test_notes_are_found_in_linear_time_where_values_span_lines(tmp_path: Path):
    path = tmp_path / "x.toml"
    path.write_text(
        "a = [ # in\n" + "1,\n" * 20_000 + '] # end\n[t."x#y"] # head\n'
        'b = """x # no\n"q" """ # yes\nc = \'#\' # c\n'
    )
    notes = {key: (note.line, note.comment) for key, note in read_document(path).notes.items()}
    assert notes == {
        ("a",): (1, "end"),
        ("t", "x#y"): (20_003, "head"),
        ("t", "x#y", "b"): (20_004, "yes"),
        ("t", "x#y", "c"): (20_006, "c"),
    }


@pytest.mark.parametrize(
    "overrides",
    [
        {"l1.line": "0B"},
        {"tlb.L1.entries": 2, "tlb.L1.ways": 4},
        {"sm.count": 10**30},
        {"clock": "9" * 5000 + "MHz"},
        {"clock": "9" * 30 + "GHz"},
        {"tlb.L 1.ways": 1},
        {"l2.line": "0B"},
        {"sm.max_threads": "9" * 5000},
        {"a." * 100 + "a": 1},
    ],
)
def test_values_that_cannot_be_give_no_traceback(overrides: dict[str, object]):
    with pytest.raises(UserError):
        gpusim.load_model("tiny", overrides=overrides)


@pytest.mark.parametrize("name", ["x" * 300 + ".toml", "a\0b.toml", "/proc/1/root/x.toml"])
def test_names_that_cannot_be(name: str):
    for load in (gpusim.load_model, gpusim.load_workload, open_trace, gpusim.open_result):
        with pytest.raises(UserError):
            load(name)


def test_huge_seeds():
    for seed in (-1, 1 << 63, 10**400):
        with pytest.raises(UserError, match="must be 0 or more, and at most 9223372036854775807"):
            gpusim.load_workload("atax", "smoke", seed)

"""Inputs that are odd but real: the right value, a warning, or an error with file and line."""

import gzip

import pytest

from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from gpusim.traces.options import trace_options
from tests.traces import writing_macsim as macsim
from tests.traces.test_nvbit import by_thread, launch, record
from tests.traces.writing import EXIT, block, header, operations, used, write

BASE = 0x7F1000000000
LOAD = f"0010 ffffffff 1 R4 LDG.E 1 R2 4 1 {BASE:#x} 4 0"
ALL = {lane: BASE + 4 * lane for lane in range(32)}


def read(path, **options):
    """What a trace's kernels access, lane by lane, and its warnings."""
    (application,) = open_trace(path, options=trace_options(options)).applications
    application = application.start()
    accesses = [
        used(lanes)
        for one in application.launches()
        for number in range(one.blocks)
        for warp in operations(one, number)
        for _, _, lanes in warp
        if lanes
    ]
    return accesses, " ".join(application.warnings())


def kernel(path, *lines, **changes):
    return write(path, header(**changes) + block([[*lines, EXIT]]))


@pytest.mark.parametrize("key", ["shmem", "nregs"])
def test_a_header_that_lacks_what_an_sm_needs_to_know(tmp_path, key):
    path = kernel(tmp_path / "k.traceg", LOAD, **{key: None})
    accesses, warnings = read(path)
    assert accesses == [ALL]
    assert f"1 -{key}: lines that kernels' headers lack, taken for 0" in warnings
    assert not read(path, **{key: 64})[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"nregs": "300"},
            r":6: nregs = 300: 300 registers of a thread; at most 255 .*\['nregs'\]",
        ),
        ({"shmem": "0x80"}, r":5: shmem = 0x80: must be a whole number"),
        ({"block__dim": "(2048,1,1)"}, r":4: .* 2048 threads of a block; at most 1024"),
        ({"grid__dim": "(1,70000,1)"}, r":3: .* blocks along y; at most 65535"),
        ({"accelsim__tracer__version": None}, r":\d+: .*'-accelsim tracer version = 3' or more"),
        ({"enable__lineinfo": "1"}, r":\d+: '0010 ffffffff 1 R4 LDG"),
    ],
)
def test_headers_of_no_kernel(tmp_path, changes, message):
    path = kernel(tmp_path / "k.traceg", LOAD, **changes)
    with pytest.raises(UserError, match=rf"k\.traceg{message}"):
        read(path)


def test_a_header_goes_on_behind_comments(tmp_path):
    text = header(nregs=None).replace("whatever", "whatever\n-nregs = 24")
    path = write(tmp_path / "k.traceg", "# mine\n" + text + block([[LOAD, EXIT]]))
    (application,) = open_trace(path).applications
    (one,) = application.start().launches()
    assert one.registers_per_thread == 24
    assert not application.unread


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("#END_TB", f"#END_TB\n{LOAD}", r":\d+: '0010 .* stands outside of a thread block"),
        ("#END_TB", "#END_TB\n#END_TB", r":\d+: '#END_TB': stands outside"),
        ("warp = 0\n", "", r":\d+: 'insts = 2': must stand once in a warp, behind 'warp = W'"),
        ("insts = 2", "insts = 1\ninsts = 2", r":\d+: 'insts = 2': must stand once"),
        ("insts = 2", "insts = -2", r":\d+: 'insts = -2': must be 0 or more"),
        ("ffffffff 1", "fffffffff 1", r":\d+: .*the mask has more than 32 bits"),
        (LOAD, "0010 -1 1 R4 IADD3 1 R2 0 0", r":\d+: .*the mask has more than 32 bits"),
        ("LDG.E 1 R2 4", "LDG.E 1 R2 -4", r":\d+: .*-4 registers or bytes"),
        ("LDG.E 1 R2 4", "LDG.E -1 4", r":\d+: .*-1 registers or bytes"),
        ("LDG.E 1 R2 4", "LDG.E 1 R2 64", r":\d+: .*a lane accesses 64 bytes; at most 32"),
        (LOAD, "77 0010 00000001 0 EXIT 0 0 0", r":\d+: .*0 stands where a register must"),
        (LOAD, "0010 1 1 R4 LDG.E 1 R2 4 1 0x10", r":\d+: .*too few fields"),
    ],
)
def test_kernels_that_are_damaged(tmp_path, old, new, message):
    text = header(grid__dim="(2,1,1)") + block([[LOAD, EXIT]]) + block([[EXIT]], "1,0,0")
    assert old in text
    path = write(tmp_path / "k.traceg", text.replace(old, new, 1))
    with pytest.raises(UserError, match=rf"k\.traceg{message}"):
        read(path)


@pytest.mark.parametrize(
    ("line", "odd"),
    [
        (LOAD, False),
        (f"{LOAD} 0", False),
        (f"0010 3 1 R4 LDG.E 1 R2 4 1 {BASE:#x} 0", True),  # no stride, or no immediate
        (f"0010 3 1 R4 LDG.E 1 R2 4 0 {BASE:#x} 0", True),
        (f"0010 7 1 R4 LDG.E 1 R2 4 2 {BASE:#x} 4 0", True),
        (f"0010 1 1 R4 LDG.E 1 R2 4 0 {BASE:#x} {BASE:#x} {BASE:#x} 0", True),
        (f"{LOAD} # mine", True),
    ],
)
def test_lines_with_too_few_or_too_many_fields(tmp_path, line, odd):
    path = kernel(tmp_path / "k.traceg", "0000 1 1 R1 MOV 0 0 0", line)
    number = path.read_text().splitlines().index(line) + 1
    assert (f"1 k.traceg:{number}: lines with fewer or more fields" in read(path)[1]) == odd


def test_lanes_that_are_no_threads(tmp_path):
    path = kernel(tmp_path / "k.traceg", LOAD, block__dim="(40,1,1)")
    assert "beyond the threads" not in read(path)[1]
    write(path, header(block__dim="(40,1,1)") + block([[EXIT], [LOAD, EXIT]]))
    assert "1 LDG.E: masks with lanes beyond the threads of a block" in read(path)[1]
    shared = "0010 ffffffff 1 R4 LDS 1 R2 4 1 0x0 4 0"
    write(path, header(block__dim="(40,1,1)") + block([[shared, EXIT], [shared, EXIT]]))
    assert "1 LDS: masks with lanes beyond the threads of a block" in read(path)[1]
    small = launch().replace("block size 64", "block size 16")
    path = write(tmp_path / "m.txt", f"{small}\n{record('0,0,0', 0, 'LDG.E', ALL)}\n")
    assert "1 LDG.E: masks with lanes beyond" in read(path)[1]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("kernel-1.trace", header() + LOAD, r"post-traces-processing makes"),
        ("kernelslist", "kernel-1.trace\n", r"post-traces-processing makes"),
        ("kernelslist.g", "kernel-1.trace\n", r":1: .*makes \.traceg of \.trace"),
        ("kernelslist.g", "kernel-1.traceg\n".encode("utf-16"), "is text in UTF-16"),
        ("a.csv", "address\n16\n".encode("utf-16"), "is text in UTF-16"),
        ("a.csv", gzip.compress(b"address\n16\n", mtime=0), r"gzip: its name must end in \.gz"),
        ("a.txt.bz2", b"BZh91AY", "compressed by bzip2: unpack it"),
        ("a.zip", b"PK\3\4 and so on", "is an archive: unpack it"),
    ],
)
def test_files_that_are_no_trace_as_they_stand(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(UserError, match=message):
        open_trace(path)


@pytest.mark.parametrize(
    "begin", ["\ufeff{}", "output without an end {}", "{}", "alloc address : 0x7f00, Size : 16\n{}"]
)
def test_records_of_mem_trace_are_found_in_all_output(tmp_path, begin):
    second = begin.format(record("1,0,0", 0, "STG.E", {3: BASE})).removeprefix("\ufeff")
    lines = [begin.format(launch()), record("0,0,0", 0, "LDG.E", ALL), second]
    path = write(tmp_path / "m.txt", "\r\n".join([*lines, ""]))
    accesses, warnings = read(path)
    assert accesses == [ALL, {3: BASE}]
    assert not warnings
    arrays = [one.bytes for one in open_trace(path).applications[0].buffers]
    assert set(arrays) == ({16} if "alloc" in begin else set())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [launch().replace("nregs 12", "nregs 300")],
            r":1: 300 registers of a thread; at most 255",
        ),
        ([launch().replace("block size 64", "block size 2048")], r":1: 2048 threads of a block"),
        ([launch(), record("0,0,0", 0, "LDG", {0: BASE}).replace("0x0", "-0x0", 1)], r":2: .*nega"),
        (
            [launch(), by_thread("0,0,0", 0, "LDG.E", 64, {0: BASE})],
            r":2: a lane accesses 64 bytes",
        ),
    ],
)
def test_records_of_mem_trace_that_cannot_be(tmp_path, lines, message):
    path = write(tmp_path / "m.txt", "\n".join([*lines, ""]).replace(f"-{BASE:#018x}", "-0x4"))
    if "nega" in message:
        write(path, path.read_text().replace(f"{BASE:#018x}", "-0x4"))
    with pytest.raises(UserError, match=rf"m\.txt{message}"):
        read(path)


def test_impossible_registers_are_replaced(tmp_path):
    told = launch().replace("nregs 12", "nregs 21955")
    path = write(tmp_path / "m.txt", f"{told}\n{record('0,0,0', 0, 'LDG.E', ALL)}\n")
    with pytest.raises(UserError, match=r"m\.txt:1: 21955 registers.*overrides\['nregs'\]=NUMBER"):
        open_trace(path)
    assert read(path, nregs=32)[0] == [ALL]
    macsim.write_kernel(tmp_path / "K", {0: [macsim.record(macsim.LDG, load=1, address=BASE)]})
    sizes = "Grid size: (1, 1, 1), Block size: (32, 1, 1), # of regs: 21955, "
    sizes += "static shared mem: 0, dynamic shared mem: 0"
    write(tmp_path / "kernel_names.txt", f"K name: add\n  {sizes}\n")
    path = write(tmp_path / "kernel_config.txt", "nvbit\n14\n-1\nK/trace.txt\n")
    with pytest.raises(UserError, match=r"21955 registers.*overrides\['nregs'\]=NUMBER"):
        open_trace(path)
    assert read(path, nregs=32) == ([ALL], "")


def test_what_mem_trace_does_not_tell(tmp_path):
    lines = [launch(), record("0,0,0", 0, "LDG.E", ALL), "0x10,0x20"]
    accesses, warnings = read(write(tmp_path / "m.txt", "\n".join([*lines, ""])))
    assert accesses == [ALL, {0: 0x20}]
    assert "1 lines: '0x<data>,0x<address>' alone, taken for loads" in warnings
    assert "1 thread blocks: of which the file has no line" in warnings


def test_an_access_of_macsim_of_three_bytes(tmp_path):
    odd = macsim.record(macsim.LDG, load=1, address=BASE, size=3)
    path = macsim.write_kernel(tmp_path / "K", {0: [odd]})
    with pytest.raises(UserError, match=r"trace_0\.raw: record 1: .*3 bytes; must be a power"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "address,rw\n0x10,R\n0x20,W,5\n", r":3: .*3 columns; the first row has 2"),
        ("a.csv", "address,rw,time\n0x10,R,4\n0x20,W\n", r":3: .*2 columns; the first row has 3"),
        ("a.csv", "address\n0x10\n20\n", r":3: .*'20' is without the 0x that others have"),
        (
            "a.csv",
            "address,is_read,is_write\n1,1,1\n",
            r":2: .*store and load contradict each other",
        ),
        ("c.trace", "99999999999999999999 20734016\n3 5\n", r":1: .*1e\+20 instructions"),
        ("a.trace", bytes(64 * [7]), r": record 1: .*must be 0 or 1: .*CloudSuite"),
    ],
)
def test_memory_traces_that_cannot_be(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else b"\0" + text[1:])
    with pytest.raises(UserError, match=rf"{name}{message}"):
        open_trace(path)


@pytest.mark.parametrize(
    ("name", "text", "first", "base"),
    [
        ("a.csv", "address (hex),rw\n10,R\n", 0x10, "are hex"),
        ("a.csv", "address\n10\nff\n", 0x10, "are hex"),
        ("a.csv", "address\n0\n0x20\n", 0, "are decimal or with 0x"),
        ("a.csv", "address,rw\n16,R,\n", 16, "are decimal"),
        ("champsim_l2.csv", "address\n16\n", 16, "are decimal"),
    ],
)
def test_addresses_of_a_csv(tmp_path, name, text, first, base):
    accesses, warnings = read(write(tmp_path / name, text))
    assert min(accesses[0].values()) == first
    assert f"its addresses {base}" in warnings


def test_a_table_in_quotes(tmp_path):
    names = ("kernel", "workgroup", "wavefront", "vaddr", "is_write")
    text = ",".join(f'"{name}"' for name in names) + '\n"0","0","0","4096","1"\n'
    path = write(tmp_path / "t.csv", text)
    assert open_trace(path).format == "table of transactions"
    assert read(path) == ([{0: 4096}], "")

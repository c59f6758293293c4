"""Memory traces of one thread: every format, its variants, its damages, and spreading."""

import struct

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from gpusim.traces.options import trace_options
from tests.traces.writing import operations, used, write

A, B, C = 0x10000000, 0x10001040, 0x2000A080


def opened(path, **options):
    (application,) = open_trace(path, options=trace_options(options)).applications
    (launch,) = application.start().launches()
    return application, launch


def told(path, **options):
    """Of each warp: name and size of each operation, and its addresses."""
    _, launch = opened(path, **options)
    return [
        [(op, size, sorted(used(lanes).values())) for op, size, lanes in warp]
        for block in range(launch.blocks)
        for warp in operations(launch, block)
    ]


def line(op, address):
    """An access of 64 bytes: two sectors."""
    return op, 32, [address, address + 32]


RAMULATOR = [line("LOAD", A), line("STORE", B), line("LOAD", C)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("r.trace", f"{A:#x} R\n{B:#x} W\n{C:#x} R\n", RAMULATOR),
        ("r.trace", f"{A} R\r\n\r\n# own\r\n{B} W\r\n{C} R", RAMULATOR),
        ("r.trace", f"LD {A:#x}\nST {B:#x}\nLD {C:#x}\n", RAMULATOR),
        ("r", f"\ufeffld {A}\nst {B}\nld {C}\n", RAMULATOR),
        ("d.trace", f"{A:#x} READ 30\n{B:#x} WRITE 160\n{C:#x} READ 165\n", RAMULATOR),
        ("d.trc", f"{A:x} READ 3\n{B:x} P_MEM_WR 4\n{C:x} P_FETCH 5\n", RAMULATOR),
        ("c.trace", f"3 {A}\n0 {C} {B}\n", [("COMPUTE", 3, []), *RAMULATOR[::2], RAMULATOR[1]]),
        (
            "l.txt",
            "==7== Lackey\nI  0023C790,2\n L 1000,8\n S 1008,8\n M 0421c7cc,4\nI  1,3\nI  4,3\n",
            [
                ("COMPUTE", 1, []),
                ("LOAD", 8, [0x1000]),
                ("STORE", 8, [0x1008]),
                ("LOAD", 4, [0x421C7CC]),
                ("STORE", 4, [0x421C7CC]),
                ("COMPUTE", 2, []),
            ],
        ),
        (
            "d.din",
            "2 400000\n0 7fff0000\n1 7fff0040 extra\n",
            [("COMPUTE", 1, []), ("LOAD", 4, [0x7FFF0000]), ("STORE", 4, [0x7FFF0040])],
        ),
        (
            "pinatrace.out",
            f"0x401000: R {A:#x}\n0x401004: W {B:#x} 8 0x1\n#eof\n",
            [("LOAD", 4, [A]), ("STORE", 8, [B])],
        ),
        ("d.txt", "0 7fff0000\n2 4004d0\n", [("LOAD", 4, [0x7FFF0000]), ("COMPUTE", 1, [])]),
    ],
)
def test_formats_of_lines(tmp_path, name, text, expected):
    assert told(write(tmp_path / name, text)) == [expected]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_champsim(tmp_path, ending):
    records = [
        struct.pack("<Q8x8Q8x", 0x400000, 0, 0, A, 0, 0, 0, 0, 0)[:64],
        struct.pack("<Q8x2Q4Q", 0x400004, 0, 0, 0, 0, 0, 0),
        struct.pack("<Q8x2Q4Q", 0x400008, B, 0, A, C, 0, 0),
    ]
    path = tmp_path / f"x.{'trace' if ending == '.gz' else 'champsimtrace'}{ending}"
    write_bytes(path, b"".join(records))
    assert told(path) == [
        [
            ("LOAD", 8, [A]),
            ("COMPUTE", 1, []),
            ("LOAD", 8, [A]),
            ("LOAD", 8, [C]),
            ("STORE", 8, [B]),
        ]
    ]
    write_bytes(path, b"".join(records)[:-3])
    with pytest.raises(UserError, match="ends inside record 3, which has 64 bytes"):
        open_trace(path)


def write_bytes(path, data):
    """As `writing.write`, of bytes; latin-1 keeps them."""
    import gzip
    import lzma

    from zstandard import ZstdCompressor

    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": ZstdCompressor().compress}
    path.write_bytes(pack.get(path.suffix, bytes)(data))


CSV = [("LOAD", 4, [A]), ("STORE", 4, [B])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"address,is_write\n{A},0\n{B},1\n", CSV),
        (f"\ufeffIs_Write;VA\r\nfalse;{A:#x}\r\n\r\ntrue;{B:#X}\r\n", CSV),
        (f"addr\trw\n{A:x}\tR\n{C:x}\tW\n", [("LOAD", 4, [A]), ("STORE", 4, [C])]),
        (
            f"# own\ntype, addr, size\nload, {A}, 8\nstore, {B}, 2\n",
            [("LOAD", 8, [A]), ("STORE", 2, [B])],
        ),
        (f"Read,Physical Address\n1,{A}\n0,{B}\n", CSV),
        (f"{A:#x},R\n{B:#x},W\n", CSV),
        (f"W,{B}\nR,{A}\n", [*CSV[::-1]]),
        (f"{A:#x}\n{B:#x}\n", [("LOAD", 4, [A]), ("LOAD", 4, [B])]),
    ],
)
def test_csv(tmp_path, text, expected):
    assert told(write(tmp_path / "a.csv.gz", text)) == [expected]


def test_columns_that_are_not_read_are_told(tmp_path):
    application, _ = opened(write(tmp_path / "a.csv", f"pc,vaddr,is_write\n1,{A},0\n"))
    assert application.unread.text() == "1 pc: columns of the file, not read"


def test_warps_of_a_file_stay_apart(tmp_path):
    path = write(tmp_path / "a.csv", f"warp,vaddr,is_write\n7,{A},0\n3,{B},0\n7,{C},1\n")
    assert told(path) == [[("LOAD", 4, [B])], [("LOAD", 4, [A]), ("STORE", 4, [C])]]


def test_a_csv_with_the_columns_of_a_table_is_one(tmp_path):
    path = write(
        tmp_path / "t.csv",
        "kernel,workgroup,wavefront,vaddr,is_write,bytes,mine\n"
        f"0,0,0,{A},0,64,1\n0,0,1,{B:#x},true,64,1\n",
    )
    trace = open_trace(path)
    assert trace.format == "table of transactions"
    assert trace.applications[0].unread.text() == "1 mine: columns of the file, not read"
    with gpusim.simulate("r9-nano", gpusim.load_workload(str(path))) as result:
        assert result.summary["transactions"] == 2


def test_spread_over_lanes_and_warps(tmp_path):
    text = "".join(f"{A + 4 * i},{'W' if i == 5 else 'R'}\n" for i in range(8))
    path = write(tmp_path / "a.csv", text)
    row = [A + 4 * i for i in range(8)]
    assert told(path, lanes=4) == [
        [("LOAD", 4, row[:4]), ("LOAD", 4, row[4:5]), ("STORE", 4, row[5:6]), ("LOAD", 4, row[6:])]
    ]
    assert told(path, lanes=4, warps=2) == [
        [("LOAD", 4, row[:4]), ("STORE", 4, row[5:6])],
        [("LOAD", 4, row[4:5]), ("LOAD", 4, row[6:])],
    ]


def test_many_warps_make_blocks(tmp_path):
    path = write(tmp_path / "a.csv", "".join(f"{A + 128 * i},R\n" for i in range(40)))
    _, launch = opened(path, warps=20)
    assert (launch.blocks, launch.warps_per_block) == (3, 8)
    warps = told(path, warps=20)
    assert [[one[2][0] - A for one in warp] for warp in warps[:20]] == [
        [128 * i, 128 * (i + 20)] for i in range(20)
    ]
    assert warps[20:] == [[]] * 4


def test_a_run_says_how_it_was_read(tmp_path):
    path = write(tmp_path / "r.trace", f"{A:#x} R\n{B:#x} W\n")
    result = gpusim.simulate("tiny", gpusim.load_workload(str(path)))
    assert result.summary["transactions"] == 2
    (warning,) = result.warnings
    assert warning.startswith(
        "r: Ramulator DRAM trace: its accesses are one thread's, on one lane of one warp; no load "
        "is waited for, it states no times"
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.trace", "0x10 R\n0x20 X\n", r"r\.trace:2: '0x20 X': must be 'ADDRESS R'"),
        ("r.trace", "0x10 R\n0xffffffffffffffff R\n", r":2: .* outside the 57 bits"),
        ("l.txt", " L 10,8\n L 10,0\n", r"l\.txt:2: .* an access of 0 bytes"),
        ("d.din", "0 10\n4 20\n", r"d\.din:2: .* label 4; allowed: 0 \(read\)"),
        ("a.csv", "addr,rw\n1,R\n\n2,Q\n", r"a\.csv:4: '2,Q': kind 'Q'; allowed"),
        ("a.csv", "addr,rw\n1,R\nzz,R\n", r"a\.csv:3: 'zz,R': address 'zz'"),
        ("a.csv", "rw,addr\nR\n", r"a\.csv:2: 'R': 1 columns; the first row has 2"),
        ("l.txt", "I 10,4\n", "has no access"),
        ("a.csv", "one,two\n1,2\n", "no column has addresses: name one of them 'address'"),
        ("a.txt", "lorem ipsum\n", "is no trace that gpusim knows"),
    ],
)
def test_damages(tmp_path, name, text, message):
    with pytest.raises(UserError, match=message):
        open_trace(write(tmp_path / name, text))

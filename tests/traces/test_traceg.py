"""Kernels of Accel-Sim: geometry, address modes, spaces, dependences, lists of kernels."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.warp_program import PASSES, Buffer
from gpusim.traces.lanes import LOCAL_BASE
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import EXIT, block, header, operations, used, write

BASE = 0x7F1000000000


def launches(path):
    return list(open_trace(path).applications[0].start().launches())


def only(path, *lines, **changes):
    """The operations of the one warp of a kernel."""
    write(path, header(**changes) + block([[*lines, EXIT]]))
    return operations(launches(path)[0])[0]


def access(found):
    return next((op, size, used(lanes)) for op, size, lanes in found if lanes)


@pytest.mark.parametrize("name", ["k.traceg", "k.traceg.xz", "k.traceg.gz"])
def test_geometry_and_compression(tmp_path, name):
    path = write(
        tmp_path / name,
        header(grid__dim="(2,2,1)", block__dim="(16,3,1)")
        + "".join(block([[EXIT], [EXIT]], at) for at in ("0,0,0", "1,0,0", "0,1,0", "1,1,0")),
    )
    trace = open_trace(path)
    assert (trace.format, trace.name, trace.warp_size) == ("Accel-Sim traceg", "k", 32)
    (launch,) = launches(path)
    assert (launch.name, launch.blocks, launch.threads_per_block) == ("toy", 4, 48)
    assert (launch.registers_per_thread, launch.shared_bytes) == (8, 128)
    for number in range(4):
        assert operations(launch, number) == [[("COMPUTE", 1, ())]] * 2


@pytest.mark.parametrize(
    ("mask", "address", "expected"),
    [
        ("80000001", "0 0x7f1000000080 7f1000200000", {0: BASE + 0x80, 31: BASE + 0x200000}),
        ("0000001c", "1 0x7f1000000000 -8", {2: BASE, 3: BASE - 8, 4: BASE - 16}),
        ("00000006", "1 0x7f1000000000 0", {1: BASE, 2: BASE}),
        ("0000000b", "2 0x7f1000001000 8 -16", {0: BASE + 4096, 1: BASE + 4104, 3: BASE + 4088}),
        ("00000100", "2 0x7f1000001000", {8: BASE + 4096}),
    ],
)
@pytest.mark.parametrize("immediates", ["", " 0", " 0 0"])
def test_address_modes(tmp_path, mask, address, expected, immediates):
    found = only(tmp_path / "k.traceg", f"0010 {mask} 1 R4 LDG.E 1 R2 4 {address}{immediates}")
    assert access(found) == ("LOAD", 4, expected)


@pytest.mark.parametrize(
    ("version", "line_info", "before"),
    [("2", "0", "0 0 0 0 "), ("2", "1", "0 0 0 0 77 "), ("3", "0", ""), ("4", "1", "77 ")],
)
def test_fields_before_the_instruction(tmp_path, version, line_info, before):
    path = tmp_path / "k.traceg"
    write(
        path,
        header(accelsim__tracer__version=version, enable__lineinfo=line_info)
        + block(
            [[f"{before}0010 1 0 STG.E 2 R2 R4 4 1 {BASE:#x} 0", f"{before}0020 1 0 EXIT 0 0"]]
        ),
    )
    assert access(operations(launches(path)[0])[0]) == ("STORE", 4, {0: BASE})


@pytest.mark.parametrize(
    ("opcode", "op", "size"),
    [
        ("LDG.E", "LOAD", 4),
        ("LDG.E.U8.SYS", "LOAD", 1),
        ("LDG.E.U16", "LOAD", 2),
        ("LDG.E.64.CONSTANT", "LOAD", 8),
        ("STG.E.128", "STORE", 16),
        ("RED.E.ADD.STRONG.GPU", "REDUCE", 4),
        ("ATOMG.E.ADD.64.STRONG", "ATOMIC", 8),
        ("LD.E", "LOAD", 4),
        ("ST.E", "STORE", 4),
    ],
)
def test_opcodes_of_global_memory(tmp_path, opcode, op, size):
    found = only(tmp_path / "k.traceg", f"0010 1 0 {opcode} 2 R2 R4 {size} 1 {BASE:#x} 0 0")
    assert access(found) == (op, size, {0: BASE})


def test_generic_addresses_show_their_space(tmp_path):
    path = tmp_path / "k.traceg"
    shared = only(path, "0010 3 0 ST.E 2 R2 R4 4 1 0x7f0700000100 4 0")
    assert shared == [("SHARED", 1, ()), ("COMPUTE", 1, ())]
    local = only(path, "0010 3 0 ST.E 2 R2 R4 4 1 0x7f0500000008 0 0")
    # Word 2 of 32 threads, side by side.
    assert access(local) == ("STORE", 4, {0: LOCAL_BASE + 256, 1: LOCAL_BASE + 260})
    unknown = only(path, f"0010 3 0 ST.E 2 R2 R4 4 1 {BASE:#x} 4 0", shmem__base_addr=None)
    assert unknown == shared


def test_local_memory_is_interleaved_word_by_word(tmp_path):
    path = tmp_path / "k.traceg"
    line = "0010 00000003 1 R4 LDL.64 1 R1 8 1 0xfffff8 0 0"
    write(path, header(grid__dim="(2,1,1)") + block([[EXIT]]) + block([[line, EXIT]], "1,0,0"))
    op, size, lanes = access(operations(launches(path)[0], 1)[0])
    # The last two words of a window lie below its middle; 64 threads a word.
    last = LOCAL_BASE - 2 * 64 * 4
    assert (op, size) == ("LOAD", 4)
    assert list(lanes.values()) == [
        last + 32 * 4,
        last + (64 + 32) * 4,
        last + 33 * 4,
        last + (64 + 33) * 4,
    ]


@pytest.mark.parametrize(
    ("opcode", "mask", "address", "passes"),
    [
        ("LDS", "ffffffff", "1 0x0 4", 1),
        ("LDS", "ffffffff", "1 0x0 8", 2),
        ("STS", "ffffffff", "1 0x0 128", 32),
        ("LDS", "ffffffff", "1 0x80 0", 1),
        ("ATOMS.ADD", "ffffffff", "1 0x80 0", 32),
        ("LDS.128", "ffffffff", "1 0x0 16", 4),
        ("LDS.U8", "ffffffff", "1 0x0 1", 1),
        ("LDS", "00000003", "2 0x0 4096", 2),
    ],
)
def test_bank_conflicts(tmp_path, opcode, mask, address, passes):
    found = only(tmp_path / "k.traceg", f"0010 {mask} 1 R4 {opcode} 1 R2 4 {address} 0")
    (op, told, lanes), after = found
    assert (op, told & PASSES, lanes, after) == ("SHARED", passes, (), ("COMPUTE", 1, ()))


def test_arithmetic_is_merged_and_barriers_are_kept(tmp_path):
    found = only(
        tmp_path / "k.traceg",
        "0000 ffffffff 1 R2 S2R 0 0 0",
        "0010 ffffffff 1 R2 IMAD 2 R2 R3 0 0",
        "0020 ffffffff 0 BAR.SYNC 0 0 0",
        "0030 00000000 0 BAR.SYNC 0 0 0",
        "0040 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 0",
    )
    assert found == [("COMPUTE", 2, ()), ("BARRIER", 0, ()), ("COMPUTE", 3, ())]


def test_waits_for_exactly_the_loads_that_are_needed(tmp_path):
    def load(register, width=""):
        return f"0010 1 1 R{register} LDG.E{width} 1 R2 4 1 {BASE:#x} 0 0"

    found = only(
        tmp_path / "k.traceg",
        load(4),
        load(6, ".64"),
        load(8),
        "0020 1 1 R10 FADD 2 R7 R4 0 0",  # needs the second load and the first
        "0030 1 1 R10 FADD 2 R4 R4 0 0",  # needs nothing
        "0040 1 1 R8 MOV 1 R255 0 0",  # overwrites the third
        "0050 1 1 R10 FADD 2 R8 R8 0 0",
    )
    assert [one[:2] for one in found] == [
        ("LOAD", 4),
        ("LOAD", 8),
        ("LOAD", 4),
        ("WAIT", 1),
        ("COMPUTE", 2),
        ("WAIT", 0),
        ("COMPUTE", 3),
    ]


def test_copies_to_shared_memory_are_waited_for_by_group(tmp_path):
    copy = f"0010 1 0 LDGSTS.E 2 R2 R4 4 1 {BASE:#x} 0 0"
    found = only(
        tmp_path / "k.traceg",
        copy,
        "0020 1 0 LDGDEPBAR 0 0 0",
        copy,
        "0020 1 0 LDGDEPBAR 0 0 0",
        "0030 1 0 DEPBAR.LE 0 0 1",
        "0030 1 0 DEPBAR.LE 0 0 0",
    )
    waits = [argument for op, argument, _ in found if op == "WAIT"]
    assert waits == [1, 0]


def test_lanes_that_cross_a_sector_are_split(tmp_path):
    found = only(tmp_path / "k.traceg", f"0010 3 1 R4 LDG.E 1 R2 4 1 {BASE + 30:#x} 4 0")
    _, size, lanes = access(found)
    assert size == 2
    assert sorted(lanes.values()) == [BASE + 30, BASE + 32, BASE + 34, BASE + 36]


def test_warps_at_different_places_keep_their_own_order(tmp_path):
    def load(place, address):
        return f"{place} 1 1 R4 LDG.E 1 R2 4 1 {address:#x} 0 0"

    path = tmp_path / "k.traceg"
    first = [load("0010", BASE), load("0010", BASE + 64), load("0040", BASE + 128)]
    second = [load("0040", BASE + 192), load("0020", BASE + 256)]
    write(path, header(block__dim="(64,1,1)") + block([first, second]))
    addresses = [
        [used(lanes)[0] - BASE for _, _, lanes in warp if lanes]
        for warp in operations(launches(path)[0])
    ]
    assert addresses == [[0, 64, 128], [192, 256]]


def test_blocks_in_another_order_than_the_files(tmp_path):
    def store(number):
        return [f"0010 1 0 STG.E 2 R2 R4 4 1 {BASE + 32 * number:#x} 0 0", EXIT]

    path = tmp_path / "k.traceg"
    order = (2, 0, 3, 1)
    blocks = [block([store(number)], f"{number},0,0") for number in order]
    write(path, header(grid__dim="(4,1,1)") + "".join(blocks))
    application = open_trace(path).applications[0]
    for asked in ((0, 1, 2, 3), (3, 2, 1, 0)):
        (launch,) = application.start().launches()
        for number in asked:
            assert access(operations(launch, number)[0])[2] == {0: BASE + 32 * number}


def test_a_file_is_read_no_further_than_needed(tmp_path):
    path = tmp_path / "k.traceg"
    good = header(grid__dim="(2,1,1)") + block([[EXIT]])
    write(path, good + "#BEGIN_TB\nthread block = 7,0,0\n#END_TB\n")
    (launch,) = launches(path)
    assert operations(launch, 0) == [[("COMPUTE", 1, ())]]
    with pytest.raises(Exception, match=r"k\.traceg:\d+: 'thread block = 7,0,0'"):
        operations(launch, 1)


def test_a_list_of_kernels_with_copies(tmp_path):
    write(tmp_path / "kernel-1.traceg", header() + block([[EXIT]]))
    write(tmp_path / "kernel-2.traceg.xz", header(kernel__name="other") + block([[EXIT]]))
    path = write(
        tmp_path / "kernelslist.g",
        "MemcpyHtoD,0x00007f1000000000,4096\nkernel-1.traceg\n\nMemcpyHtoD,0x7f1000000800,16\n"
        "MemcpyDtoH,whatever\nkernel-2.traceg.xz\nkernel-1.traceg\n",
    )
    for opened in (open_trace(path), open_trace(tmp_path)):
        assert opened.name == tmp_path.name
        (application,) = opened.applications
        assert application.buffers == (Buffer("memcpy 0", BASE, 4096),)
        assert [one.name for one in application.start().launches()] == ["toy", "other", "toy"]


addresses = st.integers(0, 2**46 - 1)


@st.composite
def accesses(draw):
    """A mask, a size, and aligned addresses of its lanes; how the tracer would write them."""
    lanes = sorted(draw(st.sets(st.integers(0, 31), min_size=1)))
    size = draw(st.sampled_from([1, 2, 4, 8, 16]))
    mode = draw(st.sampled_from([0, 1, 2]))
    if mode == 1:
        step = draw(st.integers(-4096, 4096)) * size
        base = draw(st.integers(2**20, 2**40)) * size
        values = [base + rank * step for rank in range(len(lanes))]
        text = f"{base:#x} {step}"
    else:
        values = [draw(addresses) // size * size for _ in lanes]
        deltas = [after - before for before, after in pairwise(values)]
        text = (
            " ".join(f"{value:#x}" for value in values)
            if mode == 0
            else " ".join([f"{values[0]:#x}", *map(str, deltas)])
        )
    mask = sum(1 << lane for lane in lanes)
    modifier = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}[size]
    return (
        f"0010 {mask:08x} 1 R4 LDG.E{modifier} 1 R2 {size} {mode} {text} 0",
        (size, dict(zip(lanes, values, strict=True))),
    )


@given(st.lists(st.lists(accesses(), max_size=4), min_size=1, max_size=3))
def test_written_lanes_are_read_lanes(tmp_path_factory, warps):
    path = tmp_path_factory.mktemp("trace") / "k.traceg"
    lines = [[line for line, _ in warp] for warp in warps]
    write(path, header(block__dim=f"({32 * len(warps)},1,1)") + block(lines))
    found = [
        [(size, used(lanes)) for _, size, lanes in warp if lanes]
        for warp in operations(launches(path)[0])
    ] or [[] for _ in warps]
    assert found == [[told for _, told in warp] for warp in warps]

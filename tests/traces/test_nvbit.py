"""Text of NVBit's mem_trace: interleaved records of warps, found again by block."""

import pytest

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Buffer
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import operations, used, write

BASE = 0x7F1000000000
LAUNCH = (
    "MEMTRACE: CTX 0x01 - LAUNCH - Kernel pc 0x02 - Kernel name {name} - grid launch id {id} - "
    "grid size 2,1,1 - block size 64,1,1 - nregs 12 - shmem 256 - cuda stream id 0"
)


def launch(number=0, name="add(float*, int)"):
    return LAUNCH.format(name=name, id=number)


def record(cta, warp, opcode, lanes, number=0, size=""):
    values = [f"{lanes.get(lane, 0):#018x}" for lane in range(32)]
    return (
        f"MEMTRACE: CTX 0x01 - grid_launch_id {number} - CTA {cta} - warp {warp} - {opcode} - "
        f"{size}{' '.join(values)} "
    )


def by_thread(cta, warp, opcode, size, lanes, number=0):
    pairs = " ".join(f"Thread{lane},0x3f,{address:#x}" for lane, address in lanes.items())
    return (
        f"MEMTRACE: CTX 0x01 - grid_launch_id {number} - CTA {cta} - warp {warp} - {opcode} - "
        f"Size {size} - MREF per threads(threadidx,data,address) : {pairs} "
    )


def opened(path, *lines):
    write(path, "\n".join(["-- NVBit loaded --", *lines, "the program's own output", ""]))
    (application,) = open_trace(path).applications
    return application, list(application.start().launches())


def told(launch, number):
    warps = operations(launch, number)
    return [[(op, one, used(lanes)) for op, one, lanes in warp] for warp in warps]


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz", "run.log.xz"])
def test_records_of_all_warps_are_interleaved(tmp_path, name):
    row = {lane: BASE + 4 * lane for lane in range(32)}
    application, (only,) = opened(
        tmp_path / name,
        launch(),
        record("1,0,0", 1, "LDG.E.SYS", {3: BASE}),
        record("0,0,0", 0, "LDG.E.SYS", row),
        record("1,0,0", 0, "STG.E.64.SYS", {0: BASE + 64}),
        record("0,0,0", 0, "STG.E.SYS", {31: BASE + 8}),
        record("1,0,0", 1, "RED.E.ADD", {}),
        record("0,0,0", 1, "LDS.U", row),
    )
    assert application.name == "run"
    assert (only.name, only.blocks, only.threads_per_block) == ("add(float*, int)", 2, 64)
    assert (only.registers_per_thread, only.shared_bytes) == (12, 256)
    for _ in range(2):  # any block, as often as wanted
        assert told(only, 1) == [
            [("STORE", 8, {0: BASE + 64})],
            [("LOAD", 4, {3: BASE}), ("WAIT", 0, {}), ("COMPUTE", 1, {})],
        ]
        assert told(only, 0) == [
            [("LOAD", 4, row), ("WAIT", 0, {}), ("STORE", 4, {31: BASE + 8})],
            [("SHARED", 1, {})],
        ]


def test_the_variant_with_data_and_size(tmp_path):
    lanes = {0: BASE, 5: BASE + 4096}
    _, (only,) = opened(
        tmp_path / "run.txt", launch(), by_thread("0,0,0", 1, "LDG.E.64.SYS", 8, lanes)
    )
    assert told(only, 0) == [[], [("LOAD", 8, lanes), ("WAIT", 0, {})]]
    assert told(only, 1) == []


def test_launches_may_be_numbered_apart_from_records(tmp_path):
    _, kernels = opened(
        tmp_path / "run.txt",
        launch(1, "first"),
        record("0,0,0", 0, "STG.E", {0: BASE}, number=0),
        launch(2, "second"),
        record("0,0,0", 0, "STG.E", {0: BASE + 4}, number=1),
    )
    assert [one.name for one in kernels] == ["first", "second"]
    assert told(kernels[0], 0)[0] == [("STORE", 4, {0: BASE})]
    assert told(kernels[1], 0)[0] == [("STORE", 4, {0: BASE + 4})]


def test_a_list_of_lanes_becomes_loads_of_warps_in_turn(tmp_path):
    lines = [f"0x40,{BASE + 4 * lane:#x}" for lane in range(32 * 5 + 3)]
    application, (only,) = opened(
        tmp_path / "run.txt", f"alloc address : {BASE}, Size : 8192", launch(), *lines
    )
    assert application.buffers == (Buffer("allocation 0", BASE, 8192),)
    group = [{lane: BASE + 128 * rank + 4 * lane for lane in range(32)} for rank in range(6)]
    last = {lane: group[5][lane] for lane in range(3)}
    loads = [
        [[address for op, _, address in warp if op == "LOAD"] for warp in told(only, number)]
        for number in range(2)
    ]
    assert loads == [[[group[0], group[4]], [group[1], last]], [[group[2]], [group[3]]]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (record("2,0,0", 0, "LDG.E", {}), r":3: CTA 2,0,0 is outside the grid \(2, 1, 1\)"),
        (record("0,0,0", 2, "LDG.E", {}), ":3: warp 2 of a block of 2 warps"),
        ("MEMTRACE: CTX 0x01 - something else", ":3: neither a launch nor a memory instruction"),
        (launch(), ":3: there are two launches with the id 0"),
    ],
)
def test_wrong_lines_are_found_on_opening(tmp_path, line, message):
    with pytest.raises(UserError, match=r"run\.txt" + message):
        opened(tmp_path / "run.txt", launch(), line)


def test_a_record_before_all_launches(tmp_path):
    with pytest.raises(UserError, match=r"run\.txt:2: .* of which no line tells"):
        opened(tmp_path / "run.txt", record("0,0,0", 0, "LDG.E", {}), launch())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (record("0,0,0", 0, "LDQ.E", {}), "opcode LDQ .*did you mean 'LD"),
        (record("0,0,0", 0, "LDG.E", {})[:-20], "31 addresses; must be 32"),
        (by_thread("0,0,0", 0, "LDG.E", 4, {40: BASE}), "there is no lane 40"),
        (by_thread("0,0,0", 0, "LDG.E", 4, {1: BASE}) + "Thread", "each lane must be"),
    ],
)
def test_wrong_lanes_are_found_when_their_block_is_read(tmp_path, line, message):
    _, (only,) = opened(tmp_path / "run.txt", launch(), line)
    with pytest.raises(UserError, match=rf"run\.txt:3: {message}"):
        operations(only, 0)


def test_blocks_of_which_nothing_tells_are_a_mere_claim(tmp_path):
    text = launch().replace("grid size 2,1,1", "grid size 100000000,1,1")
    wanted = (
        r"run\.txt:2: a launch of 100000000 blocks, and the records are of 1; at most 1048576 may"
    )
    with pytest.raises(UserError, match=wanted):
        opened(tmp_path / "run.txt", text, record("0,0,0", 0, "STG.E", {0: BASE}))


def test_shared_memory_begins_at_0(tmp_path):
    rows = {lane: 128 * lane for lane in range(32)}
    _, (kernel,) = opened(tmp_path / "t.txt", launch(), record("0,0,0", 0, "LDS", rows))
    assert [argument for op, argument, _ in told(kernel, 0)[0] if op == "SHARED"] == [32]

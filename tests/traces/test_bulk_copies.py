"""Hopper's copies in bulk, and the barriers that tell of their end."""

import pytest

from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import EXIT, block, header, operations, used, write

BASE = 0x7F1000000000


def run(path, *texts, version="6"):
    lines = [f"{16 * place:04x} {text}" for place, text in enumerate(texts)]
    write(path, header(accelsim__tracer__version=version) + block([[*lines, EXIT]]))
    (launch,) = open_trace(path).applications[0].start().launches()
    (warp,) = operations(launch)
    return launch, [(op, size, sorted(used(lanes).values())) for op, size, lanes in warp]


@pytest.mark.parametrize(
    ("opcode", "op"),
    [
        ("UTMALDG.2D", "LOAD"),
        ("UBLKCP.S.G", "LOAD"),
        ("UBLKCP.G.S", "STORE"),
        ("UTMASTG.2D", "STORE"),
        ("UTMAREDG.2D.ADD", "REDUCE"),
        ("UBLKRED.G.S.ADD", "REDUCE"),
    ],
)
@pytest.mark.parametrize(
    "pieces", [f"3 3 {BASE:#x} {BASE + 16:#x} {BASE + 32:#x}", f"4 {BASE:#x} 3 16 16"]
)
def test_pieces_are_accesses(tmp_path, opcode, op, pieces):
    _, found = run(tmp_path / "k.traceg", f"1 0 {opcode} 2 UR4 UR8 16 0x10 0 48 0 {pieces} 0 0")
    assert found[0] == (op, 16, [BASE, BASE + 16, BASE + 32])


def test_the_warp_that_copies_waits_at_the_barrier(tmp_path):
    launch, found = run(
        tmp_path / "k.traceg",
        f"1 0 UTMALDG.2D 1 UR4 16 0x10 0 16 0 3 1 {BASE:#x} 0 0",
        "1 1 R4 SYNCS.ARRIVE.TRANS64 1 R4 8 1 0x10 0 0",
        "1 0 IADD3 1 R4 0 0",
        "ffffffff 0 SYNCS.PHASECHK.TRANS64.TRYWAIT 1 R4 8 1 0x10 0 0",
    )
    assert [op for op, _, _ in found] == ["LOAD", "SHARED", "COMPUTE", "SHARED", "WAIT", "COMPUTE"]
    assert "SYNCS.PHASECHK.TRANS64.TRYWAIT" not in launch.unread.text()
    assert launch.unread.text().startswith("2 SYNCS: barriers in shared memory")


def test_asynchronous_copies_report_to_a_barrier(tmp_path):
    _, found = run(
        tmp_path / "k.traceg",
        f"1 0 LDGSTS.E 2 R2 R4 4 1 {BASE:#x} 0 0",
        "1 0 ARRIVES.LDGSTSBAR.64 1 R4 0 0",
        "1 0 SYNCS.PHASECHK.TRANS64 1 R4 0 0",
    )
    assert [op for op, _, _ in found] == ["LOAD", "COMPUTE", "WAIT", "COMPUTE"]


def test_multicasts_and_marks_of_loops_are_told(tmp_path):
    launch, found = run(
        tmp_path / "k.traceg",
        "1 0 REPLAY_START 0 0 0",
        f"1 0 UTMALDG.2D.MULTICAST 1 UR4 16 0x10 1 0x3 16 0 3 1 {BASE:#x} 0 0",
        "1 0 UTMAPF.L2.2D 1 UR4 0 0",
    )
    assert [op for op, _, _ in found] == ["LOAD", "COMPUTE"]
    told = launch.unread.text()
    for part in (
        "1 REPLAY_START: marks of loops",
        "1 UTMALDG: copies to several blocks",
        "1 UTMAPF",
    ):
        assert part in told


def test_without_addresses_they_are_counted(tmp_path):
    launch, found = run(tmp_path / "k.traceg", "1 0 UTMALDG.2D 1 UR4 0 0", version="5")
    assert [op for op, _, _ in found] == ["COMPUTE"]
    assert launch.unread.text() == "1 UTMALDG: accesses not in the trace, not modelled"


def test_addresses_of_lanes(tmp_path):
    text = f"3 0 UBLKCP.S.G 1 UR4 16 0 {BASE:#x} {BASE + 64:#x} 0"
    _, found = run(tmp_path / "k.traceg", text, version="5")
    assert found[0] == ("LOAD", 16, [BASE, BASE + 64])


def test_a_load_of_several_gpus(tmp_path):
    _, found = run(tmp_path / "k.traceg", f"1 1 R4 LDGMC.E.ADD.F32 1 R2 4 1 {BASE:#x} 0 0 0")
    assert found[0] == ("LOAD", 4, [BASE])


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("0x10 0 48 0 3 3 0x10", "1 addresses for 3 pieces"),
        ("0x10 0 48 0 7 3 0x10", "mode 7 of a copy in bulk"),
        ("0x10 0 48", "too few fields"),
    ],
)
def test_wrong_pieces(tmp_path, rest, reason):
    with pytest.raises(UserError, match=reason):
        run(tmp_path / "k.traceg", f"1 0 UTMALDG.2D 1 UR4 16 {rest}")

"""Traces on a machine, and their schema in the docs."""

import pytest

from gpusim import characterize, load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.traces.recorded_layout import APPLICATIONS, BUFFERS, GROWING, LAUNCHES
from tests import ROOT
from tests.traces.writing import EXIT, block, header, write

PAGE = ROOT / "docs" / "traces.md"

WARP = [
    "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000ff0 4096 0",
    "0020 ffffffff 1 R6 LDL 1 R1 4 1 0xfffff0 0 0",
    "0030 ffffffff 1 R8 FADD 2 R4 R6 0 0",
    "0040 ffffffff 0 STS 2 R1 R8 4 1 0x0 8 0",
    "0050 ffffffff 0 BAR.SYNC 0 0 0",
    "0060 0000ffff 0 RED.E.ADD 2 R2 R8 4 1 0x7f1000000000 0 0",
    EXIT,
]


@pytest.fixture
def kernels(tmp_path):
    text = header(grid__dim="(5,1,1)", block__dim="(96,1,1)")
    text += "".join(block([WARP, WARP, [EXIT]], f"{number},0,0") for number in range(5))
    write(tmp_path / "kernel-1.traceg.xz", text)
    copies = "MemcpyHtoD,0x7f1000000000,65536\n"
    return write(tmp_path / "kernelslist.g", copies + 2 * "kernel-1.traceg.xz\n")


@pytest.mark.parametrize("frames", ["first-touch", "contiguous"])
def test_all_instructions_run(kernels, frames):
    model = load_model("tiny", (), {"memory.frames": frames})
    with simulate(model, load_workload(str(kernels))) as run:
        summary = run.summary
        assert summary["instructions"] == 2 * 5 * (2 * len(WARP) + 1)
        assert summary["memory_instructions"] == 2 * 5 * 2 * 3
        # Per warp: 32 lanes on 32 lines, 32 local words on one line or two, and one address.
        assert summary["transactions"] >= 2 * 5 * 2 * (32 + 1 + 1)
        digest = run.digest
    with simulate(model, load_workload(str(kernels))) as again:
        assert again.digest == digest


@pytest.mark.parametrize("loads", [1023, 1024, 1025])
def test_a_piece_may_end_before_the_exit(tmp_path, loads):
    """1024 accesses of a warp fill a piece of its block; nothing is left for the next but EXIT."""
    lines = [f"{16 * i:04x} ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0" for i in range(loads)]
    path = write(tmp_path / "one.traceg", header() + block([[*lines, EXIT]]))
    with simulate(load_model("tiny"), load_workload(str(path))) as run:
        assert run.summary["instructions"] == loads + 1
        assert run.summary["memory_instructions"] == run.summary["transactions"] == loads


def test_a_block_may_only_exit(tmp_path):
    text = header(grid__dim="(2,1,1)", block__dim="(64,1,1)")
    text += block([WARP, WARP], "0,0,0") + block([[EXIT], [EXIT]], "1,0,0")
    path = write(tmp_path / "one.traceg", text)
    with simulate(load_model("tiny"), load_workload(str(path))) as run:
        assert run.summary["instructions"] == 2 * len(WARP) + 2
    whole = characterize(load_workload(str(path)), load_model("tiny"))
    assert whole.applications[0].total("transactions") > 0


def test_a_damaged_trace_ends_the_run_and_leaves_no_result(kernels):
    path = write(kernels.parent / "bad.traceg", header() + block([[WARP[0], "0020 zz"]]))
    with pytest.raises(UserError, match=r"bad\.traceg:\d+: '0020 zz'"):
        simulate(load_model("tiny"), load_workload(str(path)), output=path.with_suffix(".h5"))
    assert not path.with_suffix(".h5").exists()


def test_the_docs_tell_every_group_and_column():
    rows = dict(
        line.split("|", 2)[1:] for line in PAGE.read_text().splitlines() if line.startswith("| `")
    )
    tables = {"applications": APPLICATIONS, "buffers": BUFFERS, "launches": LAUNCHES, **GROWING}
    for name, table in tables.items():
        row = rows[f" `{name}` "]
        for column in table.columns:
            assert f"`{column.name}`" in row, (name, column.name)
            assert column.unit != "B" or f"`{column.name}` [B" in row

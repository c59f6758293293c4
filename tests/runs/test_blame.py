"""What arrays and lines of code cost: sums equal the counters, lines are those of the source."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.request import Kind
from gpusim.results import follow
from gpusim.results.blame import answers, blame
from gpusim.traces.recorder import record_trace
from gpusim.views.explore import explore
from gpusim.views.report import html_report
from gpusim.views.timelines.code_lines import draw_code_lines
from gpusim.workloads.captured import captured_workload
from tests import ROOT
from tests.ptx.tracing import load
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write

BASE = 0x7F1000000000
PAGE = 4096


def simulated(model, workload, **options):
    return gpusim.simulate(model, workload, record=("blame", "dram", "walks"), **options)


def gathered():
    """A kernel that reads rows of a table in an order of an index: ``gather.cu``."""
    rng = np.random.default_rng(0)
    index = rng.permutation(1 << 16)[:512].astype(np.int32)
    table = rng.random(4 << 16, dtype=np.float32)
    out = np.zeros(512, np.float32)
    with gpusim.capture("gather") as captured:
        kernel = gpusim.load_kernel(ROOT / "docs" / "examples" / "gather.ptx")
        kernel.launch(2, 256, index, table, out, 512)
    assert np.allclose(out, table.reshape(-1, 4)[index].sum(axis=1))
    return captured


@pytest.mark.parametrize("name", quick(["atax", "bfs"], "bfs"))
def test_costs_add_up_to_the_counters_of_the_machine(name):
    with simulated("tiny", gpusim.load_workload(name, "smoke", 0)) as result:
        found = blame(result, "array")
        counters = result.counters[result.counters.app == name]
        misses = counters[(counters.component == "tlb/L1") & (counters.counter == "misses")]
        assert found.tlb_misses.sum() == misses.value.sum() > 0
        walks = result.table("walks")
        assert found.walks.sum() == len(walks) > 0
        assert found.walk_cycles.sum() == (walks.finished - walks.requested).sum()
        dram = result.table("dram")
        moved = dram.sectors.map(int.bit_count) * 32
        of_tables = dram.kind == Kind.WALK
        assert found.dram_bytes.sum() == moved[~of_tables].sum()
        assert found.table_bytes.sum() == moved[of_tables].sum()
        waits = result.stalls[result.stalls.state.isin(result.states[5:])].warp_cycles.sum()
        assert 0 < found.translation_cycles.sum() < found.stall_cycles.sum() <= waits
        assert set(found.array) <= set(result.arrays.name)


def test_a_record_changes_no_digest():
    captured = gathered()
    with gpusim.simulate("tiny", captured) as plain, simulated("tiny", captured) as result:
        assert plain.digest == result.digest
        assert plain.arrays.equals(result.arrays)
        assert plain.code.empty
        assert not answers(plain)
        with pytest.raises(UserError, match="record = blame"):
            blame(plain)


@pytest.mark.long
def test_lines_of_a_captured_kernel():
    captured = gathered()
    with simulated("tiny", captured) as result:
        found = blame(result).set_index(["line", "array"])
        rows = blame(result, "instruction")
        assert answers(result)[0].startswith("TLB misses: ")
        assert "array `gather_param_1` (gather.cu:8)" in answers(result)[0]
        assert found.index[0] == ("gather.cu:8", "gather_param_1")
        # Each of 16 warps loads 128 bytes of the index: a transaction of one page.
        assert found.tlb_misses["gather.cu:5", "gather_param_0"] == 16
        assert found.tlb_misses["gather.cu:9", "gather_param_2"] <= 16
        of_line = rows[rows.line == "gather.cu:8"]
        assert len(of_line) == 4
        assert of_line.instruction.str.match(r"ld\.global\.f32 in line \d+ of the PTX").all()
        ax = draw_code_lines(result)
        assert next(one.get_text() for one in ax.get_yticklabels()) == "gather.cu:8"
        assert draw_code_lines(result, "dram_bytes", by="array").patches
        with pytest.raises(UserError, match="did you mean 'tlb_misses'"):
            draw_code_lines(result, "tlb_miss")
        with pytest.raises(UserError, match="by 'arrays'; did you mean 'array'"):
            blame(result, "arrays")


@pytest.mark.long
def test_pages_say_it_by_the_names_of_the_program():
    captured = gathered()
    with gpusim.simulate("tiny", captured, record=("blame", "intervals", "requests")) as result:
        sentence = answers(result)[0].replace("`", "")
        for page in (html_report(result), explore(result).page):
            assert sentence in page.replace("`", "")
        assert follow(result, 0).array == "gather_param_0"


@pytest.mark.long
def test_a_recorded_trace_keeps_the_places(tmp_path):
    captured = gathered()
    path = tmp_path / "gather.h5"
    record_trace(captured_workload(captured), path)
    with simulated("tiny", captured) as direct, simulated("tiny", str(path)) as recorded:
        assert blame(recorded).equals(blame(direct))


@pytest.mark.long
def test_two_applications_of_a_recorded_trace(tmp_path):
    """Places are counted over all applications of a file, and each keeps its own."""
    from gpusim.workloads.workload import Workload

    specs = []
    for name in ("one", "other"):
        captured = gathered()
        captured.name = name
        specs += captured_workload(captured).applications
    path = tmp_path / "pair.h5"
    record_trace(Workload("pair", "captured", 0, tuple(specs)), path)
    with simulated("tiny", str(path)) as result:
        found = blame(result, "line")
        assert set(zip(found.app, found.line, strict=True)) >= {
            (app, f"gather.cu:{line}") for app in ("one", "other") for line in (5, 8, 9)
        }


@pytest.mark.long
def test_warps_of_another_width_keep_the_places():
    captured = gathered()
    model = gpusim.load_model("tiny", overrides={"sm.warp_size": 64})
    with simulated(model, captured) as result:
        assert set(blame(result, "line").line) >= {"gather.cu:5", "gather.cu:8", "gather.cu:9"}


@pytest.mark.parametrize(("line_info", "where"), [("0", "toy+0x10"), ("1", "toy:77")])
def test_program_counters_and_lines_of_a_trace_of_sass(tmp_path, line_info, where):
    before = "77 " if line_info == "1" else ""
    load_of = f"{before}0010 ffffffff 1 R4 LDG.E 1 R2 4 1 {BASE:#x} {PAGE} 0"
    store = f"{before and '78 '}0020 ffffffff 0 STG.E 2 R2 R4 4 1 {BASE:#x} 4 0"
    path = write(
        tmp_path / "k.traceg",
        header(enable__lineinfo=line_info) + block([[load_of, store, f"{before}{EXIT}"]]),
    )
    with simulated("tiny", str(path)) as result:
        found = blame(result, "instruction").set_index("line")
        assert found.tlb_misses[where] == 32
        assert found.instruction[where] == "LDG.E 0x10"


@pytest.mark.long
def test_what_is_written_back_belongs_to_its_array():
    data = np.zeros(1 << 18, np.float32)
    with gpusim.capture("fill") as captured:
        load("scale").launch(1 << 10, 256, data, data, 2.0, 1 << 18)
    with simulated("tiny", captured) as result:
        written = result.table("dram").query("kind == 5")
        found = blame(result).set_index("line")
        moved = (written.sectors.map(int.bit_count) * 32).sum()
        assert found.array["not known"] == result.arrays.name[0]
        assert found.dram_bytes["not known"] == moved > 0

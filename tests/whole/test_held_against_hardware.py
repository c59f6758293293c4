"""`experiments.hardware`: plateaus, steps, references; a model held against a curve of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.hardware.__main__ import hold, hold_again, points_of
from experiments.hardware.gpus import variant_for
from experiments.hardware.held import Held, median_error
from experiments.hardware.measure import TLB_STEPS, Point, measure, model_of
from experiments.hardware.pictures import draw
from experiments.hardware.plateaus import Comparison, compare, crossing, plateaus, wanted
from experiments.hardware.programs import COUNTERS, CYCLES, PROGRAMS, Ran, beside_hardware
from experiments.hardware.reference import read_curves
from experiments.hardware.stride_curves import read_stride_curves
from experiments.hardware.tlb_steps import TlbStep, read_tlb_steps
from gpusim.core.errors import UserError
from gpusim.workloads.workload import load_workload
from tests.examples import examples

KIB = 1 << 10
STAIRS = [(x * KIB, 30.0 if x <= 16 else 200.0 if x <= 256 else 500.0) for x in range(1, 2049)]
"""30 cycles to 16 KiB, 200 to 256 KiB, 500 to 2 MiB."""

HEADINGS = "gpu,test,footprint_bytes,stride_bytes,value,unit,p05,p95,clock_mhz,source,licence\n"


def test_stairs_have_three_plateaus() -> None:
    levels = plateaus(STAIRS)
    assert [(level.first, level.last, level.value) for level in levels] == [
        (KIB, 16 * KIB, 30.0),
        (17 * KIB, 256 * KIB, 200.0),
        (257 * KIB, 2048 * KIB, 500.0),
    ]


def test_a_slope_is_no_plateau() -> None:
    assert not plateaus([(1 << i, 2.0**i) for i in range(20)])


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1 << 30), st.floats(1, 1000)), unique_by=lambda p: p[0]))
def test_plateaus_are_apart_and_flat(points: list[tuple[int, float]]) -> None:
    curve = sorted(points)
    last = 0
    for level in plateaus(curve):
        assert level.first > last
        inside = [value for x, value in curve if level.first <= x <= level.last]
        assert max(inside) <= 1.1 * min(inside)
        assert all(level.first <= x <= level.last for x in level.inside(3))
        last = level.last


def test_where_a_curve_crosses() -> None:
    assert crossing([(100, 10.0), (400, 1000.0)], 10.0, 1000.0) == pytest.approx(
        100 * 4 ** (90 / 990)
    )
    assert crossing([(100, 10.0), (400, 20.0)], 10.0, 1000.0) is None
    assert crossing([(100, 90.0), (400, 10.0)], 90.0, 10.0) == pytest.approx(100 * 4 ** (60 / 80))


def test_a_curve_is_like_itself_and_a_slower_one_is_not() -> None:
    values = dict(STAIRS)
    itself = {x: values[min(max(round(x / KIB), 1), 2048) * KIB] for x in wanted(STAIRS)}
    for found in compare(STAIRS, itself):
        assert found.error is not None
        assert abs(found.error) < (0.001 if found.what == "plateau" else 0.15)
    slower = {x: 1.5 * value for x, value in itself.items()}
    errors = [one.error for one in compare(STAIRS, slower) if one.what == "plateau"]
    assert errors == pytest.approx([0.5] * 3)
    assert compare(STAIRS, {})[0] == Comparison("plateau", KIB, 16 * KIB, 30.0, None)


def write_reference(folder: Path, value: float) -> Path:
    (folder / "curves").mkdir()
    rows = "".join(
        f"TINY 1,chase,{footprint},128,{value},cycles,,,1000,here,none\n"
        for footprint in range(1024, 4096, 256)
    )
    (folder / "curves" / "latency_vs_footprint.csv").write_text(HEADINGS + rows)
    return folder


@pytest.mark.long
def test_a_model_is_held_against_its_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.hardware.gpus.GPUS", {"tiny": {"": ("TINY",)}})
    own = measure("tiny", Point("latency", 2048))
    held = hold("tiny", ["latency"], write_reference(tmp_path, own * 1.25), jobs=1)
    table = held.table()
    assert list(table.gpu) == ["TINY 1"]
    assert table.error.iloc[0] == pytest.approx(-0.2, abs=0.02)
    assert median_error(table, "plateau") == pytest.approx(0.2, abs=0.02)
    assert median_error(table, "step") is None
    assert set(held.points().test) == {"latency"}
    draw(held, tmp_path / "tiny.png")
    assert (tmp_path / "tiny.png").read_bytes().startswith(b"\x89PNG")
    held.points().to_csv(tmp_path / "tiny_points.csv", index=False)
    again = hold_again("tiny", ["latency"], tmp_path, tmp_path)
    assert again.taken == held.taken
    assert again.table().equals(table)
    with pytest.raises(UserError, match=r"k80_points\.csv: holds no points of a model"):
        hold_again("k80", ["latency"], None, tmp_path)


@pytest.mark.parametrize(
    ("model", "gpu", "variant"),
    [
        ("h100", "GH200", "gh200"),
        ("h100", "H100-PCIe", "pcie"),
        ("h100", "H800-PCIe", "pcie"),
        ("h100", "NVIDIA H100 80GB HBM3", ""),
        ("h100", "A100", None),
        ("v100", "Tesla V100", ""),
        ("tiny", "Tiny 1", ""),
    ],
)
def test_cards_of_a_family_have_variants(model: str, gpu: str, variant: str | None) -> None:
    assert variant_for(model, gpu) == variant


ROWS = """gpu,quantity,value,unit,condition
K80,L1 TLB reach (measured step),2 MiB (step between 2.0 and 2.1 MiB),,chase
K80,L1 TLB entry coverage (measured),"128 KiB (half at 64 KiB, twice the reach at 256 KiB)",,
K80,L1 TLB miss penalty (measured),9,cycles,
K80,L1 TLB coverage,4194304,B,entry covers 131072 B
K80,L2 TLB reach (measured step),about 130-150 MiB,,
K80,L2 TLB coverage,134217728,B,entry covers 2097152 B
P100,L1 TLB coverage,33554432,B,entry covers 2097152 B
"""


def test_steps_of_tlbs_are_read_and_compared(tmp_path: Path) -> None:
    assert not read_tlb_steps(tmp_path, "k80")
    (tmp_path / "microbenchmarks.csv").write_text(ROWS)
    mib = 1 << 20
    first, second = read_tlb_steps(tmp_path, "k80")
    assert first == TlbStep("K80", "", "L1", 2 * mib, round(2.1 * mib), 128 * KIB, 9.0)
    assert second == TlbStep("K80", "", "L2", 128 * mib, 128 * mib, 2 * mib, None)
    footprints = first.footprints()
    assert all(footprint % (128 * KIB) == 0 for footprint in footprints)
    assert footprints[0] < 2 * mib < 2.1 * mib < footprints[-1]
    curve = [(x, 200.0 if x <= 2 * mib else 210.0) for x in footprints]
    place, miss = first.compare(curve)
    assert place.error == pytest.approx(0, abs=0.1)
    assert miss.error == pytest.approx(1 / 9)
    assert [one.simulated for one in first.compare([(x, 200.0) for x in footprints])] == [None, 0]
    assert not first.compare([])
    asked = points_of(["latency"], [], 1 << 34, [first])
    assert {one.footprint for one in asked if one.test == TLB_STEPS} == set(footprints)


def test_a_tlb_ends_where_its_entries_do() -> None:
    """tiny's first TLB: as many loads of one page each as it has entries, and one more."""
    entries = int(model_of("tiny").config.tlb["L1"].entries)
    page = int(model_of("tiny").config.memory.page)
    inside, behind = (
        measure("tiny", Point(TLB_STEPS, count * page, page)) for count in (entries, entries + 1)
    )
    assert behind > inside


@pytest.mark.long
def test_what_costs_a_launch_and_what_camps() -> None:
    assert measure("tiny", Point("launch", 1)) > 1
    neighbours = measure("tiny", Point("camping", 128))
    assert measure("tiny", Point("camping", 4096)) < neighbours


def test_nothing_larger_than_memory_is_asked_for() -> None:
    asked = points_of(["latency", "tlb"], [], memory=1 << 24)
    assert asked
    assert max(point.footprint for point in asked) <= 1 << 23


def test_wrong_references_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no folder curves"):
        read_curves(tmp_path, "v100")
    (tmp_path / "curves").mkdir()
    assert not read_curves(tmp_path, "v100")
    (tmp_path / "curves" / "latency_vs_footprint.csv").write_text("gpu,value\n")
    with pytest.raises(UserError, match=r"latency_vs_footprint.csv: has no column test"):
        read_curves(tmp_path, "v100")


STRIDES = """gpu,type,test,x,pitch,cycles_per_warp_load
A40,float,stride,1,1,2.00
A40,float,stride,9,9,3.03
A40,double,stride,1,1,8.0
A40,float,block,2,4098,5.1
H200,float,stride,3,3,1.63
A40,half,stride,1,1,1.0
"""


@pytest.mark.long
def test_curves_by_stride_are_held_point_by_point(tmp_path: Path) -> None:
    """Of the two cards of the model and the words that loads can have; of other cards, nothing."""
    (tmp_path / "curves").mkdir()
    (tmp_path / "curves" / "l1_bandwidth_vs_stride.csv").write_text(STRIDES)
    curves = read_stride_curves(tmp_path, "rtx3070")
    assert [(one.test, one.stride, one.variant, one.curve) for one in curves] == [
        ("strides", 8, "a40", [(1, 8.0)]),
        ("rows", 4, "a40", [(2, 5.1)]),
        ("strides", 4, "a40", [(1, 2.0), (9, 3.03)]),
    ]
    points = points_of(["strides"], curves[2:], 1 << 33)
    assert points == [Point("strides", 1, 4, "a40"), Point("strides", 9, 4, "a40")]
    held = Held("rtx3070", {point: measure("rtx3070", point) for point in points}, curves[2:])
    errors = {row["from"]: row["error"] for _, row in held.table().iterrows()}
    assert errors[1] == pytest.approx(0, abs=0.01)
    assert errors[9] == pytest.approx(0, abs=0.05)


def test_a_file_of_strides_without_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "curves").mkdir()
    (tmp_path / "curves" / "l1_bandwidth_vs_stride.csv").write_text("gpu,type,test,x\n")
    with pytest.raises(UserError, match="has no column cycles_per_warp_load; it has gpu, type"):
        read_stride_curves(tmp_path, "rtx3070")


# -- whole programs ------------------------------------------------------------------------------


@pytest.mark.long
def test_programs_stand_beside_the_hardware_by_name_and_arguments(tmp_path: Path) -> None:
    """Each is a workload whose parameters hold, and finds its own row of the reference."""
    folder = tmp_path / "correlation"
    folder.mkdir()
    rows = [
        f"{one.benchmark},{one.arguments},{1000 * number},{2000 * number}"
        for number, one in enumerate(PROGRAMS, 1)
    ]
    (folder / CYCLES).write_text(
        "\n".join(["benchmark,arguments,hw_cycles,accelsim_cycles", *rows]), encoding="utf-8"
    )
    (folder / COUNTERS).write_text("Benchmark,DRAM_Rd\n", encoding="utf-8")
    ran = {one: Ran(1500 * number, 1, 0, 0, 0, 0) for number, one in enumerate(PROGRAMS, 1)}
    table = beside_hardware(ran, tmp_path)
    assert len(table) == len(PROGRAMS)
    assert set(table["ours"]) == {1.5}
    assert set(table["Accel-Sim"]) == {2.0}
    for one in PROGRAMS:
        assert load_workload(one.workload, "paper", overrides=one.parameters)

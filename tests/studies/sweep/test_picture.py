"""The picture of a sweep: which values it shows, and that it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.core.errors import UserError
from gpusim.studies.sweep.picture import draw_sweep, values_to_draw
from gpusim.studies.sweep.point import ALONE, Point
from gpusim.studies.sweep.spec import Sweep
from tests.quick import quick
from tests.studies.sweep.made_up import make_up

SIZES = {"tlb.L1.entries, tlb.L1.ways": [[16, 4], [32, 8]]}


def sweep(plot: dict[str, Any], **fields: Any) -> Sweep:
    return Sweep(
        **{
            "name": "drawn",
            "models": "tiny",
            "workloads": ["nw", "atax"],
            "scale": "smoke",
            "set": SIZES,
            "plot": {"value": "cycles", **plot},
            **fields,
        }
    )


def cycles(point: Point) -> dict[str, float]:
    return {"cycles": float(point.values["tlb.L1.ways"]) * len(point.workload)}


def drawn(folder: Path, asked: Sweep, numbers: Any = cycles) -> Any:
    return values_to_draw(make_up(folder, asked, numbers), asked.plot)


def test_a_key_that_changes_with_another_is_an_axis(tmp_path: Path) -> None:
    data = drawn(tmp_path / "runs", sweep({"x": "tlb.L1.ways", "panels": "workload"}))
    assert data.dims == ("workload", "tlb.L1.ways")
    assert data["tlb.L1.ways"].values.tolist() == [4, 8]
    np.testing.assert_array_equal(data, [[8, 16], [16, 32]])


@pytest.mark.parametrize("size", [{"tlb.L1.ways": 4}, {"tlb.L1.entries": "16"}])
def test_relative_values(tmp_path: Path, size: dict[str, object]) -> None:
    (axis,) = size
    plot = {"x": axis, "lines": "workload", "relative_to": size}
    data = drawn(tmp_path / "runs", sweep(plot))
    np.testing.assert_array_equal(data, [[1, 1], [2, 2]])
    assert data.attrs["long_name"] == f"cycles, relative to {axis} = {size[axis]}"


def test_runs_alone_are_not_drawn(tmp_path: Path) -> None:
    asked = sweep(
        {"x": "tlb.L1.entries"}, models="maxwell-mask", workloads="HISTO_GUP", alone="same"
    )

    def numbers(point: Point) -> dict[str, float]:
        return {"cycles": 1.0 if point.role == ALONE else 7.0}

    np.testing.assert_array_equal(drawn(tmp_path / "runs", asked, numbers), [7, 7])


def test_splits_are_no_axis() -> None:
    with pytest.raises(UserError, match=r"split_step: cannot be drawn"):
        sweep({"x": "tlb.L1.entries"}, models="maxwell-mask", workloads="HISTO_GUP", split_step=5)


def test_the_picture_lies_beside_the_table(tmp_path: Path) -> None:
    asked = sweep({"x": "tlb.L1.entries", "lines": "workload"})
    results = make_up(tmp_path / "runs", asked, cycles)
    assert draw_sweep(results, asked) == results.folder / "drawn.png"
    assert (results.folder / "drawn.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("count", quick([2, 8], 8))
def test_one_legend_for_all_panels(tmp_path: Path, count: int) -> None:
    sizes = {
        "tlb.L1.entries, tlb.L1.ways": [[16, 4], [32, 8]],
        "tlb.L1.mshrs": [*range(1, count + 1)],
    }
    asked = sweep({"x": "tlb.L1.entries", "panels": "workload", "lines": "tlb.L1.mshrs"}, set=sizes)
    results = make_up(tmp_path / "runs", asked, cycles)
    picture = draw_sweep(results, asked, "svg")
    assert picture is not None
    assert picture.suffix == ".svg"
    assert picture.read_bytes().startswith(b"<?xml")


def test_without_a_finished_run_there_is_no_picture(tmp_path: Path) -> None:
    asked = sweep({"x": "tlb.L1.entries", "lines": "workload"})
    results = make_up(tmp_path / "runs", asked, lambda _: "Hang")
    assert draw_sweep(results, asked) is None
    assert not (results.folder / "drawn.png").exists()

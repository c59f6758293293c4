"""Sweeps over pages of today's programs, and their walks without timing."""

from __future__ import annotations

import attrs
import matplotlib.image
import pandas as pd
import pytest

import gpusim
from experiments.untimed_reach import SWEEPS, counted, draw


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_has_three_page_sizes_on_two_machines(name):
    sweep = gpusim.read_sweep(name)
    assert sweep.models == ("h100", "mi300x")
    assert sweep.set["memory.page"] == ("4KiB", "64KiB", "2MiB")
    assert len(sweep.set) > 2


@pytest.mark.long
def test_larger_pages_need_fewer_walks(tmp_path):
    settings = {"memory.page": ("4KiB", "64KiB"), "workload.tokens": (8, 40)}
    whole = gpusim.read_sweep("expert-gather", scale="smoke")
    plot = attrs.evolve(whole.plot, panels="", relative_to={})
    sweep = attrs.evolve(whole, models=("v100",), set=settings, plot=plot)
    rows = pd.DataFrame(counted(sweep))
    assert len(rows) == 4
    walks = rows.pivot_table(index="workload.tokens", columns="memory.page", values="walks")
    assert (walks["64KiB"] < walks["4KiB"]).all()
    assert (rows["walks"] >= rows["compulsory"]).all()
    draw(sweep, rows, tmp_path / "reach.png")
    height, width, _ = matplotlib.image.imread(tmp_path / "reach.png").shape
    assert width > height > 300

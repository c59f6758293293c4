"""Variants alone and in pairs: which make one machine, what they gain, and the matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gpusim.machine.load import load_model
from gpusim.studies.sweep.pairs import Machines, gains_of, pair_name, refusals
from gpusim.studies.sweep.picture import draw_sweep
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep, read_sweep, to_plain
from gpusim.studies.sweep.spec_check import SweepError
from gpusim.views.plots import PlotError, pair_matrix
from tests.studies.sweep.sweeping import write_spec

pytestmark = pytest.mark.usefixtures("forked_workers")

SWEEP = Sweep(
    name="pairs",
    models="tiny",
    workloads=["nw", "bfs"],
    scale="smoke",
    pairs=True,
    variants=["baseline", "ideal-dram", "fixed-walk", "ideal-tlb"],
    plot={"value": "ipc", "x": "variant"},
)


def test_what_changes_a_key_in_two_ways_is_no_machine() -> None:
    machines = Machines("maxwell-mask")
    assert machines.why_not("mask-tokens", "scheduling") == ""
    told = machines.why_not("mask-tlb-quick", "mask-tlb")
    assert told == "both decide tlb.L2.fill.epoch: 4000 and 100000"
    assert "tlb.L2" in machines.why_not("mask-tokens", "pwcache"), "the TLB is gone"
    told = machines.why_not("sub-entries+star", "tlb-colt")
    assert told == "both decide tlb.L2.array: star and colt"


def test_stages_of_two_variants_go_together() -> None:
    machines = Machines("maxwell-mask")
    assert machines.why_not("tlb-prefetch-next", "tlb-mosaic") == "", "both bring one"
    assert machines.why_not("vc-opt", "tlb-prefetch-next") == "", "one drops one"
    both = load_model("maxwell-mask", ["vc-opt", "tlb-prefetch-next"])
    assert both.config.stages == ("L2", "prefetch", "walk")
    told = machines.why_not("tlb-prefetch-next", "tlb-prefetch-stride")
    assert told.startswith("both decide stage.prefetch.kind")


def test_each_pair_is_a_point_if_it_is_a_machine() -> None:
    variants = [*SWEEP.variants, "ideal-l1-tlb"]
    wanted = Sweep(models="tiny", workloads="nw", scale="smoke", variants=variants, pairs=True)
    refused = {pair for _, pair in refusals(wanted)}
    found = [point.variant for point, _ in make_plan(wanted).points]
    assert len(found) + len(refused) == 5 + 6
    assert not refused & set(found)
    assert pair_name("ideal-dram", "fixed-walk") in found


@pytest.mark.long
def test_gains_of_pairs_and_what_is_beyond_their_product(tmp_path: Path) -> None:
    results = run_sweep(SWEEP, tmp_path / "runs", jobs=1)
    table = results.table.set_index(["variant", "workload"])["ipc"]

    def mean(variant: str) -> float:
        ratios = [table[variant, one] / table["baseline", one] for one in SWEEP.workloads]
        return float(np.prod(ratios) ** 0.5)

    pairs = gains_of(results, "ipc", SWEEP.variants)
    one, other = "ideal-dram", "fixed-walk"
    both = mean(pair_name(one, other))
    assert pairs.gains.loc[one, one] == pytest.approx(100 * (mean(one) - 1))
    assert pairs.gains.loc[one, other] == pairs.gains.loc[other, one]
    assert pairs.gains.loc[one, other] == pytest.approx(100 * (both - 1))
    assert pairs.beyond.loc[other, one] == pytest.approx(100 * (both - mean(one) * mean(other)))
    assert np.isnan(pairs.beyond.loc[one, one])
    picture = draw_sweep(results, SWEEP)
    assert picture is not None
    assert picture.stat().st_size > 5_000


def test_a_file_of_pairs_is_read_back(tmp_path: Path) -> None:
    assert to_plain(read_sweep(write_spec(tmp_path, SWEEP))) == to_plain(SWEEP)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ["baseline", "ideal-tlb"]}, "pairs need two of them"),
        ({"variants": ["fixed-walk", "ideal-tlb"]}, "the picture needs 'baseline'"),
        ({"plot": {"value": "ipc", "x": "workload"}}, "of pairs is a matrix"),
        ({"set": {"l2.ways": [4, 8]}}, "l2.ways has several values"),
        ({"pairs": "yes"}, "must be true or false"),
    ],
)
def test_what_cannot_be_meant(changes: dict[str, object], message: str) -> None:
    plain = {**to_plain(SWEEP), **changes}
    with pytest.raises(SweepError, match=message):
        Sweep(**plain)  # type: ignore[arg-type]


def test_the_matrix_has_gains_below_and_what_is_beyond_above() -> None:
    names = ["a", "b"]
    gains = pd.DataFrame([[10.0, 4.0], [4.0, np.nan]], names, names)
    beyond = pd.DataFrame([[np.nan, -6.0], [-6.0, np.nan]], names, names)
    axes = pair_matrix(gains, beyond)
    told = {one.get_position(): one.get_text() for one in axes.texts}
    assert told == {(0, 0): "+10", (0, 1): "+4", (1, 0): "-6"}
    with pytest.raises(PlotError, match="nothing to draw"):
        pair_matrix(gains * np.nan, beyond * np.nan)
    with pytest.raises(PlotError, match="same names"):
        pair_matrix(gains.set_axis(["x", "y"]), beyond)

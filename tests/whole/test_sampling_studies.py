"""The studies of windows, small: pairs against shifted runs, programs beside their truth."""

from pathlib import Path

import pytest
from attrs import evolve

from experiments import paper_size, sampled_pairs, sampling
from gpusim.studies.sweep.run import run_sweep


@pytest.mark.long
@pytest.mark.usefixtures("forked_workers")
def test_a_pair_in_windows_stands_beside_its_shifted_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled_pairs, "SCALE", "smoke")
    monkeypatch.setattr(sampled_pairs, "MODEL", "tiny")
    monkeypatch.setattr(sampled_pairs, "SHIFTS", {"l2.latency": ["10 cycles", "11 cycles"]})
    monkeypatch.setattr(sampled_pairs, "VARIANT", "baseline")
    monkeypatch.setattr(sampled_pairs, "SEEDS", range(2))
    monkeypatch.setattr(
        sampled_pairs, "WINDOWS", "windows=10,length=500instructions,warm=500instructions"
    )
    whole, windows = (
        run_sweep(one, tmp_path, jobs=1) for one in sampled_pairs.sweeps("stencil_chip")
    )
    cycles, *ipcs = sampled_pairs.bands(whole, windows)
    assert (cycles.name, cycles.least) == ("cycles", whole.table.cycles.min())
    assert cycles.most == whole.table.cycles.max() > cycles.least
    assert [band.name for band in ipcs] == ["2dconv/ipc", "hotspot/ipc"]
    (value, low, _), other = cycles.estimates
    assert value == pytest.approx(cycles.least, rel=0.5)
    assert other[0] != value
    assert 0 <= cycles.holding <= 2
    assert evolve(cycles, estimates=[(value, 0.0, 1e9), (value, low, cycles.least)]).holding == 1


@pytest.mark.long
@pytest.mark.usefixtures("forked_workers")
def test_a_program_in_windows_stands_beside_its_truth(tmp_path: Path) -> None:
    case = sampling.Case("triad", "smoke", 12, 300, 150)
    found = sampling.compare(case, run_sweep(case.sweep, tmp_path, jobs=1))
    assert 0 <= found.inside <= found.intervals
    assert found.main[1] <= found.intervals
    assert found.intervals + found.refused > 40
    assert found.error == pytest.approx(0, abs=0.5)
    assert 0 < found.timed < 1
    (row,) = sampling.rows([found])
    assert row[0] == "triad"
    assert f"{abs(found.error):.1%} off in the median" in sampling.in_all([found])


def test_a_graph_is_of_pagerank_alone() -> None:
    of_graph, other = (paper_size.sweep_of(one, Path("a.graph")) for one in paper_size.PROGRAMS[:2])
    assert of_graph.set["workload.graph"] == ("a.graph",)
    assert "workload.graph" not in other.set

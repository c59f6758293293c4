"""Every shipped machine runs in every variant, and variants pull in the direction they must."""

from __future__ import annotations

import pytest

from gpusim.config.layers import variants_of
from gpusim.files.shipped import data_names, find_data
from gpusim.files.toml_document import read_document
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import base_run, run

PARAMETERS = {"atax": {"n": 512, "iterations": 4}, "bfs": {"graph.vertices": 128}}
MODELS = data_names("models")


def variants(model: str) -> tuple[str, ...]:
    return tuple(variants_of(read_document(find_data("models", model))))


def small(model: str, workload: str, *names: str) -> Result:
    return run(model, workload, *names, parameters=PARAMETERS[workload])


@pytest.mark.parametrize("workload", ["bfs", pytest.param("atax", marks=pytest.mark.long)])
@pytest.mark.parametrize("model", quick(MODELS, "tiny"))
def test_every_variant_runs(model: str, workload: str) -> None:
    base = small(model, workload).summary
    for variant in variants(model):
        summary = small(model, workload, variant).summary
        for what in ("instructions", "memory_instructions"):
            assert summary[what] == base[what], variant
        assert summary["cycles"] > 0


@pytest.mark.parametrize("model", quick(MODELS, "tiny", "apu-hsa"))
def test_an_ideal_tlb_never_walks_and_costs_next_to_nothing(model: str) -> None:
    """More warps fight for L1 lines where none waits for walks: on k80 hits fall by 6 points."""
    base, ideal = (small(model, "atax", *names).summary for names in ((), ("ideal-tlb",)))
    assert ideal["walks"] == 0 < base["walks"]
    assert ideal["cycles"] <= 1.05 * base["cycles"]
    assert ideal["share_walk"] == ideal["share_walker"] == 0
    assert ideal["tlb_L1_hit_rate"] == 1


def test_huge_pages_and_larger_tlbs_help() -> None:
    base, huge, large = (
        small("kepler-uvm", "atax", *names).summary
        for names in ((), ("huge-pages",), ("l1-tlb-256",))
    )
    assert huge["walks"] < base["walks"]
    assert huge["share_translation"] < base["share_translation"]
    assert large["tlb_L1_hit_rate"] >= base["tlb_L1_hit_rate"]


@pytest.mark.long
def test_an_ideal_crossbar_takes_no_time() -> None:
    result = run("tiny", "bfs", "ideal-crossbar", "ideal-dram", "ideal-tlb")
    assert result.summary["cycles"] < base_run("tiny", "bfs").summary["cycles"]
    assert result.provenance.variants == ("ideal-crossbar", "ideal-dram", "ideal-tlb")


@pytest.mark.parametrize("workload", quick(["bfs", "atax", "pagerank"], "bfs"))
def test_warp_schedulers_issue_the_same_instructions(workload: str) -> None:
    counts = (
        "instructions",
        "compute_instructions",
        "memory_instructions",
        "shared_instructions",
        "barriers",
        "transactions",
        "issue_cycles",
    )
    issued = []
    for scheduler in ("gto", "lrr"):
        counters = run("tiny", workload, overrides={"sm.scheduler": scheduler}).counters
        of_sms = counters[counters.component == "sm"].groupby("counter").value.sum()
        issued.append([int(of_sms[name]) for name in counts])
    assert issued[0] == issued[1]

"""Programs on nodes, and what MGPUSim counts of the same programs on several GPUs."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import gpusim
from gpusim.cli.summary import print_summary
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.results.node_numbers import gpu_numbers, remote_bytes
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms
from gpusim.views.report.build import html_report
from tests.quick import quick
from tests.whole.running import base_run, run


def _pairs(machine, name):
    rows = [row for row in machine.counter_rows() if row.component == "node/pair"]
    return {row.instance: row.value for row in rows if row.name == name}


@pytest.mark.parametrize("gpus", quick([2, 4], 2))
def test_a_transpose_runs_on_one_gpu_and_sends_what_lies_elsewhere_away(gpus):
    # Its 16 blocks (64 in MGPUSim's run) fit on the CUs of the first GPU, and pages take turns: of
    # 2 GPUs exactly a half of its requests leaves, of 4 exactly three quarters.
    loaded = load_model("mgpusim-r9nano-4", [], {"node.gpus": gpus})
    workload = gpusim.load_workload("matrix_transpose", "smoke")
    (tenant,) = assign_sms(loaded, workload)
    machine = Machine(loaded.config, [Tenant("t", tenant.application, tenant.sms)], 0)
    run_machine(machine)
    lines = 256 * 256 * 4 // 64
    assert sum(_pairs(machine, "loads").values()) == lines * (gpus - 1) // gpus
    assert sum(_pairs(machine, "stores").values()) == lines * (gpus - 1) // gpus
    each = dict.fromkeys(range(1, gpus), 2 * lines // gpus)
    assert {pair: n for pair, n in _pairs(machine, "requests").items() if n} == each


LINKS = {"node.gpus": 2, "node.link.bandwidth": "10GB/s", "node.link.latency": "9 cycles"}


@pytest.mark.long
def test_what_each_gpu_did_and_what_they_asked_of_each_other():
    result = run("tiny", "bandwidth", overrides=LINKS | {"node.placement": "interleave"})
    numbers, moved = gpu_numbers(result), remote_bytes(result)
    assert numbers.loc["warp instructions"].sum() == result.summary["instructions"]
    assert numbers.loc["requests to other GPUs"].sum() == result.summary["remote_requests"]
    assert numbers.loc["requests to other GPUs", 0] == numbers.loc["requests of other GPUs", 1]
    assert moved.to_numpy().sum() == result.summary["remote_bytes"]
    assert moved.to_numpy().diagonal().sum() == 0
    page = html_report(result)
    assert "What each GPU did" in page
    console = Console(width=200, record=True, file=StringIO())
    print_summary(result, console=console, everything=True)
    text = " ".join(console.export_text().split())
    assert "what each GPU did" in text
    assert "that a GPU (row) moved" in text


def test_one_gpu_has_no_such_tables():
    result = base_run("tiny", "atax")
    assert gpu_numbers(result) is None
    assert remote_bytes(result) is None
    assert "What each GPU did" not in html_report(result)


@pytest.mark.parametrize(
    ("workload", "gpus"),
    quick(
        [
            ("relu", 2),
            ("relu", 4),
            ("vector_add", 4),
            ("matrix_multiplication", 2),
            ("simple_convolution", 2),
            ("walsh_steps", 4),
            ("aes", 2),
            ("hetero_mark_kmeans", 2),
        ],
        ("relu", 4),
        ("simple_convolution", 2),
    ),
)
def test_shares_of_remote_requests_are_those_by_hand(workload: str, gpus: int) -> None:
    # Pages take turns and blocks run where they say nothing of where their lines lie, so that all
    # but one GPU's share of the requests is remote: exactly, where pages have as many lines each.
    with run("mgpusim-r9nano-4", workload, overrides={"node.gpus": gpus}) as result:
        counters = result.counters
        named = counters.set_index(["component", "counter"]).value
        remote = int(named["node/pair", "requests"].sum())
        lookups = int(named["l2", "lookups"].sum() - named["l2", "translation_lookups"].sum())
    exact = workload in ("relu", "vector_add", "matrix_multiplication")
    tolerance = 0 if exact else 0.06
    assert remote / lookups == pytest.approx(1 - 1 / gpus, abs=tolerance)

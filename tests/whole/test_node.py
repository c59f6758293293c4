"""Programs on nodes, and what MGPUSim counts of the same programs on several GPUs."""

from __future__ import annotations

import pytest

import gpusim
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms


def _pairs(machine, name):
    rows = [row for row in machine.counter_rows() if row.component == "node/pair"]
    return {row.instance: row.value for row in rows if row.name == name}


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_transpose_on_one_gpu_sends_what_lies_elsewhere_away(gpus):
    # MGPUSim's transpose runs on the first GPU alone, and its arrays lie on all in equal shares:
    # of 2 GPUs exactly a half of its requests leaves, of 4 exactly three quarters.
    loaded = load_model("mgpusim-r9nano-4", [], {"node.gpus": gpus})
    workload = gpusim.load_workload("matrix_transpose", "smoke")
    (tenant,) = assign_sms(loaded, workload)
    first = loaded.config.sm.count
    machine = Machine(loaded.config, [Tenant("t", tenant.application, range(first))], 0)
    run_machine(machine)
    lines = 256 * 256 * 4 // 64
    assert sum(_pairs(machine, "loads").values()) == lines * (gpus - 1) // gpus
    assert sum(_pairs(machine, "stores").values()) == lines * (gpus - 1) // gpus
    each = dict.fromkeys(range(1, gpus), 2 * lines // gpus)
    assert {pair: n for pair, n in _pairs(machine, "requests").items() if n} == each

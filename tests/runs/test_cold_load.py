"""A load that finds nothing anywhere, beside one that is simulated."""

import numpy as np
import pytest

from gpusim.files.shipped import data_names
from gpusim.machine.load import load_model
from gpusim.runs.simulate import simulate
from gpusim.runs.windows.cold_load import cold_load
from tests.quick import quick

LAUNCH = {"launch_overhead": "0 cycles", "sm.block_start": "1 cycles", "sm.block_end": "answered"}
"""What a load does not take is left out."""


def simulated(name, page=0, **overrides):
    """Cycles of a warp of which one lane loads."""
    model = load_model(name, overrides={**LAUNCH, **overrides})
    lanes = np.full((1, 1, model.config.sm.warp_size), -1)
    lanes[0, 0, 0] = (1 << 32) + page * model.config.memory.page
    return simulate(model, lanes).summary["cycles"], cold_load(model.config)


@pytest.mark.parametrize("name", quick(data_names("models"), "tiny", "h100", "mi210", "k80"))
def test_it_is_as_long_as_one_that_is_simulated(name):
    if load_model(name).config.node is not None:
        pytest.skip("on a node it is of a load from the farthest GPU")
    whole, found = simulated(name)
    # what is left out: flits, ports, clocks of DRAM rounded up, reads of a walk that miss in L2
    assert 0.55 * whole < found <= whole


@pytest.mark.parametrize("name", quick(["mcm-gpu", "mgpusim-r9nano-4"], "mcm-gpu"))
def test_on_a_node_it_is_as_long_as_one_to_the_farthest_gpu(name):
    # the only block runs on the last of four GPUs, and pages lie with all in turn
    settings = {"node.placement": "interleave", "node.blocks": "contiguous"}
    whole, found = simulated(name, 1, **settings)
    near, _ = simulated(name, 3, **settings)
    assert 0.55 * whole < found <= whole
    assert near < whole


def test_a_far_fault_is_part_of_it():
    host = {"trip": "200 cycles", "entries": 16, "walkers": 2, "latency": "100 cycles"}
    node = {"gpus": 2, "link.bandwidth": "16GB/s", "link.latency": "50 cycles"}
    settings = {f"node.{key}": value for key, value in node.items()}
    asked = settings | {f"node.host_mmu.{key}": value for key, value in host.items()}
    assert simulated("tiny", **asked)[1] == simulated("tiny", **settings)[1] + 500


def test_a_tlb_that_always_hits_leaves_the_walk_out():
    whole, found = simulated("kepler-uvm", **{"tlb.L1.ideal": True})
    assert 0.7 * whole < found <= whole
    assert found < simulated("kepler-uvm")[1] - 500

"""A load that finds nothing anywhere, beside one that is simulated."""

import numpy as np
import pytest

from gpusim.files.shipped import data_names
from gpusim.machine.load import load_model
from gpusim.runs.simulate import simulate
from gpusim.runs.windows.cold_load import cold_load

LAUNCH = {"launch_overhead": "0 cycles", "sm.block_start": "1 cycles", "sm.block_end": "answered"}
"""What a load does not take is left out."""


def simulated(name, **overrides):
    """Cycles of a warp of which one lane loads."""
    model = load_model(name, overrides={**LAUNCH, **overrides})
    lanes = np.full((1, 1, model.config.sm.warp_size), -1)
    lanes[0, 0, 0] = 1 << 32
    return simulate(model, lanes).summary["cycles"], cold_load(model.config)


@pytest.mark.parametrize("name", data_names("models"))
def test_it_is_as_long_as_one_that_is_simulated(name):
    if load_model(name).config.node is not None:
        pytest.skip("a sampled run, which asks for it, has one GPU")
    whole, found = simulated(name)
    # what is left out: flits, ports, clocks of DRAM rounded up, reads of a walk that miss in L2
    assert 0.55 * whole < found <= whole


def test_a_tlb_that_always_hits_leaves_the_walk_out():
    whole, found = simulated("kepler-uvm", **{"tlb.L1.ideal": True})
    assert 0.7 * whole < found <= whole
    assert found < simulated("kepler-uvm")[1] - 500

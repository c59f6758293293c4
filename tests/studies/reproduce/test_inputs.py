"""Inputs have the sizes that papers print."""

from __future__ import annotations

import pytest

from experiments.orchestrated.sizes import PAPER
from gpusim.studies.reproduce.programs import programs_of
from gpusim.workloads.library import find_workload
from gpusim.workloads.sizes import size_of


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("name", PAPER)
def test_footprints_of_orch(name: str, scale: str) -> None:
    """Table II, in MB; sequences of nw come in tiles of 16 letters."""
    size = size_of(find_workload(programs_of("orchestrated")[name]), scale)
    assert size is not None
    assert size.footprint / 1e6 == pytest.approx(PAPER[name], rel=0.04)


def test_those_of_comp_are_orchs() -> None:
    comp = programs_of("compression")
    for name, footprint in PAPER.items():
        size = size_of(find_workload(comp[name]), "quick")
        assert size is not None
        assert size.footprint / 1e6 == pytest.approx(footprint, rel=0.04)

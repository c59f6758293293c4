"""Demand paging of the products, beside what was published of real drivers and GPUs."""

from __future__ import annotations

import numpy as np
import pytest

import gpusim
from experiments import fault_batches
from tests.quick import quick

PUBLISHED = (20, 50)
"""Microseconds of a lone fault: Kim et al., ASPLOS 2020; Allen and Ge, TACO 2024: 30 to 45."""


@pytest.mark.parametrize("product", quick(fault_batches.PRODUCTS, "v100"))
@pytest.mark.parametrize("page", quick(["4KiB", "64KiB"], "64KiB"))
def test_a_lone_fault_takes_what_was_published(product: str, page: str) -> None:
    """The first of all, and one in a block that the driver has come to before."""
    least, most = PUBLISHED
    took = fault_batches.microseconds(product, fault_batches.two_faults(), {"memory.page": page})
    assert len(took) == 2
    assert all(least <= one <= most for one in took)
    assert took[1] < took[0] - 9, "the first touch takes 10 µs"


def test_a_link_and_remote_pages_keep_the_driver_of_the_product() -> None:
    for recipe in ("link-pcie-4", "zero-copy", "access-counters"):
        paging = gpusim.load_model("v100", [recipe]).config.paging
        assert paging is not None
        assert paging.utlb_faults == 56


@pytest.mark.long
@pytest.mark.parametrize("order", ["regular", "random"])
def test_batches_of_a_page_a_lane_are_full(order: str) -> None:
    """Titan V: 245 and 242 faults of at most 256, each of another page."""
    pages = np.arange(1024)
    if order == "random":
        pages = np.random.default_rng(1).permutation(pages)
    with fault_batches.batches_of(fault_batches.a_page_a_lane(pages)) as result:
        batches = result.table("fault_batches")
        assert batches.faults.mean() == pytest.approx(245, rel=0.3)
        assert (batches.faults == batches.asked).all()
        took = batches.end - batches.begin
        assert result.summary["link_use"] * result.summary["cycles"] < took.sum() / 4


@pytest.mark.long
def test_faults_of_a_stream() -> None:
    """Titan V: 0.75 pages an SM and batch, in 3.93 blocks."""
    with fault_batches.batches_of(fault_batches.stream()) as result:
        batches = result.table("fault_batches")
        assert batches.asked.mean() / 80 == pytest.approx(0.75, rel=0.3)
        assert batches.blocks.mean() == pytest.approx(3.93, rel=0.3)

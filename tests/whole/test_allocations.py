"""What a transaction allocates in compiled form: counts, which do not depend on the machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from experiments.allocations import count, counter
from gpusim.core.version import form

pytestmark = [
    pytest.mark.skipif(form() != "compiled", reason="interpreted code has all integers in boxes"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="what counts is written in C"),
]

MOST = {
    "hit-heavy": (100, 6.1, 0.4),
    "tlb-miss-heavy": (30, 13.8, 0.6),
    "dram-heavy": (15, 34.0, 8.8),
}
"""By case: iterations, and the most allocations and boxed integers of a transaction."""


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    with counter() as path:
        yield path


@pytest.mark.parametrize("case", MOST)
def test_a_transaction_allocates_no_more_than_it_did(case: str, library: str) -> None:
    iterations, allocations, boxes = MOST[case]
    found = count(case, library, "--iterations", str(iterations))
    assert found.form == "compiled"
    assert found.allocations <= allocations
    assert found.boxes <= boxes

"""What is refused of banks, MSHRs of sectors and units of arithmetic."""

import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l1.banks.tags": 3}, "l1.banks.tags = 3: must be a power of two"),
        ({"l1.banks.width": "2B"}, "l1.banks.width.*must be at least a word, 4B"),
        ({"sm.lsu_width": 2}, "sm.lsu_width = 2: must be 1 with l1.banks"),
        ({"l2.mshrs": 3}, "l2.mshrs = 3: must hold the 4 sectors of a line"),
        ({"sm.arithmetic.fp64.interval": 0}, "sm.arithmetic.fp64.interval = 0: must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_model("a100", (), settings)


def test_lines_that_are_fetched_whole_take_an_mshr_for_each_of_their_sectors() -> None:
    """Else no line could ever be fetched."""
    settings = {"l2.mshr_grain": "sector", "l2.mshrs": 3}
    with pytest.raises(UserError, match=r"l2\.mshrs = 3: must hold the 4 sectors"):
        load_model("tiny", (), settings)
    model = load_model("tiny", (), {**settings, "l2.mshrs": 4})
    assert simulate(model, load_workload("launches", "smoke")).summary["cycles"] > 0

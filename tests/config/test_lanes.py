"""What is refused of banks, MSHRs of sectors and units of arithmetic."""

import pytest

from gpusim import load_model
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

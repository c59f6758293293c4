"""What a parameter of a program may be, and what the error says of what it may not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import frozen

from gpusim.programs.parameters import number


@frozen
class Sizes:
    n: int = number(16, 4, 64, multiple=4)
    part: int | None = number(None, most="n")
    chunk: int = number(2, least=lambda n: n // 8, multiple=2)
    share: float = number(0.5, 0, 1)
    any: int = number(7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 2}, "'n' must be from 4 to 64: 2"),
        ({"n": 68}, "'n' must be from 4 to 64: 68"),
        ({"n": 18}, "'n' must be a multiple of 4: 18"),
        ({"part": 17}, "'part' must be from 1 to n = 16: 17"),
        ({"chunk": 1}, "'chunk' must be >= 2 (n = 16): 1"),
        ({"n": 32, "chunk": 5}, "'chunk' must be a multiple of 2: 5"),
        ({"share": 1.5}, "'share' must be from 0 to 1: 1.5"),
        ({"any": 0}, "'any' must be >= 1: 0"),
    ],
)
def test_what_does_not_fit_says_what_would(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Sizes(**values)


def test_none_is_allowed_where_it_is_the_default() -> None:
    assert Sizes() == Sizes(n=16, part=None, chunk=2, share=0.5, any=7)
    assert Sizes(n=64, part=64, chunk=8).part == 64

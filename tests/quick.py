"""Which values of a parametrized test are quick, where the others are more of the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """All `values` for `pytest.mark.parametrize`: those `chosen` are quick, the others long.

    A tuple is the values of several parameters.
    """
    values = list(values)
    unknown = [one for one in chosen if one not in values]
    assert not unknown, f"{unknown} are none of {values}"
    return [one if one in chosen else _long(one) for one in values]


def _long(one: Any) -> Any:
    return pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.long)

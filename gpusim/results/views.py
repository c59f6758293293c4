"""Views of results: they know results, which call them by name without knowing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

View = Callable[..., Any]
"""Makes something to look at of a result; its other arguments are its own."""

_VIEWS: dict[str, View] = {}


def register_view(name: str, view: View) -> None:
    """Make a view known as `name`: one that is registered again replaces itself."""
    _VIEWS[name] = view


def find_view(name: str) -> View:
    """The view of that name.

    Raises:
        KeyError: none was registered; ``import gpusim`` registers its own.
    """
    return _VIEWS[name]

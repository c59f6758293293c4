"""Errors that a user can mend: the command line prints their message, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Something in the user's input is wrong; the message says where and what is allowed."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` if some allowed name is close to `name`, else an empty string."""
    matches = get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""

"""Errors of result files that are well-formed, but whose numbers contradict each other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gpusim.core.untrusted import untrusted

if TYPE_CHECKING:
    from gpusim.results.result import Result


def misread(*results: Result) -> AbstractContextManager[None]:
    """Inside, errors in the content of these results become errors that call them damaged.

    Errors of writing pass: they are not the results' fault.
    """
    names = " or ".join(result.name for result in results)
    return untrusted(names, "is damaged: its tables contradict each other", (OSError, RuntimeError))

"""The border of all that shows results: numbers of a stranger's file need not fit each other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gpusim.core.untrusted import untrusted

if TYPE_CHECKING:
    from gpusim.results.result import Result


def misread(*results: Result) -> AbstractContextManager[None]:
    """Inside, what goes wrong with the content of these results is told as their damage.

    Errors of writing pass: they are not the results' fault.
    """
    names = " or ".join(result.name for result in results)
    return untrusted(names, "is damaged: its tables contradict each other", (OSError, RuntimeError))

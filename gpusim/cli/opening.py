"""Results that a command shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusim.results import Result


@contextmanager
def opened(*files: Path) -> Iterator[list[Result]]:
    """The results in some files; inside, what goes wrong with their content is told as damage.

    Raises:
        UserError: one is not there, is no result, or damaged.
    """
    from gpusim.results import open_result
    from gpusim.results.misread import misread

    with ExitStack() as stack:
        results = [stack.enter_context(open_result(file)) for file in files]
        stack.enter_context(misread(*results))
        yield results

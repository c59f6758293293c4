"""What was captured of a program while it ran here, and can be simulated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from gpusim.core.warp_program import Application


class Captured(ABC):
    """Launches, or operators, that were kept; `gpusim.simulate` takes it.

    Attributes:
        name: for results.
    """

    name: str

    @abstractmethod
    def starter(self) -> Callable[[], Application]:
        """What makes an application of it, from the start of its run.

        Raises:
            UserError: nothing was launched.
        """

    @abstractmethod
    def digest(self) -> str:
        """Hash of all that it is made of."""

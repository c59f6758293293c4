"""Programs as functions: a generator that places its arrays, then yields its launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs.kernel import Program


class FunctionProgram(Program):
    """A generator function in execution, which has come to its first launch.

    The arrays that it has placed by then are all that it has.

    Attributes:
        function: the generator function.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(name)
        self.function = function
        run = function(self.memory, *arguments, **parameters)
        self._run: Iterator[Launch] | None = self._launches(run)
        next(self._run)

    @property
    def maker(self) -> object:
        """The generator function."""
        return self.function

    def launches(self) -> Iterator[Launch]:
        """The launches of the one run that it has; a further run is that of a further start.

        Raises:
            UserError: they have been asked for before.
        """
        run, self._run = self._run, None
        if run is None:
            raise UserError(f"program {self.name!r} has been run: start it anew")
        return run

    def _launches(self, run: Iterator[Any]) -> Iterator[Launch]:
        """What the function yields, checked; before its first launch, a pause."""
        launch = next(run, None)
        if launch is None:
            raise self._mistake("yields no launch: write yield kernel[threads](...)")
        places = len(self.memory.arrays)
        if not places:
            raise self._mistake("has no array: place one in its memory before the first launch")
        self._check(launch)
        yield launch  # to the constructor
        yield launch
        for launch in run:
            if len(self.memory.arrays) != places:
                late = self.memory.arrays[places].name
                raise self._mistake(f"places the array {late!r} after its first launch")
            self._check(launch)
            yield launch

    def _check(self, launch: object) -> None:
        if not all(hasattr(launch, name) for name in ("run_block", "stream_use", "copy")):
            raise self._mistake(
                f"yields {launch!r}, which is no launch: write yield kernel[threads](...)"
            )

    def _mistake(self, what: str) -> UserError:
        return UserError(f"program {self.name!r} {what}")

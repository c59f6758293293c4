"""Contents of a program's arrays: whether what it runs has changed them."""

from __future__ import annotations

import zlib

import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Application
from gpusim.programs.device import AddressSpace
from gpusim.programs.kernel import Program
from gpusim.traces.application import TraceApplication
from gpusim.workloads.sampling import SampledProgram


class Contents:
    """Sums of all arrays that have contents which may be written.

    Args:
        memory: where they lie; None: a trace, whose addresses are what they are.
    """

    def __init__(self, memory: AddressSpace | None) -> None:
        self._memory = memory
        self._sums = self._now()

    @classmethod
    def of(cls, application: Application) -> Contents:
        """The contents of an application's arrays.

        Raises:
            UserError: they cannot be seen.
        """
        if isinstance(application, Program | SampledProgram):
            return cls(application.memory)
        if isinstance(application, TraceApplication):
            return cls(None)
        raise UserError(
            f"--sample launches=N: {application.name} keeps its arrays where it cannot be seen "
            "whether a launch writes what later ones read: use windows=N,length=launch, for which "
            "all launches are executed"
        )

    @property
    def may_change(self) -> bool:
        """Whether there are any."""
        return bool(self._sums)

    def _now(self) -> dict[tuple[int, str], int]:
        """The sum of each array, by its place and name."""
        if self._memory is None:
            return {}
        return {
            (place, array.name): zlib.crc32(np.ascontiguousarray(array.data).view(np.uint8).data)
            for place, array in enumerate(self._memory.arrays)
            if array.data.flags.writeable and not array.is_blank
        }

    def look(self) -> str:
        """The name of an array that has changed since the last look; "": there is none."""
        before, self._sums = self._sums, self._now()
        return next((key[1] for key, one in self._sums.items() if one != before.get(key)), "")

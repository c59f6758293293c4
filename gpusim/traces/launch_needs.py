"""What the launches of a trace need of an SM, where a user says other numbers than its headers.

Tracers write impossible numbers at times: some have put 21955 registers a thread into a header.
"""

from __future__ import annotations

from attrs import frozen


@frozen(repr=False)
class LaunchNeeds:
    """Numbers in place of those of a trace, for all its launches.

    Attributes:
        registers: 32-bit registers of a thread; None: as the trace has it.
        shared_bytes: shared memory of a block; None: as the trace has it.
    """

    registers: int | None = None
    shared_bytes: int | None = None

    def registers_of(self, stated: int) -> int:
        """Registers of a thread of a launch for which the trace states `stated`."""
        return stated if self.registers is None else self.registers

    def shared_bytes_of(self, stated: int) -> int:
        """Shared memory of a block of a launch for which the trace states `stated`."""
        return stated if self.shared_bytes is None else self.shared_bytes

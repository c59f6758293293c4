"""A copy that waits for an engine."""

from __future__ import annotations

from attrs import frozen

from gpusim.core.copies import Copy
from gpusim.core.engine import Port


@frozen(eq=False, repr=False)
class CopyOrder:
    """A copy that an engine is to execute.

    Attributes:
        copy: it.
        app, asid: its application, and the address space of that.
        done: gets the order back when its last byte is written.
    """

    copy: Copy
    app: int
    asid: int
    done: Port[CopyOrder]

"""Evidence: a number of two runs that supports an explanation."""

from __future__ import annotations

from attrs import frozen


@frozen
class Evidence:
    """A number of both runs that speaks for a cause.

    Attributes:
        what: it is.
        a, b: of the runs.
        unit: of both.
    """

    what: str
    a: float
    b: float
    unit: str

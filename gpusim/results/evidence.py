"""A number of two runs that speaks for something."""

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

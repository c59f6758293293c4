"""A policy as a model file names it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

Option = int | float | str | bool


@frozen
class PolicyConfig:
    """A policy by name, with its options.

    In a file either a string (``array = "set-associative"``) or a table with the key ``policy``
    and the options beside it.
    """

    policy: str
    options: Mapping[str, Option] = field(factory=dict)

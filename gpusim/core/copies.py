"""Copies: launches that only move bytes, so that a copy engine may execute them instead of SMs."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen


@frozen(eq=False, repr=False)
class Copy:
    """What a launch does that only moves bytes.

    Attributes:
        source, target: virtual addresses of the first byte that is read and written.
        bytes: how many.
        adds: numbers are added to those that are there, in the L2 cache where these lie.
        perform: does it to the values of the arrays.
    """

    source: int
    target: int
    bytes: int
    adds: bool
    perform: Callable[[], None]

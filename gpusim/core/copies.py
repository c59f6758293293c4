"""Copies: launches that only move bytes, so that a copy engine may execute them instead of SMs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from gpusim.core.engine import Port


@frozen(eq=False)
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


def copy_of(launch: object) -> Copy | None:
    """The copy that a launch is; None: it is none."""
    known: Any = launch
    copy: Copy | None = getattr(known, "copy", None)
    return copy


@frozen(eq=False)
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

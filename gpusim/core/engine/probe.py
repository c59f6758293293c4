"""Probes: a component announces an event, and the functions that listen to it are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from mypy_extensions import mypyc_attr

P = ParamSpec("P")


@mypyc_attr(allow_interpreted_subclasses=True)
class Probe(Generic[P]):
    """A named announcement of a component.

    Unheard, an announcement costs one attribute test; the component writes::

        if self.on_walk.listeners:
            self.on_walk(asid, vpn, start, end)

    Listeners must not touch the simulation: results are the same with and without them.  Only the
    machine itself may wire a policy's table to one, which is then a part of the machine.
    """

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Callable[P, None]] = []

    def listen(self, listener: Callable[P, None]) -> None:
        """Call `listener` with every announcement from now on."""
        self.listeners.append(listener)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self.listeners:
            listener(*args, **kwargs)
